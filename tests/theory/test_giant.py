"""A giant step: conditional features, labels and ridge, overlaps; by closed forms, limits and published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.learners import RandomFeatures, TwoLayer
from featlab.targets import target
from featlab.theory.giant.bounds import aligned_error
from featlab.theory.giant.features import (
    EVEN,
    FirstStep,
    Neurons,
    row_profile,
    spike_rule,
    trained_features,
    untrained_features,
)
from featlab.theory.giant.given import given_features, given_ridge_risk
from featlab.theory.giant.labels import conditional_labels
from featlab.theory.giant.readout import neuron_law
from featlab.theory.giant.ridge import Sizes, ridge_risk
from featlab.theory.ridge import gaussian_risk, given_weights_risk, linear_part
from featlab.theory.spikes import GradientSpike, gradient_spike, label_moments, slope_moments

ONE = Neurons(np.ones(1), np.zeros(1), np.ones(1))
TANH, ERF, RELU = (activation(name) for name in ("tanh", "erf", "relu"))


def gaussian_neurons():
    return neuron_law(TwoLayer(2, second_layer="gaussian"), RandomFeatures(10), np.ones(1))


def test_smoothing_has_its_closed_forms():
    """E erf(u + r z) = erf(u/s), E[erf z] = 2 r exp(-u^2/s^2)/(sqrt(pi) s), s^2 = 1 + 2 r^2; those of relu."""
    shifts, scales = np.array([-3.0, 0.0, 0.4, 30.0]), np.array([1.0, 0.3, 4.0, 2.0])
    size = np.sqrt(1 + 2 * scales**2)
    mean, slope, _, _ = field_moments(ERF.value, ERF.kinks, shifts, scales)
    assert mean == pytest.approx(erf(shifts / size), abs=1e-10)
    assert slope == pytest.approx(2 * scales * np.exp(-((shifts / size) ** 2)) / (np.sqrt(np.pi) * size), abs=1e-10)
    mean, slope, bend, square = field_moments(RELU.value, RELU.kinks, shifts, scales)
    ratio = shifts / scales
    density, below = np.exp(-0.5 * ratio**2) / np.sqrt(2 * np.pi), 0.5 * (1 + erf(ratio / np.sqrt(2)))
    assert mean == pytest.approx(shifts * below + scales * density, abs=1e-9)
    assert slope == pytest.approx(scales * below, abs=1e-9)
    assert bend == pytest.approx(scales * density, abs=1e-9)
    assert square == pytest.approx((shifts**2 + scales**2) * below + shifts * scales * density, abs=1e-9)


def test_learned_basis_of_an_erf_student():
    """Without noise of their own, neurons offer erf(a k/sqrt 3), and the slopes (2/sqrt(3 pi)) exp(-(a k)^2/3)
    (Dandi et al. 2024, arXiv:2410.18938, where the exponent of the talk was misprinted)."""
    neurons = Neurons(np.array([0.5, 2.0]), np.zeros(2), np.full(2, 0.5))
    slope = slope_moments(ERF).slope
    step = FirstStep(1.0, GradientSpike(1 / slope, 1.0, 0.0))
    features = trained_features(ERF, neurons, 1.0, step, varying_norm=False)
    along = neurons.second[:, None] * features.nodes
    assert features.means == pytest.approx(erf(along / np.sqrt(3)), abs=1e-10)
    assert features.slopes == pytest.approx(2 / np.sqrt(3 * np.pi) * np.exp(-(along**2) / 3), abs=1e-10)


@pytest.mark.parametrize("text", ["relu(h1) + h2**2/2", "sign(h1*h2) + h1", "tanh(2*h1)", "h1 + h1*xi1"])
@pytest.mark.parametrize("cosine", [0.0, 0.8])
def test_labels_given_the_spike_add_up(text, cosine):
    """Over kappa: E[y], E[y^2] and E[y kappa] = c mu1*; and E[y s] = sqrt(1 - c^2) mu1*."""
    of = target(text, noise=0.1)
    labels = label_moments(of)
    nodes, weights = spike_rule()
    given = conditional_labels(of, labels.direction, cosine, nodes)
    assert weights @ given.mean == pytest.approx(labels.mean, abs=2e-6)
    assert weights @ given.square == pytest.approx(labels.second, rel=2e-6)
    assert weights @ (given.mean * nodes) == pytest.approx(cosine * labels.linear_norm, abs=2e-6)
    assert weights @ given.linear[:, 0] == pytest.approx(np.sqrt(1 - cosine**2) * labels.linear_norm, abs=2e-6)


@pytest.mark.parametrize("student", [TANH, RELU])
@pytest.mark.parametrize(("samples", "width", "ridge"), [(2.0, 1.0, 0.1), (0.5, 1.0, 0.01), (1.0, 2.0, 1e-3)])
def test_without_a_step_it_is_random_features(student, samples, width, ridge):
    """One type of neuron and one node: the closed form of the Gaussian equivalent, derived another way."""
    of, dim = target("relu(h1) + h1*h2/2", noise=0.01), 10**8
    features = untrained_features(student, ONE, 1.0, varying_norm=False)
    labels = conditional_labels(of, np.eye(2)[0], 0.0, features.nodes)
    found = ridge_risk(features, labels, Sizes(int(samples * dim), int(width * dim), dim), ridge / (width * dim))
    expected = gaussian_risk(
        linear_part(student), label_moments(of), sample_ratio=samples, width_ratio=width, ridge=ridge
    )
    assert found.converged
    assert found.risk == pytest.approx(expected, rel=1e-6)


def test_a_small_step_is_the_gaussian_equivalent_with_a_spike():
    """gamma = eta/sqrt(p) with p -> infinity: the conditional equivalent becomes the plain one, up to 1/p."""
    of, dim = target("tanh(h1)", noise=0.01), 10**7
    labels = label_moments(of)
    gradient = gradient_spike(labels, 2.0)
    given = conditional_labels(of, labels.direction, gradient.cosine, spike_rule()[0])
    sizes = Sizes(2 * dim, dim, dim)
    for eta in (1.0, 4.0):
        step = FirstStep(eta / np.sqrt(dim), gradient)
        features = trained_features(TANH, gaussian_neurons(), 1.0, step, varying_norm=False)
        found = ridge_risk(features, given, sizes, 0.1 / dim).risk
        strength = eta * slope_moments(TANH).slope * gradient.strength
        spike = {"strength": strength, "cosine": gradient.cosine}
        size = {"sample_ratio": 2.0, "width_ratio": 1.0, "ridge": 0.1}
        assert found == pytest.approx(gaussian_risk(linear_part(TANH), labels, **size, **spike), rel=1e-4)
        assert found != pytest.approx(gaussian_risk(linear_part(TANH), labels, **size), rel=1e-2)


def published_model(text, batch_ratio, scale):
    """Equal neurons, the only differences between them those of <w_i, v> at the start: the model of Cui et al. 2024."""
    of = target(text)
    labels = label_moments(of)
    gradient = gradient_spike(labels, batch_ratio)
    given = conditional_labels(of, labels.direction, gradient.cosine, spike_rule()[0])
    features = trained_features(TANH, ONE, 1.0, FirstStep(scale, gradient), varying_norm=False)
    kept = features.nodes * features.slopes
    return {**vars(features), "fluctuations": kept[None]}, given


def test_published_numbers_of_equal_neurons():
    """Cui et al. 2024, arXiv:2402.04980, their notebook: tanh student, sin teacher, n0 = 20 d, step 3, L = .1, p = d.
    It
    takes its averages over one sampled matrix W; 3% is allowed for that and for its tolerance."""
    parts, given = published_model("sin(h1)", 20.0, 3.0)
    features = type(untrained_features(TANH, ONE, 1.0, varying_norm=False))(**parts)
    width, published = 10**5, {0.2: 0.0486, 0.9: 0.0431, 1.6: 0.0381, 2.3: 0.0351, 3.0: 0.0333}
    for ratio, mse in published.items():
        samples = int(ratio * width)
        found = ridge_risk(features, given, Sizes(samples, width, width), 0.1 / samples).risk
        assert found == pytest.approx(mse, rel=0.03)
        assert 1.2 * found != pytest.approx(mse, rel=0.03)


def test_published_simulation_of_equal_neurons():
    """The same authors' simulation, tanh on tanh, d = p = 2000, n0 = d/2, step 1, L = .01, 3 seeds. Seeds differ by 4%
    (measured by repeating it at d = 800), and one first layer serves all n: 5%."""
    of, width = target("tanh(h1)"), 2000
    labels = label_moments(of)
    gradient = gradient_spike(labels, 0.5)
    given = conditional_labels(of, labels.direction, gradient.cosine, spike_rule()[0])
    step = FirstStep(1.0, gradient, row_profile(of, 0.0, 0.5))
    features = trained_features(TANH, ONE, 1.0, step, varying_norm=False, label_square=given.square)
    published = {0.2: 0.294, 0.667: 0.3185, 1.133: 0.277, 1.6: 0.2057, 2.067: 0.1722, 2.533: 0.1549, 3.0: 0.1445}
    for ratio, mse in published.items():
        samples = int(ratio * width)
        found = ridge_risk(features, given, Sizes(samples, width, width), 0.01 / samples).risk
        assert found == pytest.approx(mse, rel=0.05)
        assert 1.2 * found != pytest.approx(mse, rel=0.05)


def best_excess(name, ratio):
    """The excess risk at the best of three ridges: eta = 3 sqrt(p), d = 160, psi2 = 2, Gaussian second layer."""
    of, student, dim, width = target(f"{name}(h1)", noise=0.01), activation(name), 160, 320
    labels = label_moments(of)
    gradient = gradient_spike(labels, ratio)
    given = conditional_labels(of, labels.direction, gradient.cosine, spike_rule()[0])
    step = FirstStep(3.0, gradient, row_profile(of, 0.0, ratio))
    features = trained_features(student, gaussian_neurons(), 1.0, step, varying_norm=True, label_square=given.square)
    sizes = Sizes(ratio * dim, width, dim)
    ridges = (0.15, 0.3) if ratio == 1 else (0.03, 0.07, 0.15)
    return min(ridge_risk(features, given, sizes, ridge / width).risk for ridge in ridges) - 0.01


def test_giant_step_goes_below_what_is_linear():
    """||P_{>1} tanh||^2 = .0274 is a floor for every small step; a giant one crosses it between psi1 = 4 and 8."""
    floor = label_moments(target("tanh(h1)")).floor
    assert floor == pytest.approx(0.02742, abs=1e-5)
    assert best_excess("tanh", 8) < floor < best_excess("tanh", 4)


def test_aligned_error():
    """erf fits itself exactly at kappa = sqrt 3; tanh to 9.45e-5 at 1.588; relu to .0401 at .962, checked on a grid."""
    exact = aligned_error(target("erf(h1)"), ERF)
    assert exact.value < 1e-15
    assert exact.stretch == pytest.approx(np.sqrt(3), abs=1e-6)
    close = aligned_error(target("tanh(h1)"), TANH)
    assert (close.value, close.stretch) == pytest.approx((9.45e-5, 1.588), rel=1e-3)
    found = aligned_error(target("relu(h1)"), RELU)
    z = np.linspace(-9, 9, 40001)
    weights = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    values = [weights @ (np.maximum(z, 0) - smoothed_relu(k * z)) ** 2 for k in np.linspace(0.9, 1.02, 25)]
    assert found.value == pytest.approx(min(values), rel=1e-4)
    assert 10 * found.value > label_moments(target("relu(h1)")).floor, "the bound promises nothing for relu"
    with pytest.raises(InvalidParameter, match="one direction"):
        aligned_error(target("h1*h2"), RELU)


def smoothed_relu(u):
    return u * 0.5 * (1 + erf(u / np.sqrt(2))) + np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)


def test_profile_matters_less_than_the_step():
    """An even profile of the neurons' own gradients changes the risk, and by little."""
    of = target("tanh(h1)", noise=0.01)
    labels = label_moments(of)
    gradient = gradient_spike(labels, 1.0)
    given = conditional_labels(of, labels.direction, gradient.cosine, spike_rule()[0])
    risks = []
    for profile in (EVEN, row_profile(of, 0.0, 1.0)):
        step = FirstStep(3.0, gradient, profile)
        features = trained_features(TANH, gaussian_neurons(), 1.0, step, varying_norm=False)
        risks.append(ridge_risk(features, given, Sizes(160, 320, 160), 0.1 / 320).risk)
    assert risks[0] != risks[1]
    assert risks[0] == pytest.approx(risks[1], rel=0.05)


def test_given_weights_without_a_step_are_the_gaussian_equivalent():
    """Random features, d = 150: conditioning on any one direction changes the risk by the 1/n that V leaves out."""
    dim, width, samples, ridge = 150, 200, 400, 1e-3
    weights = np.random.default_rng(3).standard_normal((width, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    of, direction = target("tanh(h1)", noise=0.01), np.eye(dim)[1]
    found = given_ridge_risk(given_features(of, TANH, weights, np.zeros(width), direction), samples, ridge)
    plain = given_weights_risk(weights, weights[:, :1], linear_part(TANH), label_moments(of), samples, ridge)
    assert found.converged
    assert found.risk == pytest.approx(plain, rel=0.01)
    assert 1.2 * found.risk != pytest.approx(plain, rel=0.01)
