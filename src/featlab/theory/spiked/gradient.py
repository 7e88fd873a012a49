"""The gradient of one neuron under a spiked covariance, exactly at every d.

Inputs x = S^{1/2} z with S = I + theta mu mu^T; a single-index target f* = g(h), h = <x, beta>/sqrt(kappa),
kappa = 1 + theta m^2, m = <mu, beta>, g a polynomial; a neuron sigma(<x, w> + b), |w| = 1. One sample contributes
G = x sigma'(<x, w> + b) y to the (uphill, correlation) gradient. In the coordinates z both h = <u, z> and
<x, w> = s xi, xi = <v, z>, are Gaussian, with

    u = S^{1/2} beta / sqrt(kappa),   v = S^{1/2} w / s,   s^2 = 1 + theta <w, mu>^2,   rho = <u, v>.

By Stein's lemma (Ba et al. 2023; Mousavi-Hosseini et al. 2023, arXiv 2309.03843)

    E[G] = A S beta/sqrt(kappa) + B S w,
    A = E[g'(h) sigma'(s xi + b)] = sum_j (j+1)! c_{j+1} a_j rho^j,
    B = E[g(h) sigma''(s xi + b)] = (1/s) sum_j (j+1)! c_j a_{j+1} rho^j,

where g = sum_j c_j He_j and sigma'(s xi + b) = sum_j a_j He_j(xi). At a random w, rho is of order
sqrt(|S beta|^2 / (kappa d)), so that A is of order rho^{k-1}, k the information exponent: d^{-(k-1)/2} without a spike,
(theta/d)^{(k-1)/2} with an aligned one. All sums end with the degree of g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import line_rule
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets import Isotropic, Spiked, Target
from featlab.theory.question import NoPrediction

# Integrals over xi: panels of this width on [-REACH, REACH], cut at the kinks of sigma'.
_WIDTH, _REACH = 1.0, 12.0
# Two directions are one below this squared sine.
_PARALLEL = 1e-14


@dataclass(frozen=True)
class Neuron:
    """Where a neuron stands: <w, beta>, <w, mu>, its bias; |w| = 1."""

    along_target: float
    along_spike: float
    bias: float = 0.0


@dataclass(frozen=True)
class NeuronGradient:
    """The law of one sample's gradient G = x sigma'(<x, w> + b) y up to second order, on orthonormal axes.

    Attributes:
        signal: A |S beta| / sqrt(kappa): the part of E[G] that does not come from w itself; with the sign of A.
        feature: A |S^{3/2} beta| / sqrt(kappa), the standard deviation of <x, .> of that part on fresh inputs.
        mean: E[G] on the axes beta, the rest of mu (any other, if mu is beta), the rest of w.
        second: E[G_e^2] on these axes.
        elsewhere: E[G_e^2] in any other direction: E[sigma'^2 y^2].
        strength, spike_mean, spike_second: theta, E<G, mu> and E<G, mu>^2.
    """

    signal: float
    feature: float
    mean: Floats
    second: Floats
    elsewhere: float
    strength: float
    spike_mean: float
    spike_second: float

    def deviation(self, dim: int, samples: int) -> float:
        """sqrt(E |G_n - E G|^2) for the mean G_n over n samples: sqrt(d/n) to leading order."""
        return sqrt((self._total(dim) - float(self.mean @ self.mean)) / samples)

    def noise(self, dim: int, samples: int) -> float:
        """The same for the part of G_n outside the first two axes, those of beta and mu."""
        outside = self.second[2] - self.mean[2] ** 2 + (dim - 3) * self.elsewhere
        return sqrt(outside / samples)

    def cosine(self, dim: int, samples: int) -> float:
        """E <G_n, beta> / sqrt(E |G_n|^2): the typical cosine of the gradient with beta."""
        square = float(self.mean @ self.mean)
        return float(self.mean[0]) / sqrt(square + (self._total(dim) - square) / samples)

    def spread(self, dim: int, samples: int) -> float:
        """sqrt(E <x, G_n>^2) = sqrt(E |G_n|^2 + theta E <G_n, mu>^2) on fresh inputs x: how wide the feature is."""
        length = float(self.mean @ self.mean) + self.deviation(dim, samples) ** 2
        along = self.spike_mean**2 + (self.spike_second - self.spike_mean**2) / samples
        return sqrt(length + self.strength * along)

    def _total(self, dim: int) -> float:
        return float(self.second.sum()) + (dim - 3) * self.elsewhere


def neuron_gradient(target: Target, activation: Activation, neuron: Neuron) -> NeuronGradient:
    """The law of the gradient of one neuron, for a single-index polynomial target on isotropic or spiked inputs.

    Raises:
        NoPrediction: for several directions, noise inside the link, a link that is not a polynomial, other inputs.
        InvalidParameter: for overlaps that no unit vector w has.
    """
    label, spike = _label_series(target), _spike(target)
    place = _geometry(spike, neuron)
    slope = _slope_series(activation, place.scale, neuron.bias, label.squares.shape[1])
    powers = float(place.rows[0] @ place.rows[1]) ** np.arange(label.squares.shape[1])
    first = float((label.derivative * slope.plain) @ powers)
    second = float((label.plain * slope.derivative) @ powers) / place.scale
    moments = (label.squares * powers) @ slope.squares.T
    target_image, weight_image = place.rows @ place.root
    mean = first * target_image + second * place.scale * weight_image
    return NeuronGradient(
        signal=first * float(np.linalg.norm(target_image)),
        feature=first * float(np.linalg.norm(place.root @ target_image)),
        mean=mean,
        second=np.array([place.second_moment(axis, moments) for axis in np.eye(3)]),
        elsewhere=float(moments[0, 0]),
        strength=spike.strength,
        spike_mean=float(place.spike @ mean),
        spike_second=place.second_moment(place.spike, moments),
    )


@dataclass(frozen=True)
class _Geometry:
    """On the axes beta, rest of mu, rest of w: mu, S^{1/2}, the rows u and v, and s."""

    spike: Floats
    root: Floats
    rows: Floats
    scale: float

    def second_moment(self, axis: Floats, moments: Floats) -> float:
        """E[<x, e>^2 sigma'^2 y^2] from moments[i, j] = E[h^i xi^j sigma'^2 y^2].

        <x, e> = alpha h + beta xi + (a part independent of both, of the variance that is left).
        """
        row = self.root @ axis
        along = self.rows @ row
        shares = np.linalg.pinv(self.rows @ self.rows.T, rcond=_PARALLEL, hermitian=True) @ along  # alpha, beta
        inside = np.array([[moments[2, 0], moments[1, 1]], [moments[1, 1], moments[0, 2]]])
        return float((row @ row - shares @ along) * moments[0, 0] + shares @ inside @ shares)


def _geometry(spike: Spiked, neuron: Neuron) -> _Geometry:
    (overlap,), strength = spike.overlaps, spike.strength
    across = sqrt(max(1 - overlap**2, 0.0))
    mu = np.array([overlap, across, 0.0])
    second = (neuron.along_spike - overlap * neuron.along_target) / across if across else 0.0
    rest = 1 - neuron.along_target**2 - second**2
    if rest < -_PARALLEL or (not across and abs(neuron.along_spike - overlap * neuron.along_target) > _PARALLEL):
        raise InvalidParameter("neuron", neuron, f"overlaps of a unit vector, where <mu, beta> = {overlap:g}")
    weight = np.array([neuron.along_target, second, sqrt(max(rest, 0.0))])
    root = np.eye(3) + (sqrt(1 + strength) - 1) * np.outer(mu, mu)
    scale = float(np.linalg.norm(root @ weight))
    return _Geometry(mu, root, np.array([root[0] / sqrt(1 + strength * overlap**2), root @ weight / scale]), scale)


@dataclass(frozen=True)
class _Series:
    """E[f h_j(t)], t ~ N(0, 1), of a function s of t (plain), of its derivative, and of t^i times another function,
    i = 0, 1, 2 (squares), h_j = He_j/sqrt(j!)."""

    plain: Floats
    derivative: Floats
    squares: Floats

    @classmethod
    def of(cls, points: Floats, weights: Floats, values: Floats, squares: Floats, orders: int) -> _Series:
        basis = hermite_normalised_all(orders, points) * weights
        plain = basis @ values
        products = np.stack([basis[:-1] @ (squares * points**power) for power in range(3)])
        return cls(plain[:-1], plain[1:] * np.sqrt(np.arange(1, orders + 1)), products)


@lru_cache(maxsize=64)
def _label_series(target: Target) -> _Series:
    """Of g, and of y^2."""
    if target.rank != 1 or target.hidden or target.degree is None:
        raise NoPrediction(f"{target.text}: the gradient under a spike is known for polynomials of one direction, h1")
    orders = 2 * target.degree + 3  # y^2 h^2 has the degree 2 p + 2, and the rule is exact for twice as much
    points, weights = gauss_pieces((), orders + 1)
    values = target.link(points[:, None])
    return _Series.of(points, weights, values, values**2 + target.noise, orders)


@lru_cache(maxsize=4096)
def _slope_series(activation: Activation, scale: float, bias: float, orders: int) -> _Series:
    """Of sigma'(s xi + b), and of its square."""
    points, weights = line_rule([(kink - bias) / scale for kink in activation.kinks], _WIDTH / max(scale, 1.0), _REACH)
    slope = activation.derivative(scale * points + bias)
    return _Series.of(points, weights, slope, slope**2, orders)


def _spike(target: Target) -> Spiked:
    """The spike; of isotropic inputs, one of no strength along beta."""
    if isinstance(target.inputs, Isotropic):
        return Spiked(0.0, 1.0)
    if not isinstance(target.inputs, Spiked):
        raise NoPrediction(
            f"inputs {target.inputs!r}: isotropic or spiked ones were expected; take a law at a dimension"
        )
    return target.inputs
