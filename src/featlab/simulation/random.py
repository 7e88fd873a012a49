"""Random numbers of the simulations: the same bits on every device, fast on a CPU, keyed by names.

The generator is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as
easy as 1, 2, 3"), the cipher behind JAX's own keys, in counter mode. It is written out here because JAX rolls
its rounds into a loop on CPUs, which costs a factor of five; unrolled, the compiler fuses cipher, uniform and
normal into one pass. Only integer operations are involved, so the bits are the same on a CPU and a GPU.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.random import threefry_2x32
from scipy.special import erfinv

from featlab.errors import InvalidParameter

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_SERIES_RADIUS = 0.2
_LARGE_DEGREES = 200
_UNREFUSED = 1e-9
_LANES = 64
_CENTRE = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_TAIL = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
# Drawn on the device, or computed on the host.
Words = TypeVar("Words", Array, np.ndarray)


def root_key(key: int | Array) -> Array:
    """A raw key, two uint32 words, from an integer or from a JAX key."""
    if isinstance(key, Array):
        return jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    return jnp.array([key >> 32 & 0xFFFFFFFF, key & 0xFFFFFFFF], dtype=jnp.uint32)


def fold(key: Any, number: int | Array) -> Any:
    """A new key from a key and a number: independent for different numbers. A key of NumPy stays on the host."""
    if isinstance(key, np.ndarray):
        return _host_fold(int(key[0]), int(key[1]), int(number))
    number = jnp.uint32(number) if isinstance(number, int) else number.astype(jnp.uint32)
    # The first counter word marks keys (numbers drawn use an even one), so keys and numbers never coincide.
    # JAX's own cipher: the same bits, and on a CPU a sixth less to compile, for a key is one number, not a million.
    return threefry_2x32(key, jnp.stack([jnp.full_like(number, 1), number]))


@lru_cache(maxsize=1024)
def _host_fold(first: int, second: int, number: int) -> np.ndarray:
    """Kept, since tests by permutation ask for the same keys a hundred times; not to be written to."""
    key, one = np.array([first, second], np.uint32), np.ones(1, np.uint32)
    found = np.concatenate(_threefry(key, one, np.full(1, number, np.uint32)))
    found.flags.writeable = False
    return found


def seed_keys(key: int | Array, seeds: Sequence[int]) -> np.ndarray:
    """`fold(key, seed)` for every seed, (seed, 2), on the host: nothing is compiled for a new number of seeds."""
    numbers = np.asarray(seeds, np.uint32)
    return np.stack(_threefry(np.asarray(root_key(key)), np.ones_like(numbers), numbers), axis=-1)


def named(key: Any, name: str) -> Any:
    """A new key from a key and a name, the same in every process and on every machine."""
    return fold(key, zlib.crc32(name.encode()))


def uniform(key: Any, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Any:
    """Independent uniform numbers in [0, 1).

    Args:
        key: two words, as `named` gives it; of NumPy, it is drawn on the host.
        shape, dtype: of the numbers.

    Examples:
        >>> import numpy as np
        >>> from featlab.extending import named, uniform
        >>> key = named(np.array([0, 7], np.uint32), "places")
        >>> drawn = uniform(key, (1000,))
        >>> bool(drawn.min() >= 0), bool(drawn.max() < 1)
        (True, True)
    """
    if isinstance(key, np.ndarray):
        return _host_words(key, shape) * 2.0**-24
    if np.dtype(dtype) != np.float32:
        return jax.random.uniform(_jax_key(key), shape, dtype)
    return _shaped((_words(key, shape) >> np.uint32(8)).astype(jnp.float32) * np.float32(2**-24), shape)


def normal(key: Any, shape: tuple[int, ...], dtype: Any = jnp.float32, over: Any = None) -> Any:
    """Independent N(0, 1) numbers, by inversion.

    Args:
        key: two words, as `named` gives it; of NumPy, it is drawn on the host.
        shape, dtype: of the numbers.
        over: how they lie over several devices, a sharding of JAX for two axes: each draws its own, the same numbers.

    Examples:
        >>> import numpy as np
        >>> from featlab.extending import named, normal
        >>> key = named(np.array([0, 7], np.uint32), "noise")
        >>> drawn = normal(key, (1000,))
        >>> bool(abs(drawn.mean()) < 0.1), bool(abs(drawn.std() - 1) < 0.1)
        (True, True)
    """
    if isinstance(key, np.ndarray):
        return math.sqrt(2) * erfinv((_host_words(key, shape) | 1) * 2.0**-23 - 1)
    if np.dtype(dtype) != np.float32:
        return jax.random.normal(_jax_key(key), shape, dtype)
    if over is not None and math.prod(shape) <= 2**32:
        return _normal_of(_words_of_places(key, shape, over))
    return _shaped(_normal_of(_words(key, shape)), shape)


def normal_turned(key: Array, shape: tuple[int, int], dtype: Any = jnp.float32) -> Array:
    """The numbers of `normal` for (n, k), as (k, n).

    A CPU multiplies matrices of few and long rows three to six times as fast as of many short ones, and to turn the
    numbers round once they are drawn costs as much as is gained: where the two words of one call of the cipher go to
    samples of the first and of the second half, they are drawn in that order.
    """
    rows, columns = shape
    halves = rows % 2 == 0 and 2 * _half(rows * columns) == rows * columns
    if np.dtype(dtype) != np.float32 or not halves or jax.default_backend() != "cpu":
        return normal(key, shape, dtype).T
    sample = lax.iota(jnp.uint32, rows // 2) * np.uint32(columns)
    counter = lax.iota(jnp.uint32, columns)[:, None] + sample
    return _normal_of(jnp.stack(_threefry(key, jnp.zeros_like(counter), counter), axis=1)).reshape(columns, rows)


def normal_columns(key: Array, count: int, number: Array) -> list[Array]:
    """So many independent N(0, 1) numbers of each numbered sample (uint32), as columns, float32.

    They depend on the key, the sample's number and their place alone, whichever samples are drawn together. Two columns
    share a call of the cipher, and nothing keeps the compiler from drawing them where they are used.
    """
    columns: list[Array] = []
    for pair in range(-(-count // 2)):
        columns += [_normal_of(words) for words in _threefry(key, jnp.full_like(number, 2 * pair), number)]
    return columns[:count]


def chi(
    key: Array, degrees: Array | float, shape: tuple[int, ...], dtype: Any = jnp.float32, least: float = 0.0
) -> Array:
    """Norms of standard Gaussian vectors: sqrt(chi^2_k), exactly in law for every real k >= 2, however large.

    Marsaglia and Tsang (2000): with a = k/2, s = a - 1/3, x normal and t = x / (3 sqrt s), the proposal s (1 + t)^3
    (the Wilson-Hilferty approximation) is accepted with probability exp(x^2/2 + s (1 - v + log v)), v = (1 + t)^3.
    At large s that exponent is a difference of huge numbers; written as 3 s (log(1+t) - t + t^2/2 - t^3/3), whose
    quadratic part has cancelled against x^2/2 by hand, it keeps its digits. A refusal has probability below 5% at
    k = 2 and about 1/(18 k) for large k, so that mostly one round of proposals does: further ones are drawn only where
    a number of this shape was refused, and which are taken does not depend on that. There are at most as many as leave
    all refused with probability below 1e-9, far below the rounding of float32; then the last one is kept. What is known
    of k before tracing, a number or that it is at `least` so much, spares logarithms.
    """
    shift = jnp.asarray(degrees, dtype) / 2 - 1 / 3
    # Known to be large before tracing: then |t| < 0.2 and the refusal is below 0.13 for every 23-bit normal.
    known = degrees if isinstance(degrees, int | float) else least
    near = known > _LARGE_DEGREES
    rate = 1 / (16 * known) if near else 0.05

    def propose(round_: Array) -> tuple[Array, Array]:
        round_key = fold(key, round_)
        point = normal(fold(round_key, 0), shape, dtype) / (3 * jnp.sqrt(shift))
        inside = point > -1
        safe = jnp.where(inside, point, 0)
        refusal = _refusal_series(shift, safe) if near else -jnp.expm1(3 * shift * _log_remainder(safe))
        accepted = inside & (uniform(fold(round_key, 1), shape, dtype) >= refusal)
        return jnp.sqrt(2 * shift) * (1 + safe) * jnp.sqrt(1 + safe), accepted

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        round_, value, done = carry
        proposal, accepted = propose(round_)
        return round_ + 1, jnp.where(done, value, proposal), done | accepted

    def refused(carry: tuple[Array, Array, Array]) -> Array:
        return (carry[0] < rounds) & ~jnp.all(carry[2])

    # Nothing is taken before the first round: written apart from the loop it would be compiled a second time.
    nothing = jnp.int32(0), jnp.zeros(shape, dtype), jnp.zeros(shape, bool)
    rounds = math.ceil(math.log(_UNREFUSED) / math.log(rate))
    if jax.default_backend() != "cpu":  # asking whether a round was the last would cost a GPU more than the rounds
        return lax.fori_loop(0, rounds, lambda _, carry: again(carry), nothing, unroll=near)[1]
    return lax.while_loop(refused, again, nothing)[1]


def bartlett(
    key: Array,
    size: int,
    degrees: Array | float,
    batch: tuple[int, ...] = (),
    dtype: Any = jnp.float32,
    least: float = 0.0,
) -> Array:
    """The lower triangular factor L of a Gaussian matrix Z = L V of `size` rows and `degrees` >= size + 1 columns.

    V has orthonormal rows and is independent of L; L_ii^2 ~ chi^2_(degrees - i) for i = 0, 1, ... and the entries below
    the diagonal are N(0, 1) (Bartlett 1933), so that L L^T is Wishart. Independent factors along the `batch` axes.
    """
    if size == 1:
        return chi(fold(key, 0), degrees, (*batch, 1, 1), dtype, least)
    freedom = jnp.asarray(degrees, dtype) - jnp.arange(size, dtype=dtype)
    diagonal = chi(fold(key, 0), freedom, (*batch, size), dtype)
    below = normal(fold(key, 1), (*batch, size, size), dtype)
    return jnp.tril(below, -1) + diagonal[..., None] * jnp.eye(size, dtype=dtype)


def _log_remainder(t: Array) -> Array:
    """log(1+t) - t + t^2/2 - t^3/3 for t > -1, with its digits kept near 0."""
    direct = jnp.log1p(t) - t * (1 - t * (1 / 2 - t / 3))
    return jnp.where(jnp.abs(t) < _SERIES_RADIUS, _log_remainder_series(t), direct)


def _log_remainder_series(t: Array) -> Array:
    """The same by its series -t^4/4 + t^5/5 - ..., relative error below 3e-5 for |t| < 0.2."""
    return -(t**4) * (1 / 4 - t * (1 / 5 - t * (1 / 6 - t * (1 / 7 - t * (1 / 8 - t / 9)))))


def _refusal_series(shift: Array, t: Array) -> Array:
    """1 - exp(3 s (log(1+t) - ...)) by series, without a call of log or exp: for |t| < 0.2 and a refusal below 0.13."""
    q = -3 * shift * _log_remainder_series(t)
    return q * (1 - q / 2 * (1 - q / 3 * (1 - q / 4)))


@partial(jax.jit, inline=True)
def _normal_of(words: Array) -> Array:
    """N(0, 1) numbers by inversion, float32, from uniform 32-bit words.

    Compiled also where it is called by itself: operations one by one round once more than those of a program.
    """
    # Odd multiples of 2^-23 in (-1, 1), all representable: symmetric, and never at the ends, where z is infinite.
    odd = ((words >> np.uint32(8)) | np.uint32(1)).astype(jnp.int32) - np.int32(2**23)
    return np.float32(math.sqrt(2)) * _erf_inv(odd.astype(jnp.float32) * np.float32(2**-23))


def _erf_inv(x: Array) -> Array:
    """The inverse error function in float32 for |x| < 1, by Giles' polynomials (2012, GPU Computing Gems, ch. 10).

    The numbers of `lax.erf_inv` up to rounding. That one chooses between two numbers for every coefficient; here one
    choice is made between two polynomials. And it takes log1p of -x^2: the logarithm of 1 - x^2 is as good for odd
    multiples of 2^-23, and on a CPU half as much work. x^2 must be rounded before, as it is there: the maximum, which
    is always x^2, keeps the compiler from fusing its multiplication with the subtraction.
    """
    w = -jnp.log(1 - jnp.maximum(x * x, np.float32(1e-14)))
    return (
        jnp.where(w < 5, _polynomial(_CENTRE, w - np.float32(2.5)), _polynomial(_TAIL, jnp.sqrt(w) - np.float32(3))) * x
    )


def _polynomial(coefficients: tuple[float, ...], point: Array) -> Array:
    """By Horner's rule, the highest power first."""
    total: Any = np.float32(coefficients[0])
    for coefficient in coefficients[1:]:
        total = np.float32(coefficient) + total * point
    return total


