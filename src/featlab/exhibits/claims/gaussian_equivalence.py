"""Ridge regression on sigma(Wx) is ridge regression on Gaussian features, conditioned on what W has learned.

For random W, and after a small step, features behave as mu0 + mu1 <w_i, x> + mu_* xi_i with independent noise xi
(Mei, Montanari 2019; Ba et al. 2022). After a giant step W = W0 + u v^T that equivalence breaks: it holds given the
coordinate <x, v> along the spike, with coefficients that depend on it (Dandi et al. 2023; Cui et al. 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Steps per neuron, in units of what is beside them.
_STEPS: dict[str, tuple[float, dict[str, str]]] = {
    "none": (0.0, {}),
    "small": (2.0, {"unit": "1/sqrt(width)"}),
    "giant": (3.0, {}),
}
_KINDS = {"": "sigma(Wx)", "conditional_": "conditional equivalent", "plain_": "plain equivalent"}
_DIMS = {ex.Size.QUICK: [160], ex.Size.PAPER: [150, 300, 600], ex.Size.LARGE: [600, 1200, 2400]}
_SEEDS = {ex.Size.QUICK: 10, ex.Size.PAPER: 16, ex.Size.LARGE: 8}
_RIDGE = 0.01


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """No step, one of 2/sqrt(p) per neuron, and one of 3, on 4 d samples; p = d neurons, ridge on 2 d samples."""
    student = {"activation": "tanh", "second_layer": "signs", "start": "sphere", "loss": "correlation"}
    sizes = {"width": "dim", "samples": "4*dim", "readout": "2*dim", "ridges": f"{_RIDGE}*width"}
    seen = [f"{kind}{name}" for kind in _KINDS for name in ("excess", "spectrum")]

    def part(step: str) -> ex.Part:
        fixed, axes = {"target": "sign(h1)", **student, "steps": _STEPS[step][0]}, {"dim": _DIMS[size]}
        study = ex.Study(fixed, axes, {**sizes, **_STEPS[step][1]}, repeats=_SEEDS[size], key=271, observe=seen)
        return ex.Part(study, "one-step")

    return {step: part(step) for step in _STEPS}


def theory(data: ex.Data) -> ex.Data:
    """The risk as n, p, d grow in proportion: of the features, and of the equivalent given what they have learned."""
    import xarray as xr

    found = {}
    for name, runs in data.items():
        risks = [_limit(ex.parameters_of(runs.isel(dim=place, step=0))) for place in range(runs.sizes["dim"])]
        both = {"excess": ("dim", risks), "conditional_excess": ("dim", risks)}
        found[name] = xr.Dataset(both, {"dim": runs["dim"].values})
    return found


def _limit(point: Mapping[str, Any]) -> float:
    from featlab.learners.giant import GiantSteps
    from featlab.learners.readout import RandomFeatures, Readout
    from featlab.learners.students import TwoLayer
    from featlab.theory import predict

    dim, size = point["dim"], point["step"] * point.get("unit", 1.0)
    student, batch = TwoLayer(dim, point["activation"], point["second_layer"]), None
    learner = RandomFeatures(point["readout"], _RIDGE)
    if size:
        learner = Readout(GiantSteps(1, size, loss="correlation"), point["readout"], _RIDGE)
        batch = point["samples"]
    return float(predict(point["target"], learner, dim=dim, samples=batch, student=student)["risk"][-1])


def over(kind: str) -> Callable[[ex.Dataset], ex.Array]:
    """The risk of the features over that of an equivalent."""
    return lambda data: data["excess"] / data[f"{kind}excess"]


def spectral_distance(kind: str) -> Callable[[ex.Dataset], ex.Array]:
    """sup |F - F'| of the distributions of eigenvalues of the features and of an equivalent."""

    def distance(one: np.ndarray, other: np.ndarray) -> float:
        grid = np.sort(np.concatenate([one, other]))
        shares = [np.searchsorted(values, grid, side="right") / values.size for values in (one, other)]
        return float(np.max(np.abs(shares[0] - shares[1])))

    def of(data: ex.Dataset) -> ex.Array:
        import xarray as xr

        spectra, core = [data["spectrum"], data[f"{kind}spectrum"]], [["eigenvalue"], ["eigenvalue"]]
        return xr.apply_ufunc(distance, *spectra, input_core_dims=core, vectorize=True)

    return of


_LARGEST = {"dim": ex.LAST}


def _of(quantity: ex.Reading, study: ex.Studies = None, words: str = "") -> ex.Of:
    return ex.Of(quantity, study, _LARGEST, words)


