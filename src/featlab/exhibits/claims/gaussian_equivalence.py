"""Ridge regression on sigma(Wx) is ridge regression on Gaussian features, conditioned on what W has learned.

For random W, and after a small step, features behave as mu0 + mu1 <w_i, x> + mu_* xi_i with independent noise xi
(Mei, Montanari 2019; Ba et al. 2022). After a giant step W = W0 + u v^T that equivalence breaks: it holds given the
coordinate <x, v> along the spike, with coefficients that depend on it (Dandi et al. 2023; Cui et al. 2024).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.interpolate import CubicSpline

from featlab.comparison import FiniteSize
from featlab.exhibits.checks import close, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import GIANT_STEPS
from featlab.exhibits.predicting import parameters_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import INK, add_legend
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.learners.giant import GiantSteps
from featlab.learners.readout import RandomFeatures, Readout
from featlab.learners.students import TwoLayer
from featlab.study import Study
from featlab.study.description import Point
from featlab.study.runner import Row, Runner
from featlab.targets import target
from featlab.theory import predict, unexplained_variance
from featlab.theory.giant.features import smoothed

_KINDS = ("sigma(Wx)", "conditional equivalent", "plain equivalent")
_STEPS = ("none", "small", "giant")
_DIMS = {Size.QUICK: [160], Size.PAPER: [150, 300, 600], Size.LARGE: [600, 1200, 2400]}
_SEEDS = {Size.QUICK: 10, Size.PAPER: 16, Size.LARGE: 8}
_NODES = np.linspace(-6.0, 6.0, 41)  # along the spike; beyond, features are constant
_TEST = 4096


def studies(size: Size) -> Mapping[str, Part]:
    """No step, one of 2/sqrt(p) per neuron, and one of 3, on 4 d samples; p = d neurons, ridge on 2 d samples."""
    fixed = {"target": "sign(h1)", "activation": "tanh", "ridge": 0.01, "seeds": _SEEDS[size]}
    axes = {"dim": _DIMS[size], "step": list(_STEPS)}
    derived = {"width": "dim", "batch": "4*dim", "samples": "2*dim"}
    return {"ridge": Part(Study(fixed, axes, derived, key=271), f"{__name__}:RUNNER")}


def run_point(point: Point, key: int) -> list[Row]:
    """For each seed: risks (3,) and feature spectra (3, p), of the features and of their two equivalents."""
    return [_one_seed(point, np.random.default_rng([key, seed]), seed) for seed in range(point["seeds"])]


RUNNER = Runner(run_point, index=("seed",), axes={"risk": ("kind",), "spectrum": ("kind", "order")})


def _one_seed(point: Point, draw: np.random.Generator, seed: int) -> Row:
    of, sigma = target(point["target"]), activation(point["activation"])
    dim, width, ridge = point["dim"], point["width"], point["ridge"]
    weights = draw.standard_normal((width, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    batch = draw.standard_normal((point["batch"], dim))
    labels = of.link(batch[:, : of.rank])
    spike = labels @ batch / np.linalg.norm(labels @ batch)
    signs = draw.choice([-1.0, 1.0], width)
    slopes = sigma.derivative(batch @ weights.T) * signs
    weights = weights + _step_size(point) * (slopes * labels[:, None]).T @ batch / len(batch)
    sets = [draw.standard_normal((count, dim)) for count in (point["samples"], _TEST)]
    noises = [draw.standard_normal((len(inputs), width)) for inputs in sets]
    makers = [
        lambda inputs, noise: sigma.value(inputs @ weights.T),
        lambda inputs, noise: _conditional(point, weights, spike, inputs, noise),
        lambda inputs, noise: _plain(point, weights, inputs, noise),
    ]
    risks, spectra = [], []
    seen, fresh = (of.link(inputs[:, : of.rank]) for inputs in sets)
    for features in makers:
        fit, test = (features(*pair) / np.sqrt(width) for pair in zip(sets, noises, strict=True))
        gram = fit.T @ fit / len(fit)
        coefficients = np.linalg.solve(gram + ridge * np.eye(width), fit.T @ seen / len(fit))
        risks.append(float(np.mean((fresh - test @ coefficients) ** 2)))
        spectra.append(np.linalg.eigvalsh(gram).tolist())
    return {"seed": seed, "risk": risks, "spectrum": spectra}


def _step_size(point: Point) -> float:
    """gamma, per neuron."""
    return {"none": 0.0, "small": 2 / float(point["width"]) ** 0.5, "giant": 3.0}[point["step"]]


def _plain(point: Point, weights: Floats, inputs: Floats, noise: Floats) -> Floats:
    """E sigma + E[sigma z] z_i + (E sigma^2 - ...)^{1/2} xi_i with z_i = <w_i, x>/|w_i|."""
    sizes = np.linalg.norm(weights, axis=1)
    mean, slope, _, square = _moments(point, np.zeros(len(sizes)), sizes)
    return mean + slope * (inputs @ (weights / sizes[:, None]).T) + np.sqrt(square - mean**2 - slope**2) * noise


def _conditional(point: Point, weights: Floats, spike: Floats, inputs: Floats, noise: Floats) -> Floats:
    """The same given kappa = <x, v>: fields <w_i, v> kappa plus a Gaussian rest, coefficients as functions of kappa."""
    along = weights @ spike
    across = weights - np.outer(along, spike)
    sizes = np.linalg.norm(across, axis=1)
    mean, slope, _, square = _moments(point, np.multiply.outer(_NODES, along), sizes)
    spread = np.sqrt(np.maximum(square - mean**2 - slope**2, 0.0))
    places = np.clip(inputs @ spike, _NODES[0], _NODES[-1])
    at = [CubicSpline(_NODES, table)(places) for table in (mean, slope, spread)]
    return at[0] + at[1] * (inputs @ (across / sizes[:, None]).T) + at[2] * noise


def _moments(point: Point, shifts: Floats, sizes: Floats) -> Floats:
    sigma = activation(point["activation"])
    return smoothed(sigma.value, sigma.kinks, shifts, sizes)


def prediction(data: Data) -> xr.DataArray:
    """The risk as n, p, d grow in proportion, on the axes (dim, step)."""
    part = data["ridge"]
    table = [[_limit(parameters_at(part, dim=dim, step=step)) for step in _STEPS] for dim in part["dim"].values]
    return xr.DataArray(table, {"dim": part["dim"], "step": list(_STEPS)}, ("dim", "step"))


def _limit(point: Point) -> float:
    samples, width, size = 2 * point["dim"], point["dim"], _step_size({**point, "width": point["dim"]})
    student = TwoLayer(width, point["activation"], "signs")
    if size == 0:
        learner, batch = RandomFeatures(samples, point["ridge"]), None
    else:
        learner = Readout(GiantSteps(1, size, loss="correlation"), samples, point["ridge"])
        batch = 4 * point["dim"]
    found = predict(point["target"], learner, dim=point["dim"], samples=batch, student=student)
    return float(found["risk"][-1])


def verdict(data: Data, predicted: xr.DataArray) -> Finding:
    """Which equivalent has the risk of the features, and the limit's; the plain one must fail after a giant step."""
    part = data["ridge"].isel(dim=-1)
    dim, risks = int(part["dim"]), _by_kind(part)
    checks: list[Check] = []
    for step in _STEPS:
        kind = 1 if step == "giant" else 2
        ratio = risks[step][:, 0] / risks[step][:, kind]
        words = f"step {step}: the risk over that of its {_KINDS[kind]} is one"
        checks.append(close(words, ratio, 1.0, allowance=FiniteSize(), dim=dim))
        theory = float(predicted.sel(dim=dim, step=step))
        words = f"step {step}: the risk is that of the limit of large d"
        checks.append(close(words, risks[step][:, 0], theory, allowance=FiniteSize(), dim=dim))
    giant = {_KINDS[kind]: risks["giant"][:, kind] for kind in (0, 2)}
    checks.append(ordered("step giant: the plain equivalent does not have this risk", giant))
    distances = {_KINDS[kind]: spectral_distance(part.sel(step="giant"), kind) for kind in (1, 2)}
    words = "step giant: spectra of the features, largest difference of distribution functions"
    checks.append(ordered(words, distances))
    numbers = []
    for step in _STEPS:
        for kind, name in enumerate(_KINDS):
            limit = float(predicted.sel(dim=dim, step=step)) if kind < 2 else None
            numbers.append(Number(f"risk, step {step}, {name}", limit, *mean_and_error(risks[step][:, kind])))
    numbers += [Number(f"spectral distance, {name}", 0.0, *mean_and_error(d)) for name, d in distances.items()]
    return Finding(checks, numbers)


