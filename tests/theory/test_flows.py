"""Population flows: averages by identities, paths and their ends, run times with their constants, the map of costs."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

import featlab
from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.learners import NormalisedFlow, SphericalFlow, TwoLayer
from featlab.targets import Isotropic, Spiked, SpikeLaw, target
from featlab.theory import NoPrediction, predict
from featlab.theory.flows.averages import Averages, _coefficients
from featlab.theory.flows.complexity import complexity_map, kernel_exponent, typical_start
from featlab.theory.flows.path import Landscape, Spike, walk
from featlab.theory.flows.time import integrate, run_time, run_time_law

CUBIC = Averages(target("He3(h1)/sqrt(6)"), activation("He3"))


def cubic(inputs, learner) -> Landscape:
    """sigma = sigma* = h_3, the orthonormal Hermite polynomial."""
    return Landscape(CUBIC, 6**-0.5, 1.0, Spike.of(inputs), learner)


def from_chance(scape: Landscape, dim: float) -> np.ndarray:
    """Weights whose coordinates on the known axes are 1/sqrt(d)."""
    return np.append(np.full(scape.spike.axis.size, dim**-0.5), 1.0)


# --- averages --------------------------------------------------------------------------------------------------------


def test_averages_of_hermite_polynomials_keep_their_digits() -> None:
    """E[He3(h) He3(u)] = 6 c^3 for every variance of u: also at c = 1e-7, where 6 c^3 is far below rounding of 1."""
    pair = Averages(target("He3(h1)"), activation("He3"))
    for variance, covariance in ((1.0, 1e-7), (1.0, 0.3), (7.0, 2.0), (400.0, 19.0)):
        found = pair.correlation(variance, covariance)
        assert found.value == pytest.approx(6 * covariance**3, rel=1e-10)
        assert found.by_covariance == pytest.approx(18 * covariance**2, rel=1e-10)
        assert abs(found.by_variance) < 1e-10 * (1 + found.value)
    # E[He3(sqrt(q) v)^2] = 15 q^3 - 18 q^2 + 9 q.
    square = pair.square(7.0)
    assert square.value == pytest.approx(15 * 343 - 18 * 49 + 63, rel=1e-12)
    assert square.by_variance == pytest.approx(45 * 49 - 36 * 7 + 9, rel=1e-12)


def test_averages_of_kinks_are_closed_forms() -> None:
    """relu against relu is the arc-cosine kernel up to correlation 1, where no series of degree 60 is."""
    pair = Averages(target("relu(h1)"), activation("relu"))
    for rho in (0.2, 0.7, 0.99, 1 - 1e-6):
        assert pair.correlation(1.0, rho).value == pytest.approx(float(activation("relu").kernel(rho)), abs=1e-13)
    cut = pair._series(1.0, 0.99, _coefficients(pair, 1.0)).value
    assert abs(cut - float(activation("relu").kernel(0.99))) > 1e-6, "control: the series alone"


@pytest.mark.parametrize(("link", "name", "bias"), [("relu(h1)", "relu", 0.3), ("sign(h1 + 1)", "erf", -0.2)])
@pytest.mark.parametrize(("variance", "covariance"), [(1.3, 0.4), (2.0, 1.3)])
def test_derivatives_are_those_of_the_values(link, name, bias, variance, covariance) -> None:
    """By central differences, below and above where quadrature takes over; and both ways agree where both hold."""
    pair, step = Averages(target(link), activation(name), bias), 1e-4
    found = pair.correlation(variance, covariance)
    by_q = [pair.correlation(variance + s, covariance).value for s in (step, -step)]
    by_c = [pair.correlation(variance, covariance + s).value for s in (step, -step)]
    assert found.by_variance == pytest.approx((by_q[0] - by_q[1]) / (2 * step), abs=1e-8)
    assert found.by_covariance == pytest.approx((by_c[0] - by_c[1]) / (2 * step), abs=1e-8)
    squares = [pair.square(variance + s).value for s in (step, -step)]
    assert pair.square(variance).by_variance == pytest.approx((squares[0] - squares[1]) / (2 * step), abs=1e-8)
    small = pair._series(variance, 0.4, _coefficients(pair, variance))
    assert tuple(pair._quadrature(variance, 0.4)) == pytest.approx(tuple(small), abs=1e-10)


def test_noise_inside_the_link_is_averaged() -> None:
    """E[sign(h + xi) | h] = erf(h/sqrt(2)): the same averages as that link, and its own E[y^2]."""
    noisy, mean = (Averages(target(link), activation("tanh")) for link in ("sign(h1 + xi1)", "erf(h1/sqrt(2))"))
    for covariance in (0.5, 1.0):
        assert tuple(noisy.correlation(1.2, covariance)) == pytest.approx(
            tuple(mean.correlation(1.2, covariance)), abs=1e-9
        )
    assert noisy.label_square == pytest.approx(1.0, abs=1e-9)
    assert mean.label_square < 0.5


# --- paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength_exponent", [-0.25, 0.0, 0.2, 0.4, 0.6, 0.8, 0.95])
def test_an_aligned_spike_stops_the_spherical_flow(strength_exponent: float) -> None:
    """k = 3, mu = beta, d = 10^4: the overlap never exceeds its start 1/sqrt(d), while the normalised flow reaches 1
    (Mousavi-Hosseini et al. 2023)."""
    inputs = Spiked(1e4**strength_exponent, 1.0)
    scape = cubic(inputs, SphericalFlow(1000))
    path = walk(scape, from_chance(scape, 1e4))
    assert np.max(np.abs(path.points[:, 0])) <= path.points[0, 0]
    assert path.points[0, 0] == pytest.approx(0.01, rel=1e-3)
    assert path.outcome == "ok"
    scape = cubic(inputs, NormalisedFlow())
    path = walk(scape, from_chance(scape, 1e4))
    assert path.outcome == "ok"
    assert scape.correlation(path.points[-1]) > 0.9999


def test_a_weak_spike_stops_nothing() -> None:
    """The control of the above: theta = d^-1/2, and no spike at all."""
    for inputs in (Spiked(1e-2, 1.0), Isotropic()):
        scape = cubic(inputs, SphericalFlow())
        path = walk(scape, from_chance(scape, 1e4))
        assert path.points[-1, 0] > 0.9999
        assert np.all(np.diff(path.losses) < 0), "monotone"


def test_descent_is_the_gradient_of_the_loss() -> None:
    """By central differences along the sphere, under a spike at an angle, for both flows and both losses."""
    pair = Averages(target("relu(h1)"), activation("tanh"), 0.2)
    for learner in (SphericalFlow(), SphericalFlow(loss="correlation"), NormalisedFlow()):
        scape = Landscape(pair, 1.3, 0.9, Spike.of(Spiked(5.0, 0.6)), learner)
        point = scape.point(np.array([0.3, -0.2, 0.8]))
        for along in np.eye(3):
            tangent = along - (along @ point) * point / 0.81
            ahead, back = (scape.loss(scape.point(scape.weights(point + s * tangent))) for s in (1e-5, -1e-5))
            assert -scape.descent(point) @ tangent == pytest.approx((ahead - back) / 2e-5, abs=1e-8)


def test_given_time_the_spherical_flow_finds_the_part_off_the_spike() -> None:
    """At <mu, beta> = d^-.2, theta = d^.8, d = 200 arcs stop at once in a narrow valley, where the flow itself goes on:
    w ends at cosine .947 with beta, but off mu, so that its field has a correlation of .51 only with the target's. The
    normalised flow's has 1."""
    inputs = Spiked(200**0.8, 200**-0.2)
    scape = cubic(inputs, SphericalFlow())
    begin = from_chance(scape, 200)
    assert walk(scape, begin).points[-1, 0] < 0.1
    course = integrate(scape, begin, np.array([0.0, 10.0, 1e4]))
    assert course.outcome == "ok"
    assert course.points[:, 0] == pytest.approx([0.070, 0.0415, 0.947], abs=1e-3)
    assert scape.correlation(course.points[-1]) == pytest.approx(0.512, abs=5e-3)
    scape = cubic(inputs, NormalisedFlow())
    course = integrate(scape, begin, np.array([0.0, 100.0]))
    weights = scape.weights(course.points)
    assert weights[-1, 0] / np.linalg.norm(weights[-1]) > 0.9999


