"""The flow of a neuron with the spike along the target, against quadrature and a case that is solved by hand."""

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from featlab.theory.flows.aligned import aligned_slope, highest_cosine


def _loss(order: int, strength: float, cosine: float) -> float:
    """R(m) by a product of Gauss rules."""
    nodes, weights = hermite_e.hermegauss(order + 2)
    both = np.outer(weights, weights) / weights.sum() ** 2
    series = np.eye(order + 1)[order] / np.sqrt(np.prod(np.arange(1.0, order + 1)))
    field = cosine * np.sqrt(1 + strength) * nodes[:, None] + np.sqrt(1 - cosine**2) * nodes
    return float(np.sum(both * (hermite_e.hermeval(field, series) - hermite_e.hermeval(nodes, series)[:, None]) ** 2))


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("strength", [0.0, 0.3, 5.0])
def test_the_slope_is_that_of_the_loss_by_quadrature(order, strength):
    for cosine in (0.05, 0.3, 0.8):
        change = (_loss(order, strength, cosine + 1e-5) - _loss(order, strength, cosine - 1e-5)) / 2e-5
        assert aligned_slope(order, strength, cosine) == pytest.approx(change, rel=1e-5, abs=1e-8)


def test_an_even_target_stops_where_attraction_and_repulsion_balance():
    # k = 2: R = 2 - 2 m^2 + (3/2) theta^2 m^4.
    assert highest_cosine(2, 10.0, 0.01) == pytest.approx(np.sqrt(2 / 3) / 10, rel=1e-9)
    assert highest_cosine(2, 10.0, 0.2) == 0.2  # beyond that it goes back


def test_a_cubic_target_is_found_without_a_spike_and_not_with_one():
    assert highest_cosine(3, 0.0, 0.01) == 1.0
    assert highest_cosine(3, 1.0, 0.01) == 0.01
