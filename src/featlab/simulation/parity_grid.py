"""Langevin dynamics on a parity from many numbers of samples at once: the accuracy after some steps, for every one.

The same dynamics as `featlab.simulation.langevin`, side by side for all seeds and numbers of samples, so that a whole
curve keeps one device busy and is compiled once. The numbers of samples share a draw: each takes the first n of it.
And on a parity of all its signs with every corner in the batch, which is the population: nothing is drawn but neurons.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product as corners
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.gaussian.hermite import Floats
from featlab.learners.langevin import LangevinDynamics, MeanFieldTanh
from featlab.learners.steps import step_at
from featlab.simulation.langevin import cooling
from featlab.simulation.random import fold, named, normal, root_key, uniform


class Parity(NamedTuple):
    """The product of the first `order` of d signs, which are d^(anisotropy/2) times larger than the others."""

    order: int
    dim: int
    anisotropy: float


class Neurons(NamedTuple):
    """As in `featlab.simulation.langevin`, for each seed and number of samples; neurons come third."""

    weights: Array  # (seed, count, N, d)
    biases: Array  # (seed, count, N)
    offsets: Array  # (seed, count, N)


class Rates(NamedTuple):
    """Of a step: eta, 1 - 2 eta lambda lambda1, sqrt(2 eta lambda)."""

    step: Array
    shrink: Array
    noise: Array


def parity_accuracies(
    learner: LangevinDynamics,
    student: MeanFieldTanh,
    parity: Parity,
    *,
    samples: Sequence[int],
    seeds: int,
    times: Sequence[int],
    key: int,
) -> Floats:
    """P(sign f = y) on fresh samples, (time, seed, number of samples).

    Args:
        samples: the numbers n of samples.
        times: after how many steps, increasing; the last of them may be more than `learner.steps`.
        key: of all randomness.
    """
    rates = _rates(learner, parity.dim)
    root, scale = root_key(key), student.output_scale
    inputs, labels = _draw(named(root, "batch"), parity, (seeds, max(samples)))
    counts = np.asarray(samples)
    shares = jnp.asarray((np.arange(max(samples)) < counts[:, None]) / counts[:, None], jnp.float32)
    shape = (seeds, len(samples), student.width)
    start = _gaussian(named(root, "neurons"), shape, parity.dim)
    network = jax.tree.map(lambda part: student.start_deviation * part, start)
    tests = _draw(named(root, "test"), parity, (seeds, learner.test_samples))
    found, done = [], 0
    for time in times:
        network = _advance(network, inputs, labels, shares, rates, scale, named(root, "noise"), done, time)
        found.append(np.asarray(_accuracy(network, *tests), np.float64))
        done = time
    return np.stack(found)


def corner_outputs(
    learner: LangevinDynamics, student: MeanFieldTanh, order: int, *, seeds: int, times: Sequence[int], key: int
) -> tuple[Floats, Floats]:
    """f at the 2^k corners of d = k signs, each of them once in the batch, (time, seed, corner); and y of a corner.

    Args:
        order: k.
        times: after how many steps, increasing; the last of them may be more than `learner.steps`.
        key: of all randomness.
    """
    signs = np.array(list(corners((1.0, -1.0), repeat=order)))
    labels, count = np.prod(signs, axis=1), len(signs)
    inputs = jnp.broadcast_to(jnp.asarray(signs * order**-0.5, jnp.float32), (seeds, *signs.shape))
    outcome = jnp.broadcast_to(jnp.asarray(labels, jnp.float32), (seeds, count))
    shares, root = jnp.full((1, count), 1 / count, jnp.float32), root_key(key)
    start = jax.jit(_gaussian, static_argnums=(1, 2))(named(root, "neurons"), (seeds, 1, student.width), order)
    network = jax.tree.map(lambda part: student.start_deviation * part, start)
    found, done, noise, scale = [], 0, named(root, "noise"), student.output_scale
    for time in times:
        for end in _stops(learner.halve_every, done, time):
            rates = _rates(learner, order, done)
            network, done = _advance(network, inputs, outcome, shares, rates, scale, noise, done, end), end
        found.append(np.asarray(_margins(network, inputs, outcome, scale), np.float64)[:, 0] * labels)
    return np.stack(found), labels


def _stops(halve_every: int | None, begin: int, end: int) -> list[int]:
    """Steps from `begin` to `end` at which the temperature changes, and the end."""
    if halve_every is None:
        return [end]
    return [*range(halve_every * (begin // halve_every + 1), end, halve_every), end]


def _rates(learner: LangevinDynamics, dim: int, step: int = 0) -> Rates:
    """Of one step."""
    rate, temperature = (float(step_at(law, dim)) for law in (learner.step_size, learner.temperature))
    temperature *= float(cooling(learner, jnp.asarray(step)))
    shrink = 1 - 2 * rate * temperature * learner.prior_rate
    return Rates(*map(jnp.float32, (rate, shrink, (2 * rate * temperature) ** 0.5)))


def _draw(key: Array, parity: Parity, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Inputs (seed, sample, d) and labels (seed, sample)."""
    signs = jnp.where(uniform(key, (*shape, parity.dim)) < 0.5, -1.0, 1.0)
    sizes = np.full(parity.dim, parity.dim**-0.5, np.float32)
    sizes[: parity.order] *= parity.dim ** (parity.anisotropy / 2)
    return signs * sizes, jnp.prod(signs[..., : parity.order], axis=-1)