def test_a_milder_spike_at_an_angle_stops_no_flow() -> None:
    """(g1, g2) = (.3, .2) and (.4, .6) at d = 200: there the population's spherical flow succeeds."""
    for g1, g2, reached in ((0.3, 0.2, 0.998), (0.4, 0.6, 0.985)):
        scape = cubic(Spiked(200**g2, 200**-g1), SphericalFlow())
        course = integrate(scape, from_chance(scape, 200), np.array([0.0, 1e3]))
        assert scape.correlation(course.points[-1]) == pytest.approx(reached, abs=2e-3)


def test_no_slope_is_told() -> None:
    scape = cubic(Isotropic(), SphericalFlow())
    assert walk(scape, np.array([0.0, 1.0])).outcome == "stalled"
    assert walk(scape, np.array([0.1, 1.0]), 2).outcome == "not converged"


# --- run time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_run_time_has_the_law_with_its_constant(order: int) -> None:
    """For sigma = sigma* = h_k, zeta = k rho^{k-1}: T = tau_k(rho0) / (k max(1, k-2)) + log(1/eps)/(2k) + O(1)."""
    pair = Averages(target(f"He{order}(h1)"), activation(f"He{order}"))

    def time(start: float, within: float) -> float:
        return run_time(pair, start, within, 1 / factorial(order))

    grown = time(1e-5, 0.01) - time(1e-3, 0.01)
    law = run_time_law(1e-5, order) - run_time_law(1e-3, order)
    assert grown == pytest.approx(law / (order * max(1, order - 2)), abs=2e-3, rel=1e-4)
    assert time(0.3, 1e-5) - time(0.3, 1e-3) == pytest.approx(np.log(100) / (2 * order), rel=2e-3)


