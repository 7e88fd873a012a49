"""The explicit network behind the bounds computes the parity, with the margin and the cost that the bounds rest on."""

from __future__ import annotations

from itertools import product

import jax.numpy as jnp
import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.learners import MeanFieldTanh
from featlab.simulation.langevin import Neurons, outputs
from featlab.theory.parity import ParityNetwork, effective_dimension, parity_bounds


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_the_margin_of_steep_neurons_is_the_scale_over_three_k(order: int) -> None:
    steep = ParityNetwork(order, dim=30, anisotropy=0.3, steepness=12.0)
    assert steep.margin(15.0) == pytest.approx(15 / (3 * order), rel=1e-9)
    assert 0 < ParityNetwork(order, dim=30).margin(15.0) < 15 / (3 * order)


def test_the_network_is_that_of_the_simulation() -> None:
    network = ParityNetwork(3, dim=20, anisotropy=0.5)
    signs = np.array(list(product((-1.0, 1.0), repeat=3)))
    fields = signs * 20 ** (0.5 / 2 - 0.5) @ network.weights.T
    neurons = Neurons(jnp.zeros((3, 20)), jnp.asarray(network.biases), jnp.full(3, network.offset))
    found = np.asarray(outputs(MeanFieldTanh(3, output_scale=9.0), neurons, jnp.asarray(fields, jnp.float32)))
    margins = found * np.prod(signs, axis=1)
    assert margins.min() == pytest.approx(network.margin(9.0), rel=1e-5)
    assert np.min(found * signs[:, 0]) < 0  # another label is not computed


@pytest.mark.parametrize("anisotropy", [0.0, 0.25, 0.75, 1.0])
def test_its_cost_grows_like_the_bounds(anisotropy: float) -> None:
    large, larger = (ParityNetwork(2, dim, anisotropy).cost(0.1) for dim in (10**9, 10**10))
    flat = 0.1 * (2.0**2 + np.arctanh(0.25) ** 2)  # what biases and offsets cost
    slope = np.log10((larger - flat) / (large - flat))
    assert slope == pytest.approx(parity_bounds(anisotropy).samples, abs=1e-6)
    assert effective_dimension(10**10, anisotropy) == pytest.approx(10 ** (10 * (1 - anisotropy)))
    assert large == pytest.approx(0.1 * 2.0**2 * 2 * effective_dimension(10**9, anisotropy) + flat)


def test_what_no_bound_is_stated_for() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidParameter, match="anisotropy"):
            parity_bounds(wrong)
    with pytest.raises(InvalidParameter, match="at most the dimension 3"):
        ParityNetwork(4, 3)
    with pytest.raises(InvalidParameter, match="steepness"):
        ParityNetwork(2, 3, steepness=0.0)
