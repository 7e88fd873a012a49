import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.accuracy_and_width import _excess, _features, _link, _normalised_minimum, _ridge


def test_bounds_on_samples_neurons_and_time_are_kept(shown):
    report = shown("accuracy-and-width")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)


def test_without_noise_a_network_along_the_direction_has_no_excess():
    points, biases = np.linspace(-6, 6, 4001), np.linspace(-4, 4, 200)
    chances = np.exp(-(points**2) / 2)
    second = _ridge(_features(points, biases), _link()(points), chances)
    assert _excess(1.0, 1.0, biases, second) < 1e-4
    # At an angle Var(g | u) is left: sum_k c_k^2 (1 - m^2k), c_k^2 = 1/3 for k = 1, 2, 3.
    left = sum(1 - 0.9 ** (2 * k) for k in (1, 2, 3)) / 3
    assert _excess(0.9, 1.0, biases, second) > left


def test_the_flow_ends_where_the_loss_of_the_batch_has_no_slope():
    random = np.random.default_rng(2)
    inputs = random.standard_normal((2000, 5))
    labels = _link()(inputs[:, 0]) + 0.1 * random.standard_normal(2000)
    found = _normalised_minimum(inputs, labels)
    assert np.mean((inputs @ found) ** 2) == pytest.approx(1.0)

    def loss(direction):
        field = inputs @ direction
        return np.mean((labels - np.maximum(field / np.sqrt(np.mean(field**2)), 0)) ** 2)

    nearby = [loss(found + change) for change in 0.02 * random.standard_normal((50, 5))]
    assert loss(found) < min(nearby)
    assert found[0] > 0.95
