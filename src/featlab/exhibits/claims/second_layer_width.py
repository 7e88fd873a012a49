"""The converse of the bound on the second layer, as the width grows: a conjecture of Dandi et al. 2023.

The theorem: p = O(1) neurons that have learned a subspace U leave E Var(f | P_U x) at least, whatever the second
layer. Conjectured is that they leave no more, "if p is large enough". For one step on a quadratic target the risk at
any p is computed in `featlab.theory.giant.width`, and tends to it as d and then p grow. With p of order d the theorem
does not speak any more: what is linear across U is learned, too, and the risk goes below where there is such a part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OPPOSITE, EQUAL = "h1 + He2(h1) + h2 - He2(h2)", "h1 + He2(h1) + h2 + He2(h2)"
# E Var(f | P_U x) after one and two steps: U is h1 + h2, and after the second step on the first example the plane.
LEFT = {OPPOSITE: (4.0, 0.0), EQUAL: (2.0, 2.0)}
STEPS, SIZE = 2, 2.0
_NAMES = {OPPOSITE: "example 1", EQUAL: "example 2"}
_SIZES: dict[ex.Size, dict[str, Any]] = {
    ex.Size.QUICK: {"dim": 64, "ratio": 100, "widths": [16, 32, 64, 128], "tested": 2**14},
    ex.Size.PAPER: {"dim": 256, "ratio": 100, "widths": [16, 32, 64, 128, 256, 512, 1024], "tested": 2**16},
    ex.Size.LARGE: {"dim": 1024, "ratio": 100, "widths": [16, 64, 256, 1024, 4096], "tested": 2**17},
}
_REPEATS = {ex.Size.QUICK: 8, ex.Size.PAPER: 12, ex.Size.LARGE: 8}
_RIDGE = 1e-6  # of the mean square of a feature: there are n >= 25 p samples
_CHUNK = 4096
_MANY = 2**12  # neurons in all draws of theory's mean in the limit
_DRAWS = 64  # at least, at a finite d, where a draw scatters as much as a run
_LIMIT = [2**power for power in range(4, 15, 2)]
_NEAR = 0.01


def step_and_fit(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """After each step, on fresh samples, the risk of the second layer on the first p neurons, for every p."""
    draw, widths = np.random.default_rng(key), point["widths"]
    dim, samples, most = point["dim"], point["ratio"] * point["dim"], max(widths)
    rows = draw.standard_normal((most, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    second, biases = draw.standard_normal((2, most))
    found = []
    for time in range(1, STEPS + 1):
        pull = np.zeros_like(rows)
        for inputs, labels in _batches(draw, point, samples):
            pull += ((inputs @ rows.T.astype(np.float32) > 0) * labels[:, None]).T @ inputs
        rows = rows + SIZE * second[:, None] * pull / samples
        fields = (rows.T.astype(np.float32), biases.astype(np.float32))
        gram, products = np.zeros((most, most)), np.zeros(most)
        for inputs, labels in _batches(draw, point, samples):
            features = np.maximum(inputs @ fields[0] + fields[1], 0)
            gram += features.T @ features
            products += features.T @ labels
        fits = np.zeros((most, len(widths)))
        for at, width in enumerate(widths):
            inner = gram[:width, :width]
            fits[:width, at] = np.linalg.solve(
                inner + _RIDGE * np.trace(inner) / width * np.eye(width), products[:width]
            )
        errors = np.zeros(len(widths))
        for inputs, labels in _batches(draw, point, point["tested"]):
            features = np.maximum(inputs @ fields[0] + fields[1], 0)
            errors += np.sum((labels[:, None] - features @ fits) ** 2, axis=0)
        risks = (errors / point["tested"]).tolist()
        found += [{"time": float(time), "width": one, "risk": risk} for one, risk in zip(widths, risks, strict=True)]
    return found


def _batches(draw: np.random.Generator, point: dict[str, Any], samples: int) -> Any:
    """Fresh inputs and labels, by chunks."""
    sign = 1 if point["target"] == EQUAL else -1
    for start in range(0, samples, _CHUNK):
        inputs = draw.standard_normal((min(_CHUNK, samples - start), point["dim"]), dtype=np.float32)
        one, two = inputs[:, 0], inputs[:, 1]
        yield inputs, one + two + (one**2 - 1) + sign * (two**2 - 1)


RUNNER = Runner(step_and_fit, index=("time", "width"))


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Both examples, all widths on the same samples."""
    study = ex.Study(_SIZES[size], {"target": list(LEFT)}, repeats=_REPEATS[size], key=611)
    return {"fits": ex.Part(study, f"{__name__}:RUNNER", names={"target": _NAMES})}


