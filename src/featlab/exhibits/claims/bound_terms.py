"""The terms of the bound after one step (Damian, Lee, Soltanolkotabi 2022): on n >~ d^2 kappa^2 r samples the mean
absolute error of Algorithm 1 is at most of order

    sqrt(d r^p kappa^(2p) / n) + sqrt(r^p kappa^(2p) / m) + n^(-1/4),

f of degree p in r directions, H = E grad^2 f of rank r, kappa = |H^+|/sqrt r, m neurons. So it grows with the rank at
most like r^(p/2), with the condition number at most like kappa^p, with the dimension at most like d^(1/2), and falls at
least like n^(-1/4) in the samples and m^(-1/2) in the width, as long as that term is the largest. Each is what
suffices: the exponents are not claimed to be sharp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEGREE = 3
CUBIC = 0.3  # share of the variance in He3
_TESTED = 4000
_PENALTIES = 10.0 ** np.arange(-7, 1)
_CHUNK = 8192
# What is fixed for all sweeps: dimension, rank, kappa over its least, neurons, samples; and runs.
_SIZES: dict[ex.Size, tuple[dict[str, Any], int]] = {
    ex.Size.QUICK: ({"dim": 12, "rank": 2, "kappa": 1.0, "width": 128, "samples": 2**14}, 8),
    ex.Size.PAPER: ({"dim": 16, "rank": 2, "kappa": 1.0, "width": 512, "samples": 2**17}, 32),
    ex.Size.LARGE: ({"dim": 32, "rank": 2, "kappa": 1.0, "width": 1024, "samples": 2**20}, 32),
}
_SWEEPS: dict[str, dict[ex.Size, list[Any]]] = {
    "rank": {size: [2, 4, 8] for size in ex.Size},
    "kappa": {size: [1.0, 2.0, 4.0] for size in ex.Size},
    "width": {
        ex.Size.QUICK: [8, 16, 32],
        ex.Size.PAPER: [8, 16, 32, 64],
        ex.Size.LARGE: [16, 32, 64, 128],
    },
    "dim": {ex.Size.QUICK: [6, 12, 24], ex.Size.PAPER: [8, 16, 32, 64], ex.Size.LARGE: [16, 32, 64, 128]},
    "samples": {
        ex.Size.QUICK: [2**9, 2**10, 2**11],
        ex.Size.PAPER: [2**10, 2**11, 2**12, 2**13],
        ex.Size.LARGE: [2**12, 2**13, 2**14, 2**15],
    },
}
BOUNDS = {"rank": DEGREE / 2, "kappa": float(DEGREE), "width": -0.5, "dim": 0.5, "samples": -0.25}
WRONG = {"rank": 0.0, "kappa": 0.0, "width": -1.5, "dim": -0.5, "samples": -1.0}
_WORDS = {
    "rank": "grows with the rank at most like r^(p/2)",
    "kappa": "grows with the condition number at most like kappa^p",
    "width": "falls with the width at least like m^(-1/2)",
    "dim": "grows with the dimension at most like d^(1/2)",
    "samples": "falls with the samples at least like n^(-1/4)",
}
_AXES = {
    "rank": "rank r",
    "kappa": "kappa over its least",
    "width": "neurons m",
    "dim": "dimension d",
    "samples": "samples n",
}


def labels(x: np.ndarray, rank: int, kappa: float) -> np.ndarray:
    """sum_k l_k He2(x_k) + c sum_k He3(x_k), of variance 1, `CUBIC` of it cubic; l_1 is smaller than the others by
    kappa (for rank 1 there is none other, and kappa is 1)."""
    sizes = np.ones(rank)
    sizes[0] /= kappa
    h = x[:, :rank]
    square = (h**2 - 1) @ sizes / np.sqrt(2 * np.sum(sizes**2))
    cube = np.sum(h**3 - 3 * h, axis=1) / np.sqrt(6 * rank)
    return np.sqrt(1 - CUBIC) * square + np.sqrt(CUBIC) * cube


def algorithm(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The mean absolute error of Algorithm 1: labels without mean and linear part, one step that replaces the first
    layer, new biases N(0, 1), ridge regression on the same samples; of the penalties the best on half of the fresh
    samples, the error on the other half."""
    draw, (dim, width) = np.random.default_rng(key), (point["dim"], point["width"])
    x = draw.standard_normal((point["samples"], dim))
    y = labels(x, point["rank"], point["kappa"])
    mean, linear = y.mean(), y @ x / len(x)
    left = y - mean - x @ linear
    start = draw.standard_normal((width, dim)) / np.sqrt(dim)
    signs = np.resize([1.0, -1.0], width)
    layer = sum(((x[at] @ start.T > 0) * left[at, None]).T @ x[at] for at in _chunks(len(x)))
    layer *= signs[:, None] / np.sqrt(np.mean(np.sum(layer**2, axis=1)))
    biases = draw.standard_normal(width)
    gram, pull = np.zeros((width, width)), np.zeros(width)
    for at in _chunks(len(x)):
        features = np.maximum(x[at] @ layer.T + biases, 0) / np.sqrt(width)
        gram += features.T @ features / len(x)
        pull += features.T @ left[at] / len(x)
    test = draw.standard_normal((2 * _TESTED, dim))
    goal = labels(test, point["rank"], point["kappa"]) - mean - test @ linear
    values, vectors = np.linalg.eigh(gram)
    turned = np.maximum(test @ layer.T + biases, 0) / np.sqrt(width) @ vectors
    fitted = turned @ ((vectors.T @ pull)[:, None] / (values[:, None] + _PENALTIES))
    errors = np.abs(fitted - goal[:, None])
    best = np.argmin(errors[:_TESTED].mean(axis=0))
    return [{"error": float(errors[_TESTED:, best].mean())}]


