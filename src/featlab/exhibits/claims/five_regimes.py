"""How much of one target is learned after one step and a second layer: five regimes of samples n and neurons p.

f = x1 + H2(x2) + H2(x1) x2 + H4(x1) H2(x2) x3 + H2(x2) H2(x3), of variance 57. One giant step on n ~ d^a samples finds
the subspace U of the parts of degree <= a; a second layer of p ~ d^b neurons leaves ||P_{U,>k} f||^2, k = min(a, b)
(Dandi et al. 2023, conjecture 3; the case k = 1 is proven).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REST = "He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)"
_TARGET = f"h1 + {_REST}"
_TERMS = ("x1", "H2(x2)", "H2(x1) x2", "H4(x1) H2(x2) x3", "H2(x2) H2(x3)")
_ENERGIES = np.array([1.0, 2.0, 2.0, 48.0, 4.0])
_NARROW = 24  # neurons where p does not grow
_TEST = 20_000


@dataclass(frozen=True)
class Regime:
    """n ~ d^samples and p ~ d^width; what the talk says is learned: directions, variance left, the new term."""

    samples: int
    width: int
    known: int
    left: float
    new: int  # the place in _TERMS of the term that it learns and the regime before does not


_REGIMES = {
    "n ~ d, p ~ 1": Regime(1, 0, 1, 56.0, 0),
    "n ~ d, p ~ d": Regime(1, 1, 1, 54.0, 2),
    "n ~ d^2, p ~ 1": Regime(2, 0, 2, 52.0, 1),
    "n ~ d^2, p ~ d": Regime(2, 1, 2, 4.0, 3),
    "n ~ d^2, p ~ d^2": Regime(2, 2, 2, 0.0, 4),
}
_LEFT = np.array([regime.left for regime in _REGIMES.values()])
_OWN = np.array([regime.new for regime in _REGIMES.values()])
_SIZES = {ex.Size.QUICK: ([16], 8), ex.Size.PAPER: ([12, 20, 32], 16), ex.Size.LARGE: ([20, 32, 48], 16)}
_COSINES = {"n = 8 d": (0.347, 0.038, 0.031), "n = 8 d^2": (0.042, 0.302, 0.028)}  # of a prototype at d = 1000


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """All regimes at each d; and, beyond quick, the directions that one step finds at d = 1000."""
    dims, seeds = _SIZES[size]
    fit = ex.Study({"samples_per": 64}, {"dim": dims, "regime": list(_REGIMES)}, repeats=seeds, key=283)
    own = {"regime": {name: _TERMS[regime.new] for name, regime in _REGIMES.items()}}
    parts = {"fit": ex.Part(fit, f"{__name__}:RUNNER", names=own)}
    if size is ex.Size.QUICK:
        return parts
    student = {"learner": "giant-steps", "width": 16, "second_layer": "signs", "paired": True, "dim": 1000, "seeds": 8}
    for name, leap, text in zip(_COSINES, (1, 2), (_TARGET, _REST), strict=True):
        point = {**student, "target": text, "leap": leap, "samples": 8 * 1000**leap, "times": [1], "design": "virtual"}
        parts[name] = ex.Part(ex.Study(point, key=282, observe=["cosine"]))
    return parts


def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """One seed: the risk, the coefficient of each term in the fitted function, the rms cosine with each direction."""
    from featlab.simulation.one_step_fits import Terms, step_and_fit

    dim, regime = point["dim"], _REGIMES[point["regime"]]
    samples, width = point["samples_per"] * dim**regime.samples, (_NARROW, 8 * dim, 2 * dim**2)[regime.width]
    sizes = {"dim": dim, "samples": samples, "width": width, "test": _TEST}
    found = step_and_fit(Terms(terms, _ENERGIES), **sizes, rest=dim ** ((regime.samples - 1) / 2), seed=key)
    values = {"coefficient": found.coefficients, "cosine": found.cosines[:3]}
    return [{"risk": found.risk, **{name: value.tolist() for name, value in values.items()}}]


RUNNER = Runner(run_point, axes={"coefficient": ("term",), "cosine": ("direction",)})


def terms(inputs: np.ndarray) -> np.ndarray:
    """The five terms of the target, (n, 5)."""
    from featlab.gaussian.hermite import hermite

    first, second, third = inputs[:, 0], inputs[:, 1], inputs[:, 2]
    two = [hermite(2, field) for field in (first, second, third)]
    return np.column_stack([first, two[1], two[0] * second, hermite(4, first) * two[1] * third, two[1] * two[2]])


def theory(data: ex.Data) -> ex.Data:
    """The variance that remains in each regime; and with one direction less in the last but one."""
    import xarray as xr

    def left(known: int, degree: int) -> float:
        from featlab.theory import unexplained_variance

        return round(unexplained_variance(_TARGET, np.eye(3)[:known], degree).value, 9) + 0.0

    risk = [left(regime.known, min(regime.samples, regime.width)) for regime in _REGIMES.values()]
    return {"fit": xr.Dataset({"risk": ("regime", risk), "less": left(1, 1)}, {"regime": list(_REGIMES)})}


def least_of_all(data: ex.Dataset) -> ex.Array:
    """The risk with the most samples and neurons, as far from each variance as it is from the one with the fewest."""
    return data["risk"].isel(regime=-1, drop=True) + data["regime"].copy(data=_LEFT - _LEFT[0])


def own_term(data: ex.Dataset) -> ex.Array:
    """Of each regime the coefficient of the term that it is the first to learn."""
    import xarray as xr

    return data["coefficient"].isel(regime=xr.DataArray(range(len(_OWN)), dims="regime"), term=("regime", _OWN))


def mean_square(data: ex.Dataset) -> ex.Array:
    """Of the cosines, over neurons."""
    return (data["cosine"] ** 2).mean("neuron")


def _learned(view: ex.View, statement: str) -> list[ex.Check]:
    """Every regime's own term has a larger coefficient than in the regime before it."""
    from featlab.exhibits.checks import ordered

    checks = []
    for before, name in pairwise(_REGIMES):
        term = _REGIMES[name].new
        samples = view.measured(ex.Of("coefficient", "fit", {"term": ex.Nth(term)}))
        words = statement.format(term=_TERMS[term], name=name, before=before)
        check = ordered(words, {one: samples.isel(dim=-1).sel(regime=one).values for one in (before, name)})
        if check.result is not ex.CheckResult.HOLDS:
            # The claim is one of large d: at one d it cannot fail, only not be seen.
            gains = (samples.sel(regime=name) - samples.sel(regime=before)).mean("run").values
            grows = len(gains) > 1 and gains[-1] > max(gains[0], 0.0)
            trend = ", ".join(f"{gain:.3f}" for gain in gains)
            needs = f"larger d: the gain in its coefficient is {trend} at d = {samples['dim'].values.tolist()}"
            check = replace(
                check, result=ex.CheckResult.CONVERGES if grows else ex.CheckResult.CANNOT_TELL, needs=needs
            )
        checks.append(check)
    return checks


