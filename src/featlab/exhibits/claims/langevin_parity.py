"""Noisy gradient descent of a wide network learns a k-parity of d signs from n = Theta(d^(1-alpha)) samples, whatever k
(Suzuki et al. 2023 for alpha = 0; Nitanda, Oko, Suzuki, Wu 2024).

alpha says how much larger the k relevant coordinates are, d^(alpha/2) times. The theorems are upper bounds, for a
temperature of order d^-(1-alpha) and exp(O(d^(1-alpha))) steps; here it is T = 4 d^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

REACHED = 0.9
_EARLY, _LATE = 1, 4  # steps over d^2
_COUNTS, _FACTOR = 4, 1.35  # numbers of samples at one d, and what lies between two of them
_ALPHAS = (0.0, 0.25, 0.5, 0.75)
# n90 / d^(1-alpha) as earlier runs at T = 24 d and 96 d suggest, by k and alpha: the middle of the numbers of samples.
_EARLIER = {(2, 0.0): 6.8, (2, 0.25): 7.5, (2, 0.5): 10.0, (2, 0.75): 15.0, (3, 0.5): 14.0}
_DIMS = {0.0: [24, 48, 96], 0.25: [48, 96, 192], 0.5: [48, 96, 192], 0.75: [24, 48, 96]}
_AT_ONE = {2: 64, 3: 128}  # samples, at d = 24
_POINT = "alpha_dim_middle"


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The accuracy at one n over alpha; beyond quick n90 over dimensions, too."""
    quick, kind = size is ex.Size.QUICK, f"{__name__}:RUNNER"

    def order(k: int) -> ex.Part:
        fixed = {"order": k, "dim": 24, "middle": _AT_ONE[k], "counts": 1, "times": [_EARLY]}
        axes = {"alpha": list(_ALPHAS[: 3 if quick else 4])}
        return ex.Part(ex.Study({**fixed, "seeds": 8 if quick else 24}, axes, key=60 + k), kind)

    def grows(k: int) -> ex.Part:
        own = {alpha: middle for (order, alpha), middle in _EARLIER.items() if order == k}
        points = [[a, dim, own[a] * dim ** claimed_exponent(a)] for a in own for dim in _DIMS[a]]
        fixed = {"order": k, "counts": _COUNTS, "times": [_EARLY, _LATE], "seeds": 24}
        return ex.Part(ex.Study(fixed, {"alpha,dim,middle": points}, key=80 + k), kind)

    parts = {f"order-{k}": order(k) for k in _AT_ONE}
    return parts if quick else {**parts, **{f"grows-{k}": grows(k) for k in _AT_ONE}}


def claimed_exponent(alpha: float) -> float:
    """Of n in d, by the theorems."""
    from featlab.theory.parity import parity_bounds

    return parity_bounds(alpha).samples


def _numbers(middle: float, counts: int) -> list[int]:
    """Of samples."""
    return [round(middle * _FACTOR ** (place - (counts - 1) / 2)) for place in range(counts)]


