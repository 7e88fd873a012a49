"""One quantity of a prediction beside that of a measurement, at one size or at several: values and errors by points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import scipy.stats
import xarray as xr

from featlab.comparison.approach import Differences, Estimates, at_one_size, in_the_limit
from featlab.comparison.rung import Rung
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.outcome import Outcome

# Rounding of a simulation relative to the size of a quantity: sums over up to 10^6 steps in float32, or in float64.
_ROUNDING = {"float32": 1e-5, "float64": 1e-12}
# What a quantity is measured by where the whole prediction is zero: cosines and overlaps of unit rows are at most one.
_NATURAL_SIZE = {"cosine": 1.0, "overlap": 1.0, "subspace": 1.0}
_VANISHING = 1e-9
# Scatter below this share of the size is rounding.
_SCATTERLESS = 1e-6
# Below this share of its largest change a curve has hardly left its start; what moves by less than this has arrived.
_HARDLY, _STANDING = 0.1, 1e-3
# With a larger share of runs that are not converged, their end is not what theory describes.
FEW_UNFINISHED = 0.25
# Sorted, or absolute values: a kink where they are predicted to vanish.
_KINKED = ("subspace", "spectrum")


class Point(StrEnum):
    """What is said of one point."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    CANNOT_TELL = "cannot tell"
    GIVEN = "given"  # both were told so, and nothing that is seen has happened since: no evidence
    NOT_DESCRIBED = "not described"  # on a path that theory does not describe
    NO_VALUE = "no value"
    DIVERGED = "diverged"  # most runs, where theory is finite


