"""Which terms of a target one giant step and a trained second layer learn.

With one step size for all of a label, its linear part y_1 = <mean(y x), x> would drown the rest of it (Dandi et al.
2023, arXiv:2305.18270); here it is weighed less. Samples are drawn by chunks, and again where they are needed again, so
that a million of them fit; everything is in float64, as nearly singular Gram matrices need it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.gaussian.hermite import Floats
from featlab.precision import double_precision
from featlab.simulation.random import fold, named, normal, root_key, uniform

_CHUNK = 8192
# The ridges among which a validation set chooses, as shares of the mean eigenvalue of the features' Gram matrix.
_RIDGE_SHARES = tuple(10.0**power for power in range(-6, 2))


@dataclass(frozen=True)
class Terms:
    """A target as a sum of uncorrelated terms.

    Attributes:
        values: inputs (n, d) -> the terms (n, T), for arrays of JAX.
        energies: E[term^2], (T,).
    """

    values: Callable[[Array], Array]
    energies: Floats


@dataclass(frozen=True)
class TermsLearned:
    """After a step and a fit.

    Attributes:
        risk: E[(y - f)^2].
        coefficients: E[f term] / E[term^2], (T,); 1 is fully learned.
        cosines: root mean square over neurons of those with each axis, (d,).
    """

    risk: float
    coefficients: Floats
    cosines: Floats


class _Layer(NamedTuple):
    """relu(<w_i, x> + b_i)."""

    weights: Array
    biases: Array


def step_and_fit(
    terms: Terms,
    *,
    dim: int,
    samples: int,
    width: int,
    rest: float,
    test: int,
    seed: int,
    rate: float = 1.0,
    spread: float = 1.0,
) -> TermsLearned:
    """One step W + rate a mean(y' relu'(W x) x), a = +-1, on y' = y_1 + rest (y - y_1); then a second layer.

    It is fitted to as many fresh samples on relu(<w_i, x> + b_i), b_i ~ N(0, spread^2), the inputs and a constant, by
    ridge regression, with the penalty that is best on a validation set.

    Args:
        terms: of the target, none of them constant.
        rest: how much more than its linear part the rest of a label counts in the step.
        test: the samples that risk and coefficients are measured on; half as many validate.
        seed: of all randomness.
    """
    with double_precision():
        key = root_key(seed)
        weights = normal(named(key, "weights"), (width, dim), jnp.float64)
        weights = weights / jnp.linalg.norm(weights, axis=1, keepdims=True)
        signs = jnp.where(uniform(named(key, "signs"), (width, 1)) < 0.5, -1.0, 1.0)
        slopes = _gradient(terms.values, weights, named(key, "step"), samples, rest)
        biases = spread * normal(named(key, "biases"), (width,), jnp.float64)
        layer = _Layer(weights + rate * signs * slopes, biases)
        fitted = _ridge_path(*_moments(terms.values, layer, named(key, "fit"), samples))
        validated, _ = _scores(terms, layer, fitted, named(key, "validation"), test // 2)
        risks, coefficients = _scores(terms, layer, fitted, named(key, "test"), test)
        best = int(np.argmin(validated))
        cosines = layer.weights / jnp.linalg.norm(layer.weights, axis=1, keepdims=True)
        return TermsLearned(float(risks[best]), coefficients[:, best], np.sqrt(np.mean(np.square(cosines), axis=0)))


def _chunked(count: int) -> tuple[int, int]:
    """Rows of a chunk, and how many chunks there are."""
    rows = min(_CHUNK, count)
    return rows, -(-count // rows)


def _draw(key: Array, place: Array, count: int, dim: int) -> tuple[Array, Array]:
    """A chunk of inputs, and 1/n for those of its rows that belong to the n asked for."""
    rows, _ = _chunked(count)
    inputs = normal(fold(key, place), (rows, dim)).astype(jnp.float64)
    return inputs, (place * rows + jnp.arange(rows) < count) / count


@partial(jax.jit, static_argnums=(0, 3))
def _gradient(values: Callable[[Array], Array], weights: Array, key: Array, count: int, rest: Array) -> Array:
    """mean(y' relu'(<w_i, x>) x), (p, d), in three passes: the mean of the labels, their linear part, the gradient."""
    chunks, dim = _chunked(count)[1], weights.shape[1]

    def label(inputs: Array) -> Array:
        return jnp.sum(values(inputs), axis=1)

    def first(place: Array, sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        inputs, share = _draw(key, place, count, dim)
        own = share * label(inputs)
        return sums[0] + own.sum(), sums[1] + own @ inputs, sums[2] + share @ inputs

    mean, moment, centre = lax.fori_loop(0, chunks, first, (jnp.zeros(()), jnp.zeros(dim), jnp.zeros(dim)))
    linear = moment - mean * centre

    def second(place: Array, total: Array) -> Array:
        inputs, share = _draw(key, place, count, dim)
        along = inputs @ linear
        pushes = share * (along + rest * (label(inputs) - mean - along))
        return total + ((inputs @ weights.T > 0) * pushes[:, None]).T @ inputs

    return lax.fori_loop(0, chunks, second, jnp.zeros_like(weights))


def _features(layer: _Layer, inputs: Array) -> Array:
    ones = jnp.ones((len(inputs), 1))
    return jnp.concatenate([ones, inputs, jnp.maximum(inputs @ layer.weights.T + layer.biases, 0)], axis=1)


@partial(jax.jit, static_argnums=(0, 3))
def _moments(values: Callable[[Array], Array], layer: _Layer, key: Array, count: int) -> tuple[Array, Array]:
    """mean(phi phi^T) and mean(phi y)."""
    dim = layer.weights.shape[1]
    size = 1 + dim + len(layer.biases)

    def add(place: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        inputs, share = _draw(key, place, count, dim)
        features = _features(layer, inputs)
        weighed = share[:, None] * features
        return sums[0] + weighed.T @ features, sums[1] + weighed.T @ values(inputs).sum(axis=1)

    return lax.fori_loop(0, _chunked(count)[1], add, (jnp.zeros((size, size)), jnp.zeros(size)))


@jax.jit
def _ridge_path(gram: Array, moment: Array) -> Array:
    """Ridge regression at every penalty, (feature, penalty)."""
    scale = jnp.trace(gram) / len(gram)

    def solve(share: Array) -> Array:
        factor = jax.scipy.linalg.cho_factor(gram + share * scale * jnp.eye(len(gram)))
        return jax.scipy.linalg.cho_solve(factor, moment)

    return lax.map(solve, jnp.asarray(_RIDGE_SHARES)).T


def _scores(terms: Terms, layer: _Layer, fitted: Array, key: Array, count: int) -> tuple[Floats, Floats]:
    """E[(y - f)^2] and the coefficients of the terms in f, (term, penalty): from Var y - 2 E[y f] + E[f^2] with Var y
    known, because a mean of the heavy-tailed (y - f)^2 over samples would say little."""
    products, squares = map(np.asarray, _sums(terms.values, layer, fitted, key, count))
    return terms.energies.sum() - 2 * products.sum(axis=0) + squares, products / terms.energies[:, None]


@partial(jax.jit, static_argnums=(0, 4))
def _sums(
    values: Callable[[Array], Array], layer: _Layer, fitted: Array, key: Array, count: int
) -> tuple[Array, Array]:
    """E[term f] and E[f^2]."""
    dim = layer.weights.shape[1]

    def one(place: Array) -> tuple[Array, Array]:
        inputs, share = _draw(key, place, count, dim)
        answer = _features(layer, inputs) @ fitted
        return values(inputs).T @ (share[:, None] * answer), share @ answer**2

    def add(place: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        return jax.tree.map(jnp.add, sums, one(place))

    return lax.fori_loop(1, _chunked(count)[1], add, one(jnp.int64(0)))