def _words(key: Array, shape: tuple[int, ...]) -> Array:
    """Independent uniform 32-bit words, at least as many as `shape` holds, as (2, half of them).

    The half is rounded up to whole vector registers: a ragged end makes the compiler give up on vectors (10x slower).
    """
    if math.prod(shape) > 2**33:  # the counter would begin again, and so would the numbers
        raise InvalidParameter("shape", shape, f"at most {2**33:,} numbers from one key")
    index = lax.iota(jnp.uint32, _half(math.prod(shape)))
    return jnp.stack(_threefry(key, jnp.zeros_like(index), index))


def _words_of_places(key: Array, shape: tuple[int, ...], over: Any) -> Array:
    """The words of `_words` in a shape of two axes, each from its place alone, where a device has only some of them."""
    half, place = _half(math.prod(shape)), lax.iota(jnp.uint32, shape[0])[:, None] * np.uint32(shape[1])
    place = lax.with_sharding_constraint(place + lax.iota(jnp.uint32, shape[1]), over)
    second = place >= np.uint32(half)
    counter = place - jnp.where(second, np.uint32(half), np.uint32(0))
    return jnp.where(second, *_threefry(key, jnp.zeros_like(counter), counter)[::-1])


def _half(count: int) -> int:
    """How many counters give so many words, two each, in whole vector registers."""
    half = (count + 1) // 2
    return -(-half // _LANES) * _LANES if half > _LANES else half


def _host_words(key: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The 24 leading bits of the same words by NumPy, as integers: numbers on the host, in float64, are those that a
    device draws in float32, up to its rounding."""
    count = math.prod(shape)
    index = np.arange(_half(count), dtype=np.uint32)
    words = np.concatenate(_threefry(key, np.zeros_like(index), index))
    return (words[:count] >> np.uint32(8)).astype(np.int64).reshape(shape)


def _shaped(numbers: Array, shape: tuple[int, ...]) -> Array:
    """The first of the numbers (2, half) in that shape.

    The barriers keep the compiler from drawing them in the order of `shape`, which would break up its vector loops.
    """
    count = math.prod(shape)
    flat = lax.optimization_barrier(numbers).reshape(-1)
    return (flat if flat.size == count else lax.optimization_barrier(flat[:count])).reshape(shape)


def _threefry(key: Words, x0: Words, x1: Words) -> tuple[Words, Words]:
    """Threefry-2x32-20 of the counter words (x0, x1); the last axis of `key` holds its two words.

    Its 130 operations are most of those of many a program: they are traced and lowered once for all draws of a shape,
    as a function that the compiler puts back where it is called.
    """
    return _rounds(key, x0, x1) if isinstance(x0, np.ndarray) else _traced_once(key, x0, x1)


def _rounds(key: Words, x0: Words, x1: Words) -> tuple[Words, Words]:
    k0, k1 = key[..., 0], key[..., 1]
    schedule = (k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1 = x0 + k0, x1 + k1
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


_traced_once = jax.jit(_rounds)


def _jax_key(key: Array) -> Array:
    return jax.random.wrap_key_data(key, impl="threefry2x32")