@dataclass(frozen=True)
class ComparedQuantity:
    """A quantity on the axes that prediction and measurement share, all as arrays of the same shape.

    Attributes:
        name: of the quantity.
        theory: predicted; the mean over seeds if each seed has its own prediction: of their sizes where signs differ,
            with the sign of most. At the first size, as all below.
        simulation: measured, mean over seeds.
        difference: simulation - theory; seed by seed, along the sign that is predicted for it, where each has its own.
        scatter: standard error of what was measured, from its scatter over seeds.
        error: standard error of the difference: that, and the error of the prediction.
        estimates: what the difference may be in the limit; without several sizes, the difference itself.
        freedom: of that error.
        scale: what a relative error of one would change at each point; where the curve vanishes, the quantity's size.
        vanishing: where the curve is predicted to vanish while others do not.
        allowance: what a finite dimension and rounding are allowed at each point.
        size: of the whole quantity.
        given: where both sides were told the same, so that nothing is found out.
        described: where theory says something at all.
        waiting: where theory has hardly left the start, which both were told.
        diverged: where most runs at the largest size have diverged though theory is finite.
        chance: of rejecting a right prediction at one point.
        sizes: how many sizes there are.
        signless: whether these are absolute values.
        points: what is said of each, once it is judged.
    """

    name: str
    theory: xr.DataArray
    simulation: xr.DataArray
    difference: xr.DataArray
    scatter: xr.DataArray
    error: xr.DataArray
    freedom: Floats
    estimates: Estimates
    scale: Floats
    vanishing: np.ndarray
    allowance: Floats
    size: float
    given: np.ndarray
    described: np.ndarray
    waiting: np.ndarray
    diverged: np.ndarray
    chance: float
    sizes: int = 1
    signless: bool = False
    points: xr.DataArray | None = None

    @cached_property
    def compared(self) -> np.ndarray:
        """The points at which both have a value and the error is known, and of which theory says something."""
        known = np.isfinite(self.estimates.value[0]) & np.isfinite(self.estimates.error[0])
        return np.asarray(known & self.described & ~self.diverged)

    @property
    def left_out(self) -> int:
        """At how many points something has no value."""
        return int(np.sum(~np.isfinite(self.estimates.value[0]) & self.described & ~self.diverged))

    @property
    def measured(self) -> np.ndarray:
        """The points at which seeds differ. Where they do not, as at a given start, there is nothing to find out."""
        return self.compared & ~self.given & (self.estimates.error[0] > _SCATTERLESS * self.size)

    @cached_property
    def z(self) -> xr.DataArray:
        """What is left of the difference beyond the allowance, in standard errors, with its sign: of the possible
        limits the one nearest to the prediction, and zero where they are on both sides of it."""
        values = np.where(self._one_sided, self._of_nearest(self._each_z), 0.0)
        return self.difference.copy(data=np.where(self.compared, values, np.nan))

    @property
    def allowed_z(self) -> Floats:
        """The |z| that a right prediction exceeds with the chance of this test at one point (Student's law)."""
        return self._of_nearest(self.limits)

    @cached_property
    def limits(self) -> Floats:
        """The same for every possible limit."""
        return np.asarray(scipy.stats.t.isf(self.chance / 2, self.estimates.freedom))

    @cached_property
    def noise(self) -> Floats:
        """How far chance may carry each possible limit."""
        with np.errstate(invalid="ignore"):  # an error of zero with no freedom at all
            return np.where(self.estimates.error > 0, self.limits * self.estimates.error, 0.0 * self.estimates.value)

    @cached_property
    def _each_z(self) -> Floats:
        value = self.estimates.value
        excess = np.maximum(np.abs(value) - self.allowance, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sign(value) * np.where(excess > 0, excess / self.estimates.error, 0.0)

    def _of_nearest(self, values: Floats) -> Floats:
        """Of the possible limits, that which is the least beyond chance."""
        with np.errstate(invalid="ignore"):
            ratios = np.abs(self._each_z) / self.limits
        nearest = np.argmin(np.where(np.isnan(ratios), np.inf, ratios), axis=0)
        return np.take_along_axis(values, nearest[None], axis=0)[0]

    @property
    def _one_sided(self) -> np.ndarray:
        value = self.estimates.value
        with np.errstate(invalid="ignore"):
            return np.asarray(np.all(~(value <= 0), axis=0) | np.all(~(value >= 0), axis=0))

    @property
    def limit(self) -> xr.DataArray:
        """What the measurement tends to; at one size, what was measured."""
        return self.theory + self.difference.copy(data=self.estimates.value[0])

    @property
    def limit_error(self) -> xr.DataArray:
        """Its standard error."""
        return self.difference.copy(data=self.estimates.error[0])

    @property
    def exponent(self) -> xr.DataArray:
        """e of the law by which it tends to the limit; NaN without one."""
        return self.difference.copy(data=self.estimates.exponent)


def compared_quantity(
    name: str,
    rungs: Sequence[Rung],
    predictions: Sequence[xr.Dataset],
    measurements: Sequence[xr.Dataset],
    *,
    fraction: float,
    of_largest: bool,
    signless: bool,
    chance: float,
) -> ComparedQuantity:
    """One quantity of predictions beside that of measurements, one of each for every size; the first size is shown.

    Args:
        rungs: the quantity at each size.
        fraction: allowed for the finite dimension, of the value predicted at a point, or (`of_largest`) anywhere.
        signless: whether the rungs have absolute values.
        chance: of rejecting a right prediction at one point, and of rejecting a right law of approach.
    """
    first = rungs[0]
    size = _size(name, first.theory)
    vanishing = _vanishing(first.theory, size)
    if len(rungs) == 1:
        estimates = at_one_size(first.difference.values, first.error.values, first.freedom)
    else:
        smooth = not signless and name not in _KINKED
        values = np.maximum(np.abs(first.theory.values), np.abs(first.simulation.values))
        estimates = in_the_limit(_differences(rungs, measurements, size), smooth, chance, scale=values)
    theory, simulation, difference = (part * first.sign for part in (first.theory, first.simulation, first.difference))
    rounding = _ROUNDING.get(str(measurements[0].attrs.get("dtype")), _ROUNDING["float64"]) * size
    return ComparedQuantity(
        name=name,
        theory=theory,
        simulation=simulation,
        difference=difference,
        scatter=first.scatter,
        error=first.error,
        freedom=first.freedom,
        estimates=replace(estimates, value=first.sign * estimates.value),
        scale=np.where(vanishing, size, np.abs(first.theory.values)),
        vanishing=vanishing & ~np.all(vanishing),
        allowance=fraction * np.where(vanishing | of_largest, size, np.abs(first.theory.values)) + rounding,
        size=size,
        given=_given(first.difference, measurements[0]),
        described=_described(first, predictions[0], measurements, size),
        waiting=_waiting(theory, measurements[0]),
        diverged=_diverged(rungs, measurements),
        chance=chance,
        sizes=len(rungs),
        signless=signless,
    )


def _differences(rungs: Sequence[Rung], measurements: Sequence[xr.Dataset], size: float) -> Differences:
    """All sizes on the points of the first one.

    What is predicted may itself depend on the size, as a random start of overlap 1/sqrt(d) does: differences are then
    taken relative to it, so that a prediction that is wrong by a fifth stays so at every size.
    """
    first = rungs[0]
    shape = (len(rungs), *first.difference.shape)
    value, scatter, predicted = (np.full(shape, np.nan) for _ in range(3))
    freedom = np.ones(shape)
    for row, rung in enumerate(rungs):
        spread, own = rung.at_times_of(first, rung.spread), first.spread.values
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(np.minimum(spread, own) > _VANISHING * size, own / spread, 1.0)
        value[row], scatter[row], predicted[row] = (
            ratio * rung.at_times_of(first, part) for part in (rung.difference, rung.scatter, rung.predicted)
        )
        freedom[row] = rung.seed_freedom
    seeds = np.array([float(one.sizes.get("seed", 1)) for one in measurements])
    return Differences(sizes_of(measurements), seeds, value, scatter, predicted, freedom)


def sizes_of(measurements: Sequence[xr.Dataset]) -> Floats:
    """What grows from one measurement to the next: the dimension, or, where it is the same, the samples."""
    for name in ("dim", "samples"):
        sizes = [float(one.attrs[name]) for one in measurements if name in one.attrs]
        if len(sizes) == len(measurements) and len(set(sizes)) == len(sizes):
            return np.array(sizes)
    given = [one.attrs.get("dim") for one in measurements]
    raise InvalidParameter("measurement", f"dimensions {given}", "different dimensions, or different samples")


def _given(difference: xr.DataArray, measurement: xr.Dataset) -> np.ndarray:
    """The start of a run that goes on, which both were told."""
    start = np.zeros(difference.shape, dtype=bool)
    if "time" not in difference.dims or "step" not in measurement.coords or _is_fit(measurement):
        return start
    steps = measurement["step"].sel(time=difference["time"].values).values
    return start | (steps == 0).reshape([-1 if axis == "time" else 1 for axis in difference.dims])


def _is_fit(measurement: xr.Dataset) -> bool:
    """Whether what is seen at the start is a result: of one time alone, or of a fit there, which has a ridge."""
    return "ridge" in measurement or measurement.sizes.get("time", 1) == 1


def _described(first: Rung, prediction: xr.Dataset, measurements: Sequence[xr.Dataset], size: float) -> np.ndarray:
    """Every point; of what theory describes the end only, the last time, where runs have come to theirs at every size
    and the mean no longer moves."""
    shape = first.difference.shape
    if prediction.attrs.get("describes", "path") == "path" or "time" not in first.difference.dims:
        return np.ones(shape, dtype=bool)
    axis = first.difference.dims.index("time")
    described = np.zeros(shape, dtype=bool)
    if shape[axis] > 1 and all(_unfinished(one) <= FEW_UNFINISHED for one in measurements):
        moved, error = np.abs(np.diff(first.simulation.values, axis=axis)), first.scatter.values
        arrived = np.take(moved, -1, axis) <= np.maximum(np.take(error, -1, axis), _STANDING * size)
        np.moveaxis(described, axis, 0)[-1] = arrived
    return described


def _unfinished(measurement: xr.Dataset) -> float:
    """The share of runs that still moved after their last step."""
    outcomes = np.atleast_1d(measurement.get("outcome", xr.DataArray(Outcome.OK.value)).values)
    return float(np.mean(outcomes == Outcome.NOT_CONVERGED.value))


def _waiting(theory: xr.DataArray, measurement: xr.Dataset) -> np.ndarray:
    """Where a curve that begins at its start has hardly left it."""
    if "time" not in theory.dims or theory["time"].values[0] != 0 or _is_fit(measurement):
        return np.zeros(theory.shape, dtype=bool)
    gone = np.abs((theory - theory.isel(time=0)).values)
    axis = theory.dims.index("time")
    return np.asarray(gone <= _HARDLY * np.max(np.nan_to_num(gone), axis=axis, keepdims=True))


def _diverged(rungs: Sequence[Rung], measurements: Sequence[xr.Dataset]) -> np.ndarray:
    """Where more than half of the runs at the largest size have diverged though theory has a value."""
    first, last = rungs[0], int(np.argmax(sizes_of(measurements))) if len(rungs) > 1 else 0
    outcomes = np.atleast_1d(measurements[last].get("outcome", xr.DataArray(Outcome.OK.value)).values)
    if not np.mean(outcomes == Outcome.DIVERGED.value) > 0.5:
        return np.zeros(first.difference.shape, dtype=bool)
    missing = rungs[last].at_times_of(first, rungs[last].missing)
    return np.asarray((missing > 0.5) & np.isfinite(first.theory.values))


def _size(name: str, theory: xr.DataArray) -> float:
    present = np.abs(theory.values[np.isfinite(theory.values)])
    largest, natural = float(np.max(present, initial=0.0)), _NATURAL_SIZE.get(name, 0.0)
    return largest if largest > _VANISHING * natural else natural


def _vanishing(theory: xr.DataArray, size: float) -> np.ndarray:
    """The points of curves over time that vanish throughout."""
    predicted = np.nan_to_num(np.abs(theory.values))
    axis = theory.dims.index("time") if "time" in theory.dims else ()
    largest = np.max(predicted, axis=axis, keepdims=True, initial=0.0)
    return np.broadcast_to(largest <= _VANISHING * size, predicted.shape)
