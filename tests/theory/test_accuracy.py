"""What accuracy costs: the laws of the direction's error, of a sampled network and of the flow's end."""

import numpy as np
import pytest
from numpy.polynomial import HermiteE

from featlab.gaussian.activations import activation
from featlab.theory.flows.accuracy import direction_error, ending_rate, sampled_network, sampled_network_error

LINEAR, CUBIC = HermiteE([0, 1]), HermiteE([0.0, 1.0, 0.5, 0.4])


def test_a_linear_neuron_on_a_linear_target_is_least_squares():
    # y = z + noise, sigma(z) = z: the normalised minimum is that of ordinary regression, with 1 - m^2 = noise d/n.
    assert direction_error(LINEAR, activation("He1"), 0.3) == pytest.approx(0.3)
    assert ending_rate(LINEAR, activation("He1")) == pytest.approx(2.0)


def test_a_neuron_of_the_wrong_size_loses_nothing_by_the_norm():
    # sigma = z/2 on y = z: residual z/2 along the field itself, which the batch's own norm takes off.
    assert direction_error(HermiteE([0, 2.0]), activation("He1"), 0.0) == pytest.approx(0.0, abs=1e-12)


def test_the_end_of_the_flow_is_the_derivative_of_the_correlation():
    # E[g(m z + ..) sigma(z)] = sum_k k! a_k b_k m^k; relu has 1/2, 1/sqrt(2 pi)/2, 0 for k = 1, 2, 3.
    expected = 0.5 * 1.0 + 2 * 0.5 / np.sqrt(2 * np.pi)
    assert ending_rate(CUBIC, activation("relu")) == pytest.approx(2 * expected)


def test_the_sampled_network_is_right_on_average_and_has_its_error():
    random, points = np.random.default_rng(0), np.linspace(-6, 6, 1201)
    chances = np.exp(-(points**2) / 2)
    chances /= chances.sum()
    draws = [sampled_network(CUBIC, 4.0, points, random.uniform(-4, 4, 16)) for _ in range(2000)]
    errors = [chances @ (drawn - CUBIC(points)) ** 2 for drawn in draws]
    floor, scale = sampled_network_error(CUBIC, 4.0)
    expected, doubt = floor + scale / 16, 3 * np.std(errors) / 2000**0.5
    assert abs(np.mean(errors) - expected) < doubt < 0.2 * expected
    inside = np.abs(points) < 3
    spread = np.std(draws, axis=0)[inside] / 2000**0.5
    assert np.all(np.abs(np.mean(draws, axis=0) - CUBIC(points))[inside] < 5 * spread + 1e-9)
    assert floor < 1e-4 * scale