def theory(data: ex.Data) -> ex.Data:
    """After one step: the mean over draws of neurons, at the d and n of the runs; and without either, at many p."""
    import xarray as xr

    from featlab.theory.giant.width import Step

    fits = data["fits"]
    dim, step = int(fits["dim"]), Step(SIZE, float(fits["ratio"]))
    widths = fits["width"].values.tolist()
    # Least squares on n samples cost p/n more than the best second layer.
    costs = 1 / (1 - np.array(widths) / (step.ratio * dim))
    found = [[_mean_risk(text, width, dim, step) for width in widths] for text in LEFT]
    limit = [[_mean_risk(text, width, np.inf, Step(SIZE, np.inf)) for width in _LIMIT] for text in LEFT]
    names = {"target": list(LEFT)}
    return {
        "fits": xr.Dataset({"risk": (("target", "width"), found * costs)}, {**names, "width": widths}),
        "limit": xr.Dataset({"risk": (("target", "width"), limit)}, {**names, "width": _LIMIT}),
    }


def _mean_risk(text: str, width: int, dim: float, step: Any) -> float:
    from featlab.theory.giant.width import draw_trained, least_risk, quadratic, turned

    goal, draw = turned(quadratic(text), step.ratio), np.random.default_rng(width)
    draws = max(_DRAWS if np.isfinite(dim) else 1, _MANY // width)
    return float(np.mean([least_risk(goal, draw_trained(goal, width, dim, step, draw)) for _ in range(draws)]))


def over(data: ex.Dataset) -> ex.Array:
    """The risk over E Var(f | P_U x) after one step."""
    import xarray as xr

    left = xr.DataArray([left[0] for left in LEFT.values()], {"target": list(LEFT)}, ["target"])
    return data["risk"] / left.sel(target=data["target"])


def _tends(view: ex.View, statement: str) -> ex.Check:
    """Without d and n, at the largest p."""
    last = view.theory["limit"]["risk"].isel(width=-1)
    off = {name: abs(float(last.sel(target=name)) / left[0] - 1) for name, left in LEFT.items()}
    none = max(abs(float(last.sel(target=name)) / 6.0 - 1) for name in LEFT)
    return ex.identity(
        statement, max(off.values()), _NEAR, control="nothing learned, the variance 6", control_difference=none
    )


def _draw_limit(axes: Axes, view: ex.View) -> None:
    """The excess over E Var(f | P_U x), as a share of it."""
    from featlab.figures.panels import theory_line

    for series, (text, left) in enumerate(LEFT.items()):
        risk = view.theory["limit"]["risk"].sel(target=text)
        theory_line(axes, risk["width"], risk / left[0] - 1, series=series, label=_NAMES[text])


_ONE, _TWO = {"time": ex.FIRST}, {"time": ex.LAST}
_UP_TO_D = {"width": slice(None, -2)}
_AXES: dict[str, Any] = {"x": "neurons p", "xscale": "log", "ticks": {"x": [16, 128, 1024, 8192]}}


def _panel(text: str) -> ex.Panel:
    one, two = (ex.Of("risk", "fits", {**when, "target": text}) for when in (_ONE, _TWO))
    return ex.Panel(
        ex.Overlay(one, "width", "theory, one step", "one step"),
        ex.Overlay(ex.Of("risk", "fits", {"target": text}, theory="limit"), "width", "d, n infinite", None, series=2),
        ex.Overlay(two, "width", None, "two steps", series=1),
        ex.Mark(LEFT[text][0], "", along="y"),
        y="risk",
        ylim=(0, None),
        **_AXES,
    )


EXHIBIT = ex.Exhibit(
    id="second-layer-width",
    title="Many neurons reach the bound on the second layer",
    claim="p neurons that have learned the subspace U leave E Var(f | P_U x) and no more, if p is large enough: the "
    "conjectured converse of the bound for p = O(1).",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="Examples 1 and 2 of the talk, of variance 6: steps of size 2 on fresh batches of n = 100 d samples, relu "
    "neurons on the sphere, a ~ N(0, 1), correlation loss (the first step of a network that is zero); then new biases "
    "N(0, 1) and least squares on n fresh samples. All widths are the first p neurons of one draw. After one step U is "
    "h1 + h2: 4 and 2 are left. Theory has the risk at any p, d and n = 100 d, up to 1/d of the largest; without them "
    f"it must come within {_NEAR:.0%} of E Var(f | P_U x) at p = {_LIMIT[-1]:,}. After two steps, of which there is no "
    "theory here, example 1 has nothing left in the plane of its directions, and every doubling of p must lower the "
    "risk by 5%.",
    caption="Points: means over runs with two standard errors. Lines: theory after one step, nothing fitted. On the "
    "right d and n are infinite.",
    studies=studies,
    theory=theory,
    checks={
        "{target_words}: after one step the risk tends to E Var(f | P_U x) as d and then p grow": ex.InTheLimit(
            ex.Close(ex.Of("risk", "fits", _ONE), each="target", allowance=lambda at: 1 / at["dim"]), _tends
        ),
        "example 2, no part linear across U: for p <= d the risk is nowhere below E Var(f | P_U x)": ex.Above(
            ex.Of(over, "fits", {**_ONE, **_UP_TO_D, "target": EQUAL}),
            1.0,
            ex.Of(over, "fits", {**_ONE, **_UP_TO_D, "target": OPPOSITE}),
            "example 1, whose rest is linear across U and is learned with p of order d",
        ),
        "example 1: after two steps, U being the whole plane, the risk falls with p": ex.Ordered(
            ex.Of("risk", "fits", {**_TWO, "target": OPPOSITE}, words="p = {width}"),
            along="width",
            descending=True,
            least=0.05,
            paired=True,
        ),
    },
    numbers={
        "{target_words}: risk after one step, p = {width}": ex.Value(
            ex.Of("risk", "fits", _ONE), each=("target", "width")
        ),
        "{target_words}: risk after two steps, p = {width}": ex.Value(
            ex.Of("risk", "fits", _TWO), predicted=False, each=("target", "width")
        ),
    },
    remarks=(
        (
            "It stays a conjecture: what is shown is one step on two quadratic targets, with a theory that is derived "
            "and not proved. The order of the limits matters. At fixed d the risk does not stop at E Var(f | P_U x): "
            "with p of order d the rest that is linear across U is learned (example 1), with p of order d^2 the "
            "quadratic one; at p = 4 d example 2 is below it already."
        ),
        (
            "What a neuron's own gradient adds, sqrt(2/pi) s a Q w, is of order 1/sqrt(d) and yet of the size of what "
            "a random row knows of the target. Without it theory is off by up to a factor 2 at p = 2 d. What is still "
            "neglected leaves it 3% low for example 1 at p = 2 d and 4 d."
        ),
    ),
    settled="Looks before this protocol: d = 256 with another simulation, 4 seeds, p = 8 to 512, which agreed with "
    "theory at small p only and so found the term Q w of the remark; with it, that one and d = 64, 8 seeds with other "
    "keys, p to 2 d, agreed. Steps, biases and n/d are those of the first look. At d = 64 example 2 was below 2 at p = "
    "2 d, as predicted, so that the bound is judged for p <= d. The first 12 runs of paper size could not tell whether "
    "the risk after two steps falls by 5% from p = 16 to 32 (1.78(4) after 2.02(5)), all else being as it is now; so "
    "runs may be doubled since, as `looks` does. Theory's mean was over 4096/p draws of neurons at first, 8 at p = "
    "512, which left it an error of its own: 1.21 where 1.28(2) was measured, example 1; it is over 64 at least since.",
    looks=3,
    figure={
        **{
            f"{_NAMES[text]}, d = {{dim}}; dotted: E Var(f | U) = {left[0]:g}": _panel(text)
            for text, left in LEFT.items()
        },
        "d and n infinite: excess over E Var(f | U)": ex.Panel(
            _draw_limit, y="risk / E Var(f | U) - 1", yscale="log", **_AXES
        ),
    },
    shows=("residuals",),
)
