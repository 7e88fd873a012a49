"""One gradient step on n ~ d samples as a spike: its strength, and what it does to the singular values of W.

To leading order the first gradient of every neuron is the same vector, g = (1/n) sum_j eps_j x_j, eps the residual
label: w_i <- w_i + gamma a_i (E[sigma'] g + noise of its own), so that W is a random matrix plus a matrix of rank one
(Ba et al. 2022, arXiv:2205.01445, Proposition 2). Its singular values make the transition of Baik, Ben Arous and
Peche. Steps are per neuron; Ba et al.'s eta, with second layer N(0, 1/p) and prefactor 1/sqrt(p), is gamma sqrt(p).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from featlab.analysis.grids import Grid, build_grids
from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.checks import positive_number
from featlab.targets import Target

_NODES = 64


@dataclass(frozen=True)
class LabelMoments:
    """What a gradient of order d samples sees of the labels y, noise included.

    Attributes:
        mean: E[y].
        linear: E[y h] (r,).
        second: E[y^2].
    """

    mean: float
    linear: Floats
    second: float

    @property
    def linear_norm(self) -> float:
        """mu1* = |E[y h]|."""
        return float(np.linalg.norm(self.linear))

    @property
    def direction(self) -> Floats:
        """The unit vector along E[y h]; the first axis if that is zero."""
        norm = self.linear_norm
        return self.linear / norm if norm > 0 else np.eye(self.linear.size)[0]

    @property
    def floor(self) -> float:
        """Var(y) - mu1*^2 = ||P_{>1} f||^2 plus the noise: the least risk of anything linear in x."""
        return self.second - self.mean**2 - self.linear_norm**2

    def shifted(self, offset: float) -> LabelMoments:
        """Those of y - offset."""
        return LabelMoments(self.mean - offset, self.linear, self.second - 2 * offset * self.mean + offset**2)


@lru_cache(maxsize=16)
def label_grid(target: Target) -> Grid:
    """The target's labels on a rule cut at its kinks."""
    return build_grids(target).fine


def label_moments(target: Target) -> LabelMoments:
    """E[y], E[y h] and E[y^2] of a target, by quadrature cut at its kinks; the label noise is in E[y^2]."""
    grid = label_grid(target)
    values = grid.weights * grid.labels
    linear = values @ grid.directions
    linear[np.abs(linear) < 1e-12 * np.sqrt(grid.mean**2 + grid.variance)] = 0.0  # rounding is no direction
    return LabelMoments(grid.mean, linear, grid.mean**2 + grid.variance + target.noise)


@dataclass(frozen=True)
class SlopeMoments:
    """Of s(z) = sigma(norm z + bias), z ~ N(0, 1), with sigma' taken at norm z + bias.

    Attributes:
        mean: E[sigma]. slope: E[sigma']. tilt: E[sigma' z]. bend: E[sigma' (z^2 - 1)].
        square: E[sigma'^2]. square_along: E[sigma'^2 z^2].
    """

    mean: float
    slope: float
    tilt: float
    bend: float
    square: float
    square_along: float

    @property
    def spread(self) -> float:
        """Var sigma'."""
        return self.square - self.slope**2


def slope_moments(activation: Activation, norm: float = 1.0, bias: float = 0.0) -> SlopeMoments:
    """The moments of a neuron of that norm and bias, by quadrature cut at its kinks (of a jump, sigma' is 0)."""
    cuts = [0.0, -bias / norm, *((kink - bias) / norm for kink in activation.kinks)]
    z, weights = gauss_pieces(cuts, _NODES)
    value, slope = activation.value(norm * z + bias), activation.derivative(norm * z + bias)
    moments = np.array([value, slope, slope * z, slope * (z * z - 1), slope**2, (slope * z) ** 2]) @ weights
    return SlopeMoments(*moments.tolist())


@dataclass(frozen=True)
class GradientSpike:
    """The common part g = (1/n) sum eps x of every neuron's first gradient.

    Attributes:
        strength: theta = |g|.
        cosine: of g with the target's linear part E[y h].
        noise: E[eps^2] d/n, the squared length of what each neuron adds, over Var sigma'.
    """

    strength: float
    cosine: float
    noise: float


def gradient_spike(labels: LabelMoments, sample_ratio: float) -> GradientSpike:
    """theta^2 = mu1*^2 + E[eps^2]/psi1, cosine = mu1*/theta, with psi1 = n/d (Ba et al. 2022, Theorem 3).

    At finite d, |g|^2 - mu1*^2 has a relative standard deviation of about sqrt(2/d): give a measured `GradientSpike`
    instead to predict a particular run.
    """
    noise = labels.second / positive_number("sample_ratio", sample_ratio)
    strength = float(np.hypot(labels.linear_norm, np.sqrt(noise)))
    return GradientSpike(strength, labels.linear_norm / strength, noise)


