"""Algorithm 1 of Damian, Lee, Soltanolkotabi 2022: the plain loop on the same X and in law on every design, what its
theory says of the gradient, when the step helps and when it does not, transfer, what is refused."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.stats import ks_2samp

from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text
from featlab.learners import PreprocessedStep, StepLaw, TwoLayer
from featlab.precision import double_precision
from featlab.simulation import simulate
from featlab.simulation.algorithms import algorithm
from featlab.simulation.designs.dense import Dense
from featlab.simulation.networks import draw_biases
from featlab.simulation.problem import Problem
from featlab.simulation.random import named, root_key
from featlab.targets import Spiked, target
from featlab.theory.first_step import gradient_series

from . import reference_first_step as plain
from .reference import LEVEL, SEEDS, order_parameters

NOISY = target("h1 + h1*h2 + 0.5", noise=0.25)
TANH2 = TwoLayer(2, "tanh", "alternating", second_scale=2.0)
DIM, ROWS = 20, 24
SIZES = {"dim": DIM, "samples": ROWS, "seeds": 1}
# One step finds h1 and h2; polynomials of degree 2 leave the last term, of variance 1/2.
SEEN = "0.5*(He2(h1)/sqrt(2) + He2(h2)/sqrt(2)) + sqrt(0.5)*He2(h1)*He2(h2)/2 + 0.5*h1"


@functools.cache
def state_after_one_step():
    """A run in float64 on a stored X, with the state before and after the step."""
    student = TwoLayer(6, "relu", "alternating", paired=True)
    learner = PreprocessedStep(StepLaw(2.0, -0.5), ridge=0.01, test_samples=2**13)
    with double_precision():
        design = Dense(DIM, 2, student.width + 1, 200, np.float64)
        problem = Problem(NOISY, student, learner, design)
        steps, key = algorithm(problem), root_key(3)
        before = jax.jit(steps.init)(key)
        after, info = jax.jit(steps.step)(before, 0, 0)
        risk = jax.jit(steps.fit)(after, key)
        biases = draw_biases(named(key, "readout biases"), replace(problem, student=TwoLayer(6, biases="gaussian")))
        return before, after, info, risk, np.array(biases)


def test_the_step_is_that_of_a_plain_loop_on_the_same_inputs():
    before, after, info, _, _ = state_after_one_step()
    data = np.array(before.batch), np.array(before.labels)
    start = np.array(before.network.weights), np.array(before.network.second), np.zeros(6), "relu"
    gamma = 2 * np.sqrt(DIM)
    expected = plain.one_step(*data, *start, gamma)
    np.testing.assert_allclose(after.network.weights, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gamma * np.array(info.gradient), expected, rtol=1e-9, atol=1e-12)
    assert float(after.step_size) == pytest.approx(gamma)
    raw = plain.one_step(*data, *start, gamma, preprocessed=False)
    assert np.max(np.abs(raw - expected)) > 0.1  # as would be seen without the linear part taken off


def test_the_fit_is_that_of_a_plain_ridge_and_its_risk_that_of_fresh_inputs():
    """Within four standard errors of the two samples of inputs; without alpha and beta, far off."""
    _, after, _, found, biases = state_after_one_step()
    inputs, labels = np.array(after.batch), np.array(after.labels)
    network = plain.second_layer(inputs, labels, np.array(after.network.weights), biases, "relu", 0.01)
    fresh = np.random.default_rng(0).standard_normal((2**16, DIM))
    truth = NOISY.link(fresh[:, :2])
    squares = (truth - network(fresh)) ** 2
    allowed = 4 * np.hypot(float(found["risk_error"]), squares.std() / 2**8)
    assert abs(squares.mean() + NOISY.noise - float(found["risk"])) < allowed
    incomplete = np.mean((truth - network(fresh, linear=False)) ** 2) + NOISY.noise
    assert abs(incomplete - float(found["risk"])) > 2 * allowed


@functools.cache
def reference(preprocessed=True):
    return plain.order_parameters_after_one_step(NOISY, TANH2, DIM, ROWS, 3.0, preprocessed=preprocessed)


@functools.cache
def measured():
    learner = PreprocessedStep(3.0)
    sizes = {"dim": DIM, "samples": ROWS, "times": [1], "seeds": SEEDS, "key": 5}
    run = simulate(NOISY, learner, student=TANH2, design="virtual", observe=("overlap", "weights"), **sizes)
    return order_parameters(run.weights.values[:, 0].astype(float), run.overlap.values[:, 0].astype(float))


def smallest_level(found, expected):
    assert found.keys() == expected.keys()
    return min(ks_2samp(found[name], expected[name]).pvalue for name in found)


def test_law_is_that_of_the_plain_loop():
    """Kolmogorov-Smirnov, 1500 seeds a side; a step on labels as they are is told from it."""
    assert smallest_level(measured(), reference()) > LEVEL
    assert smallest_level(measured(), reference(preprocessed=False)) < LEVEL


def test_streamed_inputs_are_the_stored_ones():
    both = [
        simulate(NOISY, PreprocessedStep(3.0), student=TANH2, design=design, observe="overlap", **SIZES)
        for design in ("dense", "streamed")
    ]
    np.testing.assert_allclose(both[0].overlap, both[1].overlap, rtol=1e-4, atol=1e-5)


def test_overlaps_after_the_step_are_those_of_the_gradient_series():
    """At n = 50,000 and d = 10: within four standard errors, which the series with the linear part in it is not."""
    nonlinear = "0.5*He2(h1) + h1*h2 + 0.3*He3(h2)"
    goal, count = target(f"{nonlinear} + 0.5*h1 + 1"), 50_000
    learner = PreprocessedStep(1.0)
    run = simulate(
        goal, learner, dim=10, samples=count, seeds=1, student=TwoLayer(4, second_layer="ones"), observe=("overlap",)
    )
    before, after = run.overlap.values[0].astype(float)
    fields = np.random.default_rng(1).standard_normal((20_000, 2))
    error = np.sqrt(np.mean((target(nonlinear).link(fields)[:, None] * fields) ** 2, axis=0) / (2 * count))

    def misses(text):
        expected = np.array([gradient_series(text, row, "relu", 3).overlap(row) for row in before])
        return np.abs(after - expected) / error

    assert misses(nonlinear).max() < 4
    assert misses(goal.text).max() > 20


def found(run):
    """The smallest cosine between the target's directions and the span of the neurons, weighted as they are."""
    return float(run.subspace.mean("seed").values[-1, -1] * np.sqrt(run.sizes["direction"]))


