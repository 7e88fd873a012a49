"""The authors' own figures of extragradient: squared loss, a committee, no constraint (Arnaboldi et al. 2024).

y = h1 + He3(h2): SGD follows h1 and stays blind to h2, of information exponent 3 by itself; with the inner step h2
rises above chance after O(d) samples too. And the same for one neuron on He3 alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import agrees, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import MULTI_INDEX
from featlab.exhibits.predicting import at_point, predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Study

_INNER, _PLAIN, _SINGLE = "inner", "plain", "single"
_NAMES = {_INNER: "with the inner step", _PLAIN: "SGD"}
_SIZES = {
    Size.QUICK: {"dim": [204], "seeds": 24},
    Size.PAPER: {"dim": [204, 819, 2048], "seeds": 40},
    Size.LARGE: {"dim": [2048, 8192, 32_768], "seeds": 40},
}
_RULE = {"step_size": "0.01/d", "start": "orthogonal", "design": "virtual", "observe": ["cosine", "overlap"]}
_COMMITTEE = {"target": "h1 + He3(h2)", "width": 8, "second_layer": "signs", "times": np.linspace(0, 100, 11).tolist()}
_ONE = {"target": "He3(h1)", "times": np.linspace(0, 50, 11).tolist()}
_STEP = {"learner": "extragradient", "inner_step": "0.1/d"}
# Largest cosine of a neuron with h1 and with h2: the authors' figures at d = 204 and 819.
_EARLIER = {
    (_PLAIN, 204): (0.425, 0.045),
    (_INNER, 204): (0.365, 0.127),
    (_PLAIN, 819): (None, 0.026),
    (_INNER, 819): (None, 0.109),
}


def studies(size: Size) -> Mapping[str, Part]:
    """The committee with the inner step and without; beyond the quick size also one neuron on He3."""
    seeds, axes = {"seeds": _SIZES[size]["seeds"]}, {"dim": _SIZES[size]["dim"]}
    parts = {
        _INNER: Part(Study({**_RULE, **_COMMITTEE, **_STEP, **seeds}, axes, key=111)),
        _PLAIN: Part(Study({**_RULE, **_COMMITTEE, "learner": "online-sgd", **seeds}, axes, key=112)),
    }
    if size is not Size.QUICK:
        parts[_SINGLE] = Part(Study({**_RULE, **_ONE, **_STEP, **seeds, "dim": 4096}, key=113))
    return parts


def prediction(data: Data) -> dict[str, xr.Dataset]:
    """The limit of large d of one neuron on He3; of the committee only the order is predicted."""
    return {_SINGLE: predict_at(data[_SINGLE])} if _SINGLE in data else {}


def largest(part: xr.Dataset, dim: int) -> np.ndarray:
    """The largest |cosine| of a neuron with each direction: seeds by times by directions."""
    return abs(part["cosine"].sel(dim=dim)).max("neuron").transpose("seed", "time", "direction").values


def verdict(data: Data, predicted: dict[str, xr.Dataset]) -> Finding:
    """h2 is seen with the inner step only; the two learners see h1 alike."""
    checks, numbers = [], []
    for dim in data[_INNER]["dim"].values.tolist():
        final = {name: largest(data[name], dim)[:, -1] for name in _NAMES}
        checks.append(
            ordered(
                f"after 100 d samples at d = {dim} a neuron is nearer to h2 with the inner step than without",
                {_NAMES[_PLAIN]: final[_PLAIN][:, 1], _NAMES[_INNER]: final[_INNER][:, 1]},
            )
        )
        for name in _NAMES:
            for place, earlier in enumerate(_EARLIER.get((name, dim), (None, None))):
                words = f"largest cosine with h{place + 1}, {_NAMES[name]}, d = {dim}"
                numbers.append(Number(words, None, *mean_and_error(final[name][:, place]), earlier))
    if _SINGLE in data:
        measured = at_point(data[_SINGLE])
        statement = "one neuron on He3, with the inner step: the overlap follows the limit of large d"
        checks.append(agrees(statement, predicted[_SINGLE], measured, names=["overlap"]))
        final = np.abs(measured["cosine"].isel(time=-1).values.ravel())
        theory = float(abs(predicted[_SINGLE]["cosine"].isel(time=-1)).squeeze())
        numbers.append(Number("|cosine| of one neuron with He3, n = 50 d", theory, *mean_and_error(final), 0.07))
    return Finding(checks, numbers)


def figure(data: Data, predicted: dict[str, xr.Dataset]) -> Figure:
    """Largest cosines of the committee at the largest dimension, and of the single neuron."""
    titles = ["h1 + He3(h2): nearest to h1", "nearest to h2"] + (["He3, one neuron"] if _SINGLE in data else [])
    made, axes = panels(titles, x="samples over dimension, n / d", y="largest |cosine|")
    dim = int(data[_INNER]["dim"].values[-1])
    for series, name in enumerate(_NAMES):
        curves = largest(data[name], dim)
        for place in (0, 1):
            values = (curves[..., place].mean(axis=0), standard_error(curves[..., place]))
            measured_points(axes[place], data[name]["time"], *values, series=series, label=_NAMES[name])
    if _SINGLE in data:
        measured, theory = (abs(part["cosine"]).squeeze(drop=True) for part in (data[_SINGLE], predicted[_SINGLE]))
        theory_line(axes[2], theory["time"], theory)
        values = (measured.mean("seed"), standard_error(measured.transpose("seed", "time")))
        measured_points(axes[2], measured["time"], *values)
    mark(axes[1], dim**-0.5, r"$1/\sqrt{d}$", along="y")
    for panel in axes:
        panel.set_ylim(0, None)
    add_legend(axes[0])
    return made


EXHIBIT = Exhibit(
    id="squared-loss-extragradient",
    title="Extragradient with the squared loss",
    claim="On h1 + He3(h2), SGD sees h1 only, and SGD with an inner step on the same sample also sees h2, both from "
    "O(d) samples.",
    document=MULTI_INDEX,
    papers=("arnaboldi2024",),
    protocol="The authors' rule: eight relu neurons, a = +-1, f = (1/8) sum a relu, squared loss, no constraint, steps "
    ".01/d for each neuron, inner step .1/d, start orthogonal to h1 and h2, 100 d samples. The inner step has no "
    "further factor 1/8: with one, their figure does not come out.",
    caption="Points are means over seeds of the largest |cosine| of a neuron, with two standard errors; the dotted "
    "line is the size of a cosine by chance. The line is the limit of large d.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
