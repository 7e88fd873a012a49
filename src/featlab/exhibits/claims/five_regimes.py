"""How much of one target is learned after one step and a second layer: five regimes of samples n and neurons p.

One giant step on n ~ d^a samples finds the subspace U of the target's parts of degree <= a; p ~ d^b neurons then
leave ||P_{U,>k} f||^2, k = min(a, b) (Dandi et al. 2023, conjecture 3; the case k = 1 is proven).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TARGET = "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)"
_TERMS = ("x1", "H2(x2)", "H2(x1) x2", "H4(x1) H2(x2) x3", "H2(x2) H2(x3)")
_NARROW = 24  # neurons where p does not grow
_RATE, _SPREAD = 6.0, 3.0  # of the step, and of the biases: as wide as the fields after it
_TEST = 100_000
_GAIN = 0.1


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
_NAMES = list(_REGIMES)
_LEFT = np.array([regime.left for regime in _REGIMES.values()])
_OWN = np.array([regime.new for regime in _REGIMES.values()])
# n over its power of d, p over d, p over d^2.
_FEW: dict[str, Any] = {"samples_1": 64, "samples_2": 16, "width_1": 16, "width_2": 0}
_MANY: dict[str, Any] = {"samples_1": 0, "samples_2": 244, "width_1": 64, "width_2": 7}
_DIMS = {ex.Size.QUICK: ([40], []), ex.Size.PAPER: ([64, 512], [24, 48]), ex.Size.LARGE: ([64, 1024], [24, 64])}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The first three regimes in large dimensions; beyond quick the last three in small ones."""
    few, many = _DIMS[size]
    own = {"regime": {name: _TERMS[regime.new] for name, regime in _REGIMES.items()}}

    def part(fixed: dict[str, Any], dims: list[int], names: list[str], key: int) -> ex.Part:
        study = ex.Study(fixed, {"dim": dims, "regime": names}, repeats=6, key=key)
        return ex.Part(study, f"{__name__}:RUNNER", names=own)

    parts = {"few": part(_FEW, few, _NAMES[:3], 285)}
    return {**parts, "many": part(_MANY, many, _NAMES[2:], 286)} if many else parts


def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """One seed: the risk, the coefficient of each term in the fitted function, the rms cosine with each direction."""
    from featlab.simulation.terms_learned import Terms, step_and_fit

    dim, regime = point["dim"], _REGIMES[point["regime"]]
    samples = point[f"samples_{regime.samples}"] * dim**regime.samples
    width = point[f"width_{regime.width}"] * dim**regime.width if regime.width else _NARROW
    sizes = {"dim": dim, "samples": samples, "width": width, "test": _TEST, "rate": _RATE, "spread": _SPREAD}
    rest = dim ** ((regime.samples - 1) / 2)
    found = step_and_fit(Terms(terms, np.ones(len(_TERMS))), **sizes, rest=rest, seed=key)
    values = {"coefficient": found.coefficients, "cosine": found.cosines[:3]}
    return [{"risk": found.risk, **{name: value.tolist() for name, value in values.items()}}]


RUNNER = Runner(run_point, axes={"coefficient": ("term",), "cosine": ("direction",)})


def terms(inputs: Any) -> Any:
    """The five terms of the target, each of variance 1, (n, 5)."""
    import jax.numpy as jnp

    first, second, third = inputs[:, 0], inputs[:, 1], inputs[:, 2]
    one, two, three = ((field**2 - 1) / 2**0.5 for field in (first, second, third))
    four = (first**4 - 6 * first**2 + 3) / 24**0.5
    return jnp.stack([first, two, one * second, four * two * third, two * three], axis=1)


def theory(data: ex.Data) -> ex.Data:
    """The variance that remains of the talk's target in each regime; and of the last but one, with a direction less."""
    import xarray as xr

    def left(known: int, degree: int) -> float:
        from featlab.theory import unexplained_variance

        return round(unexplained_variance(_TARGET, np.eye(3)[:known], degree).value, 9) + 0.0

    risk = [left(regime.known, min(regime.samples, regime.width)) for regime in _REGIMES.values()]
    return {"limit": xr.Dataset({"left": ("regime", risk), "less": left(1, 1)}, {"regime": _NAMES})}


def _own(study: str, regime: str, term: int, dim: Any = ex.LAST) -> ex.Of:
    return ex.Of("coefficient", study, {"dim": dim, "regime": regime, "term": ex.Nth(term)})


