"""One quantity of a prediction beside that of a measurement: values, errors and allowance, point by point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.stats
import xarray as xr

from featlab.errors import InvalidParameter

# Rounding of a simulation relative to the size of a quantity: sums over up to 10^6 steps in float32, or in float64.
_ROUNDING = {"float32": 1e-5, "float64": 1e-12}
# What a quantity is measured by where the whole prediction is zero: cosines and overlaps of unit rows are at most one.
_NATURAL_SIZE = {"cosine": 1.0, "overlap": 1.0, "subspace": 1.0}
_VANISHING = 1e-9
# Scatter below this share of the size is rounding.
_SCATTERLESS = 1e-6


@dataclass(frozen=True)
class FiniteSize:
    """How far a finite dimension may be from its limit: c d^(-e) times the size of the quantity.

    The size is the largest predicted value, or 1 for overlaps that are predicted to vanish. Fluctuations are no part of
    it, the seeds show them; it is for the mean, whose distance from the limit vanishes as 1/d for smooth functions of
    averages and as 1/sqrt(d) for those with a kink at zero, such as |overlap|.
    """

    scale: float = 1.0
    power: float = 0.5

    def at(self, dim: int) -> float:
        """As a fraction of the size, at dimension `dim`."""
        return self.scale * float(dim) ** -self.power

    def text(self, dim: int) -> str:
        """How it reads: "1/sqrt(d) = 0.022 of the largest predicted value"."""
        below = {0.5: "sqrt(d)", 1.0: "d"}.get(self.power, f"d^{self.power:g}")
        return f"{self.scale:g}/{below} = {self.at(dim):.2g} of the largest predicted value"


@dataclass(frozen=True)
class ComparedQuantity:
    """A quantity on the axes that prediction and measurement share, all as arrays of the same shape.

    Attributes:
        name: of the quantity.
        theory: predicted; the mean over seeds if each seed has its own prediction.
        simulation: measured, mean over seeds.
        difference: simulation - theory; seed by seed where each has its own prediction.
        error: standard error of the difference: scatter over seeds and error of the prediction.
        freedom: degrees of freedom of that error (Welch and Satterthwaite).
        allowance: what a finite dimension and rounding are allowed.
        size: of the quantity, by which the allowance is measured.
        left_out: at how many points something has no value.
        signless: whether these are absolute values.
    """

    name: str
    theory: xr.DataArray
    simulation: xr.DataArray
    difference: xr.DataArray
    error: xr.DataArray
    freedom: xr.DataArray
    allowance: float
    size: float
    left_out: int
    signless: bool = False

    @property
    def compared(self) -> np.ndarray:
        """The points at which both have a value and the error is known."""
        return np.isfinite(self.difference.values) & np.isfinite(self.error.values)

    @property
    def z(self) -> xr.DataArray:
        """What is left of the difference beyond the allowance, in standard errors; with its sign."""
        difference, error = self.difference.values, self.error.values
        excess = np.maximum(np.abs(difference) - self.allowance, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.where(excess > 0, excess / error, 0.0)
        values = np.where(self.compared, np.sign(difference) * sizes, np.nan)
        return self.difference.copy(data=values)

    def limits(self, chance: float) -> np.ndarray:
        """The |z| that a right prediction exceeds with this probability at one point (Student's law, two-sided)."""
        return scipy.stats.t.isf(chance / 2, self.freedom.values)

    @property
    def measured(self) -> np.ndarray:
        """The points at which seeds differ. Where they do not, as at a given start, there is nothing to find out."""
        return self.compared & (self.error.values > _SCATTERLESS * self.size)

    def reach(self) -> np.ndarray:
        """What a relative error of one would change at each point; of a curve that vanishes, the size."""
        predicted = np.abs(self.theory.values)
        vanishes = np.nanmax(predicted, initial=0.0) <= _VANISHING * self.size
        return np.full_like(predicted, self.size) if vanishes else predicted


def allowed_fraction(allowance: FiniteSize | float, measurement: xr.Dataset) -> tuple[float, str]:
    """The fraction of a quantity's size that a finite dimension may change, and how it reads."""
    if isinstance(allowance, FiniteSize):
        if "dim" not in measurement.attrs:
            raise InvalidParameter("measurement", "no attribute 'dim'", "one, or an allowance as a plain number")
        dim = int(measurement.attrs["dim"])
        return allowance.at(dim), allowance.text(dim)
    if not (np.isfinite(allowance) and allowance >= 0):
        raise InvalidParameter("allowance", allowance, "a fraction of at least 0, or FiniteSize(scale, power)")
    return float(allowance), f"{allowance:g} of the largest predicted value" if allowance else "none"


def compared_quantity(
    prediction: xr.Dataset, measurement: xr.Dataset, name: str, fraction: float, signless: bool
) -> ComparedQuantity:
    """One quantity of a prediction beside that of a measurement.

    Seeds are paired where each has a prediction of its own. A point at which some seed has no value is left out: the
    mean of those that did not diverge is not what is predicted.

    Args:
        fraction: of the size of the quantity, allowed for the finite dimension.
        signless: compare absolute values, where the target's symmetry makes signs arbitrary.
    """
    theory, simulation = _on_shared_axes(prediction, measurement, name)
    if signless:
        theory, simulation = abs(theory), abs(simulation)
    difference, scatter, freedom = _difference(theory, simulation, measurement)
    theory, simulation = _seed_mean(theory), _seed_mean(simulation)
    predicted = _aligned(prediction, f"{name}_error", difference) if f"{name}_error" in prediction else 0.0 * difference
    error = (scatter**2 + predicted**2) ** 0.5
    size = _size(name, theory)
    return ComparedQuantity(
        name=name,
        theory=theory.transpose(*difference.dims),
        simulation=simulation.transpose(*difference.dims),
        difference=difference,
        error=error,
        freedom=difference.copy(data=_freedom(freedom, scatter.values, error.values)),
        allowance=(fraction + _ROUNDING.get(str(measurement.attrs.get("dtype")), _ROUNDING["float64"])) * size,
        size=size,
        left_out=int(np.sum(~np.isfinite(difference.values))),
        signless=signless,
    )


def _difference(
    theory: xr.DataArray, simulation: xr.DataArray, measurement: xr.Dataset
) -> tuple[xr.DataArray, xr.DataArray, float]:
    """Mean difference, its standard error from the measurement, and the degrees of freedom of that."""
    difference = simulation - theory
    if "seed" not in difference.dims:
        return difference, _aligned(measurement, f"{simulation.name}_error", difference), np.inf
    seeds = difference.sizes["seed"]
    if seeds == 1:  # one seed shows no scatter: its error is unknown
        return difference.isel(seed=0), difference.isel(seed=0) * np.nan, 0.0
    return _seed_mean(difference), difference.std("seed", ddof=1, skipna=False) / seeds**0.5, seeds - 1.0


def _on_shared_axes(prediction: xr.Dataset, measurement: xr.Dataset, name: str) -> tuple[xr.DataArray, xr.DataArray]:
    """The quantity of both in float64, at the times (and seeds, if both have them) that both have."""
    for words, dataset in (("prediction", prediction), ("measurement", measurement)):
        if name not in dataset:
            raise InvalidParameter(
                "names", name, f"a quantity of the {words}: {', '.join(map(str, dataset.data_vars))}"
            )
    theory, simulation = prediction[name].astype(np.float64), measurement[name].astype(np.float64)
    if "seed" in theory.dims and "seed" not in simulation.dims:
        raise InvalidParameter("prediction", "one for each seed", "one without seeds, as the measurement has none")
    if "seed" not in simulation.dims and f"{name}_error" not in measurement:
        raise InvalidParameter("measurement", f"{name} without seeds", f"seeds, or an error in {name}_error")
    if "time" in theory.dims and "time" in simulation.dims:
        theory, simulation = _at_shared_times(theory, simulation, measurement)
    try:
        theory, simulation = xr.align(theory, simulation, join="inner")
    except ValueError as fault:
        raise InvalidParameter("prediction", dict(theory.sizes), f"the axes of {dict(simulation.sizes)}") from fault
    if theory.size == 0 or simulation.size == 0:
        given = f"times {prediction['time'].values} and seeds of its own"
        raise InvalidParameter("prediction", given, "times and seeds of the measurement among them")
    return theory, simulation


def _at_shared_times(
    theory: xr.DataArray, simulation: xr.DataArray, measurement: xr.Dataset
) -> tuple[xr.DataArray, xr.DataArray]:
    """Both at those times of the measurement for which there is a prediction within half a step."""
    times, predicted = simulation["time"].values, theory["time"].values
    steps = measurement["step"].values if "step" in measurement.coords else times
    one_step = float(np.max(times[steps > 0] / steps[steps > 0], initial=0.0))
    nearest = np.argmin(np.abs(predicted[None, :] - times[:, None]), axis=1)
    shared = np.abs(predicted[nearest] - times) <= (0.51 * one_step if one_step < 1 else 1e-9)
    theory = theory.isel(time=nearest[shared]).assign_coords(time=times[shared])
    return theory.drop_vars("step", errors="ignore"), simulation.isel(time=shared)


def _aligned(dataset: xr.Dataset, name: str, like: xr.DataArray) -> xr.DataArray:
    """An error from a dataset on the axes of `like`; over seeds, the error of their mean."""
    error = dataset[name].astype(np.float64)
    if "time" in like.dims:
        error = error.reindex(time=like["time"].values, method="nearest")
    if "seed" in error.dims and "seed" not in like.dims:
        error = (error**2).sum("seed", skipna=False) ** 0.5 / error.sizes["seed"]
    return error.transpose(*like.dims)


def _freedom(freedom: float, scatter: np.ndarray, error: np.ndarray) -> np.ndarray:
    """That of a sum of variances of which only the scatter is an estimate (Welch and Satterthwaite)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scatter == error, freedom, freedom * (error / scatter) ** 4)


def _seed_mean(values: xr.DataArray) -> xr.DataArray:
    return values.mean("seed", skipna=False) if "seed" in values.dims else values


def _size(name: str, theory: xr.DataArray) -> float:
    present = np.abs(theory.values[np.isfinite(theory.values)])
    largest, natural = float(np.max(present, initial=0.0)), _NATURAL_SIZE.get(name, 0.0)
    return largest if largest > _VANISHING * natural else natural
