"""A batch that one neuron reads again and again, on a GPU: `ReusedVirtual` with fewer numbers moved.

The law is the same, and so are the random numbers; but of the q = uses questions, U, the orthonormal part of what was
asked, is stored with Z, the noise of each, both (q, n), and not with the coordinates on the new axes,

    G_r = f_r U_r + z_r - sum_(s<=r) <U_s, z_r> U_s = z_r + sum_(s<=r) A_rs U_s,

as f, Bartlett's factors, and A = diag(f) - <U, z> (q, q) are those of all samples. So G is never written: fields are
w Z + (w A) U, and a pull-back is <G, D> = <Z, D> + A <U, D>. As many numbers are stored as before.

A step is a few loops over n samples, each of which reads a table once, and of that only rows that were written. After r
questions they move, of each sample,

    the fields                             r of U, r of Z, coordinates 2, fields 1:          2 r + 3 numbers,
    D                                      fields 1, labels 1, D 1:                                3
    <U, D> and <U, z>                      r of U, D 1, noise z 1:                             r + 2
    <U, left>, left = D - <U, D> U         r of U, D 1, noise z 1:                             r + 2
    <Z, D>, and of D with coordinates      r of Z, coordinates 2, D 1:                         r + 3
    left - <U, left> U, of length 1        r of U, D 1, what is written 1:                     r + 2
    besides                                z drawn 1, both put into tables 4, the loss 2:          7

in all 6 r + 22: over ten questions 49 on average. The products of matrices of `ReusedVirtual` read 84 of its tables and
move 19 besides. (Sums with Z could be taken with the others of D; a GPU has too few registers for so many.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from featlab.simulation.designs.virtual import ReusedVirtual
from featlab.simulation.devices import over_samples
from featlab.simulation.linalg import MANY, ROUNDINGS, combined, inner_products
from featlab.simulation.random import bartlett, fold, named


def reads_once(width: int, uses: int) -> bool:
    """Whether a batch is asked by loops that read a table once: one neuron, on a GPU. A CPU's products of matrices are
    faster; and after many questions it takes three orthogonalisations."""
    return width == 1 and uses <= MANY and jax.default_backend() != "cpu"


class OneBatch(NamedTuple):
    """What is known of one batch. Unused rows are zero."""

    key: Array
    coordinates: Array  # on the axes in use when the batch began (base, n)
    asked: Array  # U (uses, n)
    noise: Array  # Z (uses, n)
    mixing: Array  # A (uses, uses)
    times: Array  # how often backward was asked


class _Part(NamedTuple):
    """What a question D is in the span of U, and off it."""

    inside: Array  # <U, D>
    mixed: Array  # <U, z>
    norm: Array  # of what is left
    fresh: Array  # that, of length 1
    own: Array  # its product with z


@dataclass(frozen=True)
class ReusedByOne(ReusedVirtual):
    """Batches that one neuron reads `uses` times each."""

    def draw(self, key: Array) -> OneBatch:  # type: ignore[override]
        """One batch, known on the axes in use."""
        coordinates, uses = self.start(key), self.uses
        asked, noise = (jnp.zeros((uses, self.rows), self.dtype) for _ in range(2))
        if self.over > 1:
            spread = over_samples(self.over, 1, 2)
            coordinates, asked, noise = lax.with_sharding_constraint((coordinates, asked, noise), spread)
        mixing = jnp.zeros((uses, uses), self.dtype)
        batch = OneBatch(named(key, "axes"), coordinates, asked, noise, mixing, jnp.int32(0))
        return jax.tree.map(lambda part: part[None], batch)

    def forward(self, batch: OneBatch, weights: Array) -> tuple[Array, OneBatch]:  # type: ignore[override]
        """G W^T."""
        new = jnp.where(jnp.arange(self.uses) < batch.times, weights[0, self.base :], 0)
        fields = combined(weights[0, : self.base], batch.coordinates) + combined(new, _rows(batch.noise, batch.times))
        fields = fields + combined(_mixed(new, batch.mixing), _rows(batch.asked, batch.times))
        return lax.optimization_barrier(fields)[:, None], batch  # written once, not made again wherever it is used

    def backward(self, batch: OneBatch, duals: Array) -> tuple[Array, OneBatch]:  # type: ignore[override]
        """D^T G on the axes in use; on a new one the drawn factor."""
        key, now, known = fold(batch.key, batch.times), batch.times, jnp.arange(self.uses) < batch.times
        row = lax.optimization_barrier(duals[:, 0])  # written once
        factor = bartlett(named(key, "factor"), 1, 1.0 * self.dim - self.base - now, dtype=self.dtype)[0, 0]
        noise = self.noise(batch.key, now)[0]
        part = _split(_rows(batch.asked, now), row, noise, known)
        after, _ = lax.optimization_barrier((row, part.norm))  # a loop of its own, not one with the sums before
        on_start, on_noise = inner_products([(batch.coordinates, after), (_rows(batch.noise, now), after)])
        on_new = jnp.where(known, on_noise, 0) + _mixed(part.inside, batch.mixing.T)
        pull = jnp.concatenate([on_start, on_new.at[now].set(part.norm * factor)])
        # Written only after all was read: then the compiler writes in place.
        fresh, noise = lax.optimization_barrier((part.fresh, noise))
        told = OneBatch(
            batch.key,
            batch.coordinates,
            lax.dynamic_update_slice_in_dim(batch.asked, fresh[None], now, axis=0),
            lax.dynamic_update_slice_in_dim(batch.noise, noise[None], now, axis=0),
            batch.mixing.at[now].set((-part.mixed).at[now].set(factor - part.own)),
            now + 1,
        )
        return pull[None], told


def _rows(table: Array, times: Array) -> list[Array]:
    """The rows of a table. In the place of those to come is the last one that was written: it is not read again."""
    last = jnp.maximum(times - 1, 0)
    return [lax.dynamic_index_in_dim(table, jnp.minimum(row, last), keepdims=False) for row in range(len(table))]


def _mixed(numbers: Array, matrix: Array) -> Array:
    """numbers (k,) times a small matrix, at full precision."""
    return jnp.sum(numbers[:, None] * matrix, axis=0)


def _split(asked: list[Array], row: Array, noise: Array, known: Array) -> _Part:
    """row (n,) = <U, row> U + norm times a new unit vector, of the rows of U that are `known`.

    Orthogonalised twice, as `split` does: by the products with the row, and with what is then left of it. The norm is
    that of what is left, less its small part in U.
    """
    first, mixed, (whole,) = inner_products([(asked, row), (asked, noise), ([row], row)])
    first, mixed = (jnp.where(known, part, 0) for part in (first, mixed))
    left = row - combined(first, asked)
    second, (square, crossed) = inner_products([(asked, left), ([left, noise], left)])
    second = jnp.where(known, second, 0)
    least, rest = ROUNDINGS * jnp.finfo(row.dtype).eps, square - jnp.sum(second**2)
    new = (square > least**2 * whole) & (rest > 0)
    norm = jnp.where(new, jnp.sqrt(jnp.where(new, rest, 1)), 0)
    scale = jnp.where(new, 1 / jnp.where(new, norm, 1), 0)
    fresh = scale * (left - combined(second, asked))
    return _Part(first, mixed, norm, fresh, scale * (crossed - jnp.sum(second * mixed)))
