"""Random features at any n, p and d: against the kernel's limit, the proportional limit, and plain ridge regression."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.activations import activation
from featlab.learners.kernel_functions import ArcCosine
from featlab.targets import target
from featlab.theory.kernels.isotropic import isotropic_risk
from featlab.theory.kernels.predictor import degree_energies
from featlab.theory.kernels.random_features import feature_energies, random_features_risk
from featlab.theory.ridge import gaussian_risk, linear_part
from featlab.theory.spikes import label_moments

_RELU = activation("relu")
_THREE = target("h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6)")


def test_energies_of_relu_and_of_its_shift():
    energies, beyond = feature_energies(_RELU, 4)
    assert energies == pytest.approx([1 / (2 * np.pi), 0.25, 1 / (4 * np.pi), 0, 1 / (48 * np.pi)], abs=1e-12)
    assert energies.sum() + beyond == pytest.approx(0.5)
    shifted, _ = feature_energies(_RELU, 3, bias=0.5)
    density = np.exp(-0.125) / np.sqrt(2 * np.pi)
    assert shifted[3] == pytest.approx((0.5 * density) ** 2 / 6)  # E[relu'' He_1] = He_1(-1/2) phi(1/2)


def test_many_neurons_are_the_kernel():
    sizes = {"dim": 10**4, "samples": 30_000, "ridge": 1e-3}
    degrees = degree_energies(_THREE, 3)
    wide = random_features_risk(_RELU, degrees, width=10**12, **sizes)
    assert wide == pytest.approx(isotropic_risk(ArcCosine(1), degrees, **sizes).risk, rel=2e-3)


@pytest.mark.parametrize("ratios", [(0.5, 2.0), (2.0, 0.5), (3.0, 3.0)])
def test_in_proportion_it_is_the_gaussian_equivalent(ratios):
    dim, of = 10**6, target("tanh(h1)", noise=0.1)
    samples, width = (round(ratio * dim) for ratio in ratios)
    found = random_features_risk(
        _RELU, degree_energies(of, 1), dim=dim, samples=samples, width=width, ridge=0.1 / width
    )
    options = {"sample_ratio": ratios[0], "width_ratio": ratios[1], "ridge": 0.1}
    expected = gaussian_risk(linear_part(_RELU), label_moments(of), **options)
    assert found == pytest.approx(expected, rel=1e-4)
    assert found != pytest.approx(
        gaussian_risk(linear_part(_RELU), label_moments(of), **{**options, "ridge": 0.2}), rel=1e-3
    )


def test_beyond_proportion_it_is_plain_ridge_regression():
    """n, p ~ d^1.8 at d = 20: mean over seeds within 3 standard errors plus 1/d; a tenth of the width is refused."""
    dim, samples, width, ridge, bias = 20, 220, 300, 1e-2, 0.5
    risks = []
    for seed in range(24):
        draw = np.random.default_rng([7, seed])
        rows = draw.standard_normal((width, dim))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        inputs = draw.standard_normal((samples + 4000, dim))
        features = np.maximum(inputs @ rows.T + bias, 0) / np.sqrt(width)
        labels = _THREE.link(inputs[:, :1])
        seen = features[:samples]
        fitted = np.linalg.solve(seen.T @ seen / samples + ridge * np.eye(width), seen.T @ labels[:samples] / samples)
        risks.append(np.mean((labels[samples:] - features[samples:] @ fitted) ** 2))
    mean, error = np.mean(risks), np.std(risks, ddof=1) / np.sqrt(len(risks))
    sizes = {"dim": dim, "samples": samples, "ridge": ridge, "bias": bias}
    right = random_features_risk(_RELU, degree_energies(_THREE, 3), width=width, **sizes)
    wrong = random_features_risk(_RELU, degree_energies(_THREE, 3), width=width // 10, **sizes)
    assert abs(mean - right) < 3 * error + right / dim
    assert abs(mean - wrong) > 3 * error + wrong / dim


@pytest.mark.parametrize(("power", "left"), [(0.5, 3.0), (1.5, 2.0), (2.5, 1.0)])
def test_it_falls_in_steps(power, left):
    dim = 10**8
    samples = round(dim**power)
    sizes = {"dim": dim, "samples": samples, "width": 2 * samples, "bias": 0.5}
    degrees = degree_energies(_THREE, 4)
    found = min(random_features_risk(_RELU, degrees, ridge=10.0**k, **sizes) for k in range(-24, 3))
    assert found == pytest.approx(left, rel=0.02)
    assert found != pytest.approx(left - 1, rel=0.02)