@dataclass(frozen=True)
class SpikedWeights:
    """The singular values of W = W0 + t q v^T, W0 (p, d) with entries N(0, 1/d), unit vectors q and v, psi2 = p/d.

    Attributes:
        strength: t.
        edge: 1 + sqrt(psi2), the end of the bulk.
        singular_value: the largest one; the edge if there is no outlier.
        input_overlap: squared overlap of its singular vector in R^d with v.
        neuron_overlap: squared overlap of its singular vector in R^p with q.
    """

    strength: float
    edge: float
    singular_value: float
    input_overlap: float
    neuron_overlap: float

    @property
    def outlier(self) -> bool:
        """Whether a singular value stands outside the bulk."""
        return self.input_overlap > 0


def spiked_weights(strength: float, width_ratio: float) -> SpikedWeights:
    """The outlier of a spiked rectangular matrix (Benaych-Georges, Nadakuditi 2012; Ba et al. 2022, Theorem 3).

    Statement: above t = psi2^{1/4}, s1^2 = (1 + t^2)(psi2 + t^2)/t^2, <u_d, v>^2 = 1 - (psi2 + t^2)/(t^2 (1 + t^2)) and
    <u_p, q>^2 = 1 - psi2 (1 + t^2)/(t^2 (psi2 + t^2)); below, s1 = 1 + sqrt(psi2) and both overlaps are 0.

    Raises:
        InvalidParameter: a strength below 0, or a width ratio that is not above 0.

    Examples:
        >>> from featlab.theory import spiked_weights
        >>> spike = spiked_weights(strength=2.0, width_ratio=1.0)
        >>> round(spike.singular_value, 4)
        2.5
    """
    ratio = positive_number("width_ratio", width_ratio)
    if not strength >= 0:
        raise InvalidParameter("strength", strength, "a number of at least 0")
    edge, square = 1 + float(np.sqrt(ratio)), strength**2
    if square**2 <= ratio:
        return SpikedWeights(strength, edge, edge, 0.0, 0.0)
    value = float(np.sqrt((1 + square) * (ratio + square)) / strength)
    along_input = 1 - (ratio + square) / (square * (1 + square))
    along_neurons = 1 - ratio * (1 + square) / (square * (ratio + square))
    return SpikedWeights(strength, edge, value, along_input, along_neurons)


def spike_strength(step: float, second_norm: float, slope: float, gradient: GradientSpike) -> float:
    """t = gamma |a| |E[sigma']| theta, for a step gamma per neuron and a second layer of Euclidean norm |a|."""
    return abs(step * second_norm * slope) * gradient.strength


def critical_step(second_norm: float, slope: float, gradient: GradientSpike, width_ratio: float) -> float:
    """The step per neuron at which the outlier leaves the bulk: gamma_c = psi2^{1/4} / (|a| |E[sigma']| theta).

    The transition is that of Baik, Ben Arous and Peche (2005), the spike that of Ba et al. 2022, arXiv:2205.01445.

    Args:
        second_norm: |a|, the Euclidean norm of the second layer.
        slope: E[sigma'].
        gradient: what theta is of.
        width_ratio: psi2 = p/d.

    Examples:
        >>> from featlab.theory import critical_step
        >>> from featlab.theory.spikes import gradient_spike, label_moments
        >>> from featlab import target
        >>> gradient = gradient_spike(label_moments(target("tanh(h1)")), sample_ratio=4.0)
        >>> round(critical_step(second_norm=1.0, slope=0.5, gradient=gradient, width_ratio=1.0), 4)
        2.9315
    """
    return float(width_ratio**0.25 / spike_strength(1.0, second_norm, slope, gradient))


def bulk_density(values: ArrayLike, width_ratio: float) -> Floats:
    """The density of the nonzero singular values of W0 (p, d) with entries N(0, 1/d), psi2 = p/d.

    Statement (Marchenko, Pastur 1967): on [|1 - sqrt(psi2)|, 1 + sqrt(psi2)],
    sqrt((b^2 - s^2)(s^2 - a^2)) / (pi s min(1, psi2)), with a and b the two ends. A spike does not change it.

    Args:
        values: singular values s.
        width_ratio: psi2 = p/d.

    Raises:
        InvalidParameter: a width ratio that is not above 0.

    Examples:
        >>> from featlab.theory import bulk_density
        >>> bulk_density([0.5, 1.0, 3.0], width_ratio=1.0).round(3).tolist()
        [0.616, 0.551, 0.0]
    """
    s = np.asarray(values, dtype=np.float64)
    ratio = positive_number("width_ratio", width_ratio)
    low, high = abs(1 - np.sqrt(ratio)), 1 + np.sqrt(ratio)
    inside = (s > low) & (s < high)
    s = np.where(inside, s, high)
    return np.where(inside, np.sqrt((high**2 - s**2) * (s**2 - low**2)), 0.0) / (np.pi * s * min(1.0, ratio))
