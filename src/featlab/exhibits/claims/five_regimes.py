"""How much of one target is learned after one step and a second layer: five regimes of samples n and neurons p.

f = x1 + H2(x2) + H2(x1) x2 + H4(x1) H2(x2) x3 + H2(x2) H2(x3), of variance 57. One giant step on n ~ d^a samples finds
the subspace U of the parts of degree <= a; a second layer of p ~ d^b neurons leaves ||P_{U,>k} f||^2, k = min(a, b)
(Dandi et al. 2023, conjecture 3; the case k = 1 is proven).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import above, identity, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import GIANT_STEPS
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number, Outcome
from featlab.figures.panels import measured_points, panels
from featlab.figures.style import INK, add_legend
from featlab.gaussian.hermite import Floats, hermite
from featlab.study import Study
from featlab.study.description import Point
from featlab.study.runner import Row, Runner
from featlab.theory import unexplained_variance

_REST = "He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)"
_TARGET = f"h1 + {_REST}"
_TERMS = ("x1", "H2(x2)", "H2(x1) x2", "H4(x1) H2(x2) x3", "H2(x2) H2(x3)")
_ENERGIES = np.array([1.0, 2.0, 2.0, 48.0, 4.0])
_NARROW = 24  # neurons where p does not grow
_RIDGES = tuple(10.0**k for k in range(-6, 2))
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
_DIMS = {Size.QUICK: [16], Size.PAPER: [12, 20, 32], Size.LARGE: [20, 32, 48]}
_SEEDS = {Size.QUICK: 8, Size.PAPER: 16, Size.LARGE: 16}
_COSINES = {"n = 8 d": (0.347, 0.038, 0.031), "n = 8 d^2": (0.042, 0.302, 0.028)}  # of a prototype at d = 1000


def studies(size: Size) -> Mapping[str, Part]:
    """All regimes at each d; and, beyond quick, the directions that one step finds at d = 1000."""
    fixed, axes = {"samples_per": 64}, {"dim": _DIMS[size], "regime": list(_REGIMES)}
    parts = {"fit": Part(Study(fixed, axes, repeats=_SEEDS[size], key=283), f"{__name__}:RUNNER")}
    if size is Size.QUICK:
        return parts
    student = {"learner": "giant-steps", "width": 16, "second_layer": "signs", "paired": True, "dim": 1000, "seeds": 8}
    for name, leap, text in (("n = 8 d", 1, _TARGET), ("n = 8 d^2", 2, _REST)):
        point = {**student, "target": text, "leap": leap, "samples": 8 * 1000**leap, "times": [1], "design": "virtual"}
        parts[name] = Part(Study(point, key=282, observe=["cosine"]))
    return parts


def run_point(point: Point, key: int) -> list[Row]:
    """One seed: the risk, the coefficient of each term in the fitted function, the rms cosine with each direction."""
    draw, dim, regime = np.random.default_rng(key), point["dim"], _REGIMES[point["regime"]]
    samples = point["samples_per"] * dim**regime.samples
    width = (_NARROW, 8 * dim, 2 * dim**2)[regime.width]
    weights = first_layer(draw, dim, samples, width, regime.samples)
    biases = draw.standard_normal(width)

    def features(inputs: Floats) -> Floats:
        return np.column_stack([np.ones(len(inputs)), inputs, np.maximum(inputs @ weights.T + biases, 0)])

    fit, validation, test = (draw.standard_normal((count, dim)) for count in (samples, _TEST // 2, _TEST))
    answers = _ridge_path(features(fit), terms(fit).sum(axis=1))
    scored = [_score(features(validation) @ answer, terms(validation))[0] for answer in answers]
    risk, coefficients = _score(features(test) @ answers[int(np.argmin(scored))], terms(test))
    cosines = weights[:, :3] / np.linalg.norm(weights, axis=1, keepdims=True)
    rms = np.sqrt(np.mean(cosines**2, axis=0))
    return [{"risk": risk, "coefficient": coefficients.tolist(), "cosine": rms.tolist()}]


RUNNER = Runner(run_point, axes={"coefficient": ("term",), "cosine": ("direction",)})


def first_layer(draw: np.random.Generator, dim: int, samples: int, width: int, leap: int) -> Floats:
    """The weights after one step of relu neurons, a = +-1, on labels whose part beyond the linear one counts
    d^((l-1)/2) times: with one step size for all, the linear part would drown the rest."""
    weights = draw.standard_normal((width, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    inputs = draw.standard_normal((samples, dim))
    labels = terms(inputs).sum(axis=1)
    labels = labels - labels.mean()
    linear = inputs @ (labels @ inputs / samples)
    weighed = linear + dim ** ((leap - 1) / 2) * (labels - linear) if leap > 1 else labels
    signs = draw.choice([-1.0, 1.0], width)
    return weights + signs[:, None] * ((inputs @ weights.T > 0) * weighed[:, None]).T @ inputs / samples


def terms(inputs: Floats) -> Floats:
    """The five terms of the target, (n, 5)."""
    first, second, third = inputs[:, 0], inputs[:, 1], inputs[:, 2]
    two = [hermite(2, field) for field in (first, second, third)]
    return np.column_stack([first, two[1], two[0] * second, hermite(4, first) * two[1] * third, two[1] * two[2]])


def _ridge_path(features: Floats, labels: Floats) -> list[Floats]:
    """Ridge regression at every penalty."""
    values, vectors = np.linalg.eigh(features.T @ features / len(features))
    turned, scale = vectors.T @ (features.T @ labels / len(features)), float(values.mean())
    return [vectors @ (turned / (values + share * scale)) for share in _RIDGES]


def _score(answer: Floats, parts: Floats) -> tuple[float, Floats]:
    """E[(y - f)^2] and the coefficients of the terms in f: from Var y - 2 E[y f] + E[f^2] with Var y known, because a
    mean of the heavy-tailed (y - f)^2 over samples would say little."""
    coefficients = parts.T @ answer / len(answer) / _ENERGIES
    return float(_ENERGIES.sum() - 2 * coefficients @ _ENERGIES + np.mean(answer**2)), coefficients


def prediction(data: Data) -> dict[str, float]:
    """The variance that remains in each regime."""
    axes = np.eye(3)
    return {
        name: round(unexplained_variance(_TARGET, axes[: regime.known], min(regime.samples, regime.width)).value, 9)
        + 0.0
        for name, regime in _REGIMES.items()
    }


def verdict(data: Data, predicted: dict[str, float]) -> Finding:
    """The variances are the talk's, no risk is below them, and every regime learns its term."""
    part, said = data["fit"], {name: regime.left for name, regime in _REGIMES.items()}
    risks = part["risk"].isel(dim=-1).transpose("repeat", "regime").values
    bounds = np.array([*predicted.values()])
    checks = [
        identity(
            "the variances left are 56, 54, 52, 4, 0 of 57",
            max(abs(predicted[name] - said[name]) for name in said),
            1e-6,
            control="one direction less",
            control_difference=abs(unexplained_variance(_TARGET, [[1, 0, 0]], 1).value - said["n ~ d^2, p ~ d"]),
        ),
        above(
            f"d = {int(part['dim'][-1])}: no risk is below the variance that remains",
            risks,
            bounds,
            control="the most samples and neurons, against what remains with the fewest",
            control_samples=risks[:, -1:] - bounds[0] + bounds,
        ),
    ]
    names = list(_REGIMES)
    for before, name in pairwise(names):
        checks.append(_learned(part, before, name))
    return Finding(checks, _numbers(data, predicted), [_REMARK])


