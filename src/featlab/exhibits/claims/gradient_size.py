"""The gradient of a random neuron: |E G| ~ d^(-(k-1)/2), and n samples deviate from it by sqrt(d/n).

k is the information exponent of the target (Ben Arous et al. 2021; Ba et al. 2022). So a single step sees the direction
only from n ~ d^k samples on: in proportion to d only for k = 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TARGETS = {1: "h1", 2: "He2(h1)/sqrt(2)", 3: "He3(h1)/sqrt(6)"}
ACTIVATION, BIAS, GROUPS = "erf", 0.5, 20
# Corrections to a power of d are of relative order 1/d; fits allow them this many times 1/d.
_CORRECTION = 4.0
# Largest power of 2 in d and step between powers; random neurons for the mean and for the deviation; n beside d, d
# beside n, and the largest power of 2 in n.
_SIZES = {
    ex.Size.QUICK: (12, 2, 6000, 200, 1024, 256, 12),
    ex.Size.PAPER: (12, 1, 10_000, 1000, 4096, 1024, 14),
    ex.Size.LARGE: (20, 1, 20_000, 1000, 4096, 10**6, 14),
}


def run_point(point: Mapping[str, Any], key: int) -> list[dict[str, Any]]:
    """Squares of |E G| and of |G_n - E G|, averaged over each of 20 groups of random neurons."""
    from featlab.gaussian.activations import activation
    from featlab.simulation.neuron_gradients import neuron_gradients
    from featlab.targets import target

    sizes = {name: point[name] for name in ("dim", "samples", "neurons")}
    found = neuron_gradients(target(TARGETS[point["k"]]), activation(ACTIVATION), bias=BIAS, **sizes, seed=key)
    mean, deviation = (np.reshape(part**2, (GROUPS, -1)).mean(axis=1) for part in (found.mean, found.deviation))
    return [{"seed": group, "mean": mean[group], "deviation": deviation[group]} for group in range(GROUPS)]


RUNNER = Runner(run_point, index=("seed",))


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The mean over d; the deviation over d at one n, and over n at one d. Claimed are the powers of d or n."""
    last, step, many, few, samples, dim, last_samples = _SIZES[size]
    dims = {"dim": [2**power for power in range(6, last + 1, step)]}
    batches = {"samples": [2**power for power in range(8, last_samples + 1, step)]}

    def part(fixed: dict[str, int], along: dict[str, list[int]], key: int, claimed: Any, words: str) -> ex.Part:
        study = ex.Study(fixed, {"k": list(TARGETS), **along}, key=key)
        axis = next(iter(along))
        facts = {"claimed": claimed, "axis": axis, "letter": {"dim": "d", "samples": "n"}[axis]}
        powers = {"k": {1: "constant", 2: "$d^{-1/2}$", 3: "$d^{-1}$"}}
        return ex.Part(study, f"{__name__}:RUNNER", words=words, facts=facts, names=powers)

    deviation = "|G_n - E G|"
    return {
        "mean": part({"samples": 0, "neurons": many}, dims, 501, lambda k: -(k - 1) / 2, "|E G|"),
        "over_dim": part({"samples": samples, "neurons": few}, dims, 502, lambda k: 0.5, deviation),
        "over_samples": part({"dim": dim, "neurons": few}, batches, 503, lambda k: -0.5, deviation),
    }


def theory(data: ex.Data) -> ex.Data:
    """Root mean squares over random neurons and samples, exact at every d."""
    return {name: _sizes(part, "dim" if "dim" in part.dims else "samples") for name, part in data.items()}


def _sizes(part: ex.Dataset, axis: str) -> ex.Dataset:
    import xarray as xr

    from featlab.learners.students import TwoLayer
    from featlab.theory import gradient_sizes

    student, rows = TwoLayer(activation=ACTIVATION, biases=BIAS), []
    for k in part["k"].values.tolist():
        for label in part[axis].values.tolist():
            at = {**ex.parameters_at(part), axis: label}
            found = gradient_sizes(TARGETS[k], dim=at["dim"], samples=at["samples"] or 1, student=student)
            rows.append((found.mean, found.deviation))
    values = np.reshape(rows, (part.sizes["k"], part.sizes[axis], 2))
    both = {"mean": (("k", axis), values[..., 0]), "deviation": (("k", axis), values[..., 1])}
    return xr.Dataset(both, {"k": part["k"], axis: part[axis]})


def _quantity(study: str) -> str:
    return "mean" if study == "mean" else "deviation"