def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Every seed, at all numbers of samples."""
    from featlab.learners.langevin import LangevinDynamics, MeanFieldTanh
    from featlab.learners.steps import StepLaw
    from featlab.simulation.parity_grid import Parity, parity_accuracies

    alpha, dim, times, seeds = point["alpha"], point["dim"], point["times"], point["seeds"]
    steps, parity = [time * dim**2 for time in times], Parity(point["order"], dim, alpha)
    learner = LangevinDynamics(steps[-1], temperature=StepLaw(0.1, claimed_exponent(alpha)))
    samples = _numbers(point["middle"], point["counts"])
    found = parity_accuracies(learner, MeanFieldTanh(), parity, samples=samples, seeds=seeds, times=steps, key=key)
    return [
        {"seed": seed, "time": time, "accuracy": found[place, seed].tolist()}
        for place, time in enumerate(times)
        for seed in range(seeds)
    ]


RUNNER = Runner(run_point, numerics="2", index=("seed", "time"), axes={"accuracy": ("count",)})


def _cases(view: ex.View) -> list[tuple[int, float]]:
    """k and alpha where n90 was measured over dimensions."""
    return [(k, alpha) for k, alpha in _EARLIER if view.studies(f"grows-{k}")]


def _n90(view: ex.View, k: int, alpha: float, time: int = _LATE) -> np.ndarray:
    """Dimensions, at which n the mean accuracy is 90%, and its error; as rows."""
    from featlab.gaussian.crossings import crossing_with_error

    found = []
    for dim in _DIMS[alpha]:
        there = {"time": time, _POINT: lambda at, dim=dim: (at["alpha"], at["dim"]) == (alpha, dim)}
        runs = view.measured(ex.Of("accuracy", f"grows-{k}", there)).values.reshape(-1, _COUNTS)
        samples = _numbers(_EARLIER[k, alpha] * dim ** claimed_exponent(alpha), _COUNTS)
        found.append((float(dim), *crossing_with_error(samples, runs, REACHED)))
    return np.transpose(found)


def _exponents(view: ex.View, statement: str) -> list[ex.Check]:
    """Not above the claimed one, but above that of the next alpha."""
    from featlab.exhibits.checks import exponent_at_most

    control, needs = "the exponent of the next alpha", "several dimensions: the paper size, d to 192"
    words = "n90 grows at most like d^(1-alpha)"
    few = ex.Check(words, ex.CheckResult.CANNOT_TELL, "one dimension only.", control, refused=False, needs=needs)
    found = []
    for k, alpha in _cases(view):
        claimed = claimed_exponent(alpha)
        words = statement.format(k=k, alpha=alpha, claimed=claimed, steps=f"{_LATE} d^2")
        dims, samples, errors = _n90(view, k, alpha)
        found.append(exponent_at_most(words, dims, samples, errors, claimed, wrong=claimed - 0.25))
    return found or [few]


def _tabled(view: ex.View, name: str) -> list[ex.Number]:
    found = []
    for k, alpha in _cases(view):
        for time in (_EARLY, _LATE):
            points = _n90(view, k, alpha, time)
            if not np.isfinite(points).all():  # 90% was not reached everywhere by then
                continue
            measured = ex.exponent_and_error(*points)
            words = name.format(k=k, alpha=alpha, steps=f"{time} d^2")
            found.append(ex.Number(words, claimed_exponent(alpha), *measured))
    return found


def _draw(axes: Any, view: ex.View) -> None:
    from featlab.figures.panels import measured_points, theory_line

    for series, (k, alpha) in enumerate(_cases(view)):
        (dims, samples, errors), claimed = _n90(view, k, alpha), claimed_exponent(alpha)
        middle = np.exp(np.mean(np.log(samples) - claimed * np.log(dims)))
        theory_line(axes, dims, middle * dims**claimed, series=series)
        measured_points(axes, dims, samples, errors, series=series, label=f"k = {k}, alpha = {alpha:g}")
    axes.set(xscale="log", yscale="log")


_ORDERED = ex.Of("accuracy", ("order-2", "order-3"), {"time": ex.LAST, "count": ex.FIRST}, "alpha = {alpha:g}")

EXHIBIT = ex.Exhibit(
    id="langevin-parity",
    title="Langevin dynamics on sparse parities",
    claim="Noisy gradient descent of a wide network learns a k-parity of d signs from n = Theta(d^(1-alpha)) samples, "
    "whatever k, if the k relevant coordinates are d^(alpha/2) times larger than the others.",
    document=ex.STRUCTURED_DATA,
    papers=("suzuki2023", "nitanda2024"),
    protocol="x = A z, z uniform on {+-1/sqrt d}^d; 256 neurons 15 [tanh(<w, x> + b) + 2 tanh(c)] / 3 from N(0, I), "
    "logistic loss, steps .2, temperature lambda = .1/d^(1-alpha), weight decay 2 lambda lambda1 X, lambda1 = .1. n90 "
    "is where the accuracy, averaged over 24 seeds, reaches 90% (increasing by least squares, linear in log n; error "
    "by the jackknife), after T = 4 d^2 steps. Its exponent over three dimensions must not be "
    "above 1 - alpha at 99%, for the theorems say what suffices, and must be above that of the next alpha.",
    caption="Points are measured, with two standard errors; lines have the claimed slopes.",
    studies=studies,
    checks={
        "{order}-parity, d = {dim}, n = {middle}: the accuracy increases with alpha": ex.Ordered(
            _ORDERED, along="alpha"
        ),
        "{k}-parity, alpha = {alpha:g}: after T = {steps} steps n90 grows at most like d^{claimed:g}": _exponents,
    },
    numbers={
        "accuracy, k = {order}, d = {dim}, n = {middle}, alpha = {alpha:g}": ex.Value(_ORDERED, False, each="alpha"),
        "exponent of n90, k = {k}, alpha = {alpha:g}, T = {steps}": _tabled,
    },
    remarks=(
        (
            "Earlier runs had the temperature .1/d at every alpha, which is too cold, and T = 24 d and 72 d. The first "
            "runs of this protocol had T = 96 d for alpha > 0 and d = 96 to 384, which is too short: exponents .97, "
            ".61, .19 for alpha = 1/4, 1/2, 3/4 and .68 for k = 3, and where they miss, n90 still fell by 10 to 33% "
            "from T = 24 d to 96 d; with T = 4 d^2, alpha = 0, it was 1.03. So T = 4 d^2 was taken for all, with new "
            "seeds. That the table leaves out an exponent at T = d^2 where 90% was not reached was added after these "
            "runs."
        ),
        "k = 3 is measured at alpha = 1/2: a third-order signal takes T of order d^(3(1-alpha)/2) to be seen.",
    ),
    figure={
        "samples for 90% accuracy": ex.Panel(
            _draw, only=_cases, x="dimension d", y="n90", legend="upper left", ticks={"x": [24, 48, 96, 192]}
        ),
        "accuracy at one number of samples": ex.Panel(
            ex.Overlay(_ORDERED, "alpha", None, "{order}-parity, d = {dim}, n = {middle}"),
            ex.Mark(0.5, "chance", along="y"),
            x="anisotropy alpha",
            y="accuracy on fresh samples",
            legend="center right",
            xlim=(-0.05, 0.8),
            ylim=(0.45, 1.03),
        ),
    },
)
