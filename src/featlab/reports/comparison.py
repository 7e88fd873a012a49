"""A prediction, and a prediction over a simulation, on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from featlab.comparison.curves import Curve, along, curves, is_stepwise
from featlab.comparison.recovery import shown_scale
from featlab.learners.protocol import Learner, Student
from featlab.reports.simulation import found_words, number_table, order_parameter_table, run_title, shown_times
from featlab.reports.wording import sentence_in_options

if TYPE_CHECKING:
    import xarray as xr

    from featlab.comparison import ComparedQuantity, ComparedRun

_STYLES = {"agrees": "bold green", "disagrees": "bold red", "cannot tell": "bold yellow"}
_MOST_CURVES = 2
# What goes to infinity in a prediction (`featlab.results.LIMITS`), in words.
_LIMITS = {
    "dimension": "d to infinity; steps and samples as at d = {dim:,}",
    "samples": "n to infinity at d = {dim:,}",
    "sizes": "at d = {dim:,}, where it is large",
}


def comparison_text(run: ComparedRun, learner: Learner, student: Student | None) -> Group:
    """The screen: what was asked, theory beside simulation over time, the verdict with its reason."""
    comparison, simulation = run.comparison, run.simulation
    sizes = f"d = {simulation.attrs['dim']:,}, {simulation.sizes['seed']} seeds"
    verdict = (str(comparison.verdict).capitalize(), _STYLES[comparison.verdict])
    notes = [
        _how(run),
        *_failures(run),
        f"Theory: {run.prediction.attrs['words']}",
    ]
    quantities = comparison.quantities.values()
    hidden = [quantity.name for quantity in quantities if len(list(curves(quantity.theory))) > _MOST_CURVES]
    if hidden:
        notes.append(f"Of {' and '.join(hidden)} the {_MOST_CURVES} curves furthest apart are shown; --json has all.")
    return Group(
        run_title(simulation.attrs["target"], sizes, learner, student),
        *(table for one in quantities for table in _tables(one, shown_scale(one.name, simulation))),
        Text(),
        Text.assemble(verdict, f": {_typed(comparison.reason, learner, student)}"),
        *(Text(_typed(note, learner, student), style="dim") for note in notes),
    )


def _typed(words: str, learner: Learner, student: Student | None) -> str:
    """With the options of a command for the fields of a learner and its student."""
    descriptions: tuple[Any, ...] = tuple(one for one in (learner, student) if one is not None)
    return sentence_in_options(words, {field.name for one in descriptions for field in fields(one)})


def _how(run: ComparedRun) -> str:
    """What was measured, and what z counts."""
    if run.others:
        return f"Measured at {run.measured}; z counts standard errors of the limit, nothing is allowed."
    allowance, finite = run.comparison.allowance, "n" if run.prediction.attrs.get("limit") == "samples" else "d"
    return f"One size; allowance for finite {finite}: {allowance}. z counts standard errors beyond it."


def prediction_text(prediction: xr.Dataset, learner: Learner, student: Student | None) -> Group:
    """The screen: what was asked, the predicted order parameters over time, which limit it is."""
    about = prediction.attrs
    sizes = _LIMITS[about["limit"]].format(dim=about["dim"])
    remedy = _typed(about["remedy"], learner, student)
    outcome = f"Outcome: {about['outcome']}" + (f"; {remedy}." if remedy else ".")
    return Group(
        run_title(about["target"], sizes, learner, student),
        order_parameter_table(prediction.expand_dims("seed"), shown_times(prediction.sizes["time"])),
        Text("\n".join([outcome, *found_words(prediction.expand_dims("seed"))])),
        Text(_typed(about["words"], learner, student), style="dim"),
    )


def _tables(quantity: ComparedQuantity, scale: float) -> Iterator[Padding]:
    """For each curve a table over time: theory, simulation with its error, its limit if it is known, z. All but z are
    shown times `scale`, on which 1 is perfect."""
    axis = along(quantity.theory)
    first = "step" if axis == "time" and is_stepwise(quantity.simulation) else axis
    for curve in _most_telling(quantity):
        called = quantity.name if scale == 1 else "cosine of angle"
        name = called if curve.label == quantity.name else f"{called} {curve.label}"
        limit = ("limit",) if quantity.sizes > 1 else ()
        columns = (first, f"|{name}|" if quantity.signless else name, "simulation", *limit, "z")
        measured = [(quantity.simulation, quantity.scatter)]
        if limit:
            measured.append((quantity.limit, quantity.limit_error))
        parts = (quantity.theory, *(part for pair in measured for part in pair), quantity.z)
        numbers = np.stack([part.isel(curve.place).values for part in parts], axis=-1)
        numbers[:, :-1] *= scale
        decimals = _decimals(numbers[:, 2:-1:2])
        places = quantity.theory[axis].values
        rows = ((f"{places[i]:.4g}", *_cells(*numbers[i], decimals=decimals)) for i in shown_times(len(places)))
        yield Padding(number_table(columns, rows), (1, 0, 0, 0))


def _most_telling(quantity: ComparedQuantity) -> list[Curve]:
    """The curves on which theory and simulation are furthest apart, in their own order."""
    every = list(curves(quantity.theory))
    apart = [np.max(np.nan_to_num(np.abs(quantity.z.isel(curve.place).values)), initial=0.0) for curve in every]
    return [every[place] for place in sorted(np.argsort(-np.array(apart), kind="stable")[:_MOST_CURVES])]


def _decimals(errors: np.ndarray) -> int:
    """So many that the largest error is told with two digits; 2 to 6."""
    largest = float(np.max(np.nan_to_num(errors), initial=0.0))
    return int(np.clip(1 - np.floor(np.log10(largest)), 2, 6)) if largest > 0 else 4


def _cells(theory: float, *measured_and_z: float, decimals: int) -> tuple[str, ...]:
    *measured, z = measured_and_z
    pairs = zip(measured[::2], measured[1::2], strict=True)
    values = (f"{_number(value, decimals)} +- {_number(error, decimals)}" for value, error in pairs)
    return (_number(theory, decimals), *values, _number(z, 1))


def _number(value: float, decimals: int) -> str:
    """With so many decimals, and no sign where they are all zero."""
    return f"{value:z.{decimals}f}" if np.isfinite(value) else "-"


def _failures(run: ComparedRun) -> Iterator[str]:
    for name, dataset in (("simulation", run.simulation), ("prediction", run.prediction)):
        failed = [str(word) for word in np.atleast_1d(dataset["outcome"].values) if word != "ok"]
        if failed:
            remedy = f": {dataset.attrs['remedy']}" if dataset.attrs.get("remedy") else ""
            yield f"Of the {name}, {len(failed)} of {np.size(dataset['outcome'].values)} {failed[0]}{remedy}."
