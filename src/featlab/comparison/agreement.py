"""The verdict: does a measurement bear out a prediction, contradict it, or is it too noisy to tell.

At each point the difference may be as large as the stated allowance for finite d; what is left is compared with the
standard error by Student's law. All m points are tested at the level 1% / m (Bonferroni), so that a right prediction is
rejected in at most one comparison of a hundred however the points depend on each other. "Agrees" is said only of data
that, for each quantity, would have rejected the same prediction made 20% larger, and made 20% smaller: absence of
evidence is no agreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import xarray as xr

from featlab.comparison.quantity import ComparedQuantity, FiniteSize, allowed_fraction, compared_quantity
from featlab.errors import InvalidParameter

LEVEL = 0.01
# A comparison that could not tell a prediction from one that is wrong by this much says so.
WRONG_BY = 0.2
_DEFAULT_NAMES = ("overlap", "norm", "risk")
_OTHER_NAMES = ("subspace", "first_overlap", "growth")  # of learners that have none of these


class Agreement(StrEnum):
    """What a comparison says."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class Comparison:
    """A prediction over a measurement.

    Attributes:
        verdict: agrees, disagrees, or cannot tell.
        reason: why, in words with numbers.
        allowance: what a finite dimension was allowed, in words.
        quantities: by name, the two on their shared axes with z-scores.
        points: how many numbers were compared.
        largest_z, allowed_z: the most extreme |z|, and what it may be, at the point where they are closest.
        resolution: the smallest relative error of a quantity's whole prediction that these data would have rejected,
            whichever quantity it is.
    """

    verdict: Agreement
    reason: str
    allowance: str
    quantities: dict[str, ComparedQuantity]
    points: int
    largest_z: float
    allowed_z: float
    resolution: float

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason} Allowance: {self.allowance}."


def compare(
    prediction: xr.Dataset,
    measurement: xr.Dataset,
    *,
    names: Sequence[str] | None = None,
    allowance: FiniteSize | float | None = None,
    signless: bool = False,
    level: float = LEVEL,
) -> Comparison:
    """Lay a prediction over a measurement and say whether they agree.

    Args:
        prediction: as `featlab.predict` returns it; seeds are paired if it has them.
        measurement: as `featlab.simulate` returns it, with at least two seeds; or any dataset with errors.
        names: the quantities to compare; overlap, norm and risk where both have them unless given.
        allowance: what a finite dimension may change: `FiniteSize(c, e)` is c d^(-e) of the largest predicted value, a
            number is that fraction of it; 1/sqrt(d) unless given.
        signless: compare absolute values, where the target's symmetry makes signs arbitrary.
        level: the chance that a right prediction is rejected is at most this.
    """
    if not 0 < level < 1:
        raise InvalidParameter("level", level, "a probability above 0 and below 1")
    fraction, stated = allowed_fraction(FiniteSize() if allowance is None else allowance, measurement)
    quantities = {
        name: compared_quantity(prediction, measurement, name, fraction, signless)
        for name in _names(prediction, measurement, names)
    }
    points = sum(int(np.sum(quantity.compared)) for quantity in quantities.values())
    tested = [_Tested(quantity, level / max(points, 1)) for quantity in quantities.values()]
    worst = max(tested, key=lambda one: one.margin)
    resolution = _resolution(tested)
    verdict, reason = _judge(prediction, quantities, worst, points, resolution)
    return Comparison(verdict, reason, stated, quantities, points, worst.largest_z, worst.allowed_z, resolution)


def assert_agrees(
    prediction: xr.Dataset,
    measurement: xr.Dataset,
    *,
    names: Sequence[str] | None = None,
    allowance: FiniteSize | float | None = None,
    signless: bool = False,
    level: float = LEVEL,
) -> Comparison:
    """For tests: raise AssertionError, with the reason, unless they agree; data too noisy to tell are no pass."""
    comparison = compare(prediction, measurement, names=names, allowance=allowance, signless=signless, level=level)
    if comparison.verdict is not Agreement.AGREES:
        raise AssertionError(str(comparison))
    return comparison


