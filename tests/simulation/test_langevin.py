"""Mean-field Langevin dynamics: step by step as a plain loop, the prior as its stationary law, parities learned, and
the same assertions against the weight decay 2 lambda1 X, which is not that of the papers."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab import BayesAmp, Hypercube, LangevinDynamics, MeanFieldTanh, OnlineSgd, RandomFeatures, StepLaw, TwoLayer
from featlab.analysis import analyse
from featlab.errors import InvalidParameter
from featlab.simulation import linalg, simulate
from featlab.simulation.designs.dense import Dense
from featlab.simulation.designs.hypercube import HypercubeDense
from featlab.simulation.langevin import (
    Neurons,
    State,
    accuracy,
    fresh_loss,
    init,
    langevin_dynamics,
    loss_and_gradient,
    outputs,
    standard_neurons,
    step,
)
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, root_key
from featlab.targets import Isotropic, target
from featlab.theory import NoPrediction, predict
from tests.simulation.reference_langevin import one_step

XOR = target("sign(h1*h2)", inputs=Hypercube())


def problem(learner: LangevinDynamics, student: MeanFieldTanh, dim: int, rows: int, alpha: float = 0.0) -> Problem:
    inputs = Hypercube(alpha)
    design = HypercubeDense(dim, 2, student.width, rows, inputs=inputs)
    return Problem(target(XOR, inputs=inputs), student, learner, design)


def started(task: Problem, key: jax.Array) -> State:
    return jax.jit(partial(init, task))(key)


def reference_run(task: Problem, key: jax.Array, steps: int, decay: float) -> list[np.ndarray]:
    """The plain loop from the same start, on the same X, with the same noise; the temperature halves after 2 steps."""
    state, noisy = started(task, key), jax.jit(partial(standard_neurons, task))
    inputs, labels = np.asarray(state.batch, np.float64), np.asarray(state.labels)
    neurons = [np.asarray(part) for part in astuple(state.network)]
    scale, rate = task.student.output_scale, task.learner.step_size
    for number in range(steps):
        noise = astuple(noisy(fold(key, number)))
        cooling = 0.5 ** (number // 2)
        heat = {"temperature": task.learner.temperature * cooling, "decay": decay * cooling}
        neurons = one_step(inputs, labels, neurons, noise, scale=scale, rate=rate, **heat)
    return neurons


def test_steps_are_those_of_a_plain_loop() -> None:
    learner = LangevinDynamics(4, step_size=0.5, temperature=0.3, prior_rate=0.4, halve_every=2)
    task, key = problem(learner, MeanFieldTanh(3, output_scale=6.0), 5, 11, 0.5), root_key(3)
    state, one = started(task, key), jax.jit(partial(step, task))
    for number in range(4):
        state, _ = one(state, fold(key, number), jnp.int32(number))
    found = np.concatenate([np.ravel(part) for part in astuple(state.network)])
    right, wrong = (
        np.concatenate([np.ravel(part) for part in reference_run(task, key, 4, decay)])
        for decay in (2 * 0.3 * 0.4, 2 * 0.4)
    )
    np.testing.assert_allclose(found, right, atol=2e-5)  # float32 against float64
    assert np.max(np.abs(found - wrong)) > 0.05


def test_the_gradient_is_that_of_the_loss() -> None:
    task = problem(LangevinDynamics(1), MeanFieldTanh(7), 6, 30)
    state = started(task, root_key(1))

    def loss(network: Neurons) -> jax.Array:
        fields = linalg.product(state.batch, network.weights.T)  # `@` would round to TF32 on a GPU
        margins = state.labels * outputs(task.student, network, fields)
        return jnp.mean(jnp.log1p(jnp.exp(-margins)))

    found, gradient = jax.jit(partial(loss_and_gradient, task))(state)
    assert found == pytest.approx(float(loss(state.network)), rel=1e-5)
    expected = jax.jit(jax.grad(loss))(state.network)
    for ours, automatic in zip(astuple(gradient), astuple(expected), strict=True):
        np.testing.assert_allclose(ours, 7 * automatic, atol=1e-6)  # steps are per neuron: N times the derivative


def test_without_a_loss_the_stationary_law_is_the_prior() -> None:
    """N(0, I / (2 lambda1)), with the factor 1/(1 - eta lambda lambda1) of a finite step."""
    rate, heat, prior = 0.2, 0.5, 0.8
    learner = LangevinDynamics(120, step_size=rate, temperature=heat, prior_rate=prior)
    student = MeanFieldTanh(100, output_scale=1e-6)
    run = simulate(XOR, learner, dim=40, samples=2, seeds=1, times=[120], student=student, observe="weights")
    entries = run.weights.values.ravel()
    error = np.sqrt(2 / entries.size)
    expected = 1 / (2 * prior * (1 - rate * heat * prior))
    decay_of_the_loss = heat / (2 * prior * (1 - rate * prior))  # the variance under a weight decay 2 lambda1 X
    assert abs(np.var(entries) / expected - 1) < 4 * error
    assert abs(np.var(entries) / decay_of_the_loss - 1) > 10 * error


@pytest.fixture(scope="module")
def learned():
    """N = 300, eta = 0.2, lambda1 = 0.1, lambda = 0.1/d at d = 10, n = 200."""
    seen = ("cosine", "accuracy", "logistic_loss", "batch_loss")
    sizes = {"dim": 10, "samples": 200, "seeds": 2, "times": [0, 1000], "student": MeanFieldTanh(300)}
    return simulate(XOR, LangevinDynamics(1000), **sizes, observe=seen)


def test_a_parity_is_learned(learned) -> None:
    """Test accuracy 1.000 by step 1000; nothing is known at the start."""
    assert set(learned.outcome.values) == {"ok"}
    assert learned.accuracy.values[:, 1] == pytest.approx(1.0, abs=0.002)
    assert np.all(learned.accuracy.values[:, 0] < 0.65)
    share = np.mean(np.sum(learned.cosine.values**2, axis=3), axis=2)  # of the neurons' squared norm, on the support
    assert np.all(share[:, 0] < 0.3)  # 2/d = 0.2, up to chance
    assert np.all(share[:, 1] > 0.5)
    assert np.all(learned.logistic_loss.values[:, 1] < 0.3)
    assert np.all(learned.batch_loss.values[:, 1] < 0.3)


def test_the_other_weight_decay_learns_nothing() -> None:
    """2 lambda1 X in the place of 2 lambda lambda1 X, that is lambda1/lambda in the place of lambda1."""
    dim, lambda1 = 10, 0.1
    other = LangevinDynamics(1000, prior_rate=lambda1 / (0.1 / dim))
    sizes = {"dim": dim, "samples": 200, "seeds": 2, "times": [1000], "student": MeanFieldTanh(300)}
    run = simulate(XOR, other, **sizes, observe=("accuracy", "norm"))
    assert np.all(run.accuracy.values < 0.7)
    assert np.median(run.norm.values) < 1.0  # the weights are gone: they start at sqrt(d)


def test_anisotropy_helps() -> None:
    """n = 48 samples at d = 16 are enough with alpha = 0.75 and far too few with alpha = 0 (of 24 seeds, the worst and
    the best had 0.983 and 0.638)."""
    options = {
        "dim": 16,
        "samples": 48,
        "seeds": 2,
        "times": [384],
        "student": MeanFieldTanh(128),
        "observe": "accuracy",
    }
    isotropic, along = (
        simulate(target(XOR, inputs=Hypercube(alpha)), LangevinDynamics(384), **options).accuracy.values
        for alpha in (0.0, 0.75)
    )
    assert np.all(along > 0.95)
    assert np.all(isotropic < 0.75)


def test_accuracy_and_loss_are_those_over_all_corners() -> None:
    learner = LangevinDynamics(1, test_samples=20_000)
    task = problem(learner, MeanFieldTanh(8), 6, 4, 0.5)
    state = started(task, root_key(5))
    corners = np.array(list(product((-1.0, 1.0), repeat=6)), np.float32) / 6**0.5
    corners[:, :2] *= 6**0.25
    labels = np.sign(corners[:, 0] * corners[:, 1])
    margins = labels * np.asarray(outputs(task.student, state.network, corners @ np.asarray(state.network.weights).T))
    measured = jax.jit(lambda key: (accuracy(task, state, key), fresh_loss(task, state, key)))
    found, loss = map(float, measured(root_key(6)))
    right, losses = np.mean(margins > 0), np.log1p(np.exp(-margins))
    error = np.sqrt(right * (1 - right) / 20_000)
    assert abs(found - right) < 4 * error
    assert abs(loss - losses.mean()) < 4 * losses.std() / 20_000**0.5
    assert abs(found - np.mean(margins * labels > 0)) > 4 * error  # the label 1 is told apart


def test_the_hypercube() -> None:
    """Columns of one size, larger on the support; signs are fair and independent, fields are the signs."""
    design = HypercubeDense(20, 3, 1, 4000, inputs=Hypercube(0.5))
    batch = jax.jit(design.draw)(root_key(2))[0]
    inputs = np.asarray(batch)
    scale = np.full(20, 20**-0.5)
    scale[:3] *= 20**0.25
    np.testing.assert_allclose(np.abs(inputs), np.tile(scale, (4000, 1)), rtol=1e-6)
    signs = np.sign(inputs)
    np.testing.assert_array_equal(np.asarray(design.target_fields(batch)[0]), signs[:, :3])
    assert np.max(np.abs(signs.T @ signs / 4000 - np.eye(20))) < 5 / 4000**0.5
    assert np.max(np.abs(signs.mean(axis=0))) < 5 / 4000**0.5
    assert np.mean(np.sum(inputs**2, axis=1)) == pytest.approx(1 + 3 * (20**0.5 - 1) / 20, rel=1e-5)
    swept = jax.jit(partial(design.sweep, rule=lambda known, fields, key: known[:, :1] * fields))(
        root_key(2), jnp.ones((1, 20))
    )
    np.testing.assert_allclose(swept, (signs[:, :1] * inputs.sum(axis=1, keepdims=True)).T @ inputs, rtol=2e-3)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"target": "sign(h1*h2)"}, "inputs"),
        ({"target": target("2*h1*h2", inputs=Hypercube())}, "target"),
        ({"target": target("sign(h1*h2 + xi1)", inputs=Hypercube())}, "target"),
        ({"target": target("sign(h1*h2)", noise=0.1, inputs=Hypercube())}, "target"),
        ({"design": "virtual"}, "design"),
        ({"design": "dice"}, "design"),
        ({"design": "streamed"}, "design"),
        ({"student": TwoLayer()}, "student"),
        ({"observe": "risk"}, "observe"),
        ({"samples": None}, "samples"),
        ({"times": [11]}, "times"),
        ({"learner": OnlineSgd(0.1), "times": [1]}, "inputs"),
        ({"learner": RandomFeatures(20), "samples": None}, "inputs"),
        ({"learner": BayesAmp()}, "inputs"),
    ],
)
def test_misuse_is_refused_by_name(options, name) -> None:
    words = {"target": XOR, "learner": LangevinDynamics(10), "dim": 8, "samples": 20, **options}
    with pytest.raises(InvalidParameter) as refused:
        simulate(words.pop("target"), words.pop("learner"), **words)
    assert refused.value.name == name


def test_gaussian_theory_refuses_the_hypercube() -> None:
    with pytest.raises(InvalidParameter, match="Hypercube"):
        analyse(XOR)
    with pytest.raises(InvalidParameter, match="Hypercube"):
        predict(XOR, OnlineSgd(StepLaw(0.1, 1)), dim=100, times=[1.0])
    with pytest.raises(NoPrediction, match="langevin"):
        predict(XOR, LangevinDynamics(10), dim=100, samples=10)


def test_a_target_of_the_hypercube_is_a_function_of_signs() -> None:
    assert target("sign(h1*h3)", inputs=Hypercube(0.5)).inputs == Hypercube(0.5)
    assert target(target(XOR, inputs=Isotropic())).inputs == Isotropic()
    with pytest.raises(InvalidParameter, match="mix the coordinates"):
        target("sign(h1 + h2 + h3)", inputs=Hypercube())
    for wrong in (-0.1, 1.5, float("nan"), "0.5"):
        with pytest.raises(InvalidParameter, match="anisotropy"):
            Hypercube(wrong)


def test_only_a_stored_design_can_serve() -> None:
    from featlab.simulation.designs.dense import Streamed
    from featlab.simulation.designs.spiked import with_inputs

    assert isinstance(with_inputs(Dense(8, 2, 3, 4), Hypercube()), HypercubeDense)
    with pytest.raises(InvalidParameter, match="dense"):
        with_inputs(Streamed(8, 2, 3, 4), Hypercube())


def test_a_step_costs_two_products() -> None:
    """As compiled: 4 n d N operations for the products, a few n N for the rest, and nothing of another order."""
    dim, rows, width = 40, 300, 64
    task = problem(LangevinDynamics(10), MeanFieldTanh(width), dim, rows)
    state = jax.eval_shape(langevin_dynamics(task).init, root_key(0))
    run = jax.jit(lambda state: loss_and_gradient(task, State(*state)))
    cost = run.lower(state).compile().cost_analysis()
    assert 4 * rows * dim * width < cost["flops"] < 1.25 * 4 * rows * dim * width
