"""Networks with one shared direction: the fast sums, the flow step by step, its law on every design, what it learns."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

from featlab.errors import InvalidParameter
from featlab.gaussian.activations_integrals import line_rule
from featlab.gaussian.hermite import hermite
from featlab.learners import TiedFlow, TiedNetwork
from featlab.precision import double_precision
from featlab.simulation import simulate
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.problem import Problem
from featlab.simulation.programs import split
from featlab.simulation.random import fold, root_key
from featlab.simulation.run import advance, start
from featlab.simulation.tied_network import (
    feature_products,
    hermite_coefficient,
    lowest_coefficient,
    respond,
    start_networks,
)
from featlab.targets import target

from .reference_tied import TiedReference

TARGET = target("h1 + He2(h1)", noise=0.04)


def neurons(count, seed=0):
    """Second layer, sorted knots and signs."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], count)
    return rng.standard_normal(count), np.sort(1.5 * rng.standard_normal(count)), signs


def plain(fields, second, knots, signs):
    """f, its slope and the features by plain sums over the neurons."""
    before = signs * (fields[:, None] - knots)
    features = np.maximum(before, 0) / np.sqrt(len(knots))
    return features @ second, (signs * (before > 0)) @ second / np.sqrt(len(knots)), features


@pytest.mark.parametrize("count", [1, 2, 37])
def test_prefix_sums_are_the_plain_sums(count):
    second, knots, signs = neurons(count)
    rng = np.random.default_rng(1)
    fields, values = 2 * rng.standard_normal(200), rng.standard_normal(200)
    with double_precision():
        answers = respond(jnp.asarray(fields), *map(jnp.asarray, (second, knots, signs)))
        products = feature_products(jnp.asarray(values), fields, answers.piece, jnp.asarray(knots), jnp.asarray(signs))
        found = np.array(answers.output), np.array(answers.slope), np.array(products)
    output, slope, features = plain(fields, second, knots, signs)
    np.testing.assert_allclose(found[0], output, atol=1e-13)
    np.testing.assert_allclose(found[1], slope, atol=1e-13)
    np.testing.assert_allclose(found[2], values @ features, atol=1e-12)
    assert np.max(np.abs(found[0] - plain(fields, second, knots, -signs)[0])) > 0.1  # signs matter


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_hermite_coefficients_of_the_network(degree):
    second, knots, signs = neurons(7)
    points, weights = line_rule(knots, 0.5, 12.0)
    expected = np.sqrt(7) * weights @ (plain(points, second, knots, signs)[0] * hermite(degree, points))
    found = float(hermite_coefficient(*(jnp.asarray(part, jnp.float32) for part in (second, knots, signs)), degree))
    assert found == pytest.approx(expected, abs=2e-5)
    assert abs(expected) > 1e-3


def test_lowest_coefficient_of_a_target():
    degree, value = lowest_coefficient(target("abs(h1)"))
    assert degree == 2
    assert value == pytest.approx(1 / np.sqrt(np.pi), abs=1e-9)


def begun(learner, student, dim, samples):
    """A problem on stored X, and its start, in float64: call it and use it in double precision."""
    wanted = demand(learner, student, TARGET, Sizes(dim, 1, samples, np.dtype(np.float64)))
    problem = Problem(TARGET, student, learner, choose(wanted, True, "dense").design)
    keys = fold(root_key(3), 0)[None]
    return problem, keys, start(problem, keys)


def reference_of(carry, learner):
    state = carry.state
    network = state.network
    parts = (state.batch, state.labels, network.weights, network.second, network.knots, network.signs)
    return TiedReference(learner, *(np.array(part[0]) for part in parts))