_REMARK = (
    "H4(x1) H2(x2) x3 carries 48 of the 57 and is so heavy-tailed that samples of it say little at these sizes: the "
    "values are far from the limit, and what is tested is which regime begins to learn which term."
)


def _learned(part: xr.Dataset, before: str, name: str) -> Check:
    """The regime's own term has a larger coefficient than in the regime before it."""
    term = _REGIMES[name].new
    samples = part["coefficient"].isel(term=term).transpose("dim", "regime", "repeat")
    last = samples.isel(dim=-1)
    words = f"{_TERMS[term]} is learned for {name}, less for {before}"
    check = ordered(words, {one: last.sel(regime=one).values for one in (before, name)})
    if check.outcome is Outcome.HOLDS:
        return check
    # The claim is one of large d: at one d it cannot fail, only not be seen.
    gains = (samples.sel(regime=name) - samples.sel(regime=before)).mean("repeat").values
    grows = len(gains) > 1 and gains[-1] > max(gains[0], 0.0)
    outcome = Outcome.CONVERGES if grows else Outcome.CANNOT_TELL
    trend = ", ".join(f"{gain:.3f}" for gain in gains)
    needs = f"larger d: the gain in its coefficient is {trend} at d = {part['dim'].values.tolist()}"
    return replace(check, outcome=outcome, needs=needs)


