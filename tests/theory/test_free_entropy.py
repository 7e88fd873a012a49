"""The free entropy, which branch wins, and the errors on fresh samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from featlab.targets import target
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.errors import bayes_errors
from featlab.theory.bayes.free_entropy import bayes_optimal, free_entropy, free_entropy_gradient
from featlab.theory.bayes.state_evolution import state_evolution


@pytest.mark.parametrize(
    ("text", "alpha", "tolerance"),
    [("abs(h1)", 0.8, 1e-6), ("tanh(h1)", 0.7, 1e-5), ("sign(h1*h2)", 4.0, 1e-5), ("h1*h2", 1.2, 2e-3)],
)
def test_stationary_at_the_fixed_point(text: str, alpha: float, tolerance: float) -> None:
    """Along Q = q I; for h1 h2 the channel's own error, 1e-3 of F, is what is left of the slope."""
    told, rank = channel_of(target(text)), target(text).rank
    overlap = state_evolution(text, alpha).overlap

    def slope(q: float) -> float:
        step = 1e-3
        ahead, behind = (free_entropy(told, alpha, (q + sign * step) * np.eye(rank)) for sign in (1, -1))
        return (ahead - behind) / (2 * step)

    q = float(overlap[0, 0])
    off = slope(0.8 * q)
    assert abs(slope(q)) < tolerance
    assert abs(off) > 10 * tolerance, "negative control: an overlap 20% off is not stationary"
    assert np.linalg.norm(free_entropy_gradient(told, alpha, overlap)) < 1e-4
    assert np.trace(free_entropy_gradient(told, alpha, 0.8 * q * np.eye(rank))) == pytest.approx(off, rel=2e-2)


@pytest.mark.parametrize(("text", "alpha"), [("abs(h1)", 0.8), ("sign(h1*h2)", 4.0), ("h1**2 + sign(h1*h2*h3)", 1.0)])
def test_the_derivative_in_alpha_is_the_entropy_term(text: str, alpha: float) -> None:
    told = channel_of(target(text))
    step = 0.01
    values = [
        free_entropy(told, alpha + sign * step, state_evolution(text, alpha + sign * step).overlap) for sign in (1, -1)
    ]
    derivative = (values[0] - values[1]) / (2 * step)
    entropy = told.at(state_evolution(text, alpha).overlap).entropy
    assert derivative == pytest.approx(entropy, rel=2e-3)
    assert derivative != pytest.approx(1.2 * entropy, rel=2e-3), "negative control"


def test_phase_retrieval_is_hard_between_one_and_1128() -> None:
    """The best estimate is perfect from alpha = 1 on (as many equations as unknowns), message passing from 1.128 on."""
    below, between, above = (bayes_optimal("abs(h1)", alpha) for alpha in (0.97, 1.05, 1.13))
    assert not below.hard
    assert below.overlap[0, 0] == pytest.approx(below.uninformed.overlap[0, 0], abs=1e-6)
    assert between.hard
    assert between.overlap[0, 0] == 1.0
    assert between.informed.free_entropy == np.inf
    assert between.uninformed.overlap[0, 0] == pytest.approx(0.568, abs=1e-3)
    assert not above.hard
    assert above.overlap[0, 0] == 1.0


def test_both_branches_agree_where_the_transition_is_continuous() -> None:
    found = bayes_optimal("sign(h1*h2)", 4.0)
    assert not found.hard
    assert found.informed.overlap == pytest.approx(found.uninformed.overlap, abs=1e-6)
    assert found.informed.free_entropy == pytest.approx(found.uninformed.free_entropy, abs=1e-9)


def test_plug_in_error_of_two_parity() -> None:
    """P(sign(w1 w2) != y) = (1 - (2/pi asin sqrt q)^2) / 2, published at four overlaps."""
    for q, published in ((0.2427, 0.446), (0.6438, 0.324), (0.8235, 0.238), (0.9325, 0.153)):
        found = bayes_errors("sign(h1*h2)", q * np.eye(2))
        expected = 0.5 * (1 - (2 / np.pi * np.arcsin(np.sqrt(q))) ** 2)
        assert found.plug_in_label == pytest.approx(expected, abs=2e-5)
        assert found.plug_in_label == pytest.approx(published, abs=6e-4)
        assert found.plug_in_label != pytest.approx(1.2 * published, abs=6e-4), "negative control"
        assert found.label == pytest.approx(found.plug_in_label, abs=1e-9), "the likeliest label is the plug-in's"
        assert found.plug_in == pytest.approx(4 * expected, abs=1e-4)
        assert found.squared < found.plug_in


def test_errors_by_mehlers_formula() -> None:
    """E[g(z) g(z')] = sum k! c_k^2 q^k for two draws of z given the same omega, so He3 leaves 6 (1 - q^3)."""
    q = 0.5
    found = bayes_errors("He3(h1)", np.array([[q]]))
    assert found.squared == pytest.approx(6 * (1 - q**3), rel=1e-4)
    # g(omega) = omega^3 - 3 omega against E[g | omega] = q^{3/2} He3(omega / sqrt q) = omega^3 - 3 q omega
    assert found.plug_in == pytest.approx(6 * (1 - q**3) + 9 * (1 - q) ** 2 * q, rel=1e-4)
    assert found.label is None
    assert bayes_errors("h1*h2", 0.3 * np.eye(2)).squared == pytest.approx(1 - 0.09, rel=1e-6)
    assert bayes_errors(target("h1*h2", noise=0.1), 0.3 * np.eye(2)).squared == pytest.approx(1.1 - 0.09, rel=1e-6)


def test_errors_with_noise_inside_the_link() -> None:
    """y = sign(h1 + xi): P(y = 1 | omega) = Phi(omega / sqrt(v + 1)), of which the better guess is right."""
    q = 0.5
    omega = np.sqrt(q) * np.linspace(-8, 8, 4001)
    weights = np.exp(-0.5 * omega**2 / q)
    right = ndtr(np.abs(omega) / np.sqrt(2 - q))
    found = bayes_errors("sign(h1 + xi1)", np.array([[q]]))
    assert found.label == pytest.approx(1 - weights @ right / weights.sum(), abs=1e-5)
    assert found.plug_in_label is None


def test_the_ends() -> None:
    nothing, everything = (bayes_errors("sign(h1)", np.array([[q]])) for q in (0.0, 1.0))
    assert nothing.squared == pytest.approx(1)
    assert nothing.label == pytest.approx(0.5)
    assert everything.squared == pytest.approx(0, abs=1e-4)
    assert everything.label == pytest.approx(0, abs=1e-4)
