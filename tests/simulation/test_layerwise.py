"""Three layers one after the other: step by step against NumPy on the same samples, in law, what is learned of a tree.

Sizes are small: d = 48 and D = 3 directions, n = 40 d D. The tree is y = tanh(3 h*), P = He2/2 + He3/6.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy.stats import ks_2samp

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.learners import Layerwise, ThreeLayer, TwoLayer
from featlab.precision import double_precision
from featlab.simulation import layerwise, simulate
from featlab.simulation.designs import chunks
from featlab.simulation.designs.dense import Dense
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, named, root_key
from featlab.simulation.readout import fresh_fields
from featlab.targets import target

from . import reference_layerwise as plain
from .reference import LEVEL

KEY = root_key(17)
TREE = target("tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, 3)")
SMALL = target("tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, 2, blocks=2)")
STUDENT = ThreeLayer(40, 16, "h2+h3", "tanh")
BOTH = Layerwise("both", 5, 50.0, None, second_steps=5, readout_ridge=1e-6, test_samples=4096)


def problem(learner, student=None):
    student = student or ThreeLayer(3, 4, "h2+h3", "tanh", biases="gaussian")
    return Problem(SMALL, student, learner, Dense(dim=9, known=4, width=student.width, rows=30))


def test_first_layer_is_a_plain_loop_on_the_same_samples():
    """Two steps on each batch: the second reads the first's samples again, the third reads new ones."""
    task = problem(Layerwise("first", 4, 2.0, 2))
    state, one_step = layerwise.init(task, KEY), jax.jit(functools.partial(layerwise.step, task))
    weights = np.asarray(state.network.weights, float)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1, rtol=1e-6)
    for number in range(3):
        inputs = np.asarray(task.design.draw(fold(state.key, number // 2))[0], float)
        expected = plain.quadratic_step(weights, inputs, SMALL.link(inputs[:, :4]), 2.0)
        before, state = state, one_step(state, KEY, jnp.int32(number))[0]
        np.testing.assert_allclose(state.network.weights, expected, rtol=0, atol=3e-6)
        other = one_step(before, KEY, jnp.int32(number + 2))[0]
        assert np.abs(np.asarray(other.network.weights) - expected).max() > 1e-2
        weights = np.asarray(state.network.weights, float)


def all_of(samples):
    """Target fields, fields and labels of all samples."""
    parts = lax.map(samples.visit, jnp.arange(samples.chunks))
    return [part.reshape(-1, *part.shape[2:])[: samples.total] for part in parts]


SECOND = {"second_step": 0.7, "second_ridge": 0.02, "readout_ridge": 0.01, "second_samples": 50}


def everything(task, key):
    """A fit, its second layer, what it started from, and its samples: for the second layer, the readout, the test.

    And the second layer after the same number of steps without a preconditioner.
    """
    state, upper = layerwise.init(task, key), layerwise.start_upper(task, key)
    counts = {"second": (50, True), "readout": (40, True), "test": (200, False)}
    samples = {name: fresh_fields(task, state.network.weights, named(key, name), *how) for name, how in counts.items()}
    without = replace(task, learner=replace(task.learner, preconditioned=False))
    second = [layerwise.train_second(each, upper, samples["second"]).second for each in (task, without)]
    return layerwise.fit(task, state, key), second, upper, list(map(all_of, samples.values()))


def test_upper_layers_are_a_plain_loop_on_the_same_samples(monkeypatch):
    """Three second steps, in chunks of seven samples, the last of which is not full."""
    monkeypatch.setattr(chunks, "_CHUNK_NUMBERS", 7 * 12)
    task = problem(Layerwise(second_steps=3, readout_samples=40, test_samples=200, **SECOND))
    with double_precision():
        found, (trained, without), upper, samples = jax.jit(functools.partial(everything, task))(KEY)
    to_second, to_readout, to_test = ([np.asarray(part, float) for part in parts] for parts in samples)
    biases, last, shifts = (np.asarray(part, float) for part in (upper.first_biases, upper.last, upper.biases))
    z = [activation("h2+h3").value(fields + biases) / 3**0.5 for _, fields, _ in (to_second, to_readout, to_test)]
    expected = plain.second_layer(z[0], to_second[2], last, shifts, 3, 0.7, 0.02)
    np.testing.assert_allclose(trained, expected, rtol=2e-4, atol=1e-6)
    plainly = plain.second_layer(z[0], to_second[2], last, shifts, 3, 0.7, 0.02, preconditioned=False)
    np.testing.assert_allclose(without, plainly, rtol=2e-4, atol=1e-6)
    for wrong in (plainly, plain.second_layer(z[0], to_second[2], last, shifts, 2, 0.7, 0.02)):
        assert np.abs(np.asarray(trained) - wrong).max() > 1e-2
    seen = [np.tanh(part @ expected.T + shifts) / 2 for part in z]
    missed = to_test[2] - seen[2] @ plain.ridge(seen[1], to_readout[2], 0.01)
    assert float(found["risk"]) == pytest.approx(np.mean(missed**2), rel=1e-4)
    assert float(found["risk_share"]) == pytest.approx(np.mean(missed**2) / np.var(to_test[2]), rel=1e-4)
    correlations = np.corrcoef(np.hstack([z[2] @ expected.T, SMALL.hidden_fields(to_test[0])]).T)[:4, 4:]
    assert float(found["hidden_overlap"]) == pytest.approx(np.sqrt(np.mean(np.sum(correlations**2, axis=1))), rel=1e-4)


def angles(steps_per_batch, design):
    """|cos| between two neurons of 1000 seeds after eight steps on 60 samples, d = 24: they share their batches."""
    learner = Layerwise("first", 8, 3.0, steps_per_batch)
    options = {"dim": 24, "samples": 60, "times": [8], "seeds": 1000, "key": 3, "student": ThreeLayer(2)}
    run = simulate(TREE, learner, **options, design=design, observe=("gram",), progress=False)
    return np.abs(run.gram.values[:, 0, 0, 1])


def test_a_batch_made_again_has_the_law_of_one_that_is_remembered():
    """Dense reads a batch eight times by making it from its key, Virtual by remembering it; fresh batches differ."""
    remembered = angles(None, "virtual")
    assert ks_2samp(angles(None, "dense"), remembered).pvalue > LEVEL
    assert ks_2samp(angles(1, "dense"), remembered).pvalue < LEVEL


@functools.cache
def learned(trained, **changes):
    """At step 0 the first layer is as it was drawn: scenario I, or a control of III; at step 5 it is trained."""
    learner = replace(BOTH, trained=trained, **changes)
    options = {"dim": 48, "samples": 5760, "times": [0, 5], "seeds": 2, "key": 5, "student": STUDENT}
    return simulate(TREE, learner, **options, design="dense", progress=False)


def test_each_trained_layer_lowers_the_risk():
    """I > II > III in every seed. A second layer on an untrained first one is worth nothing, so order alone is not it.

    Settings were not scanned: p1 = 40 is enough for the 16 polynomials of degrees 2 and 3 in 3 directions.
    """
    two, three = learned("first"), learned("both")
    one = two.risk_share.sel(time=0).values
    second, third = (run.risk_share.sel(time=5).values for run in (two, three))
    assert np.all(one > 0.9)
    assert np.all((second > 0.3) & (second < 0.5))
    assert np.all(third < 0.25)
    assert np.all(three.risk_share.sel(time=0).values > 0.9)
    assert np.all(three.first_overlap.sel(time=5) > 0.97)
    np.testing.assert_allclose(three.first_overlap.sel(time=0), (3 / 48) ** 0.5, rtol=0.1)
    assert np.all(three.hidden_overlap.sel(time=5) > 0.9)
    assert np.all(three.hidden_overlap.sel(time=0) < 0.3)
    assert set(three.outcome.values) == {"ok"}


def test_preconditioner_is_what_finds_the_hidden_field():
    """One step without it follows the degree that the features weigh most; M_h is free of the size of the step."""
    plain_step = learned("both", preconditioned=False, second_steps=1)
    assert np.all(plain_step.first_overlap.sel(time=5) > 0.97)
    assert np.all(plain_step.hidden_overlap.sel(time=5) < 0.85)


def test_names_and_misuse():
    with pytest.raises(InvalidParameter, match="samples"):
        simulate(TREE, BOTH, dim=64, student=STUDENT)
    with pytest.raises(InvalidParameter, match="hidden_overlap"):  # no h* in it
        simulate("He2(h1)", BOTH, dim=64, samples=100, student=STUDENT, observe=("hidden_overlap",))
    with pytest.raises(InvalidParameter, match="second_layer"):
        simulate(TREE, BOTH, dim=64, samples=100, student=STUDENT, observe=("second_layer",))
    with pytest.raises(InvalidParameter, match="ThreeLayer"):
        simulate(TREE, BOTH, dim=64, samples=100, student=TwoLayer())
    with pytest.raises(InvalidParameter, match="at least 3"):
        simulate(TREE, BOTH, dim=2, samples=100, student=STUDENT)