def _exact(view: ex.View, statement: str) -> list[ex.Check]:
    """Each k is a quantity of its own: the nearly constant mean of k = 1 must not vouch for the others."""
    import xarray as xr

    checks = []
    for study in view.data:
        of = ex.Of(_quantity(study), study)
        runs = view.measured(of).drop_vars(["seed", "repeat"], errors="ignore").rename(run="seed")
        shares = runs / view.predicted(of) ** 2
        by_k = {f"k = {k}": shares.sel(k=k, drop=True) for k in TARGETS}
        ones = xr.Dataset({name: xr.ones_like(part.isel(seed=0, drop=True)) for name, part in by_k.items()})
        measurement = xr.Dataset(by_k, attrs={"dim": 0, "dtype": "float64"})
        words = statement.format_map(view.fields(study, {}))
        checks.append(ex.agrees(words, ones, measurement, names=[*by_k], allowance=0.0))
    return checks


def _scalings(view: ex.View) -> Iterator[tuple[Mapping[str, Any], float, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """For each study and k: the fields of its words, the claimed power, and x, y and what y may be off by."""
    for study, data in view.data.items():
        for place in view.places(ex.Of(_quantity(study), study), "k"):
            at, squares = view.fields(study, place.where), view.measured(ex.Of(_quantity(study), study), place)
            size, error = np.transpose([ex.root_mean_square(column) for column in squares.transpose(..., "run").values])
            x = data[at["axis"]].values
            allowed = np.hypot(error, _CORRECTION / (x if at["axis"] == "dim" else at["dim"]) * size)
            yield at, at["claimed"](at["k"]), (x, size, allowed)


def _powers(view: ex.View, statement: str) -> list[ex.Check]:
    """The exponent is the claimed one, and neither of its neighbours."""
    from featlab.exhibits.checks import exponent

    checks = []
    for at, claimed, points in _scalings(view):
        words = statement.format_map(at)
        above, below = (exponent(words, *points, claimed, wrong=claimed + shift) for shift in (0.5, -0.5))
        control = f"{above.control}, and {below.control}"
        checks.append(replace(above, control=control, refused=above.refused and below.refused))
    return checks


def _fitted(view: ex.View, name: str) -> list[ex.Number]:
    from featlab.gaussian.powerlaw import fit_power_law

    fits = [(name.format_map(at), claimed, fit_power_law(*points)) for at, claimed, points in _scalings(view)]
    return [ex.Number(words, claimed, fit.exponent, fit.exponent_error) for words, claimed, fit in fits]


def _powers_of_two(axes: Axes, view: ex.View) -> None:
    axes.set_xscale("log", base=2)


def _ratio(values: ex.Array, at: Mapping[str, Any]) -> np.ndarray:
    return np.asarray(values["dim"].values / values["samples"].values)


_OVERLAY = partial(ex.Overlay, points="", each="k", summary=ex.root_mean_square)

EXHIBIT = ex.Exhibit(
    id="gradient-size",
    title="How much a gradient knows",
    claim="At a random neuron the gradient's mean has size d^(-(k-1)/2), k the information exponent, and the gradient "
    "of n samples deviates from it by sqrt(d/n): one step needs n ~ d^k.",
    document=ex.STRUCTURED_DATA,
    papers=("ba2023", "benarous2021"),
    protocol="G = x sigma'(<x, w> + 1/2) y with sigma = erf and y = He_k(<x, beta>)/sqrt(k!), w uniform on the sphere; "
    "root mean squares over random w. The mean is integrated over the two coordinates it depends on, the gradient of n "
    "samples is drawn exactly in law at any d. The bias 1/2 is ours: an odd neuron without bias has no second Hermite "
    f"coefficient. Fits allow corrections of {_CORRECTION:g}/d to the powers.",
    caption="Lines are exact averages over random neurons, points are random ones, with two standard errors. On "
    "the right, d varies at one n and n at one d.",
    studies=studies,
    theory=theory,
    checks={
        "{words} over {letter} has the exact size for each k": _exact,
        "{words}, k = {k}: power of {letter}": _powers,
    },
    numbers={"exponent of {letter} in {words}, k = {k}": _fitted},
    figure={
        "The mean knows the direction": ex.Panel(
            _OVERLAY(ex.Of("mean", "mean"), "dim", "k = {k}: {k_words}"),
            _powers_of_two,
            y="size of the mean, $|E\\,G|$",
            yscale="log",
        ),
        "The deviation does not": ex.Panel(
            _OVERLAY(ex.Of("deviation", "over_dim"), "dim", "k = {k}: $(d/n)^{{1/2}}$", x=_ratio),
            _OVERLAY(ex.Of("deviation", "over_samples"), "samples", x=_ratio),
            x="dimension over samples, d / n",
            y="deviation of n samples, $|G_n - E\\,G|$",
            xscale="log",
            yscale="log",
        ),
    },
    shows=("information_exponent",),
)