def _chunks(count: int) -> list[slice]:
    return [slice(at, at + _CHUNK) for at in range(0, count, _CHUNK)]


ALGORITHM = Runner(algorithm)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """One sweep for each term of the bound, the other sizes kept."""
    fixed, repeats = _SIZES[size]

    def part(place: int, name: str) -> ex.Part:
        others = {one: value for one, value in fixed.items() if one != name}
        study = ex.Study(others, {name: _SWEEPS[name][size]}, repeats=repeats, key=531 + place)
        return ex.Part(study, f"{__name__}:ALGORITHM", words=_WORDS[name])

    return {name: part(place, name) for place, name in enumerate(_SWEEPS)}


def _bounded(name: str) -> ex.Exponent:
    return ex.Exponent(ex.Of("error", name), name, BOUNDS[name], wrong=WRONG[name], at_most=True)


def _draw(name: str) -> Any:
    """The errors of one sweep and a line with the slope of the bound, through the first point."""

    def drawn(axes: Axes, view: ex.View) -> None:
        from featlab.figures.panels import measured_points, theory_line

        x, found = view.data[name][name].values, view.measured(ex.Of("error", name)).values
        measured_points(axes, x, found.mean(axis=0), ex.standard_error(found), label="Algorithm 1")
        line = found[:, 0].mean() * (x / x[0]) ** BOUNDS[name]
        theory_line(axes, x, line, series=1, label=f"slope of the bound, {BOUNDS[name]:g}")

    return drawn


EXHIBIT = ex.Exhibit(
    id="bound-terms",
    title="The terms of the bound after one step",
    claim="One step and a trained second layer leave an error of at most sqrt(d r^p kappa^(2p)/n) + sqrt(r^p "
    "kappa^(2p)/m) + n^(-1/4).",
    document=ex.FIRST_STEP,
    papers=("damian2022",),
    protocol="Algorithm 1 on f = He2 and He3 of r directions, degree p = 3, variance 1 of which .3 is cubic; one "
    "eigenvalue of H is kappa times smaller than the others. The second layer by ridge regression on the same "
    "samples, the penalty by fresh ones. d = 16, r = 2, kappa = 1, m = 512, n = 2^17 (12, 2, 1, 128, 2^14 at quick "
    "size), of which one is changed at a time, the samples from d^2 r to 16 d^2 r, so that their term is the largest. "
    "The mean absolute error may not grow faster, or fall slower, than the terms of the bound; the same data must "
    "refuse that it does not depend on r or kappa at all, and that it falls like m^(-3/2), like 1/n or like d^(-1/2).",
    caption="Points: means over runs with two standard errors. Lines have the slope of the bound, and start at the "
    "first point.",
    studies=studies,
    checks={f"the error {words}": _bounded(name) for name, words in _WORDS.items()},
    numbers={
        f"error, {words} {{{name}:g}}": ex.Value(ex.Of("error", name), predicted=False, each=name)
        for name, words in _AXES.items()
    },
    remarks="The bound says what suffices, and is not called sharp: an exponent below that of its term is no "
    "objection.",
    settled="First runs at quick size swept n = 2^12 to 2^14, where with 128 neurons the term of the width counts as "
    "much, and r from 1; the exponents were -.19 for n and 1.32 for r, 99% intervals reaching the bound in n.",
    figure={
        words: ex.Panel(_draw(name), x=words, y="mean absolute error", xscale="log", yscale="log")
        for name, words in _AXES.items()
    },
    shows=("residuals",),
)
