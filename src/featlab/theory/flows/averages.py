"""The Gaussian averages that a neuron's population loss is made of, and their derivatives.

For fields (u, h) jointly Gaussian, E[u^2] = q, E[h^2] = 1, E[u h] = c, and a label y with E[y | h] given, all that the
loss of a neuron a sigma(u + b) asks is

    C(q, c) = E[y sigma(u + b)]   and   S(q) = E[sigma(u + b)^2].

Two ways to C. Mehler's series in rho = c / sqrt(q),

    C = sum_j rho^j E[y h_j(h)] E[sigma(sqrt(q) v + b) h_j(v)],

keeps all digits of its first power rho^k however small rho is; it is taken wherever what lies beyond degree 60 is below
rounding. Elsewhere (a kink, and large rho), quadrature over h and over u given h, whose lines are cut at the kinks, and
in h on the scale on which E[sigma(u + b) | h] turns there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import field_moments, field_rule, line_rule
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import static_breaks
from featlab.targets import Target
from featlab.theory.online.labels import Labels, label_points, singular_breaks
from featlab.theory.question import NoPrediction

_ORDER = 60
_LEFT_OUT = 1e-12  # what the series may leave out of C', as a share of its scale
_ZERO = 1e-12  # a Hermite coefficient of the label below this share of its norm is rounding
_NODES = 20  # for labels with noise inside
_BREAKS = tuple(float(x) for x in np.arange(-6, 7))
_LABEL_WIDTH, _LABEL_REACH = 1.0, 10.0
# A sigma that saturates does so within these arguments: lines on which it is steep are cut there too.
_PLACES = (-12.0, -6.0, -3.0, -1.5, 1.5, 3.0, 6.0, 12.0)
_STEEP = 2.0
_LINE_WIDTH, _LINE_REACH = 0.5, 24.0
_SMALLEST_SPREAD = 1e-9  # of u given h, over that of u: below it, rounding decides its sign


class Value(NamedTuple):
    """C or S, and its derivatives by q and c."""

    value: float
    by_variance: float
    by_covariance: float = 0.0


class Coefficients(NamedTuple):
    """alpha_j(q) = E[sigma(sqrt(q) v + b) h_j(v)], their derivatives by q, and the share of norm beyond j = 60."""

    values: Floats
    changes: Floats
    tail: float


@dataclass(frozen=True, eq=False)
class Averages:
    """C and S of one target of one direction and one neuron.

    Attributes:
        target: the target, of one direction.
        activation: sigma.
        bias: b.
    """

    target: Target
    activation: Activation
    bias: float = 0.0

    def __post_init__(self) -> None:
        if self.target.rank != 1:
            directions = f"the target has {self.target.rank} directions"
            raise NoPrediction(f"{directions}; the flow of a neuron is solved for one: simulate it instead")

    @cached_property
    def _label(self) -> tuple[Floats, float]:
        """E[y h_j(h)], j = 0..60, exactly 0 where only rounding is left; the share of E[y | h]'s norm beyond them."""
        labels = self._labels()
        energy = float(labels.weights @ labels.mean**2)
        found = hermite_normalised_all(_ORDER, labels.directions[:, 0]) @ (labels.weights * labels.mean)
        found[np.abs(found) < _ZERO * np.sqrt(energy)] = 0.0
        return found, _tail(found, energy)

    @cached_property
    def label_square(self) -> float:
        """E[y^2], label noise included."""
        labels = self._labels()
        return float(labels.weights @ labels.square)

    def correlation(self, variance: float, covariance: float) -> Value:
        """C and its derivatives at q and c."""
        mine = _coefficients(self, variance)
        left_out = (_ORDER + 1) * abs(covariance / np.sqrt(variance)) ** _ORDER * mine.tail * self._label[1]
        if left_out <= _LEFT_OUT:
            return self._series(variance, covariance, mine)
        return self._quadrature(variance, covariance)

    def square(self, variance: float) -> Value:
        """S and its derivative at q: S' = E[sigma sigma' v] / sqrt(q)."""
        v, weights = self._line(variance)
        fields = np.sqrt(variance) * v + self.bias
        values = self.activation.value(fields)
        slope = weights @ (values * self.activation.derivative(fields) * v)
        return Value(float(weights @ values**2), float(slope / np.sqrt(variance)))

    def force_square(self, variance: float, covariance: float, second: float, loss: str) -> float:
        """E[D^2] of the force D = (y - a sigma) a sigma' on a field (a y sigma' of the loss "correlation"), at q and c.

        With s_k = E[sigma^k sigma'^2 | h], k = 0, 1, 2, it is a^2 E[y^2 s_0 - 2 a y s_1 + a^2 s_2].
        """
        spread = np.sqrt(max(variance - covariance**2, variance * _SMALLEST_SPREAD**2))
        labels = self._labels(self._turns(covariance, spread) if covariance else ())
        shifts = covariance * labels.directions[:, 0] + self.bias
        _, weights, fields = field_rule(self._places(spread), shifts, np.full(shifts.shape, spread))
        weights = weights * self.activation.derivative(fields) ** 2
        found = labels.square * np.sum(weights, axis=-1)
        if loss == "squared":
            values = self.activation.value(fields)
            once, twice = np.sum(weights * values, axis=-1), np.sum(weights * values**2, axis=-1)
            found = found - 2 * second * labels.mean * once + second**2 * twice
        return float(second**2 * (labels.weights @ found))

    def slope(self, correlation: float) -> float:
        """zeta(rho) = sum_j j alpha_j alpha*_j rho^{j-1} at unit variance: the speed of the normalised flow."""
        return self.correlation(1.0, correlation).by_covariance

    def _series(self, variance: float, covariance: float, mine: Coefficients) -> Value:
        root, theirs = np.sqrt(variance), self._label[0]
        rho, orders = covariance / root, np.arange(_ORDER + 1)
        powers = rho**orders
        lower = np.concatenate([[0.0], powers[:-1]]) * orders  # j rho^{j-1}
        by_rho = float(theirs @ (mine.values * lower))
        by_variance = float(theirs @ (mine.changes * powers) - by_rho * rho / (2 * variance))
        return Value(float(theirs @ (mine.values * powers)), by_variance, float(by_rho / root))

    def _quadrature(self, variance: float, covariance: float) -> Value:
        """With u = c h + s z, s^2 = q - c^2: C_c = E[y sigma' (h - (c/s) z)] and C_q = E[y sigma' z] / (2 s)."""
        spread = np.sqrt(max(variance - covariance**2, variance * _SMALLEST_SPREAD**2))
        labels = self._labels(self._turns(covariance, spread))
        h, weighted = labels.directions[:, 0], labels.weights * labels.mean
        shifts, scales = covariance * h + self.bias, np.full(h.shape, spread)
        places = self._places(spread)
        mean = field_moments(self.activation.value, places, shifts, scales)[0]
        slope, tilt = field_moments(self.activation.derivative, places, shifts, scales)[:2]
        tilted = float(weighted @ tilt / spread)
        return Value(float(weighted @ mean), tilted / 2, float(weighted @ (slope * h)) - covariance * tilted)

    def _labels(self, turns: tuple[float, ...] = ()) -> Labels:
        """E[y | h] on a rule for h, cut at the target's kinks and at `turns`; not at these if the link has noise."""
        breaks = (*_BREAKS, *singular_breaks(self.target))
        if self.target.hidden:
            return label_points(self.target, _NODES, breaks, False, False)
        cuts = (*breaks, *static_breaks(self.target.kinks, 0, 1), *turns)
        h, weights = line_rule(cuts, _LABEL_WIDTH, _LABEL_REACH)
        values = self.target.link(h[:, None])
        return Labels(h[:, None], values, values**2 + self.target.noise, weights)

    def _line(self, variance: float) -> tuple[Floats, Floats]:
        """A rule for v ~ N(0, 1), cut where sqrt(q) v + b meets a kink or begins to saturate."""
        return line_rule(self._cuts(variance), _LINE_WIDTH, _LINE_REACH)

    def _cuts(self, variance: float) -> tuple[float, ...]:
        return tuple((place - self.bias) / np.sqrt(variance) for place in (0.0, *self._places(np.sqrt(variance))))

    def _places(self, scale: float) -> tuple[float, ...]:
        """Where to cut a line on which the argument of sigma has this standard deviation."""
        return tuple(sorted({*self.activation.kinks, *(_PLACES if scale > _STEEP else ())}))

    def _turns(self, covariance: float, spread: float) -> tuple[float, ...]:
        """Where in h, and on which scale, E[sigma | h] turns: around a kink of sigma."""
        steps = spread / abs(covariance) * np.array([-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0])
        centres = [(kink - self.bias) / covariance for kink in self.activation.kinks]
        return tuple(float(place) for centre in centres for place in centre + steps)


@lru_cache(maxsize=64)
def _coefficients(averages: Averages, variance: float) -> Coefficients:
    """d alpha_j / dq = E[sigma' v h_j] / (2 sqrt(q))."""
    v, weights = averages._line(variance)
    basis, fields = _basis(averages._cuts(variance)), np.sqrt(variance) * v + averages.bias
    outputs = averages.activation.value(fields)
    values = basis @ (weights * outputs)
    changes = basis @ (weights * v * averages.activation.derivative(fields)) / (2 * np.sqrt(variance))
    return Coefficients(values, changes, _tail(values, float(weights @ outputs**2)))


@lru_cache(maxsize=4)
def _basis(cuts: tuple[float, ...]) -> Floats:
    """h_j on the rule for v with these cuts: without bias and kinks the same one at every q."""
    return hermite_normalised_all(_ORDER, line_rule(cuts, _LINE_WIDTH, _LINE_REACH)[0])


def _tail(coefficients: Floats, energy: float) -> float:
    """sqrt(1 - sum of squares / energy), but for the rounding of both; 0 where a bias leaves nothing of the neuron."""
    if energy == 0:
        return 0.0
    return float(np.sqrt(max(1 - float(coefficients @ coefficients) / energy, 0.0)))
