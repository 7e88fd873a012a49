"""How large the gradient's mean is at a random neuron, how large its noise, and which spike makes them equal.

Averages are over w uniform on the sphere and over random biases, by Gauss rules that are exact at every d: the overlap
of w with a unit vector has the density (1 - t^2)^{(d-3)/2}, whose orthogonal polynomials are Gegenbauer's. So d may be
10^12, where no simulation goes.

Without a spike the mean is of size d^{-(k-1)/2} and the gradient of n samples deviates from it by sqrt(d/n): a step
needs n ~ d^k. With an aligned spike theta = d^g2 the signal grows to theta^{1/2} (theta/d)^{(k-1)/2} and exceeds the
noise of n ~ d samples for g2 > 1 - 1/k (Ba et al. 2023). That is a sufficient condition for one step to learn, not a
sharp one: what a second layer is fitted to are the features <x, G>, and inputs with a spike see the signal enlarged by
theta^{1/2} once more (`feature_ratio`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from math import sqrt

import numpy as np
import scipy.linalg
import scipy.optimize

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import legendre
from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.learners.giant import GiantSteps
from featlab.learners.readout import Readout
from featlab.learners.students import TwoLayer
from featlab.targets import Spiked, SpikeLaw, Target
from featlab.targets import target as make_target
from featlab.theory.question import NoPrediction
from featlab.theory.spiked.gradient import Neuron, NeuronGradient, neuron_gradient

_ON_SPHERE, _ACROSS, _UNIFORM = 20, 8, 16
# Gaussian biases: a trapezoidal rule on [-6, 6] standard deviations with steps that resolve the gradient, whose square
# falls off like exp(-b^2). Its error is below 1e-7, where Gauss-Hermite's grows with the scale of the biases.
_BIAS_REACH, _BIAS_STEP = 6.0, 0.6
# The width of the features after one step in units of the start's: what is left of the start is a thousandth.
_LARGE = 1000.0


@dataclass(frozen=True)
class GradientSizes:
    """Root mean squares over random neurons of the gradient of n samples, G_n.

    Attributes:
        mean: |E G_n|; signal: its part along S beta, without what comes from w itself.
        deviation: |G_n - E G_n|; noise: its part outside the span of beta and mu.
        feature: the standard deviation of the signal's feature <x, signal> on fresh inputs.
        spread: that of the whole feature <x, G_n>.
    """

    mean: float
    signal: float
    deviation: float
    noise: float
    feature: float
    spread: float

    @property
    def ratio(self) -> float:
        """Signal-to-noise of the gradient: above 1 it points along S beta rather than anywhere."""
        return self.signal / self.noise

    @property
    def feature_ratio(self) -> float:
        """Signal-to-noise of the feature <x, G_n>; the noise along mu is left out of it."""
        return self.feature / self.noise


def gradient_sizes(target: Target | str, *, dim: int, samples: int, student: TwoLayer | None = None) -> GradientSizes:
    """The sizes of the gradient of a typical neuron at the start, exactly at this d (of at least 4) and n.

    Args:
        target: a polynomial of one direction, on isotropic or spiked inputs; a `SpikeLaw` is taken at `dim`.
        student: its activation and the law of its biases; one relu neuron with biases N(0, 1) unless given. Its start
            must be the default: uniform on the sphere, |w| = 1.

    Raises:
        NoPrediction: for what `neuron_gradient` has no formula. InvalidParameter: for sizes out of range.

    Examples:
        >>> from featlab.theory import gradient_sizes
        >>> gradient_sizes("He3(h1)", dim=1000, samples=2000).spread > 0
        True
    """
    network = student or TwoLayer(biases="gaussian")
    if network.start != "sphere" or network.norm != 1:
        raise NoPrediction(f"{network!r}: sizes are for neurons that start uniformly on the unit sphere")
    for name, value, least in (("dim", dim, 4), ("samples", samples, 1)):
        if value < least:
            raise InvalidParameter(name, value, f"at least {least}")
    of = make_target(target).at(dim)
    squares = np.zeros(6)
    for weight, found in _typical(of, network, dim):
        means = (float(np.linalg.norm(found.mean)), found.signal)
        noises = (found.deviation(dim, samples), found.noise(dim, samples))
        squares += weight * np.square([*means, *noises, found.feature, found.spread(dim, samples)])
    return GradientSizes(*(float(size) for size in np.sqrt(squares)))


def aligning_exponent(
    target: Target | str, *, dim: int, ratio: float, overlap_exponent: float = 0.0, student: TwoLayer | None = None
) -> float | None:
    """g2 at which the gradient of n = ratio d samples has signal-to-noise 1, for theta = d^g2 and <mu, beta> = d^-g1.

    As d grows it tends to 1 - 1/k (aligned). 0 if it is above 1 already at g2 = 0; None if it is below 1 at g2 = 1.

    Source: Ba et al. 2023; the averages over neurons are exact at every d.

    Args:
        target: a `Target`, or its text.
        dim: d.
        ratio: n/d.
        overlap_exponent: g1.
        student: the network; one relu neuron with Gaussian biases unless given.

    Examples:
        >>> from featlab.theory import aligning_exponent
        >>> aligning_exponent("h1", dim=100, ratio=4.0)  # of order one from the start
        0.0
    """
    of = make_target(target)

    @cache
    def log_ratio(exponent: float) -> float:
        spiked = replace(of, inputs=SpikeLaw(exponent, overlap_exponent))
        samples = max(1, round(ratio * dim))
        return float(np.log(gradient_sizes(spiked, dim=dim, samples=samples, student=student).ratio))

    if log_ratio(0.0) >= 0:
        return 0.0
    if log_ratio(1.0) < 0:
        return None
    return float(scipy.optimize.brentq(log_ratio, 0.0, 1.0, xtol=1e-5))


def one_step_readout(
    target: Target | str,
    *,
    dim: int,
    samples: int,
    student: TwoLayer | None = None,
    ridge: float | str = LEAVE_ONE_OUT,
    test_samples: int = Readout.test_samples,
) -> Readout:
    """One gradient step and a fitted second layer, as the theorem on spiked inputs has it, for `simulate`.

    The step is so large that the start is forgotten; then comes ridge regression on as many fresh samples.
    With G_i the gradient of neuron i the features are relu(<x, G_i>/s + b_i), where s is their root mean square width
    (`gradient_sizes(...).spread`) and b_i ~ N(0, 1) are new: biases as wide as the features, which let the second layer
    approximate any link (Ba et al. 2023, "univariate approximation"). No number is left to be tuned.

    Args:
        target, dim, samples, student: as in `gradient_sizes`; the student must be a relu network, which knows no scale.
        ridge, test_samples: as in `Readout`.

    Raises:
        InvalidParameter: a student that is no relu network.

    Examples:
        >>> from featlab.theory import one_step_readout
        >>> one_step_readout("He3(h1)", dim=100, samples=200).first.steps
        1
    """
    network = student or TwoLayer(biases="gaussian")
    if activation(network.activation).name != "relu":
        raise InvalidParameter("student", network, "relu neurons, whose features may have any scale")
    spread = gradient_sizes(target, dim=dim, samples=samples, student=network).spread
    step = GiantSteps(1, scale=_LARGE / spread, loss="correlation")
    return Readout(step, samples, ridge, biases="gaussian", bias_scale=_LARGE, test_samples=test_samples)


def _typical(target: Target, student: TwoLayer, dim: int) -> Iterator[tuple[float, NeuronGradient]]:
    """Neurons of a random start with their probabilities, and the law of their gradients.

    <w, beta> comes from w on the sphere, <w, mu> from its rest on a sphere of one dimension less.
    """
    overlap = target.inputs.overlaps[0] if isinstance(target.inputs, Spiked) else 1.0
    across, sigma = sqrt(max(1 - overlap**2, 0.0)), activation(student.activation)
    others = sphere_rule(dim - 1, _ACROSS) if across else (np.zeros(1), np.ones(1))
    rules = (sphere_rule(dim, _ON_SPHERE), others, _bias_rule(student))
    for (t, weight), (v, share), (bias, probability) in product(*(zip(*rule, strict=True) for rule in rules)):
        neuron = Neuron(float(t), float(overlap * t + across * sqrt(1 - t**2) * v), float(bias))
        yield float(weight * share * probability), neuron_gradient(target, sigma, neuron)


def _bias_rule(student: TwoLayer) -> tuple[Floats, Floats]:
    """Biases and their probabilities."""
    if student.biases == "gaussian":
        count = int(np.ceil(_BIAS_REACH * max(1.0, student.bias_scale) / _BIAS_STEP))
        points = np.linspace(-_BIAS_REACH, _BIAS_REACH, 2 * count + 1)
        weights = np.exp(-(points**2) / 2)
    elif student.biases == "uniform":
        points, weights = legendre(_UNIFORM)
    else:
        return np.array([float(student.biases)]), np.ones(1)
    return student.bias_scale * points, weights / weights.sum()


@lru_cache(maxsize=64)
def sphere_rule(dim: int, nodes: int) -> tuple[Floats, Floats]:
    """The Gauss rule of t = <w, e>, w uniform on the sphere of R^d, d >= 3: exact up to the degree 2 nodes - 1.

    Golub and Welsch (1969) on the recurrence of the Gegenbauer polynomials of the density (1 - t^2)^{(d-3)/2}:
    off-diagonal entries sqrt(n (n + d - 3) / ((2n + d - 2) (2n + d - 4))), n = 1, 2, ...
    """
    n = np.arange(1, nodes, dtype=np.float64)
    off_diagonal = np.sqrt(n * (n + dim - 3) / ((2 * n + dim - 2) * (2 * n + dim - 4)))
    points, vectors = scipy.linalg.eigh_tridiagonal(np.zeros(nodes), off_diagonal)
    return points, vectors[0] ** 2