def test_the_step_helps_where_the_hessian_is_not_degenerate():
    """At n = 4 d^2 all directions are found, and the risk falls by a quarter at least, against the same fit before the
    step. He3 is not found, whose Hessian is zero (and relu has no third coefficient). The norm is as asked for."""
    sizes = {"dim": 40, "samples": 6400, "seeds": 4, "student": TwoLayer(128, second_layer="signs")}
    run = simulate(SEEN, PreprocessedStep(test_samples=2**14), **sizes)
    before, after = run.risk.mean("seed").values
    assert after < 0.75 * before
    assert found(run) > 0.55
    np.testing.assert_allclose(np.sqrt(np.mean(run.norm.values[:, 1] ** 2, axis=1)), 0.5, rtol=1e-5)
    assert np.all(np.isnan(run.step_size.values[:, 0]))
    assert np.all(run.step_size.values[:, 1] > 0)
    blind = simulate("He3(h1)/sqrt(6)", PreprocessedStep(), observe=("subspace", "cosine"), **sizes)
    assert found(blind) < 0.45


def test_transfer_needs_few_samples_of_another_target():
    """Pretrained on degrees 2 and 3, then 300 samples of degree 3 alone, at d = 30: with what the step learned they are
    enough, with random features (before the step) they are not."""
    learner = PreprocessedStep(fit_samples=300, transfer="He3(h1)/sqrt(6)", test_samples=2**14)
    first = "He2(h1)/2 + He3(h1)/sqrt(12)"
    run = simulate(first, learner, dim=30, samples=20_000, seeds=4, student=TwoLayer(64, second_layer="signs"))
    before, after = run.risk.mean("seed").values
    assert after < 0.4
    assert before > 0.8


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"step_size": -1.0}, "step_size"),
        ({"step_size": 1.0, "row_norm": 1.0}, "row_norm"),
        ({"row_norm": 0.0}, "row_norm"),
        ({"fit_samples": 1}, "fit_samples"),
        ({"transfer": "h1"}, "transfer"),
        ({"ridge": "cross-validation"}, "ridge"),
        ({"ridge": 0.0}, "ridge"),
        ({"test_samples": 1}, "test_samples"),
    ],
)
def test_descriptions_that_are_refused(fields, name):
    with pytest.raises(InvalidParameter, match=rf"^{name}: got"):
        PreprocessedStep(**fields)


def test_runs_that_are_refused():
    with pytest.raises(InvalidParameter, match=r"^inputs: got"):
        simulate(target("h1", inputs=Spiked(2.0, 1.0)), PreprocessedStep(), dim=10, samples=20)
    with pytest.raises(InvalidParameter, match=r"^transfer: got"):
        simulate("h1", PreprocessedStep(fit_samples=10, transfer="h1*h2"), dim=10, samples=20)
    with pytest.raises(InvalidParameter, match=r"^samples"):
        simulate("h1", PreprocessedStep(), dim=10)


def test_in_words():
    assert learner_from_text("preprocessed-step", {"row_norm": 2.0})[0] == PreprocessedStep(row_norm=2.0)
    assert learner_from_text("preprocessed-step", {"step_size": "2*d^0.5"})[0] == PreprocessedStep(StepLaw(2.0, -0.5))
    assert learner_from_text("preprocessed-step", {"ridge": 0.1})[0] == PreprocessedStep(ridge=0.1)