def _draw_risks(axes: Axes, view: ex.View) -> None:
    """Risks after each step, of the features and of both equivalents, and the limit."""
    from featlab.figures.panels import mark, measured_points
    from featlab.figures.style import INK, TEXT_SIZE
    from featlab.theory import unexplained_variance

    for place, study in enumerate(_STEPS):
        level, label = float(view.predicted(_of("excess", study))), "limit" if not place else None
        axes.plot([place - 0.3, place + 0.3], [level, level], color=INK, linewidth=1.2, label=label)
    for series, (kind, words) in enumerate(_KINDS.items()):
        values = [view.measured(_of(f"{kind}excess", study)).values.ravel() for study in _STEPS]
        mean, error = np.array([ex.mean_and_error(samples) for samples in values]).T
        places = np.arange(len(_STEPS)) + 0.14 * (series - 1)
        measured_points(axes, places, mean, error, series=series, label=words)
    mark(axes, unexplained_variance("sign(h1)", degree=1).value, "all that is not linear", along="y")
    axes.set_title(f"risk, d = p = {view.data['giant']['dim'].values[-1]}", loc="left", fontsize=TEXT_SIZE + 1.5)


def _draw_spectra(axes: Axes, view: ex.View) -> None:
    """The share of eigenvalues above, of the features over sqrt(p); one seed."""
    from featlab.figures.panels import measured_points, theory_line

    for series, (kind, words) in enumerate(_KINDS.items()):
        values = view.measured(_of(f"{kind}spectrum", "giant")).isel(run=0).values.ravel()
        values = values / values.size
        above = 1 - np.arange(values.size) / values.size
        if kind:
            theory_line(axes, values, above, series=series, label=words)
        else:
            few = slice(0, None, max(1, values.size // 40))
            measured_points(axes, values[few], above[few], None, label=words)


EXHIBIT = ex.Exhibit(
    id="gaussian-equivalence",
    title="Gaussian equivalence, and where it must be conditioned",
    claim="Ridge regression on sigma(Wx) has the risk of a Gaussian equivalent: a plain one for random weights and "
    "after a small step, and one conditioned on the learned direction after a giant step.",
    document=ex.GIANT_STEPS,
    papers=("dandi2023", "ba2022", "cui2024"),
    protocol="p = d tanh neurons, a = +-1, target sign(h1); one step on 4 d samples of size 0, 2/sqrt(p) or 3 per "
    "neuron (gradient of the correlation loss), then ridge regression with lambda = .01 on 2 d fresh samples. The "
    "equivalents are drawn for the same weights and the same inputs, with fresh noise in place of the features' "
    "non-linear part.",
    caption="Left: risk over seeds with two standard errors; black bars: the limit of n, p, d in proportion. Right: "
    "eigenvalues of the features' empirical covariance, one seed.",
    studies=studies,
    theory=theory,
    checks={
        "step {study}: the risk over that of its plain equivalent is one": ex.Close(
            _of(over("plain_"), ("none", "small")), 1.0, allowance=(1.0, 0.5)
        ),
        "step {study}: the risk over that of its conditional equivalent is one": ex.Close(
            _of(over("conditional_"), "giant"), 1.0, allowance=(1.0, 0.5)
        ),
        "step {study}: the risk is that of the limit of large d": ex.Close(_of("excess"), allowance=(1.0, 0.5)),
        "step giant: the plain equivalent does not have this risk": ex.Ordered(
            [_of(f"{kind}excess", "giant", _KINDS[kind]) for kind in ("", "plain_")]
        ),
        "step giant: spectra of the features, largest difference of distribution functions": ex.Ordered(
            [_of(spectral_distance(kind), "giant", _KINDS[kind]) for kind in ("conditional_", "plain_")]
        ),
    },
    numbers={
        **{
            f"risk, step {{study}}, {words}": ex.Value(_of(f"{kind}excess"), predicted=kind != "plain_")
            for kind, words in _KINDS.items()
        },
        **{
            f"spectral distance, {_KINDS[kind]}": ex.Value(_of(spectral_distance(kind), "giant"), 0.0)
            for kind in ("conditional_", "plain_")
        },
    },
    figure={
        "risk": ex.Panel(
            _draw_risks,
            x="gradient step before the ridge",
            y="risk E[(y - f)^2]",
            legend="lower left",
            ticks={"x": dict(enumerate(_STEPS))},
            ylim=(0, None),
        ),
        "spectrum after a giant step": ex.Panel(
            _draw_spectra,
            x="eigenvalue",
            y="share of eigenvalues above",
            legend="lower left",
            xscale="log",
            yscale="log",
        ),
    },
    shows=("residuals",),
)
