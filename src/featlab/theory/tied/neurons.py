"""The neurons of a network with one shared direction as functions of one Gaussian field: products and coefficients.

phi_i(u) = relu(eps_i u - b_i) / sqrt N bends at its knot k_i = eps_i b_i, whatever its sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from featlab.errors import InvalidParameter
from featlab.gaussian.activations_integrals import line_rule
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import static_breaks
from featlab.targets import Target
from featlab.targets.inputs import Isotropic
from featlab.theory.question import NoPrediction

# h_k(x) times the root of the density is at most about 1, so that beyond this the integrals of f h_k have died out.
_REACH = 14.0
_PIECE = 0.25  # 16 points on each: enough for h_k up to k = 1000, whose waves are 0.1 long


@dataclass(frozen=True, eq=False)
class Neurons:
    """N neurons by their knots eps_i b_i and signs eps_i, each (N,)."""

    knots: Floats
    signs: Floats

    def __post_init__(self) -> None:
        if self.knots.ndim != 1 or self.knots.shape != self.signs.shape or self.knots.size == 0:
            expected = "one sign for each knot"
            raise InvalidParameter("knots", f"shapes {self.knots.shape} and {self.signs.shape}", expected)
        if not np.all(np.abs(self.signs) == 1):
            raise InvalidParameter("signs", self.signs, "+1 or -1 for each neuron")

    @property
    def count(self) -> int:
        """N."""
        return len(self.knots)

    def features(self, fields: Floats) -> Floats:
        """phi_i(u), (..., N)."""
        return np.maximum(self.signs * (np.asarray(fields)[..., None] - self.knots), 0) / np.sqrt(self.count)

    def slopes(self, fields: Floats, second: Floats) -> Floats:
        """f'(u) = sum_i c_i phi_i'(u), (...)."""
        active = self.signs * (np.asarray(fields)[..., None] - self.knots) > 0
        return active @ (second * self.signs) / np.sqrt(self.count)

    def gram(self) -> Floats:
        """E[phi_i(z) phi_j(z)], (N, N), in closed form.

        Statement: (z - k)(z - l) has the Gaussian integral p(x) phi(x) - (1 + k l) Phi(x) from x to infinity up to
        sign, with p = x - k - l. Two neurons that open to the same side are integrated beyond the inner of their knots,
        two that open to opposite sides between them, with the sign of (z - k)(l - z).
        """
        one, other = self.knots[:, None], self.knots[None, :]
        side = np.broadcast_to(self.signs[:, None], (self.count, self.count))
        same = side == self.signs[None, :]
        to_the_right = _beyond(np.maximum(one, other), one, other)
        to_the_left = _beyond(np.maximum(-one, -other), -one, -other)
        left_end, right_end = np.where(side > 0, one, other), np.where(side > 0, other, one)
        between = _beyond(right_end, one, other) - _beyond(left_end, one, other)
        opposite = np.where(left_end < right_end, between, 0)
        return np.where(same, np.where(side > 0, to_the_right, to_the_left), opposite) / self.count

    def coefficients(self, max_order: int) -> Floats:
        """E[phi_i(z) h_k(z)] for k = 0..max_order, (N, max_order + 1), h_k orthonormal.

        Statement: relu(eps z - b) has mean phi(b) - b Phi(-b) and mean slope eps Phi(-b); its second derivative is a
        point mass at the knot, so that E[relu h_k] = h_{k-2}(knot) phi(knot) / sqrt(k (k - 1)) for k >= 2. The
        recurrence of h_k is run on h_k phi, which neither overflows nor loses digits.
        """
        biases, density = self.signs * self.knots, norm.pdf(self.knots)
        values = np.empty((max_order + 1, self.count))
        values[0] = density - biases * norm.cdf(-biases)
        if max_order >= 1:
            values[1] = self.signs * norm.cdf(-biases)
        before, here = np.zeros(self.count), density
        for k in range(2, max_order + 1):
            values[k] = here / np.sqrt(k * (k - 1))
            before, here = here, (self.knots * here - np.sqrt(k - 2) * before) / np.sqrt(k - 1)
        return values.T / np.sqrt(self.count)


@dataclass(frozen=True, eq=False)
class LinkSeries:
    """A link of one field in the orthonormal Hermite basis: alpha_k = E[f h_k] for k = 0.., E[f^2], and the noise."""

    coefficients: Floats
    square: float
    noise: float

    @property
    def missing(self) -> float:
        """The share of E[f^2] beyond the last coefficient."""
        return 1 - float(np.sum(self.coefficients**2)) / self.square


def link_series(target: Target, max_order: int) -> LinkSeries:
    """The series of a target of one direction, by quadrature cut at its kinks.

    Raises:
        NoPrediction: for a target of several directions, with noise inside the link, or on other inputs.
    """
    if target.rank != 1 or target.hidden or not isinstance(target.inputs, Isotropic):
        raise NoPrediction(
            f"the target {target.text!r} on {target.inputs!r}; the population loss of a network with one direction is "
            "for targets of one direction, without noise inside the link, on isotropic inputs"
        )
    points, weights = line_rule(static_breaks(target.kinks, 0, 1), _PIECE, _REACH)
    values = target.link(points[:, None])
    coefficients = hermite_normalised_all(max_order, points) @ (weights * values)
    return LinkSeries(coefficients, float(weights @ values**2), target.noise)


def _beyond(end: Floats, one: Floats, other: Floats) -> Floats:
    """The integral of (z - k)(z - l) over z > end against the Gaussian density."""
    return (end - one - other) * norm.pdf(end) + (1 + one * other) * norm.cdf(-end)
