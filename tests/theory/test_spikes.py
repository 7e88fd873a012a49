"""The spike of one gradient step and the singular values it gives to W: identities, limits, known numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.spikes import (
    bulk_density,
    critical_step,
    gradient_spike,
    label_moments,
    slope_moments,
    spike_strength,
    spiked_weights,
)

CENTRED_RELU = "relu(h1) - 0.3989422804014327"


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_bulk_has_the_moments_of_a_random_matrix(ratio):
    """tr(W W^T) = p and tr(W W^T)^2 = p (1 + psi2), over min(p, d) nonzero singular values."""
    low, high = abs(1 - np.sqrt(ratio)), 1 + np.sqrt(ratio)

    def moment(power):
        return quad(lambda s: s**power * bulk_density(s, ratio), low, high, limit=200)[0]

    assert moment(0) == pytest.approx(1, rel=1e-6)
    assert moment(2) == pytest.approx(max(1, ratio), rel=1e-6)
    assert moment(4) == pytest.approx(max(1, ratio) * (1 + ratio), rel=1e-6)
    assert bulk_density(np.array([0.99 * low, 1.01 * high]), ratio) == pytest.approx(0)


def test_outlier_leaves_the_edge_continuously_and_becomes_the_spike():
    threshold = 0.5**0.25
    below, above = spiked_weights(0.999 * threshold, 0.5), spiked_weights(1.001 * threshold, 0.5)
    assert not below.outlier
    assert below.singular_value == below.edge == 1 + np.sqrt(0.5)
    assert above.outlier
    assert above.singular_value == pytest.approx(above.edge, abs=1e-5)
    assert 0 < above.input_overlap < 0.01
    assert 0 < above.neuron_overlap < 0.01
    huge = spiked_weights(1e4, 0.5)
    assert huge.singular_value == pytest.approx(1e4, rel=1e-7)
    assert huge.input_overlap == pytest.approx(1, abs=1e-7)
    with pytest.raises(InvalidParameter):
        spiked_weights(-1.0, 0.5)


def test_transposed_matrix_has_the_same_outlier():
    """W^T sqrt(d/p) is of the same kind with psi2 -> 1/psi2, t -> t/sqrt(psi2); its two sides are exchanged."""
    here = spiked_weights(2.0, 0.3)
    there = spiked_weights(2.0 / np.sqrt(0.3), 1 / 0.3)
    assert there.singular_value * np.sqrt(0.3) == pytest.approx(here.singular_value)
    assert (there.neuron_overlap, there.input_overlap) == pytest.approx((here.input_overlap, here.neuron_overlap))


@pytest.mark.parametrize(
    ("text", "strength", "value", "overlap"),
    [(CENTRED_RELU, None, 2.2131, 0.3523), ("relu(h1)", 1.722, 2.3025, 0.3281), ("tanh(h1)", 1.828, 2.3748, 0.4517)],
)
def test_numbers_of_one_step(text, strength, value, overlap):
    """tanh student, label noise 0.01, psi1 = 2, psi2 = 1, eta = 4 (with |a| = 1): Ba et al. 2022, Theorem 3."""
    gradient = gradient_spike(label_moments(target(text, noise=0.01)), 2.0)
    slope = slope_moments(activation("tanh")).slope
    spiked = spiked_weights(spike_strength(4.0, 1.0, slope, gradient), 1.0)
    if strength is not None:
        assert spiked.strength == pytest.approx(strength, abs=6e-4)
    assert spiked.singular_value == pytest.approx(value, abs=6e-5)
    assert gradient.cosine**2 * spiked.input_overlap == pytest.approx(overlap, abs=6e-5)
    wrong = spiked_weights(1.2 * spiked.strength, 1.0)
    assert abs(wrong.singular_value - value) > 0.05


def test_critical_step_puts_the_spike_at_the_threshold():
    gradient, slope = gradient_spike(label_moments(target("tanh(h1)")), 4.0), slope_moments(activation("erf")).slope
    step = critical_step(3.0, slope, gradient, 0.5)
    assert spike_strength(step, 3.0, slope, gradient) == pytest.approx(0.5**0.25)


def test_moments_of_labels_and_slopes():
    """E[y^2] holds noise; shifting by the mean leaves the variance; the floor is what no linear function explains."""
    labels = label_moments(target("relu(h1) + h1*h2", noise=0.3))
    assert labels.mean == pytest.approx(1 / np.sqrt(2 * np.pi))
    assert labels.linear == pytest.approx([0.5, 0])
    assert labels.second == pytest.approx(0.5 + 1 + 0.3)
    assert labels.shifted(labels.mean).second == pytest.approx(1.8 - 1 / (2 * np.pi))
    assert labels.floor == pytest.approx(1.8 - 1 / (2 * np.pi) - 0.25)
    assert label_moments(target("h1*h2")).linear == pytest.approx([0, 0], abs=1e-300)
    relu = slope_moments(activation("relu"))
    assert (relu.slope, relu.tilt, relu.bend) == pytest.approx((0.5, 1 / np.sqrt(2 * np.pi), 0), abs=1e-12)
    assert (relu.square, relu.square_along, relu.spread) == pytest.approx((0.5, 0.5, 0.25))
    shifted = slope_moments(activation("erf"), norm=2.0, bias=0.7)
    z = np.linspace(-9, 9, 20001)
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    slopes = 2 / np.sqrt(np.pi) * np.exp(-((2 * z + 0.7) ** 2))
    assert shifted.slope == pytest.approx(density @ slopes, rel=1e-9)
    assert shifted.bend == pytest.approx(density @ (slopes * (z * z - 1)), rel=1e-9)
