"""A reused batch of which nothing is kept: every question goes over the samples again and retraces what they answered.

The law is that of `ReusedVirtual`, whose tables are U, the orthonormal part of every D asked so far, and G, the
coordinates of the samples on the axes in use. Both are functions of a sample's own random numbers, among them a noise
z_s for each question, and of a few numbers that all samples share: with q = uses,

    D_s = rule(h, <w_s, G>),   U_s = (D_s - sum_(r<s) C_sr U_r) / nu_s,   G_s = f_s U_s + z_s - sum_(r<=s) E_sr U_r,

C = <U, D>, E = <U, z>, f Bartlett's factor. So a question is one pass over n numbered samples, without a table: for
each about q random numbers and q^2 multiplications, and 4 q sums over all. The tables take 2 n q numbers, which ten
questions to three billion samples cannot have.

The sums are over D_s less a guess of its part in U, that of the question before; the pass is made again, with what it
found for a guess, only where less than a quarter of what is left is new. So no norm is a difference of large numbers.
A sample's numbers are keyed by its own number, and depend neither on chunks nor on devices. All of it is one reduction
(`inner_products`), of which a compiler makes one loop: on a GPU it is bound by drawing, not by memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.simulation.designs.virtual import Framed, Summed
from featlab.simulation.devices import over_samples
from featlab.simulation.linalg import ROUNDINGS, combined, inner_products
from featlab.simulation.random import bartlett, fold, named, normal_columns

# From the target's fields (n, r), the numbers behind the labels' noise (n, columns) and the student's fields (n, 1) to
# D (n, 1) and the loss (n,).
Answer = Callable[[Array, Array, Array], tuple[Array, Array]]

MOST_USES = 32  # a question is unrolled
_CPU_CHUNK, _GPU_CHUNK = 2**13, 2**24
_COUNTED = 2**32 - 2**26  # less a chunk: numbers of samples have 32 bits
_MOST_ROUNDS = 4
_NEW_SHARE = 1 / 16  # of the squared length


class Trace(NamedTuple):
    """What all samples share: rows for each question, zero for those that are to come."""

    key: Array
    weights: Array  # w_s (uses, frame)
    parts: Array  # C (uses, uses)
    scale: Array  # 1 / nu (uses,)
    mixed: Array  # E (uses, uses)
    factor: Array  # f (uses,)
    guess: Array  # the last D on the axes U (uses,)
    times: Array


class _Sums(NamedTuple):
    """Sums over all samples, of products with D, with the rest of D less its guess, and with the new noise z."""

    pull: Array  # <G, D> (frame,)
    parts: Array  # <U, rest> (uses,)
    mixed: Array  # <U, z> (uses,)
    asked: Array  # <D, D>
    rest: Array  # <rest, rest>
    crossed: Array  # <rest, z>
    loss: Array


@dataclass(frozen=True)
class Retraced(Framed):
    """Batches that one neuron reads `uses` times each; labels take `noises` random numbers of a sample."""

    uses: int = 1
    noises: int = 0
    block: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width > 1:
            raise InvalidParameter("design", "retraced", "'virtual' for more than one neuron")
        if self.uses > MOST_USES:
            raise InvalidParameter("design", "retraced", f"'virtual' for more than {MOST_USES} steps on a batch")
        if np.dtype(self.dtype) != np.float32:
            raise InvalidParameter("dtype", np.dtype(self.dtype).name, "float32 on the design 'retraced'")
        if not self.uses <= self.rows <= _COUNTED:
            raise InvalidParameter("samples", self.rows, f"from {self.uses:,} to {_COUNTED:,} on the design 'retraced'")

    @property
    def frame(self) -> int:
        """Known axes, the weight's axis, and a new one for each use."""
        return self.base + self.uses

    def draw(self, key: Array) -> Trace:
        """One batch of which nothing was asked."""
        zeros, uses = jnp.zeros, self.uses
        tables = zeros((uses, self.frame)), zeros((uses, uses)), zeros(uses), zeros((uses, uses)), zeros(uses)
        empty = Trace(named(key, "axes"), *tables, zeros(uses), jnp.int32(0))
        return jax.tree.map(lambda part: part[None], empty)

    def ask(self, batch: Trace, weights: Array, answer: Answer) -> tuple[Array, Array, Trace]:
        """D^T X (1, frame) and the mean loss, with (D, loss) = answer(target fields, noises, X w), of one weight w."""
        key, number, least = fold(batch.key, batch.times), batch.times, ROUNDINGS * jnp.finfo(self.dtype).eps
        guess, sums = self._sums_of_the_rest(batch, weights[0], answer, least)
        square = sums.rest - jnp.sum(sums.parts**2)
        new = (sums.rest > least**2 * sums.asked) & (square > 0)
        norm = jnp.where(new, jnp.sqrt(jnp.where(new, square, 1)), 0)
        scale = jnp.where(new, 1 / jnp.where(new, norm, 1), 0)
        own = scale * (sums.crossed - jnp.sum(sums.parts * sums.mixed))
        factor = bartlett(named(key, "factor"), 1, 1.0 * self.dim - self.base - number, dtype=self.dtype)[0, 0]
        pull = sums.pull.at[self.base + number].set(norm * factor)
        after = Trace(
            batch.key,
            batch.weights.at[number].set(weights[0]),
            batch.parts.at[number].set(guess + sums.parts),
            batch.scale.at[number].set(scale),
            batch.mixed.at[number].set(sums.mixed.at[number].set(own)),
            batch.factor.at[number].set(factor),
            (guess + sums.parts).at[number].set(norm),
            number + 1,
        )
        return pull[None], sums.loss / float(self.rows), after

    def _sums_of_the_rest(self, batch: Trace, weight: Array, answer: Answer, least: Any) -> tuple[Array, _Sums]:
        """A guess of the part of D in U, and the sums with it: as good that most of what is left is new, or nothing."""

        def better(carry: tuple[Array, _Sums, Array]) -> tuple[Array, _Sums, Array]:
            guess, sums, rounds = carry
            guess = guess + sums.parts
            return guess, self._sums(batch, weight, guess, answer), rounds + 1

        def unsure(carry: tuple[Array, _Sums, Array]) -> Array:
            _, sums, rounds = carry
            inside = jnp.sum(sums.parts**2) > (1 - _NEW_SHARE) * sums.rest
            return (rounds == 0) | (inside & (sums.rest > least**2 * sums.asked) & (rounds < _MOST_ROUNDS))

        nothing = jax.tree.map(
            lambda shape: jnp.zeros(shape.shape, shape.dtype),
            jax.eval_shape(lambda: self._sums(batch, weight, batch.guess, answer)),
        )
        guess, sums, _ = lax.while_loop(unsure, better, (batch.guess, nothing, jnp.int32(0)))
        return guess, sums

    def _sums(self, batch: Trace, weight: Array, guess: Array, answer: Answer) -> _Sums:
        """One pass over all samples, by chunks."""
        size = self._chunk
        ends = np.cumsum([self.frame, self.uses, self.uses, 1, 1, 1, 1])  # as in `_Sums`

        def add(index: Array, total: Summed) -> Summed:
            return total.add(self._chunk_sums(batch, weight, guess, answer, index, size))

        total = lax.fori_loop(0, self.chunks, add, Summed.zero((int(ends[-1]),), self.dtype)).value
        pull, parts, mixed, *others = jnp.split(total, ends[:-1])
        return _Sums(pull, parts, mixed, *(other[0] for other in others))

    def _chunk_sums(self, batch: Trace, weight: Array, guess: Array, answer: Answer, index: Array, size: int) -> Array:
        """The sums over a chunk, one after the other, (frame + 2 uses + 4,)."""
        number = index.astype(jnp.uint32) * np.uint32(size) + lax.iota(jnp.uint32, size)
        if self.over > 1:
            number = lax.with_sharding_constraint(number, over_samples(self.over, 0, 1))
        drawn = normal_columns(batch.key, self.base + self.uses + self.noises, number)
        start, noise, behind = drawn[: self.base], drawn[self.base : self.frame], drawn[self.frame :]
        answered = self._answered(start[: self.known], behind, answer)
        asked, new = self._retraced(batch, start, noise, answered)
        inside = number < np.uint32(self.rows) if self.rows % size else True
        duals, loss = (jnp.where(inside, part, 0) for part in answered(combined(weight, [*start, *new])))
        rest = duals - jnp.where(inside, combined(guess, asked), 0)
        now = jnp.where(inside, _at(noise, batch.times), 0)
        zero, ones = jnp.zeros(1, self.dtype), jnp.ones(size, self.dtype)
        groups = [([*start, *new, duals], duals), ([*asked, rest, now], rest), ([loss], ones)]
        pull, parts, total, *mixed = inner_products([*groups, (asked, now)] if asked else groups)
        known = jnp.arange(self.frame - 1) < self.base + batch.times
        found = [jnp.where(known, pull[:-1], 0), zero, parts[:-2], zero, *mixed, zero]
        return jnp.concatenate([*found, pull[-1:], parts[-2:], total])

    @property
    def chunks(self) -> int:
        """How many chunks a pass takes."""
        return -(-self.rows // self._chunk)

    @property
    def _chunk(self) -> int:
        """Samples at a time, as many on each device."""
        return min(self.rows, self.over * (_CPU_CHUNK if jax.default_backend() == "cpu" else _GPU_CHUNK))

    def _answered(self, known: list[Array], behind: list[Array], answer: Answer) -> Callable[[Array], Any]:
        """From fields to D and the loss, of the samples of a chunk."""
        target_fields = jnp.stack(known, axis=-1)
        noises = jnp.stack(behind, axis=-1) if behind else jnp.zeros((len(target_fields), 0), self.dtype)

        def answered(fields: Array) -> tuple[Array, Array]:
            duals, loss = answer(target_fields, noises, fields[:, None])
            return duals[:, 0], loss

        return answered

    def _retraced(
        self, batch: Trace, start: list[Array], noise: list[Array], answered: Callable[[Array], Any]
    ) -> tuple[list[Array], list[Array]]:
        """U and the new columns of G, of the questions before the last one there is room for; zero where not asked."""
        asked: list[Array] = []
        new: list[Array] = []
        for past in range(self.uses - 1):
            duals, _ = answered(combined(batch.weights[past], [*start, *new]))
            rest = duals - combined(batch.parts[past], asked)
            asked.append(batch.scale[past] * rest)
            mixed = combined(batch.mixed[past], asked)
            new.append(batch.factor[past] * asked[past] + noise[past] - mixed)
        return asked, new

    def bytes_per_seed(self, swept: bool = False) -> int:
        """A chunk, all of whose columns may be there at a time."""
        columns = 4 * (self.frame + self.uses + self.noises + 4)
        return (columns * self._chunk + 8 * self.uses * self.frame) * np.dtype(self.dtype).itemsize


def _at(columns: list[Array], place: Array) -> Array:
    """The column at a place that is known when it is run."""
    found = columns[0]
    for number, column in enumerate(columns[1:], 1):
        found = jnp.where(place == number, column, found)
    return found