def test_run_time_is_when_the_flow_gets_there() -> None:
    scape = cubic(Spiked(30.0, 0.4), NormalisedFlow())
    begin = scape.weights(np.array([0.1, 0.0, 1.0]))
    start = scape.correlation(scape.point(begin))
    needed = run_time(CUBIC, start, 0.02, 6**-0.5)
    found = [scape.correlation(point) for point in integrate(scape, begin, needed * np.array([0.5, 1.0])).points]
    assert found[1] == pytest.approx(0.98, abs=1e-5)
    assert found[0] < 0.9


def test_a_link_without_the_assumption_has_no_run_time() -> None:
    """zeta of h^2-type signs: against -He2 + He4 the flow of He2 turns back."""
    pair = Averages(target("He4(h1) - He2(h1)"), activation("He2"))
    assert run_time(pair, 0.1, 0.1) == np.inf


# --- the map ---------------------------------------------------------------------------------------------------------


def test_the_map_is_continuous_and_has_its_corners() -> None:
    g1, g2 = np.linspace(0, 0.5, 51), np.linspace(0, 1, 101)
    for order in (1, 2, 3, 4):
        found = complexity_map(order, g1, g2)
        steepest = 2 * (order - 1) * 0.01 + 1e-9  # the slope of 1 + (k - 1)(1 - 2 (g2 - g1)), the steepest of the three
        assert np.max(np.abs(np.diff(found.samples, axis=0))) <= steepest
        assert np.max(np.abs(np.diff(found.samples, axis=1))) <= steepest
        assert found.samples[0] == pytest.approx(order), "no spike: d^k"
        assert found.samples[-1] == pytest.approx(1.0), "the strongest: d"
        assert found.samples == pytest.approx(1 + 2 * (order - 1) * found.start)
        assert found.time == pytest.approx(max(order - 2, 0) * found.start)


@pytest.mark.parametrize(("g1", "g2"), [(0.0, 0.5), (0.4, 0.1), (0.3, 0.45), (0.1, 0.7), (0.5, 0.9)])
def test_the_start_has_the_exponent_of_the_map(g1: float, g2: float) -> None:
    """delta_0 at d = 10^24 and 10^30: the slope is -s up to what the corrections d^-|g2 - g1|, .. leave."""
    sizes = (10**24, 10**30)
    values = [typical_start(SpikeLaw(g2, g1).at(dim), dim) for dim in sizes]
    slope = np.log10(values[1] / values[0]) / 6
    assert slope == pytest.approx(-complexity_map(2, [g1], [g2]).start[0, 0], abs=5e-3)


