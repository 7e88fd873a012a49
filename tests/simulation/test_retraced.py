"""A batch of which nothing is kept answers as one that is kept, number by number; and as a plain loop, in law."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.learners import ReusedBatch, TwoLayer
from featlab.simulation import simulate
from featlab.simulation.designs import retraced
from featlab.simulation.designs.choose import Demand, choose
from featlab.simulation.designs.retraced import Retraced
from featlab.simulation.designs.virtual import ReusedVirtual
from featlab.simulation.random import fold, named, normal_columns, root_key
from featlab.targets import Spiked, target

from .reference import LEVEL, SEEDS, Reference, smallest_level

KEY = root_key(4)
SIZES = {"dim": 400, "known": 1, "width": 1, "rows": 2500, "uses": 5}


class Kept(ReusedVirtual):
    """Tables of the numbers that `Retraced` draws."""

    def columns(self, key):
        return normal_columns(key, self.base + self.uses, jnp.arange(self.rows, dtype=jnp.uint32))

    def start(self, key):
        return jnp.stack(self.columns(named(key, "axes"))[: self.base])

    def noise(self, key, times):
        return jnp.stack(self.columns(key)[self.base :])[times][None]


def answer(target_fields, noises, fields):
    """Heavy enough that new directions matter; the "loss" is a sum that can be checked."""
    return jnp.tanh(2 * fields) * target_fields + 0.3 * fields, fields[:, 0] ** 2


def questions(ask, start, count):
    """Weights that depend on the answers; the third question is the second once more, of which nothing is new."""
    weights, said = start, []
    for number in range(count):
        pull, loss = ask(weights)
        said.append((np.asarray(pull), float(loss)))
        if number != 1:
            weights = 0.9 * weights + 0.4 * pull / jnp.linalg.norm(pull)
    return said


def kept_answers(design, start, count):
    batch = [jax.tree.map(lambda part: part[0], jax.jit(design.draw)(KEY))]

    @jax.jit
    def step(batch, weights):
        fields, batch = design.forward(batch, weights)
        duals, loss = answer(design.target_fields(batch)[0], None, fields)
        pull, batch = design.backward(batch, duals)
        return pull, loss.mean(), batch

    def ask(weights):
        pull, loss, batch[0] = step(batch[0], weights)
        return pull, loss

    return questions(ask, start, count)


def retraced_answers(design, start, count):
    batch = [jax.tree.map(lambda part: part[0], design.draw(KEY))]
    step = jax.jit(lambda batch, weights: design.ask(batch, weights, answer))

    def ask(weights):
        pull, loss, batch[0] = step(batch[0], weights)
        return pull, loss

    return questions(ask, start, count)


def test_answers_are_those_of_tables_with_the_same_numbers(monkeypatch):
    """Five questions over three chunks, the last not full: to a few roundings, where the pull has length sqrt(n d)."""
    monkeypatch.setattr(retraced, "_CPU_CHUNK", 1000)
    tables, again = Kept(**SIZES), Retraced(**SIZES)
    start = jax.jit(again.gaussian_rows, static_argnums=1)(fold(KEY, 1), 1) / SIZES["dim"] ** 0.5
    one, other = kept_answers(tables, start, 5), retraced_answers(again, start, 5)
    scale = np.linalg.norm(one[0][0])
    for (pull, loss), (pulled, lost) in zip(one, other, strict=True):
        np.testing.assert_allclose(pulled, pull, atol=2e-6 * scale)
        assert lost == pytest.approx(loss, rel=1e-5)
    assert np.max(np.abs(one[4][0] - one[3][0])) > 1e-3 * scale  # questions differ by far more than that


def test_law_is_that_of_a_plain_loop_with_noisy_labels_and_a_spike():
    """As in `test_exact_in_law`; one neuron, spiked inputs, two steps on each batch."""
    along = target("h1 + He2(h1)", noise=0.25, inputs=Spiked(2.0, 0.5))
    case = (along, ReusedBatch(4, 0.3, steps_per_batch=2), TwoLayer(1, "relu"), 24, 40, (1, 2, 4))
    goal, learner, student, dim, samples, looks = case
    asked = {"times": looks, "seeds": SEEDS, "key": 3, "student": student, "observe": ("overlap", "weights")}
    run = simulate(goal, learner, dim=dim, samples=samples, design="retraced", progress=False, **asked)
    assert smallest_level(run, Reference(*case)) > LEVEL
    other = Reference(goal, ReusedBatch(4, 0.3, steps_per_batch=1), *case[2:])
    assert smallest_level(run, other) < LEVEL  # control: fresh batches are told from it


def test_a_sample_is_the_same_whichever_are_drawn_with_it():
    one = np.array(normal_columns(KEY, 5, jnp.arange(64, dtype=jnp.uint32)))
    other = np.array(normal_columns(KEY, 4, jnp.arange(60, 70, dtype=jnp.uint32)))
    np.testing.assert_array_equal(one[:4, 60:], other[:, :4])
    assert len(np.unique(one)) == one.size


def test_taken_where_tables_do_not_fit():
    """Three billion samples: by itself, in little memory; not where answers are kept, nor for wide students."""
    large = Demand(dim=10**9, known=1, width=1, rows=3 * 10**9, uses=10, noises=0)
    assert choose(large, True, memory=10**9).kind == "retraced"
    assert choose(large, True, memory=10**9).bytes_per_seed < 10**8
    small = Demand(dim=1000, known=1, width=1, rows=3000, uses=10, noises=0)
    assert choose(small, True, memory=10**9).kind == "virtual"
    for changed in ({"noises": None}, {"width": 2}, {"uses": 40}, {"dtype": np.float64}, {"rows": 2**32}):
        with pytest.raises(InvalidParameter):
            choose(
                Demand(**{"dim": 1000, "known": 1, "width": 1, "rows": 3000, "uses": 10, "noises": 0} | changed),
                True,
                "retraced",
            )
