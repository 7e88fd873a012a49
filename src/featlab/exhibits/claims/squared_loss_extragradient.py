"""The authors' own figures of extragradient: squared loss, a committee, no constraint (Arnaboldi et al. 2024).

y = h1 + He3(h2): SGD follows h1 and stays blind to h2, of information exponent 3 by itself; with the inner step h2
rises above chance after O(d) samples too. And the same for one neuron on He3 alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex

_SIZES = {
    ex.Size.QUICK: {"dim": [204], "seeds": 24},
    ex.Size.PAPER: {"dim": [204, 819, 2048], "seeds": 40},
    ex.Size.LARGE: {"dim": [2048, 8192, 32_768], "seeds": 40},
}
_RULE = {"step_size": "0.01/d", "start": "orthogonal", "design": "virtual", "observe": ["cosine", "overlap"]}
_COMMITTEE = {"target": "h1 + He3(h2)", "width": 8, "second_layer": "signs", "times": np.linspace(0, 100, 11).tolist()}
_ONE = {"target": "He3(h1)", "times": np.linspace(0, 50, 11).tolist()}
_STEP = {"learner": "extragradient", "inner_step": "0.1/d"}
_INNER, _PLAIN, _SINGLE = "inner", "plain", "single"
_BOTH = (_INNER, _PLAIN)
# Largest cosine of a neuron with h1 (0) and with h2 (1): the authors' figures.
_EARLIER = {
    (_PLAIN, 204, "h1"): 0.425,
    (_PLAIN, 204, "h2"): 0.045,
    (_INNER, 204, "h1"): 0.365,
    (_INNER, 204, "h2"): 0.127,
    (_PLAIN, 819, "h2"): 0.026,
    (_INNER, 819, "h2"): 0.109,
}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The committee with the inner step and without; beyond the quick size also one neuron on He3."""
    fixed, axes = {**_RULE, "seeds": _SIZES[size]["seeds"]}, {"dim": _SIZES[size]["dim"]}

    def part(key: int, words: str, learner: Mapping[str, str]) -> ex.Part:
        study = ex.Study({**fixed, **_COMMITTEE, **learner}, axes, key=key)
        return ex.Part(study, words=words)

    parts = {_INNER: part(111, "with the inner step", _STEP), _PLAIN: part(112, "SGD", {"learner": "online-sgd"})}
    if size is not ex.Size.QUICK:
        parts[_SINGLE] = ex.Part(ex.Study({**fixed, **_ONE, **_STEP, "dim": 4096}, key=113))
    return parts


def theory(data: ex.Data) -> ex.Data:
    """The limit of large d of one neuron on He3; of the committee only the order is predicted."""
    return {_SINGLE: ex.predict_at(data[_SINGLE])} if _SINGLE in data else {}


def largest(data: ex.Dataset) -> ex.Array:
    """The largest |cosine| of a neuron with each direction."""
    return abs(data["cosine"]).max("neuron")


def _by_chance(view: ex.View) -> float:
    """1/sqrt(d) at the largest dimension."""
    return float(view.data[_INNER]["dim"][-1]) ** -0.5


def _committee(direction: str) -> ex.Overlay:
    return ex.Overlay(ex.Of(largest, _BOTH, {"dim": ex.LAST, "direction": direction}), "time")


_END = {"time": ex.LAST}
_AXES: dict[str, Any] = {"x": ex.PER_DIM, "y": "largest |cosine|", "ylim": (0, None)}

EXHIBIT = ex.Exhibit(
    id="squared-loss-extragradient",
    title="Extragradient with the squared loss",
    claim="On h1 + He3(h2), SGD sees h1 only, and SGD with an inner step on the same sample also sees h2, both from "
    "O(d) samples.",
    document=ex.MULTI_INDEX,
    papers=("arnaboldi2024",),
    protocol="The authors' rule: eight relu neurons, a = +-1, f = (1/8) sum a relu, squared loss, no constraint, steps "
    ".01/d for each neuron, inner step .1/d, start orthogonal to h1 and h2, 100 d samples. The inner step has no "
    "further factor 1/8: with one, their figure does not come out.",
    caption="Points are means over seeds of the largest |cosine| of a neuron, with two standard errors; the dotted "
    "line is the size of a cosine by chance. The line is the limit of large d.",
    studies=studies,
    theory=theory,
    checks={
        "after {time:g} d samples at d = {dim} a neuron is nearer to h2 with the inner step than without": ex.Ordered(
            [ex.Of(largest, name, {**_END, "direction": "h2"}) for name in (_PLAIN, _INNER)], each="dim"
        ),
        "one neuron on He3, with the inner step: the overlap follows the limit of large d": ex.Agrees(
            "overlap", _SINGLE
        ),
    },
    numbers={
        "largest cosine with {direction}, {words}, d = {dim}": ex.Value(
            ex.Of(largest, _BOTH, _END),
            False,
            each=("dim", "direction"),
            earlier=_EARLIER,
            by=("study", "dim", "direction"),
        ),
        "|cosine| of one neuron with He3, n = {time:g} d": ex.Value(ex.Of(largest, _SINGLE, _END), earlier=0.07),
    },
    figure={
        "h1 + He3(h2): nearest to h1": ex.Panel(_committee("h1"), **_AXES),
        "nearest to h2": ex.Panel(_committee("h2"), ex.Mark(_by_chance, r"$1/\sqrt{d}$", "y"), legend=None, **_AXES),
        "He3, one neuron": ex.Panel(ex.Overlay(ex.Of(largest, _SINGLE), "time"), **_AXES),
    },
    shows=("batch_reuse",),
)