def test_the_typical_start_is_that_of_random_neurons() -> None:
    """The ratio of root mean squares over 4000 random w, within four standard errors; and not that of another spike."""
    rng, inputs, dim = np.random.default_rng(5), Spiked(40.0, 0.3), 50
    spike = Spike.of(inputs)
    rows = rng.standard_normal((4000, dim))
    rows = np.column_stack([rows[:, :2], np.linalg.norm(rows[:, 2:], axis=1)]) / np.linalg.norm(rows, axis=1)[:, None]
    scape = cubic(inputs, SphericalFlow())
    moments = np.array([scape.moments(row) for row in rows])
    squares = moments[:, 1] ** 2
    found = np.sqrt(squares.mean() / moments[:, 0].mean())
    error = found * squares.std() / squares.mean() / np.sqrt(len(rows))
    assert typical_start(inputs, dim) == pytest.approx(found, abs=4 * error)
    assert abs(typical_start(Spiked(30.0, 0.3), dim) - found) > 4 * error
    assert spike.target_scale == pytest.approx(np.sqrt(1 + 40 * 0.09))


def test_kernels_need_a_power_that_falls_with_the_spike() -> None:
    assert [kernel_exponent(g2, 3) for g2 in (0.0, 0.5, 1.0)] == pytest.approx([3.0, 1.5, 0.0])


# --- the door --------------------------------------------------------------------------------------------------------


def test_predictions_through_the_door() -> None:
    """A random start in the right half, under a spike: copies are copies, and the risk is 2 - 2 rho^3."""
    goal, student = target("He3(h1)/sqrt(6)", inputs=SpikeLaw(0.8, 0.2)), TwoLayer(2, "He3", second_scale=6**-0.5)
    learner = NormalisedFlow(60, positive_start=True, common=True)
    found = predict(goal, learner, dim=200, student=student, times=[0, 3, 60])
    assert found.attrs["outcome"] == "ok"
    assert found.overlap.values[:, 0] == pytest.approx(found.overlap.values[:, 1])
    assert found.field_correlation.values[-1, 0, 0] > 0.999
    assert found.risk.values == pytest.approx(2 - 2 * found.field_correlation.values[:, 0, 0] ** 3, abs=1e-9)
    assert float(found.norm[-1, 0]) == pytest.approx(1 / np.sqrt(1 + 200**0.4), rel=1e-3), "|S^{1/2} w| = 1"
    early = predict(goal, learner, dim=200, student=student, times=[0, 3])
    assert early.attrs["outcome"] == "ok"
    assert early.overlap.values[-1] == pytest.approx(found.overlap.values[1])


def test_what_cannot_be_predicted_is_refused() -> None:
    with pytest.raises(NoPrediction, match="2 directions"):
        predict("h1*h2", SphericalFlow(), dim=50)
    with pytest.raises(InvalidParameter, match="times"):
        integrate(cubic(Isotropic(), SphericalFlow()), np.array([0.1, 1.0]), np.array([1.0, 0.5]))
    with pytest.raises(InvalidParameter, match="start"):
        run_time(CUBIC, 0.0, 0.1)
    with pytest.raises(InvalidParameter, match="at\\(dim\\)"):
        Spike.of(SpikeLaw(0.5))
    with pytest.raises(InvalidParameter, match="strength_exponent"):
        kernel_exponent(1.2, 3)


def test_what_nothing_drives_is_not_predicted():
    """erf is odd and |h| even: the slope is zero everywhere, and a run takes its arcs along the noise of its batch."""
    student = featlab.TwoLayer(1, "erf", start="planted", planted=((0.4,),))
    sizes = {"dim": 200, "samples": 2000, "times": [0, 5], "student": student}
    found = featlab.predict("abs(h1)", featlab.SphericalFlow(5), **sizes)
    np.testing.assert_allclose(found["overlap"].values.ravel(), [0.4, np.nan])
    assert "noise of its batch" in found.attrs["words"]
    driven = featlab.predict("abs(h1) + h1", featlab.SphericalFlow(5), **sizes)
    assert driven["overlap"].values[-1].item() > 0.4
