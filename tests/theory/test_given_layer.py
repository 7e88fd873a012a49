"""Ridge regression on the features of a given first layer: moments in closed form, random features, no signal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.kernels.given_layer import feature_spectrum, hermite_label
from featlab.theory.kernels.predictor import degree_energies
from featlab.theory.kernels.random_features import random_features_risk

RELU, WIDTH, DIM = activation("relu"), 40, 6
DRAW = np.random.default_rng(0)
WEIGHTS, BIASES = DRAW.standard_normal((WIDTH, DIM)), DRAW.standard_normal(WIDTH)
SIZES = np.linalg.norm(WEIGHTS, axis=1)


def test_the_covariance_is_that_of_the_arc_cosine_kernel() -> None:
    """Of unit rows without biases, up to what |rho|^25 leaves of the energy beyond degree 24."""
    units = WEIGHTS / SIZES[:, None]
    found = feature_spectrum(RELU, units, np.zeros(WIDTH), hermite_label(target("h1")), np.zeros(DIM)).values
    cosines = np.clip(units @ units.T, -1, 1)
    expected = np.linalg.eigvalsh((RELU.kernel(cosines) - 1 / (2 * np.pi)) / WIDTH)
    apart = np.max(np.abs(cosines - np.diag(np.diag(cosines))))
    assert np.allclose(found, expected, atol=apart**25 * RELU.residual(24) + 1e-5)
    assert not np.allclose(found, np.linalg.eigvalsh(RELU.kernel(cosines) / WIDTH), atol=1e-3)  # its mean is taken off


@pytest.mark.parametrize(
    ("text", "product"),
    [("h1", WEIGHTS[:, 0]), ("h1*h2", WEIGHTS[:, 0] * WEIGHTS[:, 1]), ("He2(h1)", WEIGHTS[:, 0] ** 2)],
)
def test_moments_with_the_label_are_those_of_stein(text: str, product: np.ndarray) -> None:
    """E[sigma(u) He_a(x)] = E[sigma^(|a|)(u)] w^a; of relu, E[sigma'] = Phi(b/s) and E[sigma''] = phi(b/s)/s."""
    found = feature_spectrum(RELU, WEIGHTS, BIASES, hermite_label(target(text)), np.zeros(DIM))
    slopes = norm.cdf(BIASES / SIZES) if text == "h1" else norm.pdf(BIASES / SIZES) / SIZES
    assert found.along.sum() == pytest.approx(np.sum((slopes * product) ** 2) / WIDTH, rel=1e-3)


@pytest.mark.parametrize("text", ["He4(h1)/sqrt(24)", "h1*He2(h2)/sqrt(2)", "h1*h2*h3", "h1*h2*h3*He2(h4)/sqrt(2)"])
def test_a_polynomial_has_its_own_coefficient_alone(text: str) -> None:
    """One for each number of directions, and the variance that they and the noise make."""
    of = target(text, noise=0.2)
    label = hermite_label(of)
    found = np.concatenate(label.coefficients)
    assert np.sort(np.abs(found))[-2:] == pytest.approx([0, 1], abs=1e-7)
    assert label.variance == pytest.approx(1.2, abs=1e-6)
    degree = next(number for number, one in enumerate(label.coefficients, start=1) if np.abs(one).max() > 0.5)
    assert degree == {1: 4, 2: 3, 3: 3, 4: 5}[of.rank]


def test_coefficients_of_a_link_with_a_kink_or_a_jump() -> None:
    """E[|x| He_2] = sqrt(2/pi), by sqrt(2); E[sign(x) x] = sqrt(2/pi); in two directions, where nodes are fewer."""
    kink, jump = (hermite_label(target(text)).coefficients for text in ("abs(h1)", "sign(h1)"))
    both = hermite_label(target("abs(h1) + sign(h2)")).coefficients
    assert kink[1][0] == pytest.approx(np.pi**-0.5, rel=1e-4)
    assert jump[0][0] == pytest.approx((2 / np.pi) ** 0.5, rel=1e-4)
    assert [both[1][0], both[0][1]] == pytest.approx([np.pi**-0.5, (2 / np.pi) ** 0.5], rel=1e-3)


def test_a_linear_part_that_is_taken_off_leaves_the_noise() -> None:
    slope = np.zeros(DIM)
    slope[0] = 0.7
    found = feature_spectrum(RELU, WEIGHTS, BIASES, hermite_label(target("0.7*h1", noise=0.3)), slope)
    assert found.along.sum() < 1e-6
    assert found.variance == pytest.approx(0.3, rel=1e-3)
    other = np.roll(slope, 3)  # where the label does not depend on x: so much more is to be fitted
    more = feature_spectrum(RELU, WEIGHTS, BIASES, hermite_label(target("0.7*h1", noise=0.3)), other)
    assert more.variance == pytest.approx(0.3 + 2 * 0.49, rel=1e-3)


def test_layers_that_nothing_trained_are_random_features() -> None:
    """In the mean over draws of W within four standard errors and corrections of relative order 1/d, less the mean of
    the label; half as many neurons are refused."""
    dim, width, samples, ridge, of = 40, 60, 300, 1e-3, target("tanh(h1)", noise=0.1)
    sizes = {"dim": dim, "samples": samples, "ridge": ridge, "bias": 0.5}

    def risk(seed: int) -> float:
        rows = np.random.default_rng([3, seed]).standard_normal((width, dim))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        spectrum = feature_spectrum(RELU, rows, np.full(width, 0.5), hermite_label(of), np.zeros(dim))
        return spectrum.risk(samples, ridge) / (1 + 1 / samples)

    found = np.array([risk(seed) for seed in range(8)])
    allowed = 4 * found.std(ddof=1) / 8**0.5 + found.mean() / dim
    expected, half = (random_features_risk(RELU, degree_energies(of, 3), width=p, **sizes) for p in (width, width // 2))
    assert abs(found.mean() - expected) < allowed < abs(found.mean() - half)
