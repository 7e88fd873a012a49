"""Ways to ask a reused batch with fewer passes, timed side by side on one GPU (a scratch script: it leaves with its answer).

python -m benchmarks.few_passes 1e8 --seconds 150 --out $OUT
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import re
import statistics
import tempfile
import traceback
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from benchmarks.measuring import copy_bandwidth, problem
from featlab.learners import ReusedBatch
from featlab.simulation import reuse
from featlab.simulation.designs import virtual
from featlab.simulation.linalg import ROUNDINGS, combined
from featlab.simulation.losses import loss
from featlab.simulation.networks import moved
from featlab.simulation.problem import label_noise, labels
from featlab.simulation.random import _normal_of, _threefry, _half, bartlett, fold, named, normal, root_key
from featlab.simulation.run import advance, start

BEGIN = perf_counter()
STEPS, STEP = 10, 0.05


@dataclass(frozen=True)
class How:
    """A variant: see the notes of each field."""

    scheme: str = "two"  # "two": U and Z stored, two passes; "one": D and Z stored, one pass; "old": the package
    clamped: bool = True  # rows that nothing was written to are not read: the last one that was is, again
    row: int = 0  # sums over rows of so many first; 0: the compiler's choice
    within: bool = False  # the new noise is drawn in the pass that needs it first
    pairs: bool = False  # samples i and i + n/2 together, whose noise is one call of the cipher
    barrier: bool = True  # what a pass hands on is kept from being computed again


HOW = How()


class Batch(NamedTuple):
    key: Array
    start: Array  # (base, n)
    table: Array  # U or D (uses, n)
    noise: Array  # Z (uses, n)
    parts: Array
    scale: Array
    mixed: Array
    factor: Array
    guess: Array
    times: Array


def drawn_flat(key: Array, count: int) -> Array:
    """The bits of `normal(key, (1, count))[0]`, each from its place alone, without a barrier."""
    half = _half(count)
    place = lax.iota(jnp.uint32, count)
    second = place >= np.uint32(half)
    counter = place - jnp.where(second, np.uint32(half), np.uint32(0))
    first_word, second_word = _threefry(key, jnp.zeros_like(counter), counter)
    return _normal_of(jnp.where(second, second_word, first_word))


def drawn_halves(key: Array, count: int) -> list[Array]:
    counter = lax.iota(jnp.uint32, count // 2)
    return [_normal_of(word) for word in _threefry(key, jnp.zeros_like(counter), counter)]


class Asking:
    """The passes over one batch; a vector over samples is a list of one or two arrays."""

    def __init__(self, design: Any, how: How) -> None:
        self.design, self.how, self.rows = design, how, design.rows
        self.parts = 2 if how.pairs else 1
        if how.pairs:
            assert self.rows % 128 == 0, "halves as they are drawn"
        size = self.rows // self.parts
        assert not how.row or size % how.row == 0
        self.shape = (size // how.row, how.row) if how.row else (size,)

    def cut(self, flat: Array) -> list[Array]:
        """A vector (n,) in parts."""
        return list(flat.reshape(self.parts, *self.shape)) if self.parts > 1 else [flat.reshape(self.shape)]

    def rows_of(self, table: Array, count: int, last: Array | None) -> list[list[Array]]:
        """The first rows of a table, (rows, ...); those after `last` are that one."""
        if last is None:
            return [list(table[row]) if self.parts > 1 else [table[row]] for row in range(count)]
        return [self.row_at(table, jnp.minimum(row, jnp.maximum(last, 0))) for row in range(count)]

    def shaped(self, table: Array) -> Array:
        """A table (rows, n) as it is kept."""
        return table.reshape(len(table), *([2] if self.parts > 1 else []), *self.shape)

    def row_at(self, table: Array, place: Array) -> list[Array]:
        """A row at a place that is known when it is run."""
        found = lax.dynamic_index_in_dim(table, place, 0, keepdims=False)
        return list(found) if self.parts > 1 else [found]

    def written(self, table: Array, vector: list[Array], place: Array) -> Array:
        """The table with that row."""
        return lax.dynamic_update_slice(
            table,
            (jnp.stack(vector) if self.parts > 1 else vector[0])[None],
            (place, *[jnp.int32(0)] * (table.ndim - 1)),
        )

    def drawn(self, key: Array) -> list[Array]:
        """New noise."""
        flat = drawn_halves(key, self.rows) if self.parts > 1 else [drawn_flat(key, self.rows)]
        return [part.reshape(self.shape) for part in flat]

    def sums(self, groups: list[tuple[list[list[Array]], list[Array]]]) -> list[Array]:
        products = []
        for columns, other in groups:
            for column in columns:
                total = column[0] * other[0]
                for part in range(1, self.parts):
                    total = total + column[part] * other[part]
                products.append(total)

        def added(left: list[Array], right: list[Array]) -> list[Array]:
            return [one + another for one, another in zip(left, right, strict=True)]

        zeros = [np.zeros((), np.float32)] * len(products)
        found = lax.reduce(products, zeros, added, (len(self.shape) - 1,))
        if len(self.shape) == 2:
            found = lax.reduce(list(found), zeros, added, (0,))
        ends = np.cumsum([len(columns) for columns, _ in groups])[:-1]
        return jnp.split(jnp.stack(found), ends)

    def combine(self, numbers: Array, columns: list[list[Array]]) -> list[Any]:
        return [combined(numbers, [column[part] for column in columns]) for part in range(self.parts)]

    def kept(self, *vectors: list[Array]) -> Any:
        return lax.optimization_barrier(vectors) if self.how.barrier else vectors

    def begin(self, key: Array) -> Batch:
        design, uses, zeros = self.design, self.design.uses, jnp.zeros
        table = self.shaped(zeros((uses, self.rows), jnp.float32))
        begun = self.shaped(design.start(key))
        small = zeros((uses, uses)), zeros(uses), zeros((uses, uses)), zeros(uses), zeros(uses)
        return Batch(named(key, "axes"), begun, table, zeros(table.shape, jnp.float32), *small, jnp.int32(0))

    def ask(self, batch: Batch, weight: Array, given: Array, answer: Any) -> tuple[Array, Array, Batch]:
        design, how, now = self.design, self.how, batch.times
        base, uses = design.base, design.uses
        key = fold(batch.key, now)
        noise_key = named(key, "noise")
        past = uses - 1
        known = jnp.arange(past) < now
        last = now - 1 if how.clamped else None
        table_z = batch.noise
        if how.within:
            fresh, noises = self.drawn(noise_key), self.rows_of(table_z, past, last)
        else:
            table_z = lax.optimization_barrier(self.written(table_z, self.drawn(noise_key), now))
            noises = self.rows_of(table_z, past, now if how.clamped else None)
            fresh = self.row_at(table_z, now)
        begun = self.rows_of(batch.start, base, None)

        def asked_of(table: Array) -> list[list[Array]]:
            columns = self.rows_of(table, past, last)
            if how.scheme == "two":
                return columns
            found: list[list[Array]] = []
            for place in range(past):
                inside = self.combine(batch.parts[place], found)
                found.append([batch.scale[place] * (columns[place][part] - inside[part]) for part in range(self.parts)])
            return found

        asked = asked_of(batch.table)
        new = weight[base : base + past]
        mixed = batch.mixed[:past, :past]
        factor = batch.factor[:past]
        along = factor * new - jnp.sum(mixed * new[:, None], axis=0)
        pieces = zip(
            self.combine(weight[:base], begun), self.combine(new, noises), self.combine(along, asked), strict=True
        )
        fields = [sum(piece) for piece in pieces]
        answered = [answer(label, field) for label, field in zip(self.cut(given), fields, strict=True)]
        duals, losses = [pair[0] for pair in answered], [pair[1] for pair in answered]
        guess = jnp.where(known, batch.guess[:past], 0)
        rest = [dual - inside for dual, inside in zip(duals, self.combine(guess, asked), strict=True)]
        ones = [jnp.ones(self.shape, jnp.float32)] * self.parts
        on_start, on_noise, parts, crosses, others = self._five(begun, duals, noises, asked, rest, fresh, losses, ones)
        whole, square, crossed, total = others
        kept_vector = duals if how.scheme == "one" else rest
        hand = self.kept(kept_vector, fresh) if how.within else self.kept(kept_vector)
        kept_vector = hand[0]
        parts, crosses, on_noise = (jnp.where(known, part, 0) for part in (parts, crosses, on_noise))

        def rest_after(extra: Array) -> list[Array]:
            inner = asked_of(batch.table)
            off_guess = (
                kept_vector
                if how.scheme == "two"
                else [one - other for one, other in zip(kept_vector, self.combine(guess, inner), strict=True)]
            )
            return inner, [one - other for one, other in zip(off_guess, self.combine(extra, inner), strict=True)]

        least = ROUNDINGS * jnp.finfo(jnp.float32).eps

        def unsure(carry: Any) -> Array:
            _, parts, square, _, rounds = carry
            return (jnp.sum(parts**2) > (1 - 1 / 16) * square) & (square > least**2 * whole) & (rounds < 4)

        def better(carry: Any) -> Any:
            extra, parts, square, crossed, rounds = carry
            extra = extra + parts
            inner, now_rest = rest_after(extra)
            again = hand[1] if how.within else fresh
            found, (one, two) = self.sums([(inner, now_rest), ([now_rest, again], now_rest)])
            return extra, jnp.where(known, found, 0), one, two, rounds + 1

        first = jnp.zeros(past, jnp.float32), parts, square, crossed, jnp.int32(0)
        extra, parts, square, crossed, _ = lax.while_loop(unsure, better, first)
        left = square - jnp.sum(parts**2)
        is_new = (square > least**2 * whole) & (left > 0)
        norm = jnp.where(is_new, jnp.sqrt(jnp.where(is_new, left, 1)), 0)
        scale = jnp.where(is_new, 1 / jnp.where(is_new, norm, 1), 0)
        own = scale * (crossed - jnp.sum(parts * crosses))
        drawn = bartlett(named(key, "factor"), 1, 1.0 * design.dim - base - now, dtype=jnp.float32)[0, 0]
        inside = guess + extra + parts
        on_new = jnp.where(known, factor * inside + on_noise - jnp.sum(mixed * inside, axis=1), 0)
        pull = jnp.concatenate([on_start, on_new, jnp.zeros(1)]).at[base + now].set(norm * drawn)
        if how.scheme == "two":
            columns = self.rows_of(batch.table, past, last)
            _, off = rest_after(extra)
            column = [scale * (one - other) for one, other in zip(off, self.combine(parts, columns), strict=True)]
        else:
            column = kept_vector
        # Everything read before, only then written.
        column, norm = lax.optimization_barrier((column, norm))
        table = self.written(batch.table, column, now)
        if how.within:
            fresh_kept, _ = lax.optimization_barrier((hand[1] if how.barrier else fresh, norm))
            table_z = self.written(batch.noise, fresh_kept, now)
        pad = partial(jnp.pad, pad_width=(0, 1))
        after = Batch(
            batch.key,
            batch.start,
            table,
            table_z,
            batch.parts.at[now].set(pad(inside)),
            batch.scale.at[now].set(scale),
            batch.mixed.at[now].set(pad(crosses).at[now].set(own)),
            batch.factor.at[now].set(drawn),
            pad(inside).at[now].set(norm),
            now + 1,
        )
        return pull[None], total / float(self.rows), after

    def _five(
        self, begun: Any, duals: Any, noises: Any, asked: Any, rest: Any, fresh: Any, losses: Any, ones: Any
    ) -> Any:
        on_start, whole, on_noise, parts, square, crosses, crossed, total = self.sums(
            [
                (begun, duals),
                ([duals], duals),
                (noises, duals),
                (asked, rest),
                ([rest], rest),
                (asked, fresh),
                ([rest], fresh),
                ([losses], ones),
            ]
        )
        return on_start, on_noise, parts, crosses, (whole[0], square[0], crossed[0], total[0])


OLD_STEP, OLD_BATCH, OLD_FORWARD = reuse.step, reuse.new_batch, virtual.ReusedVirtual.forward


def new_batch(task: Any, network: Any, key: Array) -> reuse.State:
    """As in `reuse`."""
    if HOW.scheme == "old":
        return OLD_BATCH(task, network, key)
    design, key_batch = task.design, named(key, "batch")
    batch = Asking(design, HOW).begin(key_batch)
    rebased = replace(network, weights=design.rebase(network.weights))
    noise = label_noise(task, named(key, "labels"), (design.rows,))
    return reuse.State(
        rebased, batch, labels(task, batch.start[: design.known].reshape(design.known, design.rows).T, noise)
    )


def step(task: Any, state: Any, fresh: Array, number: Array) -> Any:
    """As in `reuse`."""
    if HOW.scheme == "old":
        return OLD_STEP(task, state, fresh, number)
    network, design = state.network, task.design

    def answer(given: Array, fields: Array) -> tuple[Array, Array]:
        shape = fields.shape
        flat, labelled = fields[..., None], given
        return downhill_any(task, network, flat, labelled)[..., 0].reshape(shape), loss(task, network, flat, labelled)

    def downhill_any(task: Any, network: Any, fields: Array, given: Array) -> Array:
        slopes = network.second * task.activation.slope(fields + network.biases)
        from featlab.simulation.networks import output

        return (given - output(task, network, fields))[..., None] * slopes

    pull, mean_loss, batch = Asking(design, HOW).ask(state.batch, network.weights[0], state.labels, answer)
    gradient = pull / float(design.rows)
    rate = task.learner.step_size
    return reuse.State(moved(task, network, rate * gradient), batch, state.labels), reuse.Info(mean_loss, gradient)


def forward(self: Any, batch: Any, weights: Array) -> Any:
    """Fields by a sum of rows, not by a product of matrices."""
    return combined(weights[0], batch.coordinates)[:, None], batch


VARIANTS: dict[str, How] = {
    "old": How("old"),
    "two, rows, drawn within": How(row=4000, within=True),
    "two, rows": How(row=4000),
    "two": How(),
    "two, pairs, rows, drawn within": How(row=4000, within=True, pairs=True),
    "one, rows": How("one", row=4000),
    "one, pairs, rows, drawn within": How("one", row=4000, within=True, pairs=True),
    "old, forward by a sum": How("old", clamped=False),
    "two, drawn within": How(within=True),
    "two, rows of 16000, drawn within": How(row=16000, within=True),
    "two, all rows": How(clamped=False),
    "two, rows, drawn within, no barrier": How(row=4000, within=True, barrier=False),
}


def programs(name: str, dim: int) -> Any:
    """Start and advance of a variant, compiled; and the keys."""
    global HOW
    HOW = VARIANTS[name]
    if dim < 10**5 and HOW.row:  # a small test
        HOW = replace(HOW, row=192)
    jax.clear_caches()
    virtual.ReusedVirtual.forward = forward if name == "old, forward by a sum" else OLD_FORWARD
    reuse.step, reuse.new_batch = step, new_batch
    task = problem(ReusedBatch(STEPS, STEP), dim=dim, width=1, kind="virtual", samples=3 * dim)
    keys = jax.vmap(lambda seed: fold(root_key(0), seed))(np.arange(1, dtype=np.uint32))
    begin = perf_counter()
    first = start.compile(task, keys)
    shapes = jax.eval_shape(lambda: start(task, keys))
    onward = advance.compile(task, shapes, keys, 0, STEPS)
    return first, onward, keys, perf_counter() - begin


def kernels(text: str) -> str:
    """What of an optimised program is not inside of a fusion and touches long arrays."""
    keep = re.compile(
        r"^\s*(ROOT )?%?[\w.-]+ = .*(fusion\(|copy\(|dynamic-update-slice|custom-call|while\(|concatenate|copy-start)"
    )
    lines, inside = [], False
    for line in text.splitlines():
        if re.match(r"^(ENTRY )?%?[\w.-]+ .*\{$", line):
            inside = "fused" in line.split("(")[0]
            if not inside:
                lines.append(line[:200])
        elif not inside and keep.match(line):
            lines.append(line[:1500])
    return "\n".join(lines)


def measure(name: str, dim: int, speed: float, out: Path | None) -> dict[str, Any]:
    """Times of a variant."""
    first, onward, keys, compiling = programs(name, dim)
    if out:
        texts = [part.func.as_text() for part in (first, onward)]
        lists = {"kernels": kernels(texts[0]) + "\n=====\n" + kernels(texts[1]), "start": texts[0], "advance": texts[1]}
        for which, text in lists.items():
            with gzip.open(out / f"hlo-{which}.txt.gz", "at") as file:
                file.write(f"######## {name}, d = {dim:.0e}\n{text}\n")
    starts, steps = [], []
    begin = perf_counter()
    weights = None
    while True:
        carry = None
        at = perf_counter()
        carry = jax.block_until_ready(first(keys))
        starts.append(perf_counter() - at)
        at = perf_counter()
        carry = jax.block_until_ready(onward(carry, keys, 0, STEPS))
        steps.append(perf_counter() - at)
        weights = np.asarray(carry.state.network.weights[0, 0])
        if len(steps) >= 6:
            low, middle, high = statistics.quantiles([a + b for a, b in zip(starts[1:], steps[1:], strict=True)], n=4)
            if high - low < 0.05 * middle or perf_counter() - begin > (6 if speed > 1e12 else 1):
                break
        del carry
    del carry
    kernels_taken = traced(lambda: jax.block_until_ready(onward(jax.block_until_ready(first(keys)), keys, 0, STEPS)))
    memory = jax.devices()[0].memory_stats() or {}
    median = statistics.median
    whole = median([a + b for a, b in zip(starts[1:], steps[1:], strict=True)])
    return {
        "name": name,
        "dim": dim,
        "compile": compiling,
        "start_ms": 1e3 * median(starts[1:]),
        "step_ms": 1e2 * median(steps[1:]),
        "whole_s": whole,
        "spread": (high - low) / middle,
        "runs": len(steps),
        "share_of_73": 73 * 4 * 3 * dim * STEPS / whole / speed if speed else None,
        "kernels": kernels_taken,
        "weights": weights[:12].tolist(),
        "peak_gb": memory.get("peak_bytes_in_use", 0) / 1e9,
    }


def traced(action: Any) -> list[tuple[str, float, int, list[float]]]:
    """Names of kernels, milliseconds of each in all, and how often it ran, those that take longest first."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                action()
            path = next(Path(folder).rglob("*.xplane.pb"))
            found: dict[str, list[float]] = {}
            for plane in jax.profiler.ProfileData.from_file(str(path)).planes:
                if not plane.name.startswith("/device:GPU"):
                    continue
                for line in plane.lines:
                    if "Stream" not in line.name:
                        continue
                    for event in line.events:
                        found.setdefault(event.name, []).append(event.duration_ns * 1e-6)
        ordered = sorted(found.items(), key=lambda pair: -sum(pair[1]))[:24]
        return [
            (name[:80], round(sum(times), 4), len(times), [round(one, 4) for one in times[:24]])
            for name, times in ordered
        ]
    except Exception as fault:
        print("no trace:", type(fault).__name__, str(fault)[:200], flush=True)
        return []


