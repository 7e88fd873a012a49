"""Repeating each sample once breaks the information exponent (Arnaboldi et al. 2024, arXiv:2405.15459).

On y = He3(h1), of information exponent 3, one-pass SGD needs n ~ d^2 samples. If the gradient at each sample is taken
after an inner step on that same sample, the update sees E[F(y) h1] for a non-linear F: the generative exponent decides,
which is 1, and n = O(d) samples suffice.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from featlab import exhibits as ex

RECOVERED = 0.5
_SIZES = {
    ex.Size.QUICK: {"dim": [2000], "seeds": 12},
    ex.Size.PAPER: {"dim": [500, 2000, 8000], "seeds": 32},
    ex.Size.LARGE: {"dim": [8000, 30_000, 100_000], "seeds": 32},
}
_RULE = {
    "target": "He3(h1)",
    "step_size": "0.1/d",
    "loss": "correlation",
    "constraint": "spherical",
    "start": "orthogonal",
    "design": "virtual",
    "observe": ["overlap"],
}
_TANH = {"activation": "tanh", "biases": 0.5, "times": np.arange(0.0, 82.5, 2.5).tolist()}
_RELU = {"activation": "relu", "times": np.arange(0.0, 105.0, 5.0).tolist()}
_INNER, _PLAIN, _OTHER = "extragradient", "plain", "relu"
# |m| at the end, and the time of half of it, as a prototype measured them.
_EARLIER = {(_INNER, 8000): 0.964, (_INNER, 2000): 0.964, (_PLAIN, 8000): 0.022, (_OTHER, 2000): 0.652}
_EARLIER_HALF = {500: 25.0, 2000: 25.6, 8000: 26.0}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The same rule with the inner step and without, at several dimensions; and a relu neuron beyond the quick size."""
    seeds, axes = {"seeds": _SIZES[size]["seeds"]}, {"dim": _SIZES[size]["dim"]}
    inner = {"learner": "extragradient", "inner_step": "0.3/d"}
    plain = {"learner": "online-sgd"}
    parts = {
        _INNER: ex.Part(ex.Study({**_RULE, **_TANH, **seeds, **inner}, axes, key=11), words="with the inner step"),
        _PLAIN: ex.Part(ex.Study({**_RULE, **_TANH, **seeds, **plain}, axes, key=12), words="one-pass SGD"),
    }
    if size is not ex.Size.QUICK:
        relu = {**_RULE, **_RELU, **seeds, **inner, "inner_step": "0.1/d"}
        parts[_OTHER] = ex.Part(ex.Study(relu, {"dim": [2000]}, key=13), words="with the inner step, relu")
    return parts


def theory(data: ex.Data) -> ex.Data:
    """The limit of large d: the same for every dimension, for steps are c/d and the start has no overlap."""
    return {name: ex.predict_at(part, dim=int(part["dim"].values[-1])) for name, part in data.items()}


_SIZE, _HALF_TIME = ex.magnitude("overlap"), ex.hitting_time("overlap", RECOVERED)
_END = {"dim": ex.LAST, "time": ex.LAST}

EXHIBIT = ex.Exhibit(
    id="extragradient",
    title="Extragradient breaks the information exponent",
    claim="With an inner step on the same sample, one pass over O(d) samples finds He3; plain SGD does not.",
    document=ex.MULTI_INDEX,
    papers=("arnaboldi2024",),
    protocol="One neuron tanh(z + 1/2) on the sphere, correlation loss, steps .1/d, inner step .3/d, from a start "
    "orthogonal to the direction; recovered means |m| > 1/2 after 80 d samples. A plain relu neuron would be no fair "
    "control: it has no drift for He3 at any overlap. With the inner step (.1/d) it is shown at the larger sizes.",
    caption="Lines are the limit of large d, points the mean over seeds with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "the overlap {words} follows the limit of large d at d = {dim}": ex.Agrees(
            "overlap", (_INNER, _OTHER), each="dim", signless=True
        ),
        "with the inner step the direction is found (|m| > 0.5) after {time:g} d samples": ex.Contrast(
            ex.Of(_SIZE, _INNER, _END), ex.Of(_SIZE, _PLAIN, _END), beyond=RECOVERED
        ),
        "half of the overlap is there after {predicted:.1f} d samples, also at d = {dim}": ex.Close(
            ex.Of(_HALF_TIME, _INNER), each="dim", allowance=ex.root_d()
        ),
    },
    numbers={
        "|m| {words}, d = {dim}": ex.Value(
            ex.Of(_SIZE, where={"time": ex.LAST}), each="dim", earlier=_EARLIER, by=("study", "dim")
        ),
        "half time, d = {dim}": ex.Value(ex.Of(_HALF_TIME, _INNER), each="dim", earlier=_EARLIER_HALF),
    },
    figure={
        "He3: every sample used twice": ex.Panel(
            ex.Overlay(ex.Of(_SIZE, where={"dim": ex.LAST}), "time", points="{words}, d = {dim}", thin=2),
            x=ex.PER_DIM,
            y="overlap |m|",
            legend="center right",
            ylim=(None, 1.0),
        )
    },
    shows=("generative_exponent", "batch_reuse"),
)
