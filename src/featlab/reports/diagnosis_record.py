"""A diagnosis as plain data."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab.reports.diagnosis_advice import advice

if TYPE_CHECKING:
    from featlab.diagnosis import Findings
    from featlab.diagnosis.orders import Coefficient, Exponent


def diagnosis_record(found: Findings) -> dict[str, Any]:
    """Everything but the data, ready for `json.dumps`."""
    table, inputs, spectrum = found.table, found.inputs, found.inputs.spectrum
    return {
        "label": table.label,
        "classes": None if table.classes is None else list(table.classes),
        "warnings": list(table.warnings),
        "advice": advice(found),
        "inputs": {
            "given_rows": table.given_rows,
            "given_columns": table.given_columns,
            "missing": table.missing,
            "samples": inputs.samples,
            "dim": len(inputs.columns),
            "ratio": found.ratio,
            "frame": inputs.frame,
            "norm_spread": inputs.norm_spread,
            "gaussian": inputs.gaussian,
            "columns": [asdict(one) | {"discrete": one.discrete} for one in inputs.columns],
            "spectrum": {
                "eigenvalues": spectrum.eigenvalues.tolist(),
                "spikes": spectrum.spikes,
                "edge": spectrum.edge,
                "distance": spectrum.distance,
            },
        },
        "directions": _directions(found),
        "orders": _orders(found),
        "analysis": _analysis(found),
        "curves": [
            {
                "kind": curve.kind,
                "estimator": curve.estimator,
                "sizes": list(curve.sizes),
                "errors": curve.errors.tolist(),
                "tested": curve.tested,
                "tails_shown": curve.tails_shown,
                "theory": None if curve.theory is None else curve.theory.tolist(),
                "no_theory": curve.without or None,
            }
            for curve in found.curves
        ],
    }


def _directions(found: Findings) -> dict[str, Any]:
    directions, search = found.directions, found.directions.search
    return {
        "count": directions.count,
        "permutations": search.permutations,
        "tested_rows": search.tested_rows,
        "searched_rows": directions.searched_rows,
        "next_p_value": search.next_p_value,
        "found": [
            {
                "order": step.order,
                "p_value": step.p_value,
                "angle": dict(zip(("median", "low", "high"), angles.tolist(), strict=True)),
                "loadings": dict(zip(found.table.columns, loading.tolist(), strict=True)),
            }
            for step, angles, loading in zip(search.steps, directions.angles, directions.loadings, strict=True)
        ],
    }


def _orders(found: Findings) -> dict[str, Any] | None:
    orders = found.orders
    if orders is None:
        return None
    return {
        "rows": orders.rows,
        "information_exponent": _exponent(orders.information),
        "generative_exponent": _exponent(orders.generative),
        "of_label": [_coefficient(one) for one in orders.of_label],
        "of_functions": [_coefficient(one) for one in orders.of_functions],
        "links": [
            {
                "grid": link.grid.tolist(),
                "mean": link.mean.tolist(),
                "half_width": link.half_width.tolist() if np.isfinite(link.half_width).all() else None,
            }
            for link in orders.links
        ],
        "fitted_link": orders.text,
        "noise": orders.noise,
    }


def _coefficient(one: Coefficient) -> dict[str, Any]:
    return asdict(one) | {"half_width": _number(one.half_width), "visible": one.visible}


def _exponent(one: Exponent) -> dict[str, Any]:
    return asdict(one) | {"hidden": _number(one.hidden)}


def _number(value: float) -> float | None:
    """None for what cannot be told: JSON has no infinity."""
    return value if isfinite(value) else None


def _analysis(found: Findings) -> dict[str, Any]:
    analysis = found.analysis
    if analysis is None:
        return {"unanalysed": found.unanalysed}
    return {
        "verdict": analysis.verdict.value,
        "alpha_c": analysis.alpha_c,
        "alpha_c_error": analysis.alpha_c_error,
        "information_exponent": analysis.information_exponent,
        "generative_exponent": analysis.generative_exponent,
        "doubts": list(analysis.doubts),
    }
