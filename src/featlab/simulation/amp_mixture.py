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
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce
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
# Small clouds at a time, at most; on a CPU as many as stay within a core's cache.
CHUNK_NUMBERS, _CACHED_NUMBERS = 2**17, 2**15
_PROBES = 2000
_FEW_LABELS = 64
# Of a fold: the noise that its curvature may make, over what another direction does to the label, unless folds are few;
# and how often all steps together may be halved for it, which doubles the small clouds each time.
_MOST_BLUR, _FEW_FOLDS = 0.2, 0.02
_MOST_HALVINGS = {1: 2, 2: 3, 3: 1}
_NEAR = 1e-2
# How far a label counts to be off where a link has no number.
_FAR_OFF = 1e18


# A function of fields, each an array of its own: differentiated field by field.
Fields = Callable[..., Array]


class _Piece(NamedTuple):
    """Parts of small clouds, one for each sample and centre: arrays (n, k), in t."""

    log_weight: Array
    place: list[Array]
    cuts: list[list[Array]]  # vectors u; the prior covariance is diag(s^2) less the sum of their u u^T
    label: Array  # mean of the label
    variance: Array  # of the label
    slope: list[Array]  # covariance of the label with t

    def told(self, labels: Array) -> tuple[Array, Array]:
        """(y - m) / v and 1 / sqrt(v), zero where the label does not vary.

        Divisions come last: their results are kept, where what is cheap is done again for each sum that needs it.
        """
        varies, off = self.variance > 0, labels - self.label
        off = jnp.where(varies, jnp.where(jnp.isfinite(off), off, _FAR_OFF), 0)
        return off / jnp.where(varies, self.variance, 1), 1 / jnp.sqrt(jnp.where(varies, self.variance, jnp.inf))

    def log_density(self, pull: Array, scale: Array) -> Array:
        """The logarithm of weight times density of the label, where the label varies."""
        safe = jnp.where(scale > 0, scale, 1)
        density = self.log_weight - (pull / safe) ** 2 / 2 + jnp.log(safe)
        return jnp.where((scale > 0) & ~jnp.isnan(density), density, -jnp.inf)

    def log_chance(self, labels: Array) -> Array:
        """The logarithm of the weight, where the piece has this label throughout."""
        close = 8 * jnp.finfo(labels.dtype).eps * jnp.maximum(jnp.abs(labels), 1)
        has = (self.variance == 0) & (jnp.abs(self.label - labels) <= close)
        return jnp.where(has, self.log_weight, -jnp.inf)

    def moved(self, pull: Array) -> list[Array]:
        """The posterior mean of t; the prior one where the label does not vary."""
        return [place + slope * pull for place, slope in zip(self.place, self.slope, strict=True)]

    def taken(self, scale: Array) -> list[list[Array]]:
        """Vectors u: the posterior covariance of t is diag(s^2) less the sum of their u u^T."""
        return [*self.cuts, [jnp.where(scale > 0, slope * scale, 0) for slope in self.slope]]


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
    def link(self) -> Fields:
        """The label, without noise, as a function of its fields one by one."""
        of = self.target
        return _by_fields(of.link_jax) if of.tree is None else _of_tree(of.tree, of.names)

    @cached_property
    def kinks(self) -> tuple[Fields, ...]:
        """Functions of the fields that vanish where the link jumps or bends."""
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
        most = min(CHUNK_NUMBERS, _CACHED_NUMBERS) if jax.default_backend() == "cpu" else CHUNK_NUMBERS
        size = min(count, max(1, most // self.numbers))
        chunks = -(-count // size)
        beyond = chunks * size - count
        parts = jnp.pad(jnp.concatenate([labels[:, None], means], axis=1), ((0, beyond), (0, 0)))
        copied = jnp.eye(1 + self.fields, dtype=fields.dtype)

        def chunk(part: Array) -> tuple[Array, Array]:
            # Written out by a product: a slice would be taken anew within every sum that reads it, twice as slowly.
            part = product(part, copied)
            return self._moments(part[:, 0], part[:, 1:], root)

        first, second = lax.map(chunk, parts.reshape(chunks, size, -1))
        first, second = first.reshape(-1, rank)[:count], second.reshape(-1, rank, rank)[:count]
        shrunk = count * jnp.eye(rank, dtype=fields.dtype) - jnp.sum(second, axis=0) + product(first.T, first)
        back = partial(solve_triangular, root[:rank, :rank], lower=True, trans=1)
        return back(first.T).T, back(back(shrunk).T)

    def _moments(self, labels: Array, means: Array, root: Array) -> tuple[Array, Array]:
        """E[t | y] (n, r) and E[t t^T | y] (n, r, r); 0 and I where no small cloud reaches the label.

        Sums over small clouds are products of each sample's matrix (numbers, clouds) with itself, its columns times the
        roots of their weights: one by one, they would take three times as long as all that is summed.
        """
        signs, y = combinations((1, -1), repeat=len(self.kinks)), labels[:, None]
        pieces = [self._piece(means, root, sides) for sides in signs]
        told, rank = [piece.told(y) for piece in pieces], self.target.rank
        logs = self._log_weights(pieces, told, y)
        top = jnp.max(logs, axis=1, keepdims=True)
        shares = jnp.split(jnp.exp((logs - jnp.where(jnp.isfinite(top), top, 0)) / 2), len(pieces), axis=1)
        rows, lost = [], []
        for share, piece, (pull, scale) in zip(shares, pieces, told, strict=True):
            rows.append(jnp.stack([share, *(share * at for at in piece.moved(pull)[:rank])], axis=1))
            lost += [jnp.stack([share * part for part in vector[:rank]], axis=1) for vector in piece.taken(scale)]
        sums, less = _squares(jnp.concatenate(rows, axis=2)), _squares(jnp.concatenate(lost, axis=2))
        total = sums[:, :1, :1]
        sums, less = (part / jnp.where(total > 0, total, 1) for part in (sums, less))
        prior = jnp.diag(jnp.asarray(self.spreads[:rank] ** 2, labels.dtype))
        second = jnp.where(total > 0, sums[:, 1:, 1:] + prior - less, jnp.eye(rank, dtype=labels.dtype))
        return sums[:, 0, 1:], second

    def _log_weights(self, pieces: list[_Piece], told: list[tuple[Array, Array]], labels: Array) -> Array:
        """Logarithms of the posterior weights of all pieces, (n, pieces): if the label is a value that some of them
        have throughout, only those count."""
        density = jnp.concatenate([piece.log_density(*of) for piece, of in zip(pieces, told, strict=True)], axis=1)
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
        points, cuts = _at(means, root, place), list[list[Array]]()
        for kink, side in zip(self.kinks, sides, strict=True):
            height, slope = kink(*points), _slopes(kink, points, root)
            along = [square * a for square, a in zip(squares, slope, strict=True)]
            deviation = jnp.sqrt(
                jnp.maximum(sum(a * b for a, b in zip(along, slope, strict=True)), jnp.finfo(height.dtype).tiny)
            )
            pulled = [a / deviation for a in along]
            log_share, shift, ratio = _half(side * height / deviation)
            log_weight = log_weight + log_share
            place = [c + side * shift * a for c, a in zip(place, pulled, strict=True)]
            gone = jnp.sqrt(jnp.maximum(1 - ratio, 0))  # far from the kink the ratio is 1 up to rounding
            cuts.append([gone * part for part in pulled])
        return _Piece(log_weight, place, cuts, *self._label(_at(means, root, place), root, squares, cuts))

    def _label(
        self, points: list[Array], root: Array, squares: list[float], cuts: list[list[Array]]
    ) -> tuple[Array, Array, list[Array]]:
        """Mean and variance of the label over a piece, to second order, and its covariance with t."""
        slope, bends = _slopes(self.link, points, root), _bends(self.link, points, root)

        def spread(vector: list[Array]) -> list[Array]:
            """The covariance of t over the piece times a vector."""
            parts = [square * part for square, part in zip(squares, vector, strict=True)]
            for cut in cuts:
                along = sum(a * b for a, b in zip(cut, vector, strict=True))
                parts = [part - along * a for part, a in zip(parts, cut, strict=True)]
            return parts

        with_place, every = spread(slope), range(self.fields)
        turned = [spread(column) for column in bends]  # by columns
        mean: Array = self.link(*points) + sum(turned[i][i] for i in every) / 2
        variance: Any = sum(slope[i] * with_place[i] for i in every) + sum(turned[i][i] ** 2 for i in every) / 2
        variance = variance + sum(turned[i][j] * turned[j][i] for i in every for j in range(i))
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


def _at(means: Array, root: Array, place: list[Array]) -> list[Array]:
    """omega + L t, field by field (n, k)."""
    rows = [sum(root[i, j] * place[j] for j in range(i + 1)) for i in range(len(place))]
    return [means[:, i : i + 1] + row for i, row in enumerate(rows)]


def _derivative(function: Fields, axis: int) -> Fields:
    """The derivative by one field. The others are constants, so that what does not depend on it costs nothing."""

    def slope(*points: Array) -> Array:
        def along(point: Array) -> Array:
            return function(*points[:axis], point, *points[axis + 1 :])

        return jax.jvp(along, (points[axis],), (jnp.ones_like(points[axis]),))[1]

    return slope


def _slopes(function: Fields, points: list[Array], root: Array) -> list[Array]:
    """Derivatives along all axes of t, of which field i depends on the first i: L^T times those by the fields."""
    return _turned([_derivative(function, axis)(*points) for axis in range(len(points))], root)


def _bends(function: Fields, points: list[Array], root: Array) -> list[list[Array]]:
    """Second derivatives along all pairs of axes of t, L^T H L."""
    count = len(points)
    by_fields = {(i, j): _derivative(_derivative(function, i), j)(*points) for i in range(count) for j in range(i + 1)}
    rows = [_turned([by_fields[max(i, j), min(i, j)] for j in range(count)], root) for i in range(count)]
    return [_turned(list(column), root) for column in zip(*rows, strict=True)]


def _turned(vector: list[Array], root: Array) -> list[Array]:
    """L^T times a vector."""
    count = len(vector)
    return [reduce(operator.add, [root[i, axis] * vector[i] for i in range(axis, count)]) for axis in range(count)]


def _squares(rows: Array) -> Array:
    """The products of the rows of each matrix (n, rows, clouds)."""
    return jnp.einsum("nik,njk->nij", rows, rows, precision=lax.Precision.HIGHEST)


def _half(distance: Array) -> tuple[Array, Array, Array]:
    """For x ~ N(u, 1): log P(x > 0), and by how much x > 0 raises the mean, and the variance that is left."""
    edge = jnp.exp(-(distance**2) / 2)
    beyond, scaled = tail(distance) * edge, tail(distance)
    inside = distance >= 0
    log_share = jnp.where(inside, jnp.log1p(-beyond), jnp.log(scaled) - distance**2 / 2)
    shift = jnp.where(inside, edge / (1 - beyond), 1 / scaled) / math.sqrt(2 * math.pi)
    return log_share, shift, jnp.maximum(1 - shift * (shift + distance), 0)


def _surfaces(target: Target) -> tuple[Fields, ...]:
    """The kinks of a target as JAX functions of its fields, one by one."""
    if target.tree is None:
        return tuple(_by_fields(cast(Fields, kink.function)) for kink in target.kinks)  # its code is for either
    from featlab.targets.kinks import surfaces

    return tuple(_of_tree(tree, target.names) for tree in surfaces(target.tree))


def _by_fields(function: Fields) -> Fields:
    """A function of points (..., q) as one of q fields."""
    return lambda *fields: function(jnp.stack(fields, axis=-1))


def _of_tree(tree: Any, names: Sequence[str]) -> Fields:
    """A tree as a function of its fields."""
    from featlab.targets.evaluate import values_jax

    return lambda *fields: values_jax(tree, dict(zip(names, fields, strict=True)))