def _by_kind(part: xr.Dataset) -> dict[str, Floats]:
    return {step: part["risk"].sel(step=step).transpose("seed", "kind").values for step in _STEPS}


def spectral_distance(part: xr.Dataset, kind: int) -> Floats:
    """For each seed, sup |F - F'| of the distributions of eigenvalues of the features and of an equivalent."""
    spectra = part["spectrum"].transpose("seed", "kind", "order").values
    found = []
    for one in spectra:
        grid = np.sort(np.concatenate([one[0], one[kind]]))
        shares = [np.searchsorted(one[place], grid, side="right") / one.shape[1] for place in (0, kind)]
        found.append(float(np.max(np.abs(shares[0] - shares[1]))))
    return np.array(found)


def figure(data: Data, predicted: xr.DataArray) -> Figure:
    """Risks after each step, and the spectrum of the features after a giant one."""
    part = data["ridge"].isel(dim=-1)
    titles = [f"risk, d = p = {int(part['dim'])}", "spectrum after a giant step"]
    x, y = ["gradient step before the ridge", "eigenvalue"], ["risk E[(y - f)^2]", "share of eigenvalues above"]
    made, (risk, spectrum) = panels(titles, x=x, y=y)
    for kind, name in enumerate(_KINDS):
        values = part["risk"].isel(kind=kind).transpose("seed", "step")
        places = np.arange(len(_STEPS)) + 0.14 * (kind - 1)
        measured_points(risk, places, values.mean("seed"), standard_error(values), series=kind, label=name)
    for place, step in enumerate(_STEPS):
        level = float(predicted.sel(dim=int(part["dim"]), step=step))
        risk.plot(
            [place - 0.3, place + 0.3], [level, level], color=INK, linewidth=1.2, label="limit" if not place else None
        )
    mark(risk, unexplained_variance("sign(h1)", degree=1).value, "all that is not linear", along="y")
    risk.set_xticks(range(len(_STEPS)), labels=_STEPS)
    risk.set_ylim(bottom=0)
    add_legend(risk, loc="lower left")
    spectra = part["spectrum"].sel(step="giant").isel(seed=0).transpose("kind", "order").values
    above = 1 - np.arange(spectra.shape[1]) / spectra.shape[1]
    few = slice(0, None, max(1, spectra.shape[1] // 40))
    measured_points(spectrum, spectra[0][few], above[few], None, series=0, label=_KINDS[0])
    for kind in (1, 2):
        theory_line(spectrum, spectra[kind], above, series=kind, label=_KINDS[kind])
    spectrum.set(xscale="log", yscale="log")
    add_legend(spectrum, loc="lower left")
    return made


EXHIBIT = Exhibit(
    id="gaussian-equivalence",
    title="Gaussian equivalence, and where it must be conditioned",
    claim="Ridge regression on sigma(Wx) has the risk of a Gaussian equivalent: a plain one for random weights and "
    "after a small step, and one conditioned on the learned direction after a giant step.",
    document=GIANT_STEPS,
    papers=("dandi2023", "ba2022", "cui2024"),
    protocol="p = d tanh neurons, a = +-1, target sign(h1); one step on 4 d samples of size 0, 2/sqrt(p) or 3 per "
    "neuron (gradient of the correlation loss), then ridge regression with lambda = .01 on 2 d fresh samples. The "
    "equivalents are drawn for the same weights and the same inputs, with fresh noise in place of the features' "
    "non-linear part.",
    caption="Left: risk over seeds with two standard errors; black bars: the limit of n, p, d in proportion. Right: "
    "eigenvalues of the features' empirical covariance, one seed.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
