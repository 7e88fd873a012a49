"""One quantity under test: how far each point went, how far it may go, and what an error of a fifth would have done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from featlab.comparison.quantity import ComparedQuantity, Point
from featlab.gaussian.hermite import Floats

# A comparison that could not tell a prediction from one that is wrong by this much says so.
WRONG_BY = 0.2
# The share of a quantity's points that must tell, each by itself, for the quantity to agree.
TELLING = 0.5


class Tested:
    """A quantity, its points judged.

    Attributes:
        quantity: with what is said of each of its points.
        margins: |z| over what is allowed; -1 where nothing is compared.
        place: the point where that is largest; where nothing exceeds the allowance, the one nearest to its bound.
        up, down: the relative error of the prediction, upwards and downwards, that each point would have rejected.
    """

    def __init__(self, quantity: ComparedQuantity) -> None:
        with np.errstate(invalid="ignore"):
            ratios = np.abs(quantity.z.values) / quantity.allowed_z
        self.margins = np.where(quantity.compared, ratios, -1.0)
        self.place = _largest(self.margins if np.max(self.margins) > 0 else _shares(quantity))
        # Whether seeds differ anywhere: what is exact by itself is judged as such, beside others it tells nothing.
        self.scatters = bool(np.any(quantity.measured))
        self.up, self.down = self._rejecting_factors(quantity)
        self.quantity = replace(quantity, points=quantity.difference.copy(data=self._points(quantity)))

    @property
    def margin(self) -> float:
        """At the worst point."""
        return float(self.margins[self.place])

    @property
    def largest_z(self) -> float:
        """|z| at the worst point."""
        return float(abs(self.quantity.z.values[self.place]))

    @property
    def allowed_z(self) -> float:
        """What it may be there."""
        return float(self.quantity.allowed_z[self.place])

    @property
    def allowance_share(self) -> float:
        """The share of the bound that was allowed, not measured, at the worst point."""
        allowed, noise = self.quantity.allowance[self.place], self.quantity.noise[(0, *self.place)]
        return float(allowed / (allowed + noise)) if allowed + noise > 0 else 0.0

    @property
    def resolution(self) -> float:
        """The smallest relative error of the whole prediction, upwards and downwards, that some point would reject."""
        rising = ~self.quantity.vanishing  # no factor changes what vanishes
        least = (np.min(factors[rising], initial=np.inf) for factors in (self.up, self.down))
        return float(max(*least, 0.0))

    def count(self, *kinds: Point) -> int:
        """How many points are of these kinds."""
        return int(np.sum(self._are(kinds)))

    @property
    def told(self) -> int:
        """How many points tell, each by itself; curves that vanish beside others that do not cannot vouch for them."""
        return int(np.sum(self._are((Point.AGREES,)) & ~self.quantity.vanishing))

    @property
    def counted(self) -> int:
        """Of how many that is."""
        kinds = (Point.AGREES, Point.CANNOT_TELL, Point.NO_VALUE)
        return int(np.sum(self._are(kinds) & ~self.quantity.vanishing))

    def _are(self, kinds: Iterable[Point]) -> np.ndarray:
        assert self.quantity.points is not None
        return np.isin(self.quantity.points.values, [kind.value for kind in kinds])

    def _rejecting_factors(self, quantity: ComparedQuantity) -> tuple[Floats, Floats]:
        """(1 + f) p is rejected where f |p| - u > bound for every possible limit, (1 - f) p where f |p| + u > bound, u
        the difference along p."""
        usable = (quantity.measured if self.scatters else quantity.compared) & (quantity.scale > 0)
        along = quantity.estimates.value * np.where(quantity.theory.values < 0, -1.0, 1.0)
        up, down = (np.full(quantity.scale.shape, np.inf) for _ in range(2))
        for factors, sign in ((up, 1), (down, -1)):
            needed = np.nanmax((quantity.allowance + quantity.noise + sign * along)[:, usable], axis=0, initial=-np.inf)
            factors[usable] = needed / quantity.scale[usable]
        return up, down

    def _points(self, quantity: ComparedQuantity) -> np.ndarray:
        """What is said of each point."""
        said = np.where(np.maximum(self.up, self.down) <= WRONG_BY, Point.AGREES.value, Point.CANNOT_TELL.value)
        said = said.astype("<U13")
        exact = quantity.compared & ~quantity.measured & self.scatters
        still = quantity.waiting & (said == Point.CANNOT_TELL.value) & ~quantity.vanishing
        said[quantity.given | exact | still] = Point.GIVEN.value
        said[self.margins > 1] = Point.DISAGREES.value
        said[~quantity.compared] = Point.NO_VALUE.value
        said[quantity.diverged] = Point.DIVERGED.value
        said[~quantity.described] = Point.NOT_DESCRIBED.value
        return said


def _shares(quantity: ComparedQuantity) -> Floats:
    """The difference over its bound, at each point that is evidence."""
    bound = quantity.allowance + quantity.noise[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.abs(quantity.estimates.value[0]) / bound
    return np.where(quantity.measured & np.isfinite(shares), shares, -1.0)


def _largest(values: Floats) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(values)), values.shape))