def _gaussian(key: Array, shape: tuple[int, ...], dim: int) -> Neurons:
    parts = normal(named(key, "biases"), shape), normal(named(key, "offsets"), shape)
    return Neurons(normal(named(key, "weights"), (*shape, dim)), *parts)


@partial(jax.jit, donate_argnums=0)
def _advance(
    network: Neurons,
    inputs: Array,
    labels: Array,
    shares: Array,
    rates: Rates,
    scale: Array,
    key: Array,
    begin: Array,
    end: Array,
) -> Neurons:
    """Steps `begin` to `end`: X - eta (N dL/dX + 2 lambda lambda1 X) + sqrt(2 lambda eta) N(0, I)."""
    shape, dim = network.biases.shape, inputs.shape[-1]

    def step(number: Array, network: Neurons) -> Neurons:
        responses, margins = _responses(network, inputs, labels, scale)
        pushes = -scale / 3 * labels[:, None] * jax.nn.sigmoid(-margins) * shares
        duals = pushes[..., None] * (1 - responses**2)
        along = jnp.einsum("sckn,skd->scnd", duals, inputs)
        offset = 2 * (1 - jnp.tanh(network.offsets) ** 2) * pushes.sum(axis=-1, keepdims=True)
        gradient = Neurons(along, duals.sum(axis=2), offset)
        noise = _gaussian(fold(key, number), shape, dim)
        moved = jax.tree.map(lambda x, g: rates.shrink * x - rates.step * g, network, gradient)
        return jax.tree.map(lambda x, z: x + rates.noise * z, moved, noise)

    return lax.fori_loop(begin, end, step, network)


def _responses(network: Neurons, inputs: Array, labels: Array, scale: Array) -> tuple[Array, Array]:
    """tanh(<w, x> + b), (seed, count, sample, N), and y f."""
    fields = jnp.einsum("skd,scnd->sckn", inputs, network.weights)
    responses = jnp.tanh(fields + network.biases[:, :, None])
    constants = jnp.tanh(network.offsets).mean(axis=-1)[..., None]
    return responses, labels[:, None] * scale / 3 * (responses.mean(axis=-1) + 2 * constants)


@jax.jit
def _margins(network: Neurons, inputs: Array, labels: Array, scale: Array) -> Array:
    """y f, (seed, count, sample)."""
    return _responses(network, inputs, labels, scale)[1]


@jax.jit
def _accuracy(network: Neurons, inputs: Array, labels: Array) -> Array:
    """(seed, count)."""
    return jnp.mean(_responses(network, inputs, labels, jnp.float32(1.0))[1] > 0, axis=-1)
