"""One quantity at one size: prediction and measurement on the axes that they share, their difference and its error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats


@dataclass(frozen=True)
class Rung:
    """The quantity at one size; every seed that has a prediction of its own along the sign that is predicted for it."""

    theory: xr.DataArray
    simulation: xr.DataArray
    difference: xr.DataArray
    sign: Floats  # of the mean prediction: times it, all is as it was
    scatter: xr.DataArray
    predicted: xr.DataArray
    missing: xr.DataArray  # the share of runs without a value
    spread: xr.DataArray  # the root mean square of what is predicted for the runs
    seed_freedom: float
    one_step: float  # the time that a step takes

    @cached_property
    def error(self) -> xr.DataArray:
        """Standard error of the difference."""
        return self.difference.copy(data=np.hypot(self.scatter.values, self.predicted.values))

    @cached_property
    def freedom(self) -> Floats:
        """Of a sum of variances of which only the scatter is an estimate (Welch and Satterthwaite)."""
        scatter, error = self.scatter.values, self.error.values
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(scatter == error, self.seed_freedom, self.seed_freedom * (error / scatter) ** 4)

    def at_times_of(self, first: Rung, values: xr.DataArray) -> Floats:
        """Values of this size at the times of another: the nearest, where it is the same up to half a step."""
        if "time" not in values.dims or first is self:
            return np.asarray(values.values)
        times, wanted = values["time"].values, first.difference["time"].values
        nearest, same = _nearest(times, wanted, self.one_step)
        found = values.isel(time=nearest).values
        return np.where(same.reshape([-1 if axis == "time" else 1 for axis in values.dims]), found, np.nan)


def rung_of(prediction: xr.Dataset, measurement: xr.Dataset, name: str, signless: bool) -> Rung:
    """One quantity of a prediction beside that of a measurement.

    Seeds are paired where each has a prediction of its own. A point at which some seed has no value is left out: the
    mean of those that did not diverge is not what is predicted. Seeds of either sign, as random starts have them, are
    turned to one: what a finite size does has the sign of each, and cancels in a plain mean, as does an error of the
    prediction by a factor.

    Args:
        signless: compare absolute values, where the target's symmetry makes signs arbitrary.
    """
    theory, simulation = _on_shared_axes(prediction, measurement, name)
    if signless:
        theory, simulation = abs(theory), abs(simulation)
    mean, paired = _seed_mean(theory), "seed" in theory.dims
    if paired:
        theory, simulation = abs(theory), simulation * xr.where(theory < 0, -1.0, 1.0)
    difference, scatter, freedom = _difference(theory, simulation, measurement)
    axes, absent = difference.dims, simulation.isnull()
    missing = absent.mean("seed") if "seed" in absent.dims else absent.astype(np.float64)
    spread = (theory**2).mean("seed") ** 0.5 if "seed" in theory.dims else abs(theory)
    predicted = _aligned(prediction, f"{name}_error", difference) if f"{name}_error" in prediction else 0.0 * difference
    theory, simulation = _seed_mean(theory), _seed_mean(simulation)
    return Rung(
        theory=theory.transpose(*axes),
        simulation=simulation.transpose(*axes),
        difference=difference,
        sign=np.where((mean.transpose(*axes).values < 0) & paired, -1.0, 1.0),
        scatter=scatter.transpose(*axes),
        predicted=predicted.transpose(*axes),
        missing=missing.transpose(*axes),
        spread=spread.transpose(*axes),
        seed_freedom=freedom,
        one_step=_one_step(measurement),
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
    if "time" in theory.dims and "time" not in simulation.dims:
        raise InvalidParameter("measurement", f"{name} without times", "when it was measured, on an axis `time`")
    if "time" in theory.dims:
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
    times = simulation["time"].values
    nearest, shared = _nearest(theory["time"].values, times, _one_step(measurement))
    theory = theory.isel(time=nearest[shared]).assign_coords(time=times[shared])
    return theory.drop_vars("step", errors="ignore"), simulation.isel(time=shared)


def _one_step(measurement: xr.Dataset) -> float:
    """The time that a step takes; 1 where time counts the steps."""
    if "time" not in measurement.coords:
        return 1.0
    times = measurement["time"].values
    steps = measurement["step"].values if "step" in measurement.coords else times
    return float(np.max(times[steps > 0] / steps[steps > 0], initial=0.0))


def _nearest(times: Floats, wanted: Floats, one_step: float) -> tuple[np.ndarray, np.ndarray]:
    """For each wanted time the place of the nearest, and whether it is the same: within half a step of a fine clock."""
    nearest = np.argmin(np.abs(times[None, :] - wanted[:, None]), axis=1)
    return nearest, np.abs(times[nearest] - wanted) <= (0.51 * one_step if one_step < 1 else 1e-9)


def _aligned(dataset: xr.Dataset, name: str, like: xr.DataArray) -> xr.DataArray:
    """An error from a dataset on the axes of `like`; over seeds their mean: all have the same mistake."""
    error = dataset[name].astype(np.float64)
    if "time" in like.dims:
        error = error.reindex(time=like["time"].values, method="nearest")
    if "seed" in error.dims and "seed" not in like.dims:
        error = _seed_mean(error)
    return error.transpose(*like.dims)


def _seed_mean(values: xr.DataArray) -> xr.DataArray:
    return values.mean("seed", skipna=False) if "seed" in values.dims else values