LEARNERS = {
    "flow": TiedFlow(time=3.0, frozen_time=1.0, interval=0.5, restarts=2, penalty=0.05, tolerance=1e-3),
    "descent": TiedFlow(
        time=0.3, frozen_time=0.1, interval=0.05, restarts=2, penalty=0.05, step_size=0.01, direction_speed=20.0
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_interval_by_interval_as_the_plain_loop(name):
    """The same X, the same start: equal up to rounding, which kinks amplify; step sizes and refusals included. A loop
    that trains c from the start, or has twice the penalty, is told apart."""
    learner = LEARNERS[name]
    with double_precision():
        problem, keys, carry = begun(learner, TiedNetwork(12, signs=True), 6, 40)
        loop = reference_of(carry, learner)
        wrong = [
            reference_of(carry, replace(learner, frozen_time=0.0)),
            reference_of(carry, replace(learner, penalty=0.1)),
        ]
        for number in range(learner.steps):
            carry = advance(problem, carry, keys, number, number + 1)
            for one in (loop, *wrong):
                one.interval(number)
            network = carry.state.network
            np.testing.assert_allclose(np.array(network.weights[0]), loop.weights, atol=1e-9)
            np.testing.assert_allclose(np.array(network.second[0]), loop.second, atol=1e-9)
        np.testing.assert_allclose(np.array(carry.state.losses[0]), loop.loss(loop.weights, loop.second), atol=1e-9)
        assert int(carry.state.iterations[0]) == (loop.steps if name == "flow" else learner.steps * learner.descents)
        second = np.array(carry.state.network.second[0])
        broken = carry._replace(state=carry.state._replace(labels=1e300 * carry.state.labels))
        if name == "descent":  # a flow takes no step whose error is not a number
            assert int(advance(problem, broken, keys, number + 1, number + 2).diverged[0]) == number + 2
    for one in wrong:
        assert np.max(np.abs(second - one.second)) > 1e-3


SHORT = TiedFlow(time=0.6, frozen_time=0.2, interval=0.2, restarts=2, step_size=0.1, direction_speed=3.0)
SEEDS = 800


def short_run(design):
    words = {"dim": 60, "samples": 40, "seeds": SEEDS, "student": TiedNetwork(20), "times": [0.2, 0.6]}
    return simulate(
        TARGET, SHORT, design=design, observe=("restart_cosine", "restart_loss", "cosine"), progress=False, **words
    )


def statistics(data, time):
    """Three numbers a seed at one of the times."""
    at = data.isel(time=time)
    return at.restart_cosine.values[:, 0, 0], at.restart_loss.values[:, 1], at.cosine.values[:, 0, 0]


def smallest_level(one, other):
    return min(ks_2samp(a, b).pvalue for a, b in zip(one, other, strict=True))


def test_one_law_on_stored_and_virtual_inputs():
    """Kolmogorov-Smirnov at level 1e-6 (sees differences from 0.14) against stored X, which is the plain loop; four
    gradient steps fewer are told apart."""
    run, stored = short_run("virtual"), short_run("dense")
    for time in (0, 1):
        assert smallest_level(statistics(run, time), statistics(stored, time)) > 1e-6
    assert smallest_level(statistics(run, 0), statistics(stored, 1)) < 1e-6


@pytest.fixture(scope="module")
def flow():
    """h1 with noise of standard deviation 0.1 at d = 100, n = d^1.5: three seeds, two starts each, N = 100, tau = 1.5,
    lambda = .01, T0 = 40."""
    words = {"dim": 100, "samples": 1000, "seeds": 3, "times": [0, 40, 100], "progress": False}
    return simulate(target("h1", noise=0.01), TiedFlow(time=100.0, restarts=2), **words)


def test_a_linear_link_is_found_from_ten_samples_a_dimension(flow):
    """A prototype in NumPy measured |m| = .9993 with every start succeeding. The least-squares direction has
    1 - |m| = (d/n) sigma^2 / 2 = .0005, and three times that is told apart."""
    assert list(flow.outcome.values) == ["ok"] * 3
    found = np.abs(flow.restart_cosine.values[:, -1, :, 0])
    assert np.all(np.abs(found - 0.9993) < 0.0007)
    # c is frozen up to T0 = 40, and random: the risk cannot come down before.
    assert np.all(flow.excess_risk.values[:, 1] > 0.1)
    assert np.all(flow.excess_risk.values[:, 2] < 0.05)


def test_the_start_with_the_lowest_loss_is_chosen(flow):
    data = flow
    best = data.restart_loss.values.argmin(axis=2)
    expected = np.take_along_axis(data.restart_cosine.values[..., 0], best[..., None], axis=2)[..., 0]
    np.testing.assert_array_equal(data.cosine.values[..., 0, 0], expected)
    assert 0 < best[:, 0].mean() < 1  # both are chosen somewhere


TINY = {"dim": 6, "samples": 40, "seeds": 3, "progress": False}


def test_a_flow_that_needs_more_steps_says_so():
    """And a second layer of more neurons than samples is fitted all the same."""
    learner = TiedFlow(max_steps=3, restarts=2, tuning_samples=10, tuning_ridge=0.1, tuning_width=15)
    data = simulate(TARGET, learner, student=TiedNetwork(12), times=[200], observe=("risk",), **TINY)
    assert list(data.outcome.values) == ["out of steps"] * 3
    assert list(data.iterations.values) == [3] * 3
    np.testing.assert_allclose(data.ridge.values, 0.1)
    assert np.all(np.isfinite(data.risk.values))


@pytest.mark.parametrize("start", ["guided", "sphere"])
def test_only_a_guided_start_is_on_the_right_side(start):
    learner, student = TiedFlow(restarts=20), TiedNetwork(12, start=start)
    wanted = demand(learner, student, TARGET, Sizes(30, 1, 40, np.dtype(np.float32)))
    problem = Problem(target("-He2(h1)"), student, learner, choose(wanted, True, "dense").design)
    network = jax.jit(lambda key: start_networks(key, problem))(root_key(0))
    own = hermite_coefficient(network.second, network.knots, network.signs, 2)
    right = (np.array(network.weights[:, 0]) > 0) & (np.array(own) < 0)
    assert right.all() == (start == "guided")


def test_a_guided_start_needs_one_direction_to_be_guided_by():
    words = {"dim": 6, "samples": 40, "student": TiedNetwork(start="guided")}
    with pytest.raises(InvalidParameter, match="2 directions"):
        simulate("h1*h2", TiedFlow(), **words)
    with pytest.raises(InvalidParameter, match="no Hermite coefficient"):
        simulate("He(13, h1)", TiedFlow(), **words)


def test_starts_are_mapped_not_unrolled():
    """The compiled program does not grow with them."""
    sizes = []
    for restarts in (2, 6):
        learner = replace(LEARNERS["flow"], restarts=restarts)
        wanted = demand(learner, TiedNetwork(12), TARGET, Sizes(6, 1, 40, np.dtype(np.float32)))
        problem = Problem(TARGET, TiedNetwork(12), learner, choose(wanted, True, "dense").design)
        keys = fold(root_key(3), 0)[None]
        carry = start.shapes(problem, keys)
        program = advance.compiled.trace(*split(problem, True), carry, keys, 0, 1).jaxpr
        sizes.append(len(str(program)))
    assert sizes[1] < 1.02 * sizes[0]
