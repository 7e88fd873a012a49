"""Losses and single steps against automatic differentiation in d dimensions, and the student's start."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.learners import Extragradient, GiantSteps, OnlineSgd, ReusedBatch, TwoLayer
from featlab.simulation import extragradient, giant, online, reuse
from featlab.simulation.designs.dense import Dense
from featlab.simulation.designs.virtual import FreshVirtual
from featlab.simulation.linalg import product
from featlab.simulation.losses import downhill, loss
from featlab.simulation.networks import Network, output, start_network
from featlab.simulation.problem import Problem, labels
from featlab.simulation.random import fold, normal, root_key
from featlab.targets import target

KEY = root_key(21)
TARGET = target("h1 + h1*h2")
STUDENT = TwoLayer(3, "tanh", "gaussian", biases="gaussian")
DENSE = Dense(dim=7, known=2, width=3, rows=5)
# One program each; operation by operation the same would be dozens.
started, normals = jax.jit(start_network, static_argnums=1), jax.jit(normal, static_argnums=1)


def problem(learner, student=STUDENT, design=DENSE, goal=TARGET):
    return Problem(goal, student, learner, design)


def autodiff_gradient(task, network, inputs, outcome):
    """p times the gradient of the mean loss by the weights, in d dimensions."""

    def mean_loss(weights):
        moved = Network(weights, network.biases, network.second)
        return jnp.mean(loss(task, moved, product(inputs, weights.T), outcome))

    return task.student.width * jax.grad(mean_loss)(network.weights)


@pytest.mark.parametrize("kind", ["squared", "correlation"])
@pytest.mark.parametrize("name", ["tanh", "relu", "He3", "erf"])
def test_downhill_is_the_derivative_of_the_loss(kind, name):
    task = problem(OnlineSgd(0.1, loss=kind), TwoLayer(3, name, "gaussian", biases="uniform"))
    network = start_network(KEY, task)
    fields, outcome = normals(fold(KEY, 1), (5, 3)), normals(fold(KEY, 2), (5,))
    slope = jax.grad(lambda at: jnp.sum(loss(task, network, at, outcome)))(fields)
    np.testing.assert_allclose(downhill(task, network, fields, outcome), -3 * slope, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["squared", "correlation"])
@pytest.mark.parametrize("constraint", ["none", "projected", "spherical"])
def test_online_step_is_gradient_descent_in_d_dimensions(kind, constraint):
    task = problem(OnlineSgd(0.3, batch=5, loss=kind, constraint=constraint))
    state = online.init(task, KEY)
    fresh = jax.tree.map(lambda part: part[0], online.draw(task, fold(KEY, 3)))
    outcome = labels(task, fresh.batch[:, :2], fresh.noise)
    change = -0.3 * autodiff_gradient(task, state.network, fresh.batch, outcome)
    old = state.network.weights
    if constraint == "spherical":
        change = change - jnp.sum(change * old, axis=1, keepdims=True) * old
    expected = old + change
    if constraint != "none":
        expected = expected / jnp.linalg.norm(expected, axis=1, keepdims=True)
    got = online.step(task, state, fresh, jnp.int32(0))[0].network.weights
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["squared", "correlation"])
@pytest.mark.parametrize("inner", [0.2, -0.2])
def test_extragradient_step_is_two_nested_gradients_of_each_sample(kind, inner):
    """The shift of fields by |x|^2 equals a real inner step of W, sample by sample."""
    task = problem(Extragradient(0.3, inner_step=inner, batch=5, loss=kind))
    state = extragradient.init(task, KEY)
    fresh = jax.tree.map(lambda part: part[0], online.draw(task, fold(KEY, 3)))
    network, outcome = state.network, labels(task, fresh.batch[:, :2], fresh.noise)
    total = 0.0
    for x, y in zip(fresh.batch, outcome, strict=True):
        ahead = network.weights - inner * autodiff_gradient(task, network, x[None], y[None])
        total += autodiff_gradient(task, Network(ahead, network.biases, network.second), x[None], y[None])
    got = extragradient.step(task, state, fresh, jnp.int32(0))[0].network.weights
    np.testing.assert_allclose(got, network.weights - 0.3 * total / 5, rtol=2e-5, atol=2e-6)
    without = network.weights - 0.3 * autodiff_gradient(task, network, fresh.batch, outcome)
    assert not np.allclose(got, without, atol=1e-2)


def test_giant_step_has_the_stated_size():
    task = problem(GiantSteps(2, scale=(1.0, 3.0), leap=3))
    state = giant.init(task, KEY)
    for number, rate in enumerate((7.0, 21.0)):
        new, info = giant.step(task, state, KEY, jnp.int32(number))
        np.testing.assert_allclose(
            new.network.weights - state.network.weights, rate * info.gradient, rtol=1e-3, atol=1e-4
        )


def test_reused_batch_follows_one_loss_downhill():
    """The training loss of a small full-batch step on one batch can only fall; its gradient is that of autodiff."""
    task = problem(ReusedBatch(20, 0.05))
    state = reuse.init(task, KEY)
    expected = -autodiff_gradient(task, state.network, state.batch, state.labels)
    losses = []
    for number in range(20):
        state, info = reuse.step(task, state, KEY, jnp.int32(number))
        losses.append(float(info.loss))
        if number == 0:
            np.testing.assert_allclose(info.gradient, expected, rtol=2e-5, atol=1e-6)
    assert np.all(np.diff(losses) < 0)


@pytest.mark.parametrize("design", [DENSE, FreshVirtual(dim=50, known=2, width=6, rows=8)])
def test_paired_start_is_the_zero_function(design):
    student = TwoLayer(6, "relu", "gaussian", biases="gaussian", paired=True)
    task = Problem(TARGET, student, OnlineSgd(0.1), design)
    network = started(KEY, task)
    np.testing.assert_allclose(
        output(task, network, np.asarray(normals(KEY, (9, 3))).repeat(2, 1)[:, [0, 2, 4, 1, 3, 5]]), 0, atol=1e-6
    )
    np.testing.assert_array_equal(network.weights[:3], network.weights[3:])


def test_starts():
    sphere, orthogonal, gauss = (
        start_network(KEY, problem(OnlineSgd(0.1), TwoLayer(3, start=start, norm=2.0)))
        for start in ("sphere", "orthogonal", "gaussian")
    )
    np.testing.assert_allclose(jnp.linalg.norm(sphere.weights, axis=1), 2, rtol=1e-6)
    np.testing.assert_allclose(jnp.linalg.norm(orthogonal.weights, axis=1), 2, rtol=1e-6)
    assert np.all(np.asarray(orthogonal.weights[:, :2]) == 0)
    assert np.ptp(np.linalg.norm(gauss.weights, axis=1)) > 1e-3
    held = start_network(KEY, problem(OnlineSgd(0.1, constraint="projected"), TwoLayer(3, start="gaussian")))
    np.testing.assert_allclose(jnp.linalg.norm(held.weights, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("design", [DENSE, FreshVirtual(dim=50, known=2, width=3, rows=1)])
def test_planted_start_has_its_cosines(design):
    """Cosines as planted, norms as described, and a rest that is as large as it must be and differs by neuron."""
    cosines = ((0.3, 0.1), (0.0, -0.2), (0.6, 0.8))
    student = TwoLayer(3, start="planted", norm=2.0, planted=cosines)
    weights = np.asarray(started(KEY, problem(OnlineSgd(0.1), student, design)).weights)
    np.testing.assert_allclose(weights[:, :2], 2 * np.array(cosines), rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 2, rtol=1e-6)
    rest = weights[:, 2:]
    assert abs(rest[0] @ rest[1]) < 0.99 * np.linalg.norm(rest[0]) * np.linalg.norm(rest[1])
    with pytest.raises(InvalidParameter, match="2 cosines a neuron"):
        start_network(KEY, problem(OnlineSgd(0.1), TwoLayer(1, start="planted", planted=((0.3,),)), design))


def test_second_layers_and_biases():
    def network(**words):
        return start_network(KEY, problem(OnlineSgd(0.1), TwoLayer(3, **words)))

    assert network(second_layer="alternating").second.tolist() == [1, -1, 1]
    assert set(network(second_layer="signs").second.tolist()) <= {1, -1}
    assert network(second_scale=2.5).second.tolist() == [2.5] * 3
    assert network(biases=-0.5).biases.tolist() == [-0.5] * 3
    assert np.all(np.abs(network(biases="uniform", bias_scale=0.1).biases) <= 0.1)


def test_norms_need_axes_of_their_own():
    design = FreshVirtual(dim=50, known=1, width=1, rows=5)
    with pytest.raises(InvalidParameter):
        design.squared_norms(jax.tree.map(lambda part: part[0], jax.jit(design.draw)(KEY)))


def test_an_activation_may_be_a_function():
    swish = activation(lambda x: x * jax.nn.sigmoid(x))
    task = problem(OnlineSgd(0.1), TwoLayer(3, swish))
    network, fields = start_network(KEY, task), normals(KEY, (4, 3))
    np.testing.assert_allclose(
        output(task, network, fields), np.mean(fields * jax.nn.sigmoid(fields), 1), rtol=1e-5, atol=1e-6
    )
