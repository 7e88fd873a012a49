"""The description of a trained second layer: what it accepts and what it refuses."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

from featlab.errors import InvalidParameter
from featlab.learners import GiantSteps, OnlineSgd, RandomFeatures, Readout, ReusedBatch
from featlab.learners.readout import LEAVE_ONE_OUT_GRID

GOOD = [
    Readout(GiantSteps(2), samples=100),
    Readout(OnlineSgd(0.1), samples=1, ridge=0.5),
    Readout(ReusedBatch(2, 0.1), data="same", ridge=1e-3),
    Readout(GiantSteps(), samples=100, biases="gaussian", bias_scale=2.0, test_samples=1000),
    Readout(GiantSteps(), samples=100, biases="gaussian", bias_scale="fields"),
    Readout(GiantSteps(), samples=100, biases=0.5),
    RandomFeatures(100, 0.1),
]


@pytest.mark.parametrize("description", GOOD, ids=repr)
def test_descriptions_are_frozen_hashable_and_equal_by_value(description):
    assert description == dataclasses.replace(description)
    assert hash(description) == hash(dataclasses.replace(description))
    assert description != dataclasses.replace(description, test_samples=77)
    with pytest.raises(dataclasses.FrozenInstanceError):
        description.ridge = 1.0


def test_random_features_are_a_readout_that_nothing_trains():
    assert RandomFeatures(50) == Readout(None, 50, "leave-one-out")
    assert RandomFeatures(50, 0.1, test_samples=99) == Readout(None, 50, 0.1, test_samples=99)


def test_the_grid_of_leave_one_out_is_half_decades():
    assert LEAVE_ONE_OUT_GRID[0] == pytest.approx(1e-9)
    assert LEAVE_ONE_OUT_GRID[-1] == pytest.approx(1e2)
    assert all(b / a == pytest.approx(10**0.5) for a, b in pairwise(LEAVE_ONE_OUT_GRID))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Readout("giant", samples=10), "first"),
        (lambda: Readout(RandomFeatures(10), samples=10), "first"),
        (lambda: Readout(GiantSteps()), "samples"),
        (lambda: Readout(GiantSteps(), samples=0), "samples"),
        (lambda: Readout(GiantSteps(), samples=1), "samples"),
        (lambda: Readout(GiantSteps(), samples=2.5), "samples"),
        (lambda: Readout(ReusedBatch(2, 0.1), samples=10, data="same"), "samples"),
        (lambda: Readout(GiantSteps(), data="same"), "data"),
        (lambda: Readout(None, data="same"), "data"),
        (lambda: Readout(GiantSteps(), samples=10, data="old"), "data"),
        (lambda: Readout(GiantSteps(), samples=10, ridge=0.0), "ridge"),
        (lambda: Readout(GiantSteps(), samples=10, ridge=float("nan")), "ridge"),
        (lambda: Readout(GiantSteps(), samples=10, ridge="loo"), "ridge"),
        (lambda: Readout(GiantSteps(), samples=10, biases="normal"), "biases"),
        (lambda: Readout(GiantSteps(), samples=10, biases=float("inf")), "biases"),
        (lambda: Readout(GiantSteps(), samples=10, bias_scale=-1.0), "bias_scale"),
        (lambda: Readout(GiantSteps(), samples=10, bias_scale="wide"), "bias_scale"),
        (lambda: Readout(GiantSteps(), samples=10, test_samples=1), "test_samples"),
        (lambda: RandomFeatures(-3), "samples"),
    ],
)
def test_bad_values_are_refused_by_name(make, name):
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert caught.value.name == name
