"""Denoisers of Bayes-AMP in closed form: g_out(y, omega, V) = gradient in omega of log E[P(y | z)], z ~ N(omega, V).

A denoiser maps y (n,), omega (n, r), V (r, r) to g_out (n, r) and to the sum over samples of -dg_out/domega (r, r).
The papers give closed forms for a diagonal V; a run has correlations of order 1/sqrt d between its estimates, and
larger ones at the start.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.special import erf

from featlab.gaussian.quadrature import legendre
from featlab.targets.patterns import PolynomialAndParity, polynomial_and_parity

if TYPE_CHECKING:
    from featlab.targets import Target

Gradient = Callable[[Array, Array, Array], Array]
Denoiser = Callable[[Array, Array, Array], tuple[Array, Array]]

# Gauss-Legendre nodes on (0, 1) for Plackett's integral: 12 of them give float32 up to correlations of 0.9.
_NODES, _WEIGHTS = (array / 2 for array in legendre(12))
# Chebyshev coefficients of log(erfc(x) exp(x^2) / t) in 4t - 2, t = 1 / (1 + x/2) (Press et al., Numerical Recipes,
# 3rd edition, section 6.2.2, the short version): relative error below 1.2e-7 for all x >= 0.
_TAIL = (-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587)
_TAIL_END = (-0.82215223, 0.17087277)
_CHUNK = 2**13
# Roots of polynomials of a field are looked for where fields are, by so many halvings and Newton's steps.
_REACH, _HALVINGS, _NEWTON_STEPS = 12.0, 18, 2
# Differences of probabilities are known to this share of their terms.
_ROUNDING = 1e-6


def closed_form(target: Target) -> Denoiser | None:
    """The closed form for a noiseless target of these texts; None for any other."""
    gradient = _CLOSED.get(target.text) if target.noise == 0 else None
    link = polynomial_and_parity(target) if gradient is None and target.rank == 3 else None
    if link is not None:
        gradient = with_parity(link)
    return None if gradient is None else partial(with_curvature, gradient)


def with_curvature(gradient: Gradient, labels: Array, fields: Array, covariance: Array) -> tuple[Array, Array]:
    """g_out and the sum of -dg_out/domega, by forward derivatives; in chunks that stay within the cache."""
    count, rank = fields.shape
    size = min(count, _CHUNK)
    chunks = -(-count // size)
    beyond = chunks * size - count
    # Beyond the end the last sample is repeated: any label is possible there.
    parts = (jnp.pad(part, ((0, beyond), *[(0, 0)] * (part.ndim - 1)), mode="edge") for part in (labels, fields))
    split = tuple(part.reshape(chunks, size, *part.shape[1:]) for part in parts)
    inside = (jnp.arange(chunks * size) < count).reshape(chunks, size)

    def chunk(part: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        y, omega, counts = part

        def along(axis: Array) -> tuple[Array, Array]:
            return jax.jvp(lambda at: gradient(y, at, covariance), (omega,), (jnp.broadcast_to(axis, omega.shape),))

        values, changes = jax.vmap(along, out_axes=(None, 0))(jnp.eye(rank, dtype=omega.dtype))
        return values, -jnp.sum(jnp.where(counts[:, None], changes, 0), axis=1).T

    values, curvatures = lax.map(chunk, (*split, inside))
    return values.reshape(-1, rank)[:count], jnp.sum(curvatures, axis=0)


def even_root(size: Callable[[Array], Array]) -> Gradient:
    """Links that tell |z| and nothing else, size(y) = |z|: E[z | y, omega] = t tanh(omega t / V), t = |z|."""

    def gradient(labels: Array, fields: Array, covariance: Array) -> Array:
        variance, root = covariance[0, 0], size(labels)[:, None]
        return (root * jnp.tanh(fields * root / variance) - fields) / variance

    return gradient


def parity(labels: Array, fields: Array, covariance: Array) -> Array:
    """sign(z1 z2): the gradient of log P(z1 z2 has the sign y)."""
    return quadrants(labels, fields[:, 0], fields[:, 1], covariance)[1]


def with_parity(link: PolynomialAndParity) -> Gradient:
    """p(z1) + c sign(z1 z2 z3): the candidates are the roots z1 of p = y - c s for s = +-1, each with the density of
    its z1 over |p'(z1)| and the probability that z2 z3 has the sign s sign(z1), given z1."""
    branches = _Branches.of(link.coefficients)
    order = [link.axis, *(axis for axis in range(3) if axis != link.axis)]
    back = np.argsort(order)

    def gradient(labels: Array, fields: Array, covariance: Array) -> Array:
        fields, covariance = fields[:, order], covariance[jnp.ix_(jnp.array(order), jnp.array(order))]
        variance, slope = covariance[0, 0], covariance[1:, 0] / covariance[0, 0]
        rest = covariance[1:, 1:] - jnp.outer(slope, slope) * variance
        sign = jnp.repeat(jnp.array([1.0, -1.0], fields.dtype), branches.count)[:, None]
        root, log_slope, possible = branches.roots(labels - link.size * sign)
        off = root - fields[:, 0]
        means = fields[:, 1:] + off[..., None] * slope
        log_chance, turn = quadrants(jnp.where(root < 0, -sign, sign), means[..., 0], means[..., 1], rest)
        logs = jnp.where(possible, -(off**2) / (2 * variance) - log_slope + log_chance, -jnp.inf)
        first = off / variance - jnp.sum(turn * slope, axis=-1)
        gradients = jnp.concatenate([first[..., None], turn], axis=-1)
        weights = jnp.exp(logs - jnp.max(logs, axis=0))[..., None]
        # A candidate without weight may be infinitely far off.
        mean = jnp.sum(jnp.where(weights > 0, weights * gradients, 0), axis=0) / jnp.sum(weights, axis=0)
        return mean[:, back]

    return gradient