def _numbers(data: Data, predicted: dict[str, float]) -> list[Number]:
    part, numbers = data["fit"], []
    for dim in part["dim"].values.tolist():
        here = part.sel(dim=dim)
        for name, regime in _REGIMES.items():
            one = here.sel(regime=name)
            numbers.append(Number(f"risk, d = {dim}, {name}", predicted[name], *mean_and_error(one["risk"].values)))
            own = one["coefficient"].isel(term=regime.new).values
            words = f"coefficient of {_TERMS[regime.new]}, d = {dim}, {name}"
            numbers.append(Number(words, 1.0, *mean_and_error(own)))
    for name, earlier in _COSINES.items():
        if name in data:
            squares = (data[name]["cosine"].isel(time=0) ** 2).mean("neuron").transpose("seed", "direction").values
            for place, value in enumerate(earlier):
                words = f"rms cosine with w{place + 1}*, d = 1000, {name}"
                mean, error = mean_and_error(squares[:, place])
                numbers.append(Number(words, None, float(np.sqrt(mean)), error / (2 * float(np.sqrt(mean))), value))
    return numbers


def figure(data: Data, predicted: dict[str, float]) -> Figure:
    """What each regime has learned of each term, and the risk against the variance that remains."""
    part = data["fit"].isel(dim=-1)
    dim, places = int(part["dim"]), np.arange(len(_REGIMES))
    made, (terms_panel, risk_panel) = panels(
        [f"coefficient of each term, d = {dim}", "variance left"], y=["fitted over true coefficient", "risk"]
    )
    shown = part["coefficient"].mean("repeat").transpose("term", "regime").values
    terms_panel.imshow(shown, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    learned = np.array([[_is_learned(term, regime) for regime in _REGIMES.values()] for term in range(len(_TERMS))])
    for term, place in np.ndindex(shown.shape):
        colour = "white" if shown[term, place] > 0.5 else INK
        weight = "bold" if learned[term, place] else "normal"
        terms_panel.text(
            place,
            term,
            f"{round(float(shown[term, place]), 2) + 0.0:.2f}",
            ha="center",
            va="center",
            color=colour,
            weight=weight,
        )
    terms_panel.grid(False)
    terms_panel.set_yticks(range(len(_TERMS)), labels=_TERMS)
    terms_panel.set_ylabel("")
    for series, dim in enumerate(data["fit"]["dim"].values.tolist()):
        risks = data["fit"]["risk"].sel(dim=dim).transpose("repeat", "regime")
        measured_points(
            risk_panel,
            places + 0.1 * series,
            risks.mean("repeat"),
            standard_error(risks),
            series=series,
            label=f"d = {dim}",
        )
    for place, left in enumerate(predicted.values()):
        risk_panel.plot([place - 0.3, place + 0.4], [left, left], color=INK, label="limit" if not place else None)
    add_legend(risk_panel, loc="lower left")
    for panel in (terms_panel, risk_panel):
        panel.set_xticks(places, labels=[name.replace(", ", "\n") for name in _REGIMES], fontsize=7.5)
    return made


def _is_learned(term: int, regime: Regime) -> bool:
    order = list(_REGIMES.values())
    return term in {one.new for one in order[: order.index(regime) + 1]}


EXHIBIT = Exhibit(
    id="five-regimes",
    title="Five regimes of samples and neurons",
    claim="After one giant step and a trained second layer, 56, 54, 52, 4 and 0 of a variance of 57 remain for "
    "(n, p) ~ (d, 1), (d, d), (d^2, 1), (d^2, d), (d^2, d^2).",
    document=GIANT_STEPS,
    papers=("dandi2023",),
    protocol="One step of relu neurons on n = 64 d or 64 d^2 samples, then ridge regression on n fresh ones "
    "(penalty best on a validation set) on 24, 8 d or 2 d^2 neurons with N(0, 1) biases, the inputs and a constant. "
    "For n ~ d^2 the linear part of the labels counts 1/sqrt(d) of the rest in the step, or no other direction would "
    "be found. The coefficient of a term is that of the fitted function; 1 is fully learned.",
    caption="Left: coefficients, in bold where the limit learns the term. Right: risk with two standard errors; bars "
    "are the limit.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("residuals",),
)
