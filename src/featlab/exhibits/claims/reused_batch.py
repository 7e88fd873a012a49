"""Two full-batch steps on the same n = O(d) samples see what fresh batches do not (Dandi et al. 2024).

He3 has information exponent 3: a step on a fresh batch of 3d samples has no drift towards its direction. After one
step on a batch each of its samples has been fitted a little, h -> h + c y sigma'(h), so that the second step on the
same batch sees E[F(y) h*] with a non-linear F. Dynamical mean field says how far it gets.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featlab.exhibits.checks import agrees, contrast, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import MULTI_INDEX
from featlab.exhibits.predicting import at_point, predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Study

HARD, PLAIN = "He3(h1)", "tanh(h1)"
STEPS, STEP_SIZE = 8, 0.2
REUSED, FRESH = STEPS, 1  # steps on one batch
_NAMES = {REUSED: "the same batch", FRESH: "fresh batches"}
_SIZES = {
    Size.QUICK: {"dim": 10_000, "seeds": 48},
    Size.PAPER: {"dim": 5000, "seeds": 200},
    Size.LARGE: {"dim": 10**6, "seeds": 8},
}
_SCANNED = [0.1, 0.2, 0.3, 0.6, 1.0, 1.5, 2.0]
# m after two steps on He3 as a prototype measured it at d = 1000 (.2) and d = 5000 (.3).
_EARLIER = {0.2: -0.0181, 0.3: -0.035}

_REMARK = (
    "The overlap is negative: samples with a very negative label are switched off by the relu after the first step and "
    "fit no more. After two large steps it is positive."
)


def studies(size: Size) -> Mapping[str, Part]:
    """Curves over the steps on one batch and on fresh ones; beyond the quick size also tanh, and other step sizes."""
    fixed = {**_SIZES[size], "learner": "reused-batch", "start": "orthogonal", "design": "virtual"}
    fixed |= {"observe": ["overlap"]}
    derived = {"samples": "3*dim"}
    targets = [HARD] if size is Size.QUICK else [HARD, PLAIN]
    curves = Study(
        {**fixed, "steps": STEPS, "step_size": STEP_SIZE},
        {"target": targets, "steps_per_batch": [REUSED, FRESH]},
        derived,
        key=21,
    )
    if size is Size.QUICK:
        return {"curves": Part(curves)}
    scan = Study({**fixed, "target": HARD, "steps": 2}, {"step_size": _SCANNED}, derived, key=22)
    return {"curves": Part(curves), "scan": Part(scan)}


def prediction(data: Data) -> dict[tuple[str, float], xr.Dataset]:
    """Dynamical mean field at n = 3d: for a target and a number of uses, or for "scan" and a step size."""
    curves = data["curves"]
    found: dict[tuple[str, float], xr.Dataset] = {
        (str(target), int(uses)): predict_at(curves, target=str(target), steps_per_batch=int(uses))
        for target in curves["target"].values
        for uses in curves["steps_per_batch"].values
    }
    if "scan" in data:
        fine = np.geomspace(_SCANNED[0], _SCANNED[-1], 25)
        found |= {("scan", float(step)): predict_at(data["scan"], step_size=float(step)) for step in {*fine, *_SCANNED}}
    return found


def verdict(data: Data, predicted: dict[tuple[str, float], xr.Dataset]) -> Finding:
    """The curves are the predicted ones; on one batch He3 is found within two steps, on fresh ones not at all."""
    curves = data["curves"]
    checks = [
        agrees(
            f"the overlap with the direction of {target} on {_NAMES[uses]} follows dynamical mean field",
            predicted[target, uses],
            at_point(curves, target=target, steps_per_batch=uses),
            names=["overlap"],
        )
        for target in curves["target"].values.tolist()
        for uses in (REUSED, FRESH)
        if (target, uses) != (HARD, FRESH)  # there it predicts zero, which has no scale to be wrong by
    ]
    after_two = {uses: overlaps(curves, HARD, uses)[:, 2] for uses in (REUSED, FRESH)}
    checks += [
        ordered(
            "after two steps on one batch the overlap with the direction of He3 is below that on fresh batches",
            {_NAMES[REUSED]: after_two[REUSED], _NAMES[FRESH]: after_two[FRESH]},
        ),
        _found(curves),
    ]
    numbers = [
        Number(
            f"m after 2 steps, He3, {_NAMES[uses]}",
            float(predicted[HARD, uses]["overlap"].isel(time=2).squeeze()),
            *mean_and_error(after_two[uses]),
            earlier,
        )
        for uses, earlier in ((REUSED, _EARLIER[STEP_SIZE]), (FRESH, 0.0))
    ]
    if "scan" in data:
        checks.append(_scan(data["scan"], predicted))
        numbers += [_number(data["scan"], predicted, step) for step in _SCANNED if step != STEP_SIZE]
    return Finding(checks, numbers, [_REMARK])


def _found(curves: xr.Dataset) -> Check:
    level = 3 / np.sqrt(at_point(curves, target=HARD, steps_per_batch=REUSED).attrs["dim"])
    beyond = {uses: np.abs(overlaps(curves, HARD, uses)[:, -1]) > level for uses in (REUSED, FRESH)}
    statement = (
        f"after {STEPS} steps on one batch a single run is beyond chance, |m| > 3/sqrt(d), on fresh ones it is not"
    )
    return contrast(statement, beyond[REUSED], beyond[FRESH], name=_NAMES[REUSED], control_name=_NAMES[FRESH])


def _scan(scan: xr.Dataset, predicted: dict[tuple[str, float], xr.Dataset]) -> Check:
    both = (
        xr.concat([one.sel(time=2) for one in parts], "point")
        for parts in (
            [predicted["scan", step][["overlap"]] for step in _SCANNED],
            [at_point(scan, step_size=step)[["overlap"]] for step in _SCANNED],
        )
    )
    return agrees("so does the overlap after two steps of any size", *both, names=["overlap"])


def _number(scan: xr.Dataset, predicted: dict[tuple[str, float], xr.Dataset], step: float) -> Number:
    measured = scan["overlap"].sel(step_size=step, time=2).values.ravel()
    theory = float(predicted["scan", step]["overlap"].sel(time=2).squeeze())
    return Number(f"m after 2 steps of size {step:g}", theory, *mean_and_error(measured), _EARLIER.get(step))


def overlaps(curves: xr.Dataset, target: str, uses: int) -> np.ndarray:
    """Seeds by steps."""
    chosen = curves["overlap"].sel(target=target, steps_per_batch=uses)
    return chosen.transpose("seed", "time", ...).values.reshape(chosen.sizes["seed"], -1)


def figure(data: Data, predicted: dict[tuple[str, float], xr.Dataset]) -> Figure:
    """Overlap against steps for each target, and after two steps against the step size."""
    targets = data["curves"]["target"].values.tolist()
    titles = [f"y = {'He3' if target == HARD else 'tanh'}(h), steps of {STEP_SIZE}" for target in targets]
    words = ["full-batch steps"] * len(targets)
    if "scan" in data:
        titles.append("He3, after two steps")
        words.append("step size")
    made, axes = panels(titles, x=words, y="overlap with the direction, m")
    for place, target in zip(axes, targets, strict=False):
        for series, uses in enumerate(_NAMES):
            theory = predicted[target, uses]
            theory_line(place, theory["time"], theory["overlap"].values.ravel(), series=series)
            measured = overlaps(data["curves"], target, uses)
            mean, error = measured.mean(axis=0), standard_error(measured)
            measured_points(place, theory["time"], mean, error, series=series, label=_NAMES[uses])
        add_legend(place)
    if "scan" in data:
        _draw_scan(axes[-1], data["scan"], predicted)
    return made


def _draw_scan(axes: Axes, scan: xr.Dataset, predicted: dict[tuple[str, float], xr.Dataset]) -> None:
    steps = sorted(step for name, step in predicted if name == "scan")
    line = [float(predicted["scan", step]["overlap"].sel(time=2).squeeze()) for step in steps]
    theory_line(axes, steps, line, series=0)
    measured = scan["overlap"].sel(time=2).squeeze(drop=True).transpose("seed", "step_size").values
    measured_points(axes, scan["step_size"], measured.mean(axis=0), standard_error(measured), series=0)
    mark(axes, 0.0, "", along="y")
    axes.set_xscale("log")
    axes.set_xticks(_SCANNED, [f"{step:g}" for step in _SCANNED])
    axes.minorticks_off()


EXHIBIT = Exhibit(
    id="reused-batch",
    title="Two steps on one batch",
    claim="With n = O(d) samples, two full-batch steps on the same batch correlate with He3; steps on fresh batches "
    "do not.",
    document=MULTI_INDEX,
    papers=("dandi2024",),
    protocol="One relu neuron, n = 3d, gradient of the mean of (y - f)^2 / 2 with steps of .2; the talk's step is .1, "
    "and its loss has no 1/2. The start is orthogonal to the direction, so that signs do not cancel in the mean over "
    "seeds. The talk shows d = 5000.",
    caption="Lines are dynamical mean field, the limit of large d at n = 3d; points the mean over seeds with two "
    "standard errors.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("generative_exponent", "batch_reuse"),
)
