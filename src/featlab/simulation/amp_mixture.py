"""The denoiser of Bayes-AMP for any link of up to three fields: a Gaussian cloud as a mixture of small ones.

For one sample, z = omega + L t with L L^T = V and t ~ N(0, I): wanted is E[t | y]. With s = 0.55 h, N(0, I) is, up to a
ripple of 0.5%, the mixture of N(c, s^2 I) over a lattice of centres c of step h, weighted by the density of
N(0, (1 - s^2) I). Within a small cloud the link is replaced by its expansion to second order, whose label has mean
m = g + s^2 tr(H)/2, variance v = s^2 |a|^2 + s^4 |H|^2 / 2 + noise (a, H: gradient and Hessian in t) and covariance
s^2 a with t; so the cloud counts by N(y; m, v) and has posterior mean c + s^2 a (y - m) / v (a Gaussian-sum filter of
second order: Alspach and Sorenson 1972). It is exact for linear links whatever h, so it stays accurate as V -> 0.

A small cloud that a kink {q = 0} passes is cut in two by the plane tangent to it: with u = q / (s |grad q|) the side
of sign e has the share Phi(e u), along the normal its mean moves by e s phi(u) / Phi(e u), and its variance falls as
for a truncated normal. Where the link is constant on a piece, that piece counts by its share if its value is y.
Planes at right angles (in t) cut exactly, whatever h: for sign(h1*h2) and a diagonal V nothing is approximate.

Noise variables inside the link are fields with mean 0 and variance 1 that are averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product as combinations
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.linalg import block_diag, solve_triangular

from featlab.errors import InvalidParameter
from featlab.simulation.amp_closed import tail
from featlab.simulation.linalg import product

if TYPE_CHECKING:
    from featlab.targets import Target

# The step of the lattice by the number of fields, in standard deviations, for links that vary between their kinks and
# for those that are constant there (only curved or slanting kinks then need it fine); and how far out it reaches.
_STEPS = {1: 0.05, 2: 0.175, 3: 0.5}
_CONSTANT_STEPS = {1: 0.3, 2: 0.6, 3: 0.9}
_WIDTH = 0.55
_REACH = 4.8
_MOST_KINKS = 4
CHUNK_NUMBERS = 2**17
_PROBES = 2000
_FEW_LABELS = 64
# Of a fold: the noise that its curvature may make, over what another direction does to the label, unless folds are few;
# and how often all steps together may be halved for it, which doubles the small clouds each time.
_MOST_BLUR, _FEW_FOLDS = 0.2, 0.02
_MOST_HALVINGS = {1: 2, 2: 3, 3: 1}
_NEAR = 1e-2


_Entries = list[list[Any]]


class _Piece(NamedTuple):
    """Parts of small clouds, one for each sample and centre: arrays (n, k), in t."""

    log_weight: Array
    place: list[Array]
    covariance: _Entries
    label: Array  # mean of the label
    variance: Array  # of the label
    slope: list[Array]  # covariance of the label with t

    def log_density(self, labels: Array) -> Array:
        """The logarithm of weight times density of the label, where the label varies."""
        varies = self.variance > 0
        safe = jnp.where(varies, self.variance, 1)
        density = self.log_weight - (labels - self.label) ** 2 / (2 * safe) - jnp.log(safe) / 2
        return jnp.where(varies & ~jnp.isnan(density), density, -jnp.inf)

    def log_chance(self, labels: Array) -> Array:
        """The logarithm of the weight, where the piece has this label throughout."""
        close = 8 * jnp.finfo(labels.dtype).eps * jnp.maximum(jnp.abs(labels), 1)
        has = (self.variance == 0) & (jnp.abs(self.label - labels) <= close)
        return jnp.where(has, self.log_weight, -jnp.inf)

    def moved(self, labels: Array) -> list[Array]:
        """The posterior mean of t; the prior one where the label does not vary."""
        varies = (self.variance > 0) & jnp.isfinite(self.label)
        pull = jnp.where(varies, (labels - self.label) / jnp.where(varies, self.variance, 1), 0)
        return [place + slope * pull for place, slope in zip(self.place, self.slope, strict=True)]

    def left(self, i: int, j: int) -> Array:
        """The posterior covariance of t_i and t_j, (n, k)."""
        varies = self.variance > 0
        known = self.slope[i] * self.slope[j] / jnp.where(varies, self.variance, 1)
        return self.covariance[i][j] - jnp.where(varies, known, 0)


@dataclass(frozen=True)
class MixtureDenoiser:
    """The denoiser for the labels of one target, as a function of y (n,), omega (n, r), V (r, r)."""

    target: Target

    def __post_init__(self) -> None:
        refused = why_not(self.target)
        if refused:
            raise InvalidParameter("target", self.target.text, refused)

    @property
    def fields(self) -> int:
        """Directions and noise variables."""
        return self.target.rank + self.target.hidden

    @cached_property
    def seen_values(self) -> np.ndarray:
        """The different values of the link at 2000 random points: fewer if some have positive probability."""
        points = np.random.default_rng(0).standard_normal((_PROBES, self.fields))
        return np.unique(self.target.link(points))

    @property
    def few_values(self) -> np.ndarray | None:
        """All values of the label, if they are few; else None."""
        return self.seen_values if self.target.noise == 0 and self.seen_values.size < _FEW_LABELS else None

    @property
    def atoms(self) -> bool:
        """Whether some values of the label have positive probability."""
        return self.target.noise == 0 and self.seen_values.size < _PROBES

    @property
    def steps(self) -> np.ndarray:
        """h, the step of the lattice along each axis, (q,)."""
        if self.seen_values.size < _FEW_LABELS:
            return np.full(self.fields, _CONSTANT_STEPS[self.fields])
        return _STEPS[self.fields] / 2.0 ** np.array(halvings(self.target))

    @property
    def spreads(self) -> np.ndarray:
        """s, the standard deviation of a small cloud along each axis, (q,)."""
        return _WIDTH * self.steps

    @cached_property
    def centres(self) -> np.ndarray:
        """The lattice within the reach, (k, q)."""
        counts = np.ceil(_REACH / self.steps).astype(int)
        axes = [step * np.arange(-count, count + 1) for step, count in zip(self.steps, counts, strict=True)]
        lattice = np.array(list(combinations(*axes)))
        return lattice[np.sum(lattice**2, axis=1) <= _REACH**2]

    @cached_property
    def kinks(self) -> tuple[Callable[[Array], Array], ...]:
        """Functions of fields (q,) that vanish where the link jumps or bends."""
        return _surfaces(self.target)

    @property
    def numbers(self) -> int:
        """How many small clouds, whole or cut, there are for one sample."""
        return len(self.centres) * 2 ** len(self.kinks)

    def __call__(self, labels: Array, fields: Array, covariance: Array) -> tuple[Array, Array]:
        """g_out (n, r) and the sum of -dg_out/domega (r, r), a chunk of samples at a time.

        With t as above, g_out = L^-T E[t | y] and -dg_out/domega = L^-T (I - Cov(t | y)) L^-1.
        """
        count, rank = fields.shape
        root = jnp.linalg.cholesky(block_diag(covariance, jnp.eye(self.target.hidden, dtype=fields.dtype)))
        means = jnp.pad(fields, ((0, 0), (0, self.target.hidden)))
        size = min(count, max(1, CHUNK_NUMBERS // self.numbers))
        chunks = -(-count // size)
        beyond = chunks * size - count
        parts = jnp.pad(labels, (0, beyond)), jnp.pad(means, ((0, beyond), (0, 0)))
        split = tuple(array.reshape(chunks, size, *array.shape[1:]) for array in parts)
        first, second = lax.map(lambda part: self._moments(part[0], part[1], root), split)
        first, second = first.reshape(-1, rank)[:count], second.reshape(-1, rank, rank)[:count]
        shrunk = count * jnp.eye(rank, dtype=fields.dtype) - jnp.sum(second, axis=0) + product(first.T, first)
        back = partial(solve_triangular, root[:rank, :rank], lower=True, trans=1)
        return back(first.T).T, back(back(shrunk).T)

    def _moments(self, labels: Array, means: Array, root: Array) -> tuple[Array, Array]:
        """E[t | y] (n, r) and E[t t^T | y] (n, r, r); 0 and I where no small cloud reaches the label."""
        signs = combinations((1, -1), repeat=len(self.kinks))
        pieces = [self._piece(means, root, sides) for sides in signs]
        logs = self._log_weights(pieces, labels[:, None])
        top = jnp.max(logs, axis=1, keepdims=True)
        weights = jnp.exp(logs - jnp.where(jnp.isfinite(top), top, 0))
        total = jnp.sum(weights, axis=1)
        weights = weights / jnp.where(total > 0, total, 1)[:, None]
        moved = [piece.moved(labels[:, None]) for piece in pieces]
        places = [jnp.concatenate(column, axis=1) for column in zip(*moved, strict=True)]
        every = range(self.target.rank)
        first = jnp.stack([jnp.sum(weights * places[i], axis=1) for i in every], axis=1)

        def second(i: int, j: int) -> Array:
            spread = jnp.concatenate(jnp.broadcast_arrays(*(piece.left(i, j) for piece in pieces)), axis=1)
            return jnp.where(total > 0, jnp.sum(weights * (places[i] * places[j] + spread), axis=1), float(i == j))

        return first, jnp.stack(
            [jnp.stack([second(min(i, j), max(i, j)) for j in every], axis=1) for i in every], axis=1
        )

    def _log_weights(self, pieces: list[_Piece], labels: Array) -> Array:
        """Logarithms of the posterior weights of all pieces, (n, pieces): if the label is a value that some of them
        have throughout, only those count."""
        density = jnp.concatenate([piece.log_density(labels) for piece in pieces], axis=1)
        if not self.atoms:
            return density
        chance = jnp.concatenate([piece.log_chance(labels) for piece in pieces], axis=1)
        return jnp.where(jnp.max(chance, axis=1, keepdims=True) > -jnp.inf, chance, density)

    def _piece(self, means: Array, root: Array, sides: tuple[int, ...]) -> _Piece:
        """The part of every small cloud on these sides of the kinks."""
        centres = jnp.asarray(self.centres.T, means.dtype)
        squares = [float(spread) ** 2 for spread in self.spreads]
        log_weight = -sum(c**2 / (2 * (1 - square)) for c, square in zip(centres, squares, strict=True))
        log_weight, place = jnp.broadcast_to(log_weight, (len(means), centres.shape[1])), [c[None] for c in centres]
        covariance: _Entries = [[squares[i] * (i == j) for j in range(self.fields)] for i in range(self.fields)]
        points = _at(means, root, place)
        for kink, side in zip(self.kinks, sides, strict=True):
            height, slope = kink(points), _slopes(kink, points, root)
            along = [square * a for square, a in zip(squares, slope, strict=True)]
            deviation = jnp.sqrt(
                jnp.maximum(sum(a * b for a, b in zip(along, slope, strict=True)), jnp.finfo(height.dtype).tiny)
            )
            pulled = [a / deviation for a in along]
            log_share, shift, ratio = _half(side * height / deviation)
            log_weight = log_weight + log_share
            place = [c + side * shift * a for c, a in zip(place, pulled, strict=True)]
            covariance = [
                [entry - (1 - ratio) * pulled[i] * pulled[j] for j, entry in enumerate(row)]
                for i, row in enumerate(covariance)
            ]
        return _Piece(log_weight, place, covariance, *self._label(_at(means, root, place), root, covariance))

    def _label(self, points: Array, root: Array, covariance: _Entries) -> tuple[Array, Array, list[Array]]:
        """Mean and variance of the label over a piece, to second order, and its covariance with t."""
        link = self.target.link_jax
        slope = _slopes(link, points, root)
        every = range(self.fields)
        bends = [_slopes(partial(_slope, link, root, k), points, root) for k in every]
        with_place = [sum(covariance[i][j] * slope[j] for j in every) for i in every]
        turned = [[sum(covariance[i][k] * bends[k][j] for k in every) for j in every] for i in every]
        mean = link(points) + sum(turned[i][i] for i in every) / 2
        variance = sum(slope[i] * with_place[i] for i in every)
        variance = variance + sum(turned[i][j] * turned[j][i] for i in every for j in every) / 2
        return mean, variance + self.target.noise, with_place


@lru_cache(maxsize=64)
def halvings(target: Target) -> tuple[int, ...]:
    """How often the step of the lattice is halved along each axis of a target.

    Where the link folds along an axis, that is, varies within a small cloud more by its curvature than by its slope,
    the curvature counts as noise of the label, of size s^2 |g''| / sqrt(2). It hides another direction unless the label
    varies more with that one over its whole width: for 2 He5(h2) + sin(h1) |h2| an undivided step leaves two fifths of
    what the label tells of h1. The step is halved while the median of s^2 |g''| over folds is above a fifth of that.

    With one field a fold hides which of several places has the label: of 0.56 He3 + 0.64 He4 at an overlap of 0.12 an
    undivided step leaves 97.4% of E[g_out^2], half of it 99.2%, a quarter 99.8%. There clouds are few, so it is taken.
    """
    fields = target.rank + target.hidden
    points = np.random.default_rng(0).standard_normal((_PROBES, fields))
    shifted = [(target.link(points - move), target.link(points + move)) for move in _NEAR * np.eye(fields)]
    slopes = [np.abs(high - low) / (2 * _NEAR) for low, high in shifted]
    bends = [np.abs(low + high - 2 * target.link(points)) / _NEAR**2 for low, high in shifted]
    if fields == 1:
        return (_MOST_HALVINGS[1] if np.any(_WIDTH * _STEPS[1] * bends[0] > slopes[0]) else 0,)
    found = [0] * fields
    for place, (slope, bend) in enumerate(zip(slopes, bends, strict=True)):
        others = [slopes[other] for other in range(target.rank) if other != place]
        while others and sum(found) < _MOST_HALVINGS[fields]:
            spread = _WIDTH * _STEPS[fields] / 2 ** found[place]
            folds = spread * bend > slope
            if np.mean(folds) < _FEW_FOLDS:
                break
            blur = np.median(spread**2 * bend[folds])
            if all(blur <= _MOST_BLUR * np.median(one[folds]) for one in others):
                break
            found[place] += 1
    return tuple(found)


def why_not(target: Target) -> str:
    """What a target must have for this denoiser, if it has it not; empty if it will do."""
    if target.rank + target.hidden not in _STEPS:
        return "a target with at most three directions and noise variables inside the link"
    return "" if len(_surfaces(target)) <= _MOST_KINKS else f"a link with at most {_MOST_KINKS} kinks"


def _at(means: Array, root: Array, place: list[Array]) -> Array:
    """omega + L t, (n, k, q)."""
    rows = [sum(root[i, j] * place[j] for j in range(i + 1)) for i in range(len(place))]
    return jnp.stack([means[:, i : i + 1] + row for i, row in enumerate(rows)], axis=-1)


def _slope(function: Callable[[Array], Array], root: Array, axis: int, points: Array) -> Array:
    """The derivative along an axis of t, at points of z."""
    return jax.jvp(function, (points,), (jnp.broadcast_to(root[:, axis], points.shape),))[1]


def _slopes(function: Callable[[Array], Array], points: Array, root: Array) -> list[Array]:
    """Derivatives along all axes of t."""
    return [_slope(function, root, axis, points) for axis in range(points.shape[-1])]


def _half(distance: Array) -> tuple[Array, Array, Array]:
    """For x ~ N(u, 1): log P(x > 0), and by how much x > 0 raises the mean, and the variance that is left."""
    edge = jnp.exp(-(distance**2) / 2)
    beyond, scaled = tail(distance) * edge, tail(distance)
    inside = distance >= 0
    log_share = jnp.where(inside, jnp.log1p(-beyond), jnp.log(scaled) - distance**2 / 2)
    shift = jnp.where(inside, edge / (1 - beyond), 1 / scaled) / math.sqrt(2 * math.pi)
    return log_share, shift, jnp.maximum(1 - shift * (shift + distance), 0)


def _surfaces(target: Target) -> tuple[Callable[[Array], Array], ...]:
    """The kinks of a target as JAX functions of one point (q,)."""
    if target.tree is None:
        return tuple(cast(Callable[[Array], Array], kink.function) for kink in target.kinks)  # its code is for either
    from featlab.targets.evaluate import values_jax
    from featlab.targets.kinks import surfaces

    def function(tree: Any) -> Callable[[Array], Array]:
        return lambda fields: values_jax(tree, {name: fields[..., k] for k, name in enumerate(target.names)})

    return tuple(function(tree) for tree in surfaces(target.tree))