def main() -> None:
    """Measure all variants, as long as there is time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dim", nargs="?", type=float, default=1e8)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--parts", action="store_true", help="also on a CPU: the parts by themselves")
    options = parser.parse_args()
    dim = int(options.dim)
    gpu = jax.default_backend() != "cpu"
    if not gpu:
        virtual._reads_once = lambda width, asked: width == 1
    speed = copy_bandwidth(4096 if gpu else 16)
    print(f"copy {speed / 1e9:.0f} GB/s", flush=True)
    rows: list[dict[str, Any]] = [{"copy_GB_s": speed / 1e9, "jax": jax.__version__, "dim": dim}]
    if gpu or options.parts:
        rows += small(3 * dim, speed)
        gc.collect()
    expected: dict[int, np.ndarray] = {}
    again = [("old", 10**6), ("two, rows, drawn within", 10**6)] if gpu and not options.only else []
    for name, dim in [(name, dim) for name in options.only or VARIANTS] + again:
        if perf_counter() - BEGIN > options.seconds:
            print("no time for", name, flush=True)
            continue
        try:
            row = measure(name, dim, speed, options.out)
        except Exception as fault:
            traceback.print_exc(limit=4)
            print(f"{name}: FAILED {type(fault).__name__}: {str(fault)[:400]}", flush=True)
            continue
        weights = np.array(row["weights"])
        expected.setdefault(dim, weights)
        row["difference"] = float(np.max(np.abs(weights - expected[dim])) / np.max(np.abs(expected[dim])))
        rows.append(row)
        print(
            f"[{perf_counter() - BEGIN:5.1f} s] d = {dim:.0e} {name:34s} start {row['start_ms']:7.2f} ms, step {row['step_ms']:7.3f} ms, "
            f"whole {row['whole_s']:.4f} s ({row['spread']:.1%} of {row['runs']}), compiled {row['compile']:.1f} s, "
            f"of 73: {row['share_of_73']:.2f}, peak {row['peak_gb']:.0f} GB, off by {row['difference']:.1e}",
            flush=True,
        )
        for kernel, taken, times, _ in row["kernels"][:6]:
            print(f"        {taken:9.3f} ms in {times:4d} {kernel}", flush=True)
        if options.out:
            (options.out / "few-passes.json").write_text(json.dumps(rows, indent=1))


def small(rows: int, speed: float) -> list[dict[str, Any]]:
    """Parts by themselves: drawing in three ways, a sum of rows that are read again."""
    found = []
    count = 10
    table = jax.jit(partial(normal, shape=(count, rows)))(root_key(1))
    vector = jax.jit(partial(normal, shape=(1, rows)))(root_key(2))[0]

    def timed(words: str, numbers: float, function: Any, *arguments: Any) -> None:
        try:
            compiled = jax.jit(function)
            taken = []
            for _ in range(7):
                at = perf_counter()
                jax.block_until_ready(compiled(*arguments))
                taken.append(perf_counter() - at)
            seconds = statistics.median(taken[2:])
        except Exception as fault:
            print(words, "FAILED", str(fault)[:300], flush=True)
            return
        share = 4 * numbers * rows / seconds / speed
        print(f"   {words:46s} {1e3 * seconds:7.3f} ms, {share:.2f} of a copy", flush=True)
        found.append({"part": words, "ms": 1e3 * seconds, "share": share})

    timed("drawn, as today", 1, lambda key: normal(key, (1, rows)), root_key(3))
    timed("drawn by place", 1, lambda key: drawn_flat(key, rows), root_key(3))
    timed("drawn in halves", 1, lambda key: drawn_halves(key, rows), root_key(3))
    plain, rowed = Asking(_Sized(rows), How()), Asking(_Sized(rows), How(row=4000))
    for words, way in (("", plain), (", rowed", rowed)):
        for last in (0, 4, 9):
            timed(
                f"U D^T, rows to {last}{words}",
                last + 2,
                lambda u, d, k, way=way: way.sums([(way.rows_of(way.shaped(u), count, k), way.cut(d))]),
                table,
                vector,
                jnp.int32(last),
            )

    def both(way: Any, u: Array, w: Array, d: Array) -> Any:
        columns = way.rows_of(way.shaped(u), count, None)
        made = [jnp.maximum(way.combine(w, columns)[0], 0) - way.cut(d)[0]]
        sums = way.sums([(columns, made), ([made], made)])
        return lax.optimization_barrier((made, sums))

    timed("max(w U, 0) - d written, and its sums with U", 12, partial(both, plain), table, jnp.arange(10.0), vector)
    timed("the same, rowed", 12, partial(both, rowed), table, jnp.arange(10.0), vector)
    return found


@dataclass(frozen=True)
class _Sized:
    rows: int


if __name__ == "__main__":
    main()