def _draw_terms(axes: Axes, view: ex.View) -> None:
    """Fitted over true coefficients, in bold where the limit learns the term."""
    from featlab.figures.tables import shaded_table

    shown = view.measured(ex.Of("coefficient", "fit", _LARGEST)).mean("run").transpose("term", "regime").values
    learned = [[term in _OWN[: place + 1] for place in range(len(_OWN))] for term in range(len(_TERMS))]
    shaded_table(axes, shown, np.array(learned), _TERMS)
    axes.set_xlabel(f"d = {view.data['fit']['dim'].values[-1]}")


def _draw_limits(axes: Axes, view: ex.View) -> None:
    for place, left in enumerate(view.theory["fit"]["risk"].values):
        axes.plot([place - 0.3, place + 0.4], [left, left], color="black", label=None if place else "limit")


_TICKS = {"x": {float(place): name.replace(", ", "\n") for place, name in enumerate(_REGIMES)}}
_LARGEST = {"dim": ex.LAST}

EXHIBIT = ex.Exhibit(
    id="five-regimes",
    title="Five regimes of samples and neurons",
    claim="After one giant step and a trained second layer, 56, 54, 52, 4 and 0 of a variance of 57 remain for "
    "(n, p) ~ (d, 1), (d, d), (d^2, 1), (d^2, d), (d^2, d^2).",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="One step of relu neurons on n = 64 d or 64 d^2 samples, then ridge regression on n fresh ones "
    "(penalty best on a validation set) on 24, 8 d or 2 d^2 neurons with N(0, 1) biases, the inputs and a constant. "
    "For n ~ d^2 the linear part of the labels counts 1/sqrt(d) of the rest in the step, or no other direction would "
    "be found. The coefficient of a term is that of the fitted function; 1 is fully learned.",
    caption="Left: coefficients, in bold where the limit learns the term. Right: risk with two standard errors; bars "
    "are the limit.",
    studies=studies,
    theory=theory,
    checks={
        "the variances left are 56, 54, 52, 4, 0 of 57": ex.Identity(
            lambda view, at: float(np.max(np.abs(view.theory["fit"]["risk"].values - _LEFT))),
            1e-6,
            control="one direction less",
            control_difference=lambda view, at: at["less"] - _REGIMES["n ~ d^2, p ~ d"].left,
        ),
        "d = {dim}: no risk is below the variance that remains": ex.Above(
            ex.Of("risk", "fit", _LARGEST),
            "risk",
            ex.Of(least_of_all, "fit", _LARGEST),
            "the most samples and neurons, against what remains with the fewest",
        ),
        "{term} is learned for {name}, less for {before}": _learned,
    },
    numbers={
        "risk, d = {dim}, {regime}": ex.Value(ex.Of("risk", "fit"), each=("dim", "regime")),
        "coefficient of {regime_words}, d = {dim}, {regime}": ex.Value(
            ex.Of(own_term, "fit"), 1.0, each=("dim", "regime")
        ),
        **{
            f"rms cosine with w{place + 1}*, d = 1000, {{study}}": ex.Value(
                ex.Of(mean_square, tuple(_COSINES), {"direction": ex.Nth(place), "time": ex.FIRST}),
                predicted=False,
                earlier={study: cosines[place] for study, cosines in _COSINES.items()},
                by="study",
                summary=ex.root_mean_square,
            )
            for place in range(3)
        },
    },
    remarks="H4(x1) H2(x2) x3 carries 48 of the 57 and is so heavy-tailed that samples of it say little at these "
    "sizes: the values are far from the limit, and what is tested is which regime begins to learn which term.",
    figure={
        "coefficient of each term": ex.Panel(_draw_terms, ticks=_TICKS),
        "variance left": ex.Panel(
            ex.Overlay(
                ex.Of("risk", "fit"),
                "regime",
                None,
                "d = {dim}",
                x=lambda values, at: np.arange(len(_REGIMES)) + at["dim"] / 200,  # side by side
                each="dim",
            ),
            _draw_limits,
            y="risk",
            legend="lower left",
            ticks=_TICKS,
        ),
    },
    shows=("residuals",),
)