@dataclass(frozen=True)
class _Branches:
    """A polynomial on the intervals between its turning points, on each of which it is monotone."""

    coefficients: np.ndarray  # by descending powers
    ends: np.ndarray  # (branches, 2)

    @classmethod
    def of(cls, ascending: tuple[float, ...]) -> _Branches:
        """Those of p, given by ascending powers."""
        coefficients = np.array(ascending[::-1])
        flat = np.roots(np.polyder(coefficients))
        marks = np.unique(np.round(flat[np.abs(flat.imag) < 1e-6].real, 6))
        edges = np.array([-_REACH, *marks, _REACH])
        between = (edges[1:] + edges[:-1]) / 2
        rising = np.polyval(np.polyder(coefficients), between) > 0
        places = marks[rising[1:] != rising[:-1]]  # at the others p goes on as it went
        turns = [flat.real[np.argmin(np.abs(flat - place))] for place in places]
        return cls(coefficients, np.lib.stride_tricks.sliding_window_view(np.array([-_REACH, *turns, _REACH]), 2))

    @property
    def count(self) -> int:
        """The number of branches."""
        return len(self.ends)

    def roots(self, levels: Array) -> tuple[Array, Array, Array]:
        """For levels (k * branches, n), each row for its branch: the root, log |p'| there, and whether there is one.

        By bisection, then Newton's steps within the bracket. Near a turning point the level is known to rounding only:
        one that misses it by no more than that has its root there, and |p'| is at least the root of that rounding.
        """
        repeats = len(levels) // self.count
        low, high = (jnp.asarray(np.tile(end, repeats), levels.dtype)[:, None] for end in self.ends.T)
        coefficients = jnp.asarray(self.coefficients, levels.dtype)
        at_low, at_high = jnp.polyval(coefficients, low), jnp.polyval(coefficients, high)
        rising = at_low < at_high

        def halve(_: Array, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
            left, right = bracket
            middle = (left + right) / 2
            goes_left = (jnp.polyval(coefficients, middle) > levels) == rising
            return jnp.where(goes_left, left, middle), jnp.where(goes_left, middle, right)

        start = (jnp.broadcast_to(low, levels.shape), jnp.broadcast_to(high, levels.shape))
        left, right = lax.fori_loop(0, _HALVINGS, halve, start)
        rounding = jnp.finfo(levels.dtype).eps * jnp.maximum(1, jnp.abs(levels))
        reached = (levels >= jnp.minimum(at_low, at_high) - 16 * rounding) & (
            levels <= jnp.maximum(at_low, at_high) + 16 * rounding
        )
        root, derivative = (left + right) / 2, jnp.polyder(coefficients)
        for _ in range(_NEWTON_STEPS):
            slope = jnp.polyval(derivative, root)
            safe = jnp.where(jnp.abs(slope) > rounding**0.5, slope, jnp.inf)
            root = jnp.clip(root - (jnp.polyval(coefficients, root) - levels) / safe, left, right)
        steepness = jnp.maximum(jnp.abs(jnp.polyval(derivative, root)), rounding**0.5)
        return root, jnp.log(steepness), reached


def quadrants(sign: Array | float, first: Array, second: Array, covariance: Array) -> tuple[Array, Array]:
    """log P(z1 z2 has that sign) (...) and its gradient (..., 2) in the means, for z ~ N((first, second), covariance).

    With a, b the means over standard deviations, rho the correlation and Phi2 the bivariate distribution function,
    Phi2(a, b) = Phi(a) Phi(b) + (1/2 pi) int_0^(asin rho) exp(-(a^2 + b^2 - 2 a b sin t) / (2 cos^2 t)) dt (Plackett
    1954), so P(+) = Phi(a) Phi(b) + Phi(-a) Phi(-b) + 2 I and P(-) = 1 - P(+); dP(+)/da = phi(a) (2 Phi(u) - 1) with
    u = (b - rho a) / sqrt(1 - rho^2). Where the sign is the unlikely one, everything is multiplied by exp(m^2 / 2),
    m = min(|a|, |b|), so that neither P nor its gradient vanishes in floating point, however far off the means are.
    """
    scales = jnp.sqrt(jnp.diagonal(covariance))
    rho = covariance[0, 1] / (scales[0] * scales[1])
    a, b = first / scales[0], second / scales[1]
    likely = sign * a * b >= 0
    first_is_less = jnp.abs(a) <= jnp.abs(b)
    less, more = jnp.where(first_is_less, a, b), jnp.where(first_is_less, b, a)
    # Of the exponents -a^2/2 + lift, one is zero where there is a lift: never the difference of two large numbers.
    gap = (jnp.abs(more) - jnp.abs(less)) * (jnp.abs(more) + jnp.abs(less)) / 2
    base = jnp.where(likely, less**2 / 2, 0)
    edge_less, edge_more = jnp.exp(-base), jnp.exp(-base - gap)
    far = tail(less) * edge_less + tail(more) * edge_more
    both = tail(less) * tail(more) * edge_less * edge_more
    unlifted = jnp.where(likely, 1 - far + 2 * both, far - 2 * both * jnp.exp(-(less**2) / 2))
    chance = unlifted + 2 * sign * _plackett(less, more, rho, base)
    chance = jnp.maximum(chance, _ROUNDING * unlifted)
    across = jnp.sqrt(1 - rho**2)
    turned = [(b - rho * a) / across, (a - rho * b) / across]
    edges = [jnp.where(first_is_less, *pair) for pair in ((edge_less, edge_more), (edge_more, edge_less))]
    gradient = [
        sign * edge * erf(turn / math.sqrt(2)) / (math.sqrt(2 * math.pi) * scale * chance)
        for edge, turn, scale in zip(edges, turned, scales, strict=True)
    ]
    return jnp.log(chance) - (less**2 / 2 - base), jnp.stack(gradient, axis=-1)


def tail(x: Array) -> Array:
    """Phi(-|x|) exp(x^2 / 2), the scaled tail of the normal distribution."""
    t = 1 / (1 + jnp.abs(x) / (2 * math.sqrt(2)))
    polynomial = jnp.zeros_like(t)
    for coefficient in reversed((*_TAIL, *_TAIL_END)):
        polynomial = coefficient + t * polynomial
    return t * jnp.exp(polynomial) / 2


def _plackett(less: Array, more: Array, rho: Array, base: Array) -> Array:
    """(1/2 pi) int_0^(asin rho) exp(-(more - less sin t)^2 / (2 cos^2 t) - base) dt: the integral of `quadrants`, whose
    exponent is this with base = less^2 / 2."""
    angle = jnp.arcsin(rho)
    sines = jnp.sin(angle * jnp.asarray(_NODES + 0.5, less.dtype)).reshape(-1, *[1] * less.ndim)
    weights = jnp.asarray(_WEIGHTS, less.dtype).reshape(sines.shape)
    values = jnp.exp(-((more - less * sines) ** 2) / (2 * (1 - sines**2)) - base)
    return angle * jnp.sum(weights * values, axis=0) / (2 * math.pi)


_CLOSED: dict[str, Gradient] = {
    "abs(h1)": even_root(lambda y: y),
    "h1**2": even_root(jnp.sqrt),
    "He2(h1)": even_root(lambda y: jnp.sqrt(jnp.maximum(y + 1, 0))),
    "sign(h1*h2)": parity,
}
