import numpy as np
import pytest

from featlab.simulation.one_step_fits import linear_part, relu_gradient, residual_risk


def test_the_gradient_is_that_of_the_correlation():
    draw = np.random.default_rng(0)
    weights, inputs, labels = (
        draw.standard_normal((3, 4)),
        draw.standard_normal((20_000, 4)),
        draw.standard_normal(20_000),
    )

    def correlation(weights):
        return np.mean(labels[:, None] * np.maximum(inputs @ weights.T, 0), axis=0)

    slopes = np.zeros((3, 4))
    for axis, side in np.ndindex(4, 2):
        moved = weights.copy()
        moved[:, axis] += (1e-7, -1e-7)[side]
        slopes[:, axis] += (1, -1)[side] * correlation(moved) / 2e-7
    assert relu_gradient(weights, inputs, labels) == pytest.approx(slopes, abs=1e-6)


def test_the_linear_part_of_a_linear_label_is_nearly_all_of_it():
    inputs = np.random.default_rng(1).standard_normal((50_000, 3))
    assert np.mean((linear_part(inputs, inputs[:, 0]) - inputs[:, 0]) ** 2) < 1e-3
    assert np.mean(linear_part(inputs, inputs[:, 0] ** 2 - 1) ** 2) < 1e-2


def test_one_step_learns_a_square_that_random_features_do_not():
    sizes = {"dim": 40, "samples": 1600, "width": 100, "test": 10_000, "seed": 4}
    none, one = (
        residual_risk(lambda h: h[:, 0] + (h[:, 0] ** 2 - 1) / 2, 1, rate=rate, **sizes) for rate in (0.0, 40.0)
    )
    assert one < 0.5 * none
    assert none < 0.51  # the linear part, of variance 1, is taken off
