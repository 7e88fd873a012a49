"""One neuron on the sphere: series against quadrature and against the committee's equations; exit times and laws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.integrate import solve_ivp

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.powerlaw import fit_power_law
from featlab.targets import target
from featlab.theory.online.averages import Descent
from featlab.theory.online.predictor import Motion
from featlab.theory.online.rules import averages
from featlab.theory.online.search import (
    best_fraction,
    exit_time,
    fastest_scale,
    growth_rate,
    hitting_law,
    hitting_steps,
    mean_exit_time,
)
from featlab.theory.online.sphere import spherical_neuron

ROOT = 2**-0.5
PHASE = spherical_neuron(target("He2(h1)/sqrt(2)"), "He2", second=ROOT)  # orthonormal coefficients c_2 = c*_2 = 1
CUBIC = spherical_neuron(target("He3(h1)/sqrt(6)"), "He3", second=6**-0.5)


@pytest.mark.parametrize(
    ("text", "noise", "name", "loss", "bias", "norm"),
    [
        ("He2(h1)", 0.1, "He2", "squared", 0.0, 1.5),
        ("He3(h1)", 0.0, "tanh", "correlation", 0.5, 1.0),
        ("tanh(h1)", 0.3, "tanh", "squared", 0.5, 1.0),
        ("sign(h1)", 0.0, "relu", "squared", 0.2, 1.0),
        ("h1*xi1 + tanh(h1)", 0.0, "relu", "squared", 0.2, 2.0),
        ("abs(h1)", 0.0, "abs", "correlation", 0.0, 1.0),
    ],
)
def test_series_equal_the_generic_path(text, noise, name, loss, bias, norm):
    """Within 1e-9 of the largest term where the series claims 1e-10, and beyond that the claim is honest."""
    neuron = spherical_neuron(target(text, noise=noise), name, loss=loss, bias=bias, norm=norm)
    for cosine in (0.0, 0.1, 0.5, 0.75, -0.6):
        assert neuron.remainder(cosine) < 1e-10
        signal, reference = neuron.signal_and_noise(cosine), neuron.by_quadrature(cosine)
        np.testing.assert_allclose(signal, reference, rtol=0, atol=1e-9 * max(1.0, reference[1]))
    series = (1 - 0.81) * polynomial.polyval(0.9, neuron.signal)
    assert abs(series - neuron.by_quadrature(0.9)[0]) <= neuron.remainder(0.9) + 1e-9
    assert neuron.signal_and_noise(1.0) == neuron.by_quadrature(1.0)


def test_speed_is_that_of_the_committee_equations():
    """dm/dt from M and Q with p = r = 1, norm 1.3, batch 3; a normalisation without its second-order term differs."""
    goal, norm, cosine = target("tanh(h1)", noise=0.1), 1.3, 0.4
    neuron = spherical_neuron(goal, "tanh", loss="squared", bias=0.3, second=0.8, norm=norm)
    descent = Descent(activation("tanh"), np.array([0.8]), np.array([0.3]), "squared")
    overlap, gram = np.array([[norm * cosine]]), np.array([[norm**2]])
    found = averages(goal, descent).best(overlap, gram)
    to_overlap, to_gram = Motion(0.7, 3, True).velocity(overlap, gram, found)
    assert neuron.speed(cosine, 0.7, 3) == pytest.approx(to_overlap[0, 0] / norm, rel=1e-9)
    assert to_gram[0, 0] == pytest.approx(0, abs=1e-15)
    assert neuron.speed(cosine, 0.7, 10**9) != pytest.approx(to_overlap[0, 0] / norm, rel=1e-3)


def test_losses_differ_in_noise_only():
    correlation, squared = (
        spherical_neuron(target("tanh(h1)"), "relu", loss=loss) for loss in ("correlation", "squared")
    )
    np.testing.assert_array_equal(correlation.signal, squared.signal)
    assert squared.noise[0] != pytest.approx(correlation.noise[0], rel=0.01)


def test_signal_in_orthonormal_coefficients():
    """(1 - m^2) sum_k k c_k c*_k m^(k-1): 2 m (1 - m^2) for He2 / sqrt 2, and C(0) = 2, E[D^2 h^2] = 5 * 2."""
    np.testing.assert_allclose(PHASE.signal[:4], [0, 2, 0, 0], atol=1e-12)
    assert PHASE.noise[0] == pytest.approx(2, rel=1e-12)
    assert PHASE.spread == pytest.approx(10, rel=1e-12)
    assert (PHASE.information_exponent, CUBIC.information_exponent) == (2, 3)
    assert growth_rate(PHASE, 0.7) == pytest.approx(0.7 * (2 - 0.7), rel=1e-12)
    squared = spherical_neuron(target("He2(h1)/sqrt(2)"), "He2", second=ROOT, loss="squared")
    moments = {"y2h2": 5.0, "yh2": 2**0.5, "slopes": 2.0}
    fields, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    output, slope = ROOT * (fields**2 - 1), ROOT * 2 * fields
    expected = moments["y2h2"] * moments["slopes"] - 2 * moments["yh2"] * weights @ (output * slope**2)
    assert squared.spread == pytest.approx(expected + weights @ (output * slope) ** 2, rel=1e-10)


def test_exit_time_is_that_of_the_solved_equation():
    """The integral of dm / (dm/dt) against an integration in time; a scale 20% larger is rejected."""

    def reached(_, m):
        return m[0] - 0.4

    reached.terminal = True
    time = solve_ivp(lambda _, m: [PHASE.speed(m[0], 0.3)], (0, 100), [0.01], events=reached, rtol=1e-9, atol=1e-12).t[
        -1
    ]
    assert exit_time(PHASE, 0.3, 0.01, 0.4) == pytest.approx(time, rel=1e-6)
    assert exit_time(PHASE, 0.36, 0.01, 0.4) != pytest.approx(time, rel=0.05)
    assert exit_time(PHASE, 0.3, -0.01, -0.4) == pytest.approx(time, rel=1e-6)


def test_a_step_too_large_never_gets_there():
    """c = 1 leaves m = 0 fastest, but the noise C(m) = 2 + 8 m^2 grows on the way: 2 (1 - m^2) = C/2 at m^2 = 1/6."""
    assert exit_time(PHASE, 1.0, 0.01, 0.40) < np.inf
    assert exit_time(PHASE, 1.0, 0.01, 0.42) == np.inf
    assert exit_time(PHASE, 2.1, 0.01, 0.02) == np.inf
    assert mean_exit_time(PHASE, 1.0, 1000, 0.5) == np.inf
    with pytest.raises(InvalidParameter, match="beyond the start"):
        exit_time(PHASE, 0.3, 0.5, 0.1)


def test_hitting_times_follow_their_laws():
    """d, d log d, d^2: the power law fitted to the equation's own times at d = 10^4 .. 10^8, and the prefactor."""
    dims = np.array([10**4, 10**5, 10**6, 10**7, 10**8])
    linear = spherical_neuron(target("tanh(h1)"), "tanh")
    for neuron, scale, text, power in ((linear, 1.0, "d", 1.0), (CUBIC, fastest_scale(CUBIC), "d^2", 2.0)):
        law = hitting_law(neuron, scale)
        steps = np.array([hitting_steps(neuron, scale, int(d)) for d in dims])
        assert law.text == text
        assert fit_power_law(dims, steps).exponent == pytest.approx(power, abs=0.01)
        assert steps[-1] == pytest.approx(law.steps(10**8), rel=1e-3)
        assert steps[-1] != pytest.approx(1.2 * law.steps(10**8), rel=1e-3)
    law = hitting_law(PHASE, 0.3)
    times = np.array([hitting_steps(PHASE, 0.3, int(d), level=0.3) for d in dims]) / dims
    assert law.text == "d log d"
    slopes = np.diff(times) / np.diff(np.log(dims))
    np.testing.assert_allclose(slopes, law.prefactor, rtol=1e-3)
    assert law.steps(10**6) == pytest.approx(10**6 * np.log(10**6) / (2 * 0.51), rel=1e-9)