class _Tested:
    """One quantity under test: at each point how far the difference may go, and how far it went."""

    def __init__(self, quantity: ComparedQuantity, chance: float) -> None:
        self.quantity = quantity
        limits = quantity.limits(chance)
        with np.errstate(invalid="ignore"):  # an error of zero with no freedom at all
            noise = np.where(quantity.error.values > 0, limits * quantity.error.values, 0.0)
        self.bounds = quantity.allowance + noise
        ratios = np.where(quantity.compared, np.abs(quantity.z.values) / limits, -1.0)
        self.place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratios)), ratios.shape))
        self.margin = float(ratios[self.place])
        self.largest_z = float(abs(quantity.z.values[self.place]))
        self.allowed_z = float(limits[self.place])
        self.scatters = bool(np.any(quantity.measured))  # whether seeds differ anywhere

    def rejecting_factors(self) -> tuple[float, float]:
        """The smallest relative errors, upwards and downwards, of the prediction that some point would have rejected.

        (1 + f) p is rejected where f |p| - u > bound, (1 - f) p where f |p| + u > bound, u the difference along p.
        """
        reach = self.quantity.reach()
        sign = np.where(self.quantity.theory.values < 0, -1.0, 1.0)
        usable = (self.quantity.measured if self.scatters else self.quantity.compared) & (reach > 0)
        along = (self.quantity.difference.values * sign)[usable]
        bound, scale = self.bounds[usable], reach[usable]
        if not scale.size:
            return np.inf, np.inf
        return float(np.min((bound + along) / scale)), float(np.min((bound - along) / scale))


def _resolution(tested: Sequence[_Tested]) -> float:
    """Of the quantity that is told apart the worst: a norm kept at one must not vouch for an overlap lost in noise."""
    telling = [one for one in tested if one.scatters] or tested
    return max(0.0, *(factor for one in telling for factor in one.rejecting_factors()))


def _names(prediction: xr.Dataset, measurement: xr.Dataset, names: Sequence[str] | None) -> list[str]:
    if names is not None:
        chosen = [names] if isinstance(names, str) else list(names)
        if not chosen:
            raise InvalidParameter("names", names, "at least one quantity")
        return chosen
    both = [name for name in prediction if name in measurement]
    shared = [name for name in _DEFAULT_NAMES if name in both] or [name for name in _OTHER_NAMES if name in both]
    if not shared:
        raise InvalidParameter("names", None, f"quantities of both; neither {', '.join(_DEFAULT_NAMES)} is in both")
    return shared


def _judge(
    prediction: xr.Dataset, quantities: dict[str, ComparedQuantity], worst: _Tested, points: int, resolution: float
) -> tuple[Agreement, str]:
    left_out = sum(quantity.left_out for quantity in quantities.values())
    gaps = f" {left_out} points without a value are left out." if left_out else ""
    if points == 0:
        failed = prediction.attrs.get("outcome", "ok")
        why = (
            f"the prediction is {failed}; {prediction.attrs['remedy']}" if failed != "ok" else "take at least two seeds"
        )
        return Agreement.CANNOT_TELL, f"there is no point at which both have a value and an error: {why}.{gaps}"
    if worst.margin > 1:
        return Agreement.DISAGREES, f"{_point(worst)}, where at most {worst.allowed_z:.1f} are allowed.{gaps}"
    count = "1 point" if points == 1 else f"{points} points"
    within = f"largest |z| {worst.largest_z:.1f} where {worst.allowed_z:.1f} is allowed, at {count}"
    if resolution > WRONG_BY:
        error = f"{resolution:.0%}" if np.isfinite(resolution) else "any factor"
        return Agreement.CANNOT_TELL, (
            f"nothing contradicts the prediction ({within}), but one that is wrong by {WRONG_BY:.0%} would not have "
            f"been rejected either (it takes {error}): more seeds, or a larger dimension.{gaps}"
        )
    return Agreement.AGREES, f"{within}; a prediction wrong by {resolution:.1%} would have been rejected.{gaps}"


def _point(worst: _Tested) -> str:
    """The worst point in words."""
    quantity, place = worst.quantity, worst.place
    where = ", ".join(
        f"{axis} {quantity.theory[axis].values[index]:.4g}" if axis in quantity.theory.coords else f"{axis} {index + 1}"
        for axis, index in zip(quantity.difference.dims, place, strict=True)
    )
    theory, simulation, error = (part.values[place] for part in (quantity.theory, quantity.simulation, quantity.error))
    return (
        f"{quantity.name} at {where}: predicted {theory:.4g}, measured {simulation:.4g} +- {error:.2g}, "
        f"{worst.largest_z:.1f} standard errors beyond the allowance of {quantity.allowance:.2g}"
    )
