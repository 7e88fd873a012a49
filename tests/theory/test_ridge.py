"""The Gaussian equivalent of ridge regression: limits, floors, reference numbers, and two forms that must agree."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.ridge import LinearPart, effective_ridge, gaussian_risk, given_weights_risk, linear_part
from featlab.theory.spikes import gradient_spike, label_moments, slope_moments

TANH = linear_part(activation("tanh"))
RELU_TEACHER = label_moments(target("relu(h1) - 0.3989422804014327", noise=0.01))


def test_linear_part_keeps_all_energy_and_no_rounding():
    assert TANH.mean == 0
    assert (TANH.slope, TANH.residual) == pytest.approx((0.60571, 0.02742), abs=1e-5)
    relu = linear_part(activation("relu"))
    assert relu.mean**2 + relu.slope**2 + relu.residual == pytest.approx(0.5)


def test_effective_ridge_solves_its_equation():
    values = np.array([0.1, 1.0, 3.0, 10.0])
    for samples, ridge in ((2, 1e-6), (4, 0.1), (100, 2.0)):
        kappa = effective_ridge(lambda k: np.sum(values / (values + k)), np.sum(values), samples, ridge)
        assert kappa * (1 - np.sum(values / (values + kappa)) / samples) == pytest.approx(ridge, rel=1e-10)


@pytest.mark.parametrize(("eta", "risk"), [(0, 0.2271), (1, 0.2197), (2, 0.2057), (4, 0.1838)])
def test_numbers_after_one_small_step(eta, risk):
    """tanh student, centred relu teacher, sigma_eps = .1, psi1 = 2, psi2 = 1, ridge .1: excess risks computed before
    for
    one W at d = 600, so up to 2%; measured .2328, .2240, .2085, .1845."""
    gradient = gradient_spike(RELU_TEACHER, 2.0)
    strength = eta * slope_moments(activation("tanh")).slope * gradient.strength
    sizes = {"sample_ratio": 2.0, "width_ratio": 1.0, "ridge": 0.1}
    found = gaussian_risk(TANH, RELU_TEACHER, **sizes, strength=strength, cosine=gradient.cosine) - 0.01
    assert found == pytest.approx(risk, rel=0.02)
    assert 1.2 * found != pytest.approx(risk, rel=0.02)


@pytest.mark.parametrize("student", ["tanh", "relu"])
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_closed_form_is_the_limit_of_given_weights(student, strength):
    """At d = 600 the resolvent's quadratic forms fluctuate by 1/sqrt(d): the mean of 4 matrices within 1.5%."""
    part, labels, cosine = linear_part(activation(student)), label_moments(target("relu(h1) + h1*h2/2", noise=0.1)), 0.7
    dim, width, samples, ridge = 600, 300, 900, 0.2
    rng, risks = np.random.default_rng(3), []
    for _ in range(4):
        spike = np.eye(dim)[0] * cosine + np.eye(dim)[2] * np.sqrt(1 - cosine**2)
        second = rng.standard_normal(width)
        weights = rng.standard_normal((width, dim)) / np.sqrt(dim)
        weights += strength * np.outer(second / np.linalg.norm(second), spike)
        risks.append(given_weights_risk(weights, weights[:, :2], part, labels, samples, ridge / width))
    sizes = {"sample_ratio": samples / dim, "width_ratio": width / dim, "ridge": ridge}
    closed = gaussian_risk(part, labels, **sizes, strength=strength, cosine=cosine)
    assert np.mean(risks) == pytest.approx(closed, rel=0.015)
    assert np.mean(risks) != pytest.approx(1.2 * closed, rel=0.015)


def test_limits():
    """No fit at an infinite ridge; with n >> p >> d the linear part is learned, and nothing below it."""
    everything = {"sample_ratio": 1e9, "width_ratio": 1e4, "ridge": 1e-8}
    assert gaussian_risk(TANH, RELU_TEACHER, **everything) == pytest.approx(RELU_TEACHER.floor, rel=1e-3)
    nothing = {"sample_ratio": 2.0, "width_ratio": 1.0, "ridge": 1e9}
    assert gaussian_risk(TANH, RELU_TEACHER, **nothing) == pytest.approx(RELU_TEACHER.second, rel=1e-6)
    sizes = {"sample_ratio": 2.0, "width_ratio": 1.0, "ridge": 0.1}
    unaligned = gaussian_risk(TANH, RELU_TEACHER, **sizes, strength=3.0, cosine=0.0)
    assert unaligned == pytest.approx(gaussian_risk(TANH, RELU_TEACHER, **sizes)), "it lies across the target"


def test_linear_student_is_plain_ridge_regression():
    """With sigma(z) = z and many neurons, ridge regression on x itself: n < d, ridge -> 0 gives the interpolator's risk
    (1 - psi1) mu1*^2 + sigma^2/(1 - psi1) (Hastie et al. 2022)."""
    labels = label_moments(target("h1", noise=0.5))
    part = LinearPart(0.0, 1.0, 1e-12)
    found = gaussian_risk(part, labels, sample_ratio=0.25, width_ratio=1e6, ridge=1e-9)
    assert found == pytest.approx(0.75 + 0.5 / 0.75, rel=1e-3)


@pytest.mark.parametrize("sample_ratio", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("eta", [0.0, 2.0, 10.0])
def test_risk_stays_above_what_is_linear(sample_ratio, eta):
    gradient = gradient_spike(RELU_TEACHER, sample_ratio)
    spike = {"strength": eta * TANH.slope * gradient.strength, "cosine": gradient.cosine}
    for ridge in (1e-3, 0.1, 10.0):
        sizes = {"sample_ratio": sample_ratio, "width_ratio": 2.0, "ridge": ridge}
        assert gaussian_risk(TANH, RELU_TEACHER, **sizes, **spike) > RELU_TEACHER.floor
