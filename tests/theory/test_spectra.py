"""The spectrum of the features: Marchenko-Pastur without a step, a dense matrix after a giant one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import erf

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.giant.features import (
    FirstStep,
    Neurons,
    moments_of_free_cumulants,
    row_profile,
    spike_rule,
    trained_features,
    untrained_features,
)
from featlab.theory.giant.labels import conditional_labels
from featlab.theory.spectra import feature_spectrum
from featlab.theory.spikes import GradientSpike, bulk_density, gradient_spike, label_moments

ONE = Neurons(np.ones(1), np.zeros(1), np.ones(1))
ERF = activation("erf")
SINE = target("sin(h1)")
DIM, WIDTH, BATCH, SCALE = 400, 400, 800, 3.0


@pytest.mark.parametrize("ratio", [0.3, 0.8])
def test_random_features_have_a_marchenko_pastur_law(ratio):
    """mu_*^2 + mu1^2 s^2, s the singular values of W, up to the height above the axis where it is solved."""
    features = untrained_features(ERF, ONE, 1.0, varying_norm=False)
    slope, rest = float(features.slopes[0, 0]), float(features.residuals[0, 0])
    low, high = abs(1 - np.sqrt(ratio)), 1 + np.sqrt(ratio)
    values = np.linspace(low + 0.1, high - 0.05, 20)  # at the very edges the iteration is slow, and says so
    found = feature_spectrum(features, int(10**6 * ratio), 10**6, rest + slope**2 * values**2)
    assert np.all(found.converged)
    expected = bulk_density(values, ratio) / (2 * slope**2 * values)
    assert found.density == pytest.approx(expected, rel=2e-3)
    assert found.density != pytest.approx(1.2 * expected, rel=2e-3)


def test_share_below_is_the_integral_of_the_density():
    labels = label_moments(SINE)
    step = FirstStep(2.0, gradient_spike(labels, 2.0), row_profile(SINE, 0.0, 2.0))
    neurons = Neurons(np.array([-1.5, -0.5, 0.5, 1.5]), np.zeros(4), np.full(4, 0.25))
    features = trained_features(ERF, neurons, 1.0, step, varying_norm=False)
    points = np.linspace(0.02, 1.0, 120)
    for samples in (None, 2 * 10**6):
        found = feature_spectrum(features, 10**6 // 2, 10**6, points, samples)
        between = trapezoid(found.density, points)
        assert found.cumulative[-1] - found.cumulative[0] == pytest.approx(between, rel=5e-3)
        assert np.all(np.diff(found.cumulative) > -1e-6)


def test_free_cumulants_of_a_poisson_law_give_its_moments():
    """All free cumulants q^{m-1} is Marchenko-Pastur: moments 1, 1 + q, 1 + 3q + q^2, ... (Narayana)."""
    q = 0.4
    moments = moments_of_free_cumulants(q ** np.arange(5.0))
    narayana = [1, 1, 1 + q, 1 + 3 * q + q**2, 1 + 6 * q + 6 * q**2 + q**3, 1 + 10 * q + 20 * q**2 + 10 * q**3 + q**4]
    assert moments == pytest.approx(narayana)


def test_row_profile_has_the_moments_of_the_batch():
    """B = (1/n) sum y^2 x x^T / E[y^2] at d = 400, n = 2d: tr B^k/d for k = 1, 2, 3 up to their fluctuations of 1/d."""
    profile = row_profile(target("sin(h1)", noise=0.2), 0.0, 2.0)
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2 * DIM, DIM))
    y = np.sin(x[:, 0]) + np.sqrt(0.2) * rng.standard_normal(2 * DIM)
    values = np.linalg.eigvalsh((x.T * y**2) @ x / len(x)) / label_moments(target("sin(h1)", noise=0.2)).second
    for power, error in ((1, 0.06), (2, 0.12), (3, 0.18)):
        expected = profile.weights @ profile.levels**power
        assert np.mean(values**power) == pytest.approx(expected, rel=error)
    assert profile.weights @ profile.levels == pytest.approx(1)
    assert profile.weights @ profile.levels**2 > 1.5, "an even profile is wrong here"


@pytest.fixture(scope="module")
def stepped():
    """One giant step of an erf student on sin(h1), dense; eigenvalues of both covariances, and what was realised."""
    rng = np.random.default_rng(2)
    weights, second = rng.standard_normal((WIDTH, DIM)), np.sort(rng.standard_normal(WIDTH))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    x = rng.standard_normal((BATCH, DIM))
    fields = x @ weights.T
    residual = np.sin(x[:, 0]) - erf(fields) @ second / WIDTH
    slopes = 2 / np.sqrt(np.pi) * np.exp(-(fields**2)) * residual[:, None]
    weights = weights + SCALE * second[:, None] * (slopes.T @ x) / BATCH
    gram = weights @ weights.T
    scale = np.sqrt(1 + 2 * np.diag(gram))
    population = np.linalg.eigvalsh(2 / np.pi * np.arcsin(2 * gram / np.outer(scale, scale)))
    fresh = erf(rng.standard_normal((2 * DIM, DIM)) @ weights.T)
    sample = np.linalg.eigvalsh(fresh.T @ fresh / len(fresh))
    common = x.T @ residual / BATCH
    norm = float(np.linalg.norm(common))
    gradient = GradientSpike(norm, abs(common[0]) / norm, float(np.mean(residual**2)) * DIM / BATCH)
    groups = second.reshape(50, -1)
    types = np.sqrt(np.mean(groups**2, axis=1)) * np.sign(groups.mean(axis=1))
    return population, sample, gradient, Neurons(types, np.zeros(50), np.full(50, 0.02))


def features_of(gradient, neurons, profile):
    square = conditional_labels(SINE, np.ones(1), gradient.cosine, spike_rule()[0]).square
    step = FirstStep(SCALE, gradient, profile)
    return trained_features(ERF, neurons, 1.0, step, varying_norm=False, label_square=square)


def distance(features, eigenvalues, samples):
    """Between the distribution functions, at every eighth eigenvalue."""
    index = np.arange(4, WIDTH, 8)
    found = feature_spectrum(features, WIDTH, DIM, eigenvalues[index], samples)
    return np.max(np.abs(found.cumulative - (index + 0.5) / WIDTH))


def test_distribution_after_a_giant_step(stepped):
    """d = 400, one matrix: the distribution functions are .01 apart at most, of the population and of 2d samples. The
    same
    test rejects eigenvalues 20% too large, and neurons without what their own gradients add."""
    population, sample, gradient, neurons = stepped
    features = features_of(gradient, neurons, row_profile(SINE, 0.0, BATCH / DIM))
    assert distance(features, population, None) < 0.01
    assert distance(features, sample, 2 * DIM) < 0.01
    assert distance(features, 1.2 * population, None) > 0.02
    assert distance(features, 1.2 * sample, 2 * DIM) > 0.02
    rank_one = GradientSpike(gradient.strength, gradient.cosine, 0.0)
    without = features_of(rank_one, neurons, row_profile(SINE, 0.0, BATCH / DIM))
    assert distance(without, population, None) > 0.05
    assert distance(without, sample, 2 * DIM) > 0.02


def test_outliers_are_counted(stepped):
    """Beyond the bulk lie a few eigenvalues: the share above a point in the gap is their number over p."""
    population, _, gradient, neurons = stepped
    features = features_of(gradient, neurons, row_profile(SINE, 0.0, BATCH / DIM))
    gap = int(np.argmax(population[-8:-1] / population[-9:-2])) - 8  # the widest step among the largest ones
    point = 0.5 * (population[gap] + population[gap - 1])
    share = 1 - feature_spectrum(features, WIDTH, DIM, np.array([point])).cumulative[0]
    assert share * WIDTH == pytest.approx(-gap, abs=0.3)


def test_points_must_be_positive():
    with pytest.raises(InvalidParameter, match="above 0"):
        feature_spectrum(untrained_features(ERF, ONE, 1.0, varying_norm=False), 10, 10, np.array([-1.0]))