def _gains(view: ex.View, statement: str) -> list[ex.Check]:
    """Every regime's own term has a coefficient larger by .1 than in the regime before it."""
    from featlab.exhibits.checks import ordered

    found = []
    for before, name in pairwise(_NAMES):
        study, term = "few" if name in _NAMES[:3] else "many", _REGIMES[name].new
        if view.studies(study):
            samples = {one: view.measured(_own(study, one, term)).values.ravel() for one in (before, name)}
            dim = view.data[study]["dim"].values[-1]
            words = statement.format(term=_TERMS[term], name=name, before=before, gain=_GAIN, dim=dim)
            found.append(ordered(words, {f"{before}, and {_GAIN},": samples[before] + _GAIN, name: samples[name]}))
    return found


def _falls(view: ex.View, statement: str) -> list[ex.Check]:
    """What a regime has of the term of the next one is an effect of small d."""
    from featlab.exhibits.checks import ordered

    found = []
    for study, name, term in (("few", _NAMES[1], 1), ("many", _NAMES[3], 4)):
        dims = view.data[study]["dim"].values.tolist() if view.studies(study) else []
        if len(dims) > 1:
            values = {dim: view.measured(_own(study, name, term, dim)).values.ravel() for dim in reversed(dims)}
            words = statement.format(term=_TERMS[term], name=name)
            found.append(ordered(words, {f"d = {dim}": sample for dim, sample in values.items()}))
    return found


def _draw_terms(axes: Axes, view: ex.View) -> None:
    from featlab.figures.tables import shaded_table

    shown = np.full((len(_TERMS), len(_REGIMES)), np.nan)
    for study in view.data:
        values = view.measured(ex.Of("coefficient", study, {"dim": ex.LAST})).mean("run").transpose("term", "regime")
        shown[:, [_NAMES.index(name) for name in values["regime"].values]] = values.values
    learned = [[term in _OWN[: place + 1] for place in range(len(_OWN))] for term in range(len(_TERMS))]
    seen = ~np.isnan(shown).any(axis=0)
    shaded_table(axes, shown[:, seen], np.array(learned)[:, seen], _TERMS)


def _ticks(view: ex.View) -> dict[float, str]:
    names = _NAMES if view.studies("many") else _NAMES[:3]
    return {float(place): name.replace(", ", "\n") for place, name in enumerate(names)}


EXHIBIT = ex.Exhibit(
    id="five-regimes",
    title="Five regimes of samples and neurons",
    claim="After one giant step and a trained second layer, 56, 54, 52, 4 and 0 of a variance of 57 remain for "
    "(n, p) ~ (d, 1), (d, d), (d^2, 1), (d^2, d), (d^2, d^2).",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="The five terms, each made of variance 1: in the talk's target one term, of variance 48 and heavy tails, "
    "hides the others. One step of relu neurons, of size 6, then ridge regression on as many fresh samples (penalty "
    "best on a validation set) on the neurons with N(0, 9) biases, the inputs and a constant. First three regimes: "
    "n = 64 d or 16 d^2, 24 or 16 d neurons, d to 512; last three: n = 244 d^2, 24, 64 d or 7 d^2 neurons, d to 48. "
    "For n ~ d^2 the linear part of the labels counts 1/sqrt(d) of the rest in the step. A term is learned in a regime "
    "if its coefficient in the fit (1: fully learned) is larger by .1 than in the regime before; what that one has of "
    "it must fall with d.",
    caption="Coefficients at the largest d, in bold where the limit learns the term.",
    studies=studies,
    theory=theory,
    checks={
        "the variances left are 56, 54, 52, 4, 0 of 57": ex.Identity(
            lambda view, at: float(np.max(np.abs(view.theory["limit"]["left"].values - _LEFT))),
            1e-6,
            control="one direction less",
            control_difference=lambda view, at: view.theory["limit"]["less"].item() - _LEFT[3],
        ),
        "d = {dim}: the coefficient of {term} is larger by {gain} for {name} than for {before}": _gains,
        "{term} is learned less at larger d for {name}, which does not learn it in the limit": _falls,
    },
    numbers={
        "risk of 5, d = {dim}, {regime}": ex.Value("risk", False, each=("dim", "regime")),
        **{
            f"coefficient of {words}, d = {{dim}}, {{regime}}": ex.Value(
                ex.Of("coefficient", where={"term": ex.Nth(place)}), False, each=("dim", "regime")
            )
            for place, words in enumerate(_TERMS)
        },
    },
    remarks="Sizes, step and biases were chosen after pilot runs. Constants n/d and p/d are not large: risks are "
    "far from what remains for large ones, and for n ~ d, p ~ d below it at d = 64.",
    figure={"coefficient of each term": ex.Panel(_draw_terms, ticks={"x": _ticks})},
    shows=("residuals",),
)
