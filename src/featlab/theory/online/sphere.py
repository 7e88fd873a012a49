"""One neuron on the sphere that looks for one direction: the equation of its overlap.

With m = <w, w*> / |w|, u = <w, x> / |w|, N = |w|, a step gamma = c/d on batches of b and time t = steps / d,

    dm/dt = (c / N) S(m) - (c^2 / (2 b N^2)) C(m) m,     S(m) = E[D (h - m u)],   C(m) = E[D^2],

with D = r a sigma'(N u + bias) (Ben Arous, Gheissari, Jagannath 2021). The second term is what normalising takes back
of the growth by noise; it makes large steps useless. S is the same for both losses: f depends on u alone, of which
h - m u is independent. By Mehler's formula both are power series in m. With orthonormal coefficients A_k of E[y | h]
and B_k of a sigma'(N u + bias),

    S(m) = (1 - m^2) sum_k sqrt(k + 1) A_{k+1} B_k m^k,

which for N = 1 and no bias is (1 - m^2) sum_k k c_k c*_k m^(k-1). And for the correlation loss

    C(m) = sum_k E[y^2 | .]_k (a^2 sigma'^2)_k m^k,

to which the squared loss adds - 2 sum_k A_k (a^3 sigma sigma'^2)_k m^k + a^4 E[sigma^2 sigma'^2].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation, activation
from featlab.gaussian.activations_integrals import line_rule
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.learners.checks import one_of, positive_number
from featlab.learners.steps import LOSSES
from featlab.targets import Target
from featlab.theory.online.averages import AveragesOf, Descent
from featlab.theory.online.labels import label_points, singular_breaks
from featlab.theory.online.rules import averages

_ORDER = 100
_FIELD_REACH, _FIELD_WIDTH = 24.0, 0.25  # h_100 has died out there
_LABEL_BREAKS, _LABEL_NODES = tuple(np.linspace(-8.5, 8.5, 35).tolist()), 12
_ACCURACY = 1e-10  # asked of the series; where they do not reach it, quadrature takes over


class Series(NamedTuple):
    """Orthonormal Hermite coefficients of a function, and the norm of what lies beyond them."""

    coefficients: Floats
    beyond: float

    @property
    def times_square(self) -> float:
        """E[function(z) z^2]."""
        return float(self.coefficients[0] + np.sqrt(2) * self.coefficients[2])


@dataclass(frozen=True, eq=False)
class SphericalNeuron:
    """One neuron, of fixed norm, that learns a target of one direction; made by `spherical_neuron`.

    Attributes:
        signal: coefficients of S(m) / (1 - m^2) as a power series in m.
        noise: coefficients of C(m).
        spread: E[D^2 h^2] at m = 0, by which chance moves the overlap during the search.
        beyond: what bounds the remainders of the series.
        norm: N.
        descent, target: for the averages by quadrature.
    """

    signal: Floats
    noise: Floats
    spread: float
    beyond: float
    norm: float
    descent: Descent
    target: Target

    def speed(self, cosine: float, scale: float, batch: int = 1) -> float:
        """dm/dt at the cosine m, for a step gamma = scale / d on batches of the given size."""
        signal, noise = self.signal_and_noise(cosine)
        return scale / self.norm * signal - scale**2 / (2 * batch * self.norm**2) * noise * cosine

    def signal_and_noise(self, cosine: float) -> tuple[float, float]:
        """S(m) and C(m), by their series where these are accurate."""
        if self.remainder(cosine) > _ACCURACY:
            return self.by_quadrature(cosine)
        signal = (1 - cosine**2) * float(polynomial.polyval(cosine, self.signal))
        return signal, float(polynomial.polyval(cosine, self.noise))

    def by_quadrature(self, cosine: float) -> tuple[float, float]:
        """S(m) and C(m) as averages over the plane of (h, lambda)."""
        overlap, gram = np.array([[self.norm * cosine]]), np.array([[self.norm**2]])
        found = self._averages(overlap, gram)
        return float(found.drive[0, 0] - cosine * found.pull[0, 0] / self.norm), float(found.noise[0, 0])

    @cached_property
    def _averages(self) -> AveragesOf:
        return averages(self.target, self.descent).best

    def remainder(self, cosine: float) -> float:
        """A bound on what the series leave out: sqrt(k + 1) |m|^k (norms beyond order k), for the worst k."""
        size = abs(cosine)
        if size >= 1:
            return np.inf
        worst = max(float(_ORDER), -0.5 / np.log(size)) if size > 0 else float(_ORDER)
        return float(self.beyond * np.sqrt(worst + 1) * size**worst)

    @property
    def information_exponent(self) -> int:
        """The first l with E[y He_l] E[sigma' He_{l-1}] != 0: the signal begins as m^(l-1)."""
        felt = np.flatnonzero(np.abs(self.signal) > 1e-9 * np.max(np.abs(self.signal)))
        return int(felt[0]) + 1


def spherical_neuron(
    target: Target,
    sigma: str | Activation,
    *,
    loss: str = "correlation",
    second: float = 1.0,
    bias: float = 0.0,
    norm: float = 1.0,
) -> SphericalNeuron:
    """The neuron a sigma(<w, x> + bias) with |w| = norm, which learns a target of one direction.

    Raises:
        InvalidParameter: for a target of several directions, or one from which the neuron gets no signal at any m.
    """
    if target.rank != 1:
        raise InvalidParameter("target", target.text, "a target of one direction; for more, integrate the equations")
    one_of("loss", loss, LOSSES)
    positive_number("norm", norm)
    descent = Descent(activation(sigma), np.array([float(second)]), np.array([float(bias)]), loss)
    label, square = _label_series(target)
    slope, slopes, mixed, own = _neuron_series(descent, norm)
    signal = np.sqrt(np.arange(1.0, _ORDER + 1)) * label.coefficients[1:] * slope.coefficients[:-1]
    noise, spread = square.coefficients * slopes.coefficients, square.times_square * slopes.coefficients[0]
    beyond = [label.beyond * slope.beyond, square.beyond * slopes.beyond]
    if loss == "squared":
        noise = noise - 2 * label.coefficients * mixed.coefficients
        noise[0] += own
        spread += own - 2 * label.times_square * mixed.coefficients[0]
        beyond.append(2 * label.beyond * mixed.beyond)
    if np.max(np.abs(signal)) < 1e-10 * np.linalg.norm(label.coefficients) * np.linalg.norm(slope.coefficients):
        raise InvalidParameter("target", target.text, "a target that shares a Hermite coefficient with the activation")
    return SphericalNeuron(signal, noise, float(spread), max(beyond), float(norm), descent, target)


def _label_series(target: Target) -> tuple[Series, Series]:
    """Of E[y | h] and E[y^2 | h]."""
    labels = label_points(target, _LABEL_NODES, _LABEL_BREAKS + singular_breaks(target), False, False)
    h = labels.directions[:, 0]
    return _series(h, labels.weights, labels.mean), _series(h, labels.weights, labels.square)


def _neuron_series(descent: Descent, norm: float) -> tuple[Series, Series, Series, float]:
    """Of a sigma', a^2 sigma'^2 and a^3 sigma sigma'^2 at N u + bias; and a^4 E[sigma^2 sigma'^2]."""
    kinks = [(kink - descent.biases[0]) / norm for kink in descent.activation.kinks]
    u, weights = line_rule(kinks, _FIELD_WIDTH, _FIELD_REACH)
    fields = norm * u[:, None]
    slope, output = descent.slopes(fields)[:, 0], descent.output(fields)
    first, second, third = (_series(u, weights, values) for values in (slope, slope**2, output * slope**2))
    return first, second, third, float(weights @ (output * slope) ** 2)


def _series(x: Floats, weights: Floats, values: Floats) -> Series:
    basis = hermite_normalised_all(_ORDER, x)
    coefficients = basis @ (weights * values)
    missed = values - coefficients @ basis
    return Series(coefficients, float(np.sqrt(weights @ missed**2)))
