"""Noisy gradient descent of a wide network learns a k-parity of d signs from n = Theta(d^(1-alpha)) samples, whatever k
(Suzuki et al. 2023 for alpha = 0; Nitanda, Oko, Suzuki, Wu 2024).

alpha says how much larger the k relevant coordinates are, d^(alpha/2) times. The theorems are upper bounds, and for a
number of steps exp(O(d^(1-alpha))); here it is T = 24 d, and what three times more steps change is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from featlab import exhibits as ex

REACHED = 0.9
SHORT, LONG = 24, 72  # steps over dimension
_TWO = "sign(h1*h2)"
_EARLIER = {(SHORT, 0.0): 1.04, (SHORT, 0.25): 0.83, (SHORT, 0.5): 0.50, (SHORT, 0.75): 0.26}
# The smallest of five numbers of samples, a factor sqrt(2) apart, around n90 as a pilot had placed it; by alpha and d.
_FEWEST = {
    0.0: {12: 57, 24: 113, 48: 320, 96: 1500},
    0.25: {12: 28, 24: 57, 48: 113, 96: 226},
    0.5: {12: 17, 24: 24, 48: 40, 96: 68},
    0.75: {12: 14, 24: 14, 48: 20, 96: 20},
}
_RULE: dict[str, Any] = {"learner": "langevin", "width": 256, "design": "dense", "observe": ["accuracy"]}
_ORDERS, _DIMS = ("two", "three"), {f"d{dim}": dim for dim in _FEWEST[0.0]}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """At every size the accuracy at one n over alpha; beyond quick also three signs, and n90 over dimensions."""
    quick = size is ex.Size.QUICK

    def order(k: int, parity: str, samples: int) -> ex.Part:
        fixed = {**_RULE, "target": parity, "dim": 24, "samples": samples, "steps": 24 * SHORT, "times": [24 * SHORT]}
        axes = {"hypercube": list(_FEWEST)[: 3 if quick else None]}
        return ex.Part(ex.Study({**fixed, "seeds": 8 if quick else 24}, axes, key=60 + k), facts={"order": k})

    def dimension(dim: int) -> ex.Part:
        ends = [SHORT * dim] if dim == 96 else [SHORT * dim, LONG * dim]
        pairs = [[alpha, round(least[dim] * 2 ** (step / 2))] for alpha, least in _FEWEST.items() for step in range(5)]
        fixed = {**_RULE, "target": _TWO, "dim": dim, "steps": ends[-1], "times": ends, "seeds": 2 if dim == 96 else 4}
        repeats = 16 if size is ex.Size.LARGE else 6
        return ex.Part(ex.Study(fixed, {"hypercube,samples": pairs}, repeats=repeats, key=70 + dim))

    parts = {"two": order(2, _TWO, 64)}
    if not quick:
        parts |= {"three": order(3, "sign(h1*h2*h3)", 128), **{name: dimension(dim) for name, dim in _DIMS.items()}}
    return parts


def claimed_exponent(alpha: float) -> float:
    """Of n in d, by the theorems."""
    from featlab.theory.parity import parity_bounds

    return parity_bounds(alpha).samples


def _alphas(view: ex.View) -> tuple[float, ...]:
    """At which n90 was measured over dimensions."""
    return tuple(_FEWEST) if view.studies(tuple(_DIMS)) else ()


def _n90(view: ex.View, alpha: float, steps: int) -> np.ndarray:
    """Dimensions, at which n the mean accuracy is 90% after so many steps over d, and its error; as rows."""
    from featlab.gaussian.crossings import crossing_with_error

    found = []
    for study in view.studies(tuple(_DIMS)):
        dim = _DIMS[study]
        if steps * dim in view.data[study]["time"].values:
            where = {"time": steps * dim, "hypercube_samples": lambda at: at["hypercube"] == alpha}
            runs = view.measured(ex.Of("accuracy", study, where))
            found.append((float(dim), *crossing_with_error(runs["samples"].values, runs.values, REACHED)))
    return np.transpose(found)


def _slopes(view: ex.View, statement: str) -> list[ex.Check]:
    """The exponent after 24 d steps; if it is not the claimed one, whether more steps bring it nearer."""
    from featlab.exhibits.checks import exponent

    found = []
    for alpha in _alphas(view):
        claimed, short, long = claimed_exponent(alpha), _n90(view, alpha, SHORT), _n90(view, alpha, LONG)
        (dims, samples, errors), words = short, statement.format(alpha=alpha, claimed=claimed)
        check = exponent(words, dims, samples, errors, claimed, wrong=claimed - 0.25)
        common = short[:, np.isin(short[0], long[0])]
        (before, before_error), (after, error) = (ex.exponent_and_error(*points) for points in (common, long))
        if check.result is not ex.CheckResult.HOLDS:
            detail = f"{check.detail} For d up to {long[0][-1]:g}, {before:.3f}; after {LONG} d steps, "
            detail += f"{after:.3f} +- {error:.3f}."
            nearer = abs(before - claimed) - abs(after - claimed) > 2 * np.hypot(before_error, error)
            result, needs = (ex.CheckResult.CONVERGES, _NEARER) if nearer else (ex.CheckResult.CANNOT_TELL, _NO_NEARER)
            check = replace(check, result=result, detail=detail, needs=needs)
        found.append(check)
    return found


_NEARER = "more steps: the theorem's T is exp(O(d)), and from 24 d to 72 d the exponent comes nearer"
_NO_NEARER = "the theorem's number of steps, T = exp(O(d)): 24 d and 72 d do not tell what it would give"


def _too_small(view: ex.View, statement: str) -> list[ex.Check]:
    control, needs = "the exponent of the next alpha", "several dimensions: the paper size, d = 12 to 96"
    check = ex.Check(statement, ex.CheckResult.CANNOT_TELL, "one dimension only.", control, refused=False, needs=needs)
    return [] if _alphas(view) else [check]


def _exponents(view: ex.View, name: str) -> list[ex.Number]:
    found = []
    for alpha, steps in product(_alphas(view), (SHORT, LONG)):
        measured, earlier = ex.exponent_and_error(*_n90(view, alpha, steps)), _EARLIER.get((steps, alpha))
        found.append(ex.Number(name.format(alpha=alpha, steps=steps), claimed_exponent(alpha), *measured, earlier))
    return found


def _draw_curves(axes: Any, view: ex.View) -> None:
    from featlab.figures.panels import measured_points, theory_line

    for series, alpha in enumerate(_alphas(view)):
        (dims, samples, errors), claimed = _n90(view, alpha, SHORT), claimed_exponent(alpha)
        middle = np.exp(np.mean(np.log(samples) - claimed * np.log(dims)))
        theory_line(axes, dims, middle * dims**claimed, series=series)
        words = f"alpha = {alpha:g}; line: slope {claimed:g}"
        measured_points(axes, dims, samples, errors, series=series, label=words)
    axes.set(xscale="log", yscale="log", ylim=(None, 6 * _n90(view, 0.0, SHORT)[1].max()))  # room for the legend


def _draw_exponents(axes: Any, view: ex.View) -> None:
    from featlab.figures.panels import measured_points, theory_line

    alphas = np.array(_alphas(view))
    theory_line(axes, alphas, [claimed_exponent(alpha) for alpha in alphas], label="claimed, 1 - alpha")
    for series, (steps, shift) in enumerate(((SHORT, -0.01), (LONG, 0.01)), start=1):
        exponents, errors = np.transpose([ex.exponent_and_error(*_n90(view, alpha, steps)) for alpha in alphas])
        words = f"measured, T = {steps} d"
        measured_points(axes, alphas + shift, exponents, errors, series=series, label=words)


_AT_ONE = ex.Of("accuracy", _ORDERS, {"time": ex.LAST}, "alpha = {hypercube:g}")
_ALPHA = "anisotropy alpha"

EXHIBIT = ex.Exhibit(
    id="langevin-parity",
    title="Langevin dynamics on sparse parities",
    claim="Noisy gradient descent of a wide network learns a k-parity of d signs from n = Theta(d^(1-alpha)) samples, "
    "whatever k, if the k relevant coordinates are d^(alpha/2) times larger than the others.",
    document=ex.STRUCTURED_DATA,
    papers=("suzuki2023", "nitanda2024"),
    protocol="x = A z, z uniform on {+-1/sqrt d}^d; 256 neurons 15 [tanh(<w, x> + b) + 2 tanh(c)] / 3 from N(0, I), "
    "logistic loss, steps .2, temperature lambda = .1/d, weight decay 2 lambda lambda1 X, lambda1 = .1. n90 is where "
    "the accuracy, averaged over seeds, reaches 90% (increasing by least squares, linear in log n; error by the "
    "jackknife). T = 24 d was fixed beforehand; that a missed exponent is judged by whether 72 d steps bring it nearer "
    "was decided after pilot runs at alpha = 0: the theorems' T is exponential. A run that does not have it cannot "
    "contradict them, so that a missed exponent leaves the claim open; this was decided after the paper size had "
    "missed it at alpha = 1/2. The control of an exponent is that of the next alpha.",
    caption="Points are measured, with two standard errors; lines have the claimed slopes.",
    studies=studies,
    checks={
        "{order}-parity, d = {dim}, n = {samples}: the accuracy increases with alpha": ex.Ordered(
            _AT_ONE, along="hypercube"
        ),
        "alpha = {alpha:g}: after T = 24 d steps n90 grows like d^{claimed:g}": _slopes,
        "n90 grows like d^(1-alpha)": _too_small,
    },
    numbers={
        "accuracy, k = {order}, d = {dim}, n = {samples}, alpha = {hypercube:g}": ex.Value(
            _AT_ONE, False, each="hypercube"
        ),
        "exponent of n90, alpha = {alpha:g}, T = {steps} d": _exponents,
    },
    remarks=(
        "n90 of 3 to 8 seeds scatters by a fifth where it is a few dozen samples: such exponents are off by up to .2.",
        "With alpha = 0 and T in proportion to d the steps are what limits, and the exponent falls as they grow.",
    ),
    figure={
        "2-parity, T = 24 d steps": ex.Panel(
            _draw_curves,
            only=_alphas,
            x="dimension d",
            y="samples for 90% accuracy, n90",
            legend="upper left",
            ticks={"x": list(_DIMS.values())},
        ),
        "exponent of n90": ex.Panel(_draw_exponents, only=_alphas, x=_ALPHA, y="exponent of d"),
        "accuracy at one number of samples": ex.Panel(
            ex.Overlay(_AT_ONE, "hypercube", None, "{order}-parity, d = {dim}, n = {samples}"),
            ex.Mark(0.5, "chance", along="y"),
            x=_ALPHA,
            y="accuracy on fresh samples",
            legend="center right",
            xlim=(-0.05, 0.8),
            ylim=(0.45, 1.03),
        ),
    },
)
