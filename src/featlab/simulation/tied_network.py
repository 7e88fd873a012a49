"""A network whose neurons share one direction is a piecewise linear function of one field u = <theta, x>, and cheap.

A neuron relu(eps u - b) bends at its knot k = eps b, and whatever its sign, its slope grows by 1 there as u passes:

    relu(u - k) = [u > k] (u - k),        relu(k - u) = (k - u) + [u > k] (u - k).

So f is a line, the sum of c (k - u) over the neurons with eps = -1, plus the sum of c_i (u - k_i) over the knots
passed. With sorted knots, prefix sums give the line of each of the N + 1 pieces once, and a sample needs only to know
its piece: n log N work for n samples instead of n N. The gradient in c has the same structure, transposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import norm

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.levels import SURE
from featlab.errors import InvalidParameter
from featlab.simulation.networks import rescale
from featlab.simulation.problem import Problem
from featlab.simulation.random import named, normal

if TYPE_CHECKING:
    from featlab.targets import Target

_LOWEST_DEGREES = 12


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TiedWeights:
    """R networks side by side, one for each start; the neurons of each are sorted by their knots."""

    weights: Array  # theta (R, frame), in the coordinates of the design
    second: Array  # c (R, N)
    knots: Array  # eps b (R, N), ascending
    signs: Array  # eps (R, N)


class Answers(NamedTuple):
    """Of one network at the fields of n samples.

    Attributes:
        output: f, (n,).
        slope: df/du, (n,).
        piece: which piece of f each sample lies on, (n,) of 0..N.
    """

    output: Array
    slope: Array
    piece: Array


def start_networks(key: Array, problem: Problem) -> TiedWeights:
    """Independent starts: theta uniform on the sphere, c ~ N(0, 1), b ~ N(0, tau^2), random signs; guided if asked."""
    student, count = problem.student, problem.learner.restarts
    weights = rescale(problem.design.gaussian_rows(named(key, "weights"), count), 1.0)
    second, knots, signs = draw_neurons(named(key, "neurons"), problem, (count, student.width))
    if student.start == "guided":
        degree, sign = lowest_coefficient(problem.target)
        weights = weights * jnp.where(weights[:, :1] < 0, -1, 1).astype(weights.dtype)
        own = hermite_coefficient(second, knots, signs, degree)
        second = second * jnp.where(own * sign < 0, -1, 1).astype(second.dtype)[:, None]
    return TiedWeights(weights, second, knots, signs)


def draw_neurons(key: Array, problem: Problem, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """c ~ N(0, 1); frozen knots, ascending along the last axis; and signs."""
    student = problem.student
    second, knots, side = normal(key, (3, *shape), problem.design.dtype)
    signs = jnp.where(side < 0, -1, 1).astype(side.dtype) if student.signs else jnp.ones_like(side)
    return second, jnp.sort(student.bias_scale * knots, axis=-1), signs


def respond(fields: Array, second: Array, knots: Array, signs: Array) -> Answers:
    """One network at fields (n,), from the lines of its pieces."""
    scale = knots.shape[0] ** -0.5
    leftmost = jnp.where(signs < 0, second, 0)
    slopes = _before(second) - jnp.sum(leftmost)
    offsets = jnp.sum(leftmost * knots) - _before(second * knots)
    piece = jnp.searchsorted(knots, fields, method="scan_unrolled")
    slope = scale * slopes[piece]
    return Answers(slope * fields + scale * offsets[piece], slope, piece)


def feature_products(values: Array, fields: Array, piece: Array, knots: Array, signs: Array) -> Array:
    """sum over the samples of values times each feature relu(eps_i u - b_i) / sqrt N, (N,); `piece` from `respond`."""
    pairs = jnp.stack([values, values * fields], axis=-1)
    sums = jax.ops.segment_sum(pairs, piece, len(knots) + 1)
    total = jnp.sum(sums, axis=0)
    passed = (total - jnp.cumsum(sums, axis=0)[:-1]).T  # over the samples beyond each knot
    to_the_right = passed[1] - knots * passed[0]
    return (to_the_right + jnp.where(signs < 0, knots * total[0] - total[1], 0)) * len(knots) ** -0.5


def features(fields: Array, knots: Array, signs: Array) -> Array:
    """relu(eps_i u - b_i) / sqrt N themselves, (n, N): for a fit, which needs them all."""
    return jnp.maximum(signs * (fields[:, None] - knots), 0) * len(knots) ** -0.5


def hermite_coefficient(second: Array, knots: Array, signs: Array, degree: int) -> Array:
    """sqrt(N) E[f(z) He_k(z)] for k >= 1, of each network: the last axis is summed over.

    relu(eps z - b)' is eps on one side of the knot, and its second derivative is a point mass there, so that
    E[relu He_1] = eps P(eps z > b) and E[relu He_k] = He_{k-2}(knot) times the density at the knot for k >= 2.
    """
    if degree == 1:
        return jnp.sum(second * signs * norm.cdf(-signs * knots), axis=-1)
    before, value = jnp.zeros_like(knots), jnp.ones_like(knots)
    for order in range(degree - 2):
        before, value = value, knots * value - order * before
    return jnp.sum(second * value * norm.pdf(knots), axis=-1)


@lru_cache(maxsize=64)
def lowest_coefficient(target: Target) -> tuple[int, float]:
    """The information exponent s of a target of one direction, and its coefficient E[f h_s]."""
    energies = hermite_energies(build_grids(target), _LOWEST_DEGREES)
    for degree in range(1, _LOWEST_DEGREES + 1):
        coefficient = float(energies.coefficients[degree][0])
        if abs(coefficient) > SURE * energies.errors[degree]:
            return degree, coefficient
    expected = f"'sphere': the target has no Hermite coefficient of degree 1 to {_LOWEST_DEGREES} to be guided by"
    raise InvalidParameter("start", "guided", expected)


def _before(values: Array) -> Array:
    """The sums of the first 0, 1, ..., N values."""
    return jnp.concatenate([jnp.zeros(1, values.dtype), jnp.cumsum(values)])