def test_best_steps():
    """l = 2: c = 1, T = (1/2) d log d. l = 3: u = .7153 of the step at which the noise wins, a minimum."""
    assert fastest_scale(PHASE) == pytest.approx(1.0, rel=1e-12)
    assert hitting_law(PHASE, 1.0).prefactor == pytest.approx(0.5, rel=1e-12)
    assert hitting_law(PHASE, 2.01).prefactor == np.inf
    assert best_fraction() == pytest.approx(0.71533, abs=1e-5)
    best = fastest_scale(CUBIC)
    assert all(
        hitting_law(CUBIC, best).prefactor < hitting_law(CUBIC, factor * best).prefactor for factor in (0.9, 1.1)
    )
    assert hitting_law(CUBIC, best / best_fraction() * 1.001).prefactor == np.inf
    falling = spherical_neuron(target("-He4(h1)"), "He4")
    assert hitting_law(falling, 1e-3).prefactor == np.inf, "an even power with the wrong sign pulls back to zero"
    mirrored = spherical_neuron(target("-He3(h1)"), "He3")
    assert hitting_steps(mirrored, fastest_scale(mirrored), 10**5) < np.inf, "an odd power pulls to the other side"


@pytest.mark.parametrize(("dim", "measured"), [(1000, 1.18), (10**4, 1.04)])
def test_published_ratio_of_exit_times(dim, measured):
    """Phase retrieval with a squared activation, spherical, squared loss, c = .1, noise 1e-4; out when the risk
    4 (1 - m^2) has fallen by 1%. Arnaboldi et al. 2023 measure a mean exit time of 1.18 (d = 1000) and 1.04 (d = 10^4)
    times that of the equation from 1/sqrt(d), read off a figure with an error of about .05."""
    neuron = spherical_neuron(target("h1**2", noise=1e-4), "square", loss="squared")
    ratio = mean_exit_time(neuron, 0.1, dim, 0.1) / exit_time(neuron, 0.1, dim**-0.5, 0.1)
    assert ratio == pytest.approx(measured, abs=0.05)
    assert 1.2 * ratio != pytest.approx(measured, abs=0.05)


def test_refusals():
    with pytest.raises(InvalidParameter, match="one direction"):
        spherical_neuron(target("h1*h2"), "tanh")
    with pytest.raises(InvalidParameter, match="shares a Hermite coefficient"):
        spherical_neuron(target("He2(h1)"), "He3")
    with pytest.raises(InvalidParameter, match="information exponent 2"):
        mean_exit_time(CUBIC, 0.1, 1000, 0.5)
    with pytest.raises(InvalidParameter, match="no search"):
        fastest_scale(spherical_neuron(target("tanh(h1)"), "tanh"))
