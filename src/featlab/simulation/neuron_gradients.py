"""The gradient of random neurons: its mean by integration, that of n samples drawn exactly in law, at any d.

Isotropic x, a target y = g(h) with h = <x, beta>, a neuron sigma(<x, w> + b) with w uniform on the sphere: one sample
contributes G = x sigma'(<x, w> + b) y to the (uphill, correlation) gradient. On the axes beta, the rest z of w and
everything else, with t = <w, beta> and <x, w> = t h + sqrt(1 - t^2) z:

    E[G] has the parts E[h s y] and E[z s y], s = sigma'(t h + sqrt(1 - t^2) z + b), and no others;
    of the mean of n samples the other d - 2 coordinates are, given h and z, independent N(0, sum_i (s_i y_i)^2 / n^2).

So d enters only through t and a chi^2 of d - 2 degrees of freedom. It is NumPy alone, and independent of the formulas
of `featlab.theory.spiked` and `featlab.theory.flows`, which it is there to test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets import Isotropic, Target

_NODES = 64  # of Gauss-Hermite on each axis


@dataclass(frozen=True)
class NeuronGradients:
    """For each neuron: |E G|, and |G_n - E G| of the mean G_n over n samples."""

    mean: Floats
    deviation: Floats


def neuron_gradients(
    target: Target, activation: Activation, *, bias: float, dim: int, samples: int, neurons: int, seed: int
) -> NeuronGradients:
    """The gradients of random neurons, each with a batch of its own.

    Args:
        target: of one direction, on isotropic inputs, without noise inside its link.
        activation: an entire function, erf or a polynomial: Gauss-Hermite rules then have an error below 1e-10.
        samples: n; 0 for means only, the deviations are then NaN.
        seed: of all randomness.
    """
    _check_target(target)
    if activation.kinks:
        raise InvalidParameter("activation", activation.name, "one without kinks, such as erf")
    if dim < 3:
        raise InvalidParameter("dim", dim, "at least 3")
    random = np.random.default_rng(seed)
    rows = random.standard_normal(neurons)
    overlaps = rows / np.sqrt(rows**2 + random.chisquare(dim - 1, neurons))
    means = [_mean(target, activation, float(overlap), bias) for overlap in overlaps]
    deviations = np.full(neurons, np.nan)
    for place, overlap in enumerate(overlaps if samples else ()):
        inside, outside = _of_batch(target, activation, float(overlap), bias, samples, random)
        away = inside - means[place]
        deviations[place] = np.sqrt(away @ away + outside * random.chisquare(dim - 2))
    return NeuronGradients(np.linalg.norm(means, axis=1), deviations)


def _check_target(target: Target) -> None:
    if target.rank != 1 or target.hidden or not isinstance(target.inputs, Isotropic):
        raise InvalidParameter("target", target.text, "one direction, isotropic inputs, no noise inside the link")


def _mean(target: Target, activation: Activation, overlap: float, bias: float) -> Floats:
    """E[G] on the axes beta and z, by a product rule."""
    points, weights = gauss_pieces((), _NODES)
    slopes = activation.derivative(overlap * points[:, None] + np.sqrt(1 - overlap**2) * points + bias)
    labels = weights * target.link(points[:, None])
    return np.array([(labels * points) @ slopes @ weights, labels @ slopes @ (weights * points)])


def _of_batch(
    target: Target, activation: Activation, overlap: float, bias: float, samples: int, random: np.random.Generator
) -> tuple[Floats, float]:
    """The mean over a batch on the axes beta and z, and the variance of every other coordinate given these."""
    along, across = random.standard_normal((2, samples))
    slopes = activation.derivative(overlap * along + np.sqrt(1 - overlap**2) * across + bias)
    pulls = slopes * (target.link(along[:, None]) + np.sqrt(target.noise) * random.standard_normal(samples))
    return np.array([along @ pulls, across @ pulls]) / samples, float(pulls @ pulls) / samples**2


@dataclass(frozen=True)
class FreshSteps:
    """Neurons that go uphill on fresh batches, all from one correlation.

    Attributes:
        correlation: with the target's direction after each step, (neurons, steps + 1).
        pull: of the first step's mean gradient, the part along the great circle to the target's direction.
        spread: the squared length of its part across, in the d - 2 directions that have nothing to do with it.
    """

    correlation: Floats
    pull: Floats
    spread: Floats


def fresh_steps(
    target: Target,
    activation: Activation,
    *,
    correlation: float,
    dim: int,
    samples: int,
    rate: float,
    steps: int,
    neurons: int,
    seed: int,
) -> FreshSteps:
    """w <- (w + rate P G_n) / |w + rate P G_n|, P = I - w w^T, G_n the mean over n fresh samples, exactly in law.

    Isotropic inputs; the normalised flow under a spike is this one on whitened inputs.
    """
    _check_target(target)
    random = np.random.default_rng(seed)
    found, pull, spread = np.full((neurons, steps + 1), float(correlation)), np.zeros(neurons), np.zeros(neurons)
    for place in range(neurons):
        for step in range(steps):
            rho = found[place, step]
            inside, variance = _of_batch(target, activation, rho, 0.0, samples, random)
            along, across = np.sqrt(1 - rho**2) * inside[0] - rho * inside[1], variance * random.chisquare(dim - 2)
            if step == 0:
                pull[place], spread[place] = along, across
            length = np.sqrt(1 + rate**2 * (along**2 + across))
            found[place, step + 1] = (rho + rate * along * np.sqrt(1 - rho**2)) / length
    return FreshSteps(found, pull, spread)
