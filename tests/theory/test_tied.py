"""The population loss of networks with one shared direction: closed forms against quadrature, identities, landscape."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian.activations_integrals import line_rule
from featlab.gaussian.hermite import hermite_normalised_all
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners import TiedFlow, TiedNetwork
from featlab.targets import catalogue, target
from featlab.theory import NoPrediction, predict
from featlab.theory.tied.landscape import critical_points
from featlab.theory.tied.loss import ideal_projected_loss, population_loss, refit_cost
from featlab.theory.tied.neurons import Neurons, link_series
from featlab.theory.tied.predictor import population_flow
from featlab.theory.tied.rates import recovery_error, sufficient_samples, tuning_exponent, warm_up_time


def drawn(count=20, scale=1.5, seed=0):
    rng = np.random.default_rng(seed)
    return Neurons(np.sort(scale * rng.standard_normal(count)), rng.choice([-1.0, 1.0], count))


def test_gram_matrix_and_coefficients_are_the_integrals():
    neurons = drawn()
    points, weights = line_rule(neurons.knots, 0.5, 14.0)
    features = neurons.features(points)
    np.testing.assert_allclose(neurons.gram(), features.T @ (weights[:, None] * features), atol=1e-14)
    integrals = features.T @ (weights[:, None] * hermite_normalised_all(30, points).T)
    np.testing.assert_allclose(neurons.coefficients(30), integrals, atol=1e-14)
    other = Neurons(neurons.knots, -neurons.signs)
    assert np.max(np.abs(other.gram() - neurons.gram())) > 0.01


def test_far_knots_do_not_overflow():
    """tau = 10, as in the authors' experiments: a neuron whose knot is never reached is a line, or nothing."""
    coefficients = Neurons(np.array([-60.0, 60.0]), np.array([1.0, 1.0])).coefficients(200) * np.sqrt(2)
    np.testing.assert_allclose(coefficients[:, :3], [[60.0, 1.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-12)
    assert not np.any(coefficients[:, 3:])


def test_the_hats_have_the_stated_series():
    """Orthonormal coefficients -.11450, -.31987, -.01605, .22176, .05661, -.13232, -.04895 from degree 1 on, none of
    degree below s; E[t^2] = .29472 with the mean .30203 that is taken away."""
    stated = [0.0, -0.11450, -0.31987, -0.01605, 0.22176, 0.05661, -0.13232, -0.04895]
    for s, name in ((1, "hats"), (2, "hats-two"), (3, "hats-three")):
        link = link_series(target(catalogue[name].text), 400)
        expected = np.where(np.arange(8) < s, 0, stated)
        np.testing.assert_allclose(link.coefficients[:8], expected, atol=6e-6)
        removed = 0.30203**2 + np.sum(np.square(stated[:s]))
        assert link.square == pytest.approx(0.29472 - removed, abs=2e-5)
        assert 0 < link.missing < 1e-3


def by_quadrature(link, neurons, cosine):
    """E[f*(z) phi_i(u)] at this correlation, over z cut at the link's kinks and u given z."""
    points, weights = gauss_pieces([-1.0, 0.0, 2.0, 3.0], 40)
    inner, inner_weights = gauss_pieces([0.0], 60)
    fields = cosine * points[:, None] + np.sqrt(1 - cosine**2) * inner
    given = np.einsum("w,zwi->zi", inner_weights, neurons.features(fields))
    return (weights * link(points[:, None])) @ given


def test_correlations_with_the_label():
    """By Hermite series against quadrature in two dimensions, whose own error at the neurons' kinks is 1e-4."""
    of, neurons = target(catalogue["hats"].text), drawn(6)
    loss = population_loss(of, neurons, 0.01)
    for cosine in (0.3, -0.8):
        np.testing.assert_allclose(loss.correlations(cosine), by_quadrature(of.link, neurons, cosine), atol=2e-4)
    assert np.max(np.abs(loss.correlations(0.8) - by_quadrature(of.link, neurons, -0.8))) > 5e-3


def test_at_the_pole_the_series_has_converged():
    """E[f* phi] and E[f*' phi'] of one field, at m = 1, where the series are slowest."""
    neurons = drawn()
    loss = population_loss(catalogue["hats"].text, neurons, 0.01)
    points, weights = line_rule([*neurons.knots, -1.0, 0.0, 2.0, 3.0], 0.5, 14.0)
    features, values = neurons.features(points), target(catalogue["hats"].text).link(points[:, None])
    np.testing.assert_allclose(loss.correlations(1.0), features.T @ (weights * values), atol=2e-6)
    slopes = neurons.signs * (neurons.signs * (points[:, None] - neurons.knots) > 0) / np.sqrt(neurons.count)
    link_slope = (points > -1.0) - 2.0 * (points > 0) + 2.0 * (points > 2.0) - (points > 3.0)
    np.testing.assert_allclose(loss.correlations(1.0, 1), slopes.T @ (weights * link_slope), atol=2e-3)


def test_gradients_are_those_of_the_loss():
    loss, step = population_loss("h1 + tanh(h1)", drawn(), 0.02), 1e-5
    second = np.random.default_rng(1).standard_normal(20)
    to_second, to_cosine = loss.gradient(second, 0.4)
    for place in (0, 7):
        move = step * (np.arange(20) == place)
        difference = loss.value(second + move, 0.4) - loss.value(second - move, 0.4)
        assert to_second[place] == pytest.approx(difference / (2 * step), rel=1e-6)
    difference = loss.value(second, 0.4 + step) - loss.value(second, 0.4 - step)
    assert to_cosine == pytest.approx(difference / (2 * step), rel=1e-6)


def test_projected_loss_is_the_minimum_and_has_its_derivatives():
    loss, step = population_loss("He2(h1) + h1", drawn(), 0.02), 1e-4
    best = loss.best_second(0.6)
    np.testing.assert_allclose(loss.gradient(best, 0.6)[0], 0, atol=1e-12)
    assert loss.projected(0.6) == pytest.approx(loss.value(best, 0.6), abs=1e-12)
    assert loss.value(best + 0.01, 0.6) > loss.projected(0.6)
    low, here, high = (loss.projected(0.6 + shift) for shift in (-step, 0.0, step))
    assert loss.projected(0.6, 1) == pytest.approx((high - low) / (2 * step), rel=1e-6)
    assert loss.projected(0.6, 2) == pytest.approx((high - 2 * here + low) / step**2, rel=1e-4)


def test_many_neurons_and_little_penalty_leave_what_the_field_does_not_know():
    """P(m) falls to E[y^2] - sum alpha_j^2 m^(2j) from above as N grows and lambda falls; here to within 1%."""
    text = "h1/2 + He3(h1)/3"
    for cosine in (0.0, 0.7, 1.0):
        ideal = ideal_projected_loss(text, cosine)
        assert ideal == pytest.approx(0.25 + 6 / 9 - cosine**2 / 4 - 6 / 9 * cosine**6, abs=1e-9)
        losses = [
            population_loss(text, drawn(count), penalty).projected(cosine)
            for count, penalty in ((50, 1e-2), (200, 1e-4), (800, 1e-7))
        ]
        assert losses[0] >= losses[1] >= losses[2] >= ideal - 1e-9
        assert losses[2] - ideal < 0.01
        assert cosine == 0 or losses[0] - ideal > 0.02


@pytest.mark.parametrize(("text", "exponent"), [("h1", 1), ("He2(h1)/sqrt(2)", 2), (catalogue["hats-three"].text, 3)])
def test_critical_points_are_good_or_bad(text, exponent):
    """As the theorem has it: minima at the poles, and the equator with c = 0, which is no minimum; flat for s > 1."""
    points = critical_points(population_loss(text, drawn(100), 0.01))
    assert [point.kind for point in points] == ["good", "bad", "good"]
    assert [point.cosine for point in points] == [-1.0, 0.0, 1.0]
    assert [point.stable for point in points] == [True, False, True]
    assert all(points[place].curvature > 0.01 for place in (0, 2))
    assert (points[1].curvature < -0.1) if exponent == 1 else abs(points[1].curvature) < 1e-6


def test_other_critical_points_are_found_where_the_assumptions_fail():
    """One neuron relu(u) and f* = h_1 - (3/2) h_2: a(m) = m/2 - (3/2) m^2 / sqrt(4 pi) has its maximum, and the loss a
    minimum, at m = sqrt(4 pi) / 6."""
    loss = population_loss("h1 - 1.5*He2(h1)/sqrt(2)", Neurons(np.zeros(1), np.ones(1)), 0.3)
    points = critical_points(loss)
    assert [point.kind for point in points] == ["good", "bad", "other", "good"]
    assert points[2].cosine == pytest.approx(np.sqrt(4 * np.pi) / 6, abs=1e-9)
    assert [point.stable for point in points] == [True, False, True, False]
    to_second, to_cosine = loss.gradient(points[2].second, points[2].cosine)
    assert max(abs(to_second[0]), abs(to_cosine)) < 1e-9


def test_flow_of_a_linear_link_is_a_hyperbolic_tangent():
    """With c frozen and f* = z: dm/dt = k (1 - m^2), k = 2 <c, E[phi z]>, so m = tanh(k t + artanh m0)."""
    neurons = drawn()
    second = np.random.default_rng(2).standard_normal(20)
    loss, times = population_loss("h1", neurons, 0.05), np.array([0.0, 0.5, 2.0])
    path = population_flow(loss, 0.1, second, times, frozen_time=2.0, direction_speed=1.5)
    rate = 1.5 * 2 * second @ neurons.coefficients(1)[:, 1]
    np.testing.assert_allclose(path.cosine, np.tanh(rate * times + np.arctanh(0.1)), atol=1e-7)
    assert np.max(np.abs(path.cosine - np.tanh(rate * times / 1.5 + np.arctanh(0.1)))) > 0.01


def test_flow_descends_to_a_good_point():
    loss = population_loss("h1 + He2(h1)", drawn(40), 0.05)
    second = np.random.default_rng(3).standard_normal(40)
    path = population_flow(loss, 0.3, second, np.linspace(0, 60, 31), frozen_time=4.0)
    assert np.all(np.diff(path.loss) < 1e-9)
    np.testing.assert_array_equal(path.second[:3], np.tile(second, (3, 1)))
    good = next(point for point in critical_points(loss) if point.cosine == np.sign(path.cosine[-1]))
    assert path.loss[-1] == pytest.approx(good.loss, abs=1e-4)
    assert abs(path.cosine[-1]) > 0.999


def test_rates():
    assert sufficient_samples(100, 1) == pytest.approx(100**2)
    assert sufficient_samples(100, 3) == pytest.approx(100**3)
    assert sufficient_samples(100, 4) == pytest.approx(100**4)
    assert recovery_error(100, 10**6) == pytest.approx(1e-4)
    assert recovery_error(100, 10**5) == pytest.approx(1e-2)
    assert warm_up_time(100, 2) == 1
    assert warm_up_time(100, 4) == pytest.approx(100)
    assert tuning_exponent(1e6) == pytest.approx(1 / 4)
    assert tuning_exponent(1.5) == pytest.approx(5 / 36)  # beta = (5/9) / (31/9) = 5/31
    with pytest.raises(InvalidParameter, match="above 1"):
        tuning_exponent(1.0)


def test_what_is_not_predicted():
    sizes = {"dim": 50, "samples": 1000, "student": TiedNetwork(10)}
    with pytest.raises(NoPrediction, match="drawn at random"):
        predict("h1", TiedFlow(), **sizes)
    with pytest.raises(NoPrediction, match="one direction"):
        link_series(target("h1*h2"), 10)
    with pytest.raises(InvalidParameter, match="one sign for each knot"):
        Neurons(np.zeros(3), np.ones(2))
    with pytest.raises(InvalidParameter, match=r"\+1 or -1"):
        Neurons(np.zeros(2), np.array([1.0, 0.5]))


def test_what_a_refit_costs() -> None:
    """tr(A^-1 E[r^2 phi phi^T]): the rank times the variance where that is constant; else by plain least squares."""
    rng = np.random.default_rng(3)
    signs = np.array([1.0, -1.0] * 4)
    neurons = Neurons(np.linspace(-1.2, 1.2, 8), signs)
    constant = refit_cost(target("h1", noise=0.01), neurons, 0.9)
    # The relus span the linear functions, so that the residual is z given u, of one variance, and the noise.
    assert constant == pytest.approx(np.linalg.matrix_rank(neurons.gram(), 1e-9) * (1 - 0.9**2 + 0.01), rel=1e-3)
    goal, samples = target("He3(h1)/sqrt(6)", noise=0.01), 4000
    excess = []
    for _ in range(200):
        z, other, noise = rng.standard_normal((3, samples))
        features = neurons.features(0.98 * z + np.sqrt(1 - 0.98**2) * other)
        second = np.linalg.lstsq(features, goal.link(z[:, None]) + 0.1 * noise, rcond=1e-8)[0]
        excess.append(population_loss(goal, neurons, 1e-12).value(second, 0.98))
    above = np.array(excess) - population_loss(goal, neurons, 1e-12).projected(0.98)
    predicted = refit_cost(goal, neurons, 0.98) / samples
    error = above.std() / np.sqrt(len(above))
    assert abs(above.mean() - predicted) < 4 * error + 0.03 * predicted
    wrong = 8 * (population_loss(goal, neurons, 1e-12).projected(0.98)) / samples  # as if the residual had one variance
    assert above.mean() - wrong > 4 * error + 0.03 * predicted
