import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.simulation.tied_loss import lowest_losses
from featlab.targets import target

_SIZES = {"width": 60, "bias_scale": 1.5, "penalty": 1e-6, "samples": 40_000, "seed": 3}


def test_many_neurons_leave_what_the_cosine_leaves():
    """Relus span all functions of u, so that of y = h what is left is E Var(h | u) = 1 - m^2, and the noise."""
    found = lowest_losses(target("h1", noise=0.1), (0.0, 0.6, 1.0), **_SIZES)
    assert found.losses == pytest.approx([1.1, 0.74, 0.1], abs=0.03)
    assert abs(found.losses[1] - (1.1 - 0.6)) > 0.2  # and not 1 - m
    assert found.knots.shape == found.signs.shape == (60,)


def test_a_penalty_that_forbids_the_second_layer_leaves_the_label():
    found = lowest_losses(target("h1"), (1.0,), **{**_SIZES, "penalty": 1e9})
    assert found.losses == pytest.approx([1.0], abs=0.03)


def test_what_it_is_not_made_for_is_refused():
    with pytest.raises(InvalidParameter, match="one direction"):
        lowest_losses(target("h1*h2"), (0.0,), **_SIZES)
    with pytest.raises(InvalidParameter, match="a multiple of 20000"):
        lowest_losses(target("h1"), (0.0,), **{**_SIZES, "samples": 30_000})
    assert np.isfinite(lowest_losses(target("h1"), (0.0,), **_SIZES).losses).all()
