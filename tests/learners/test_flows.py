"""What the descriptions of flows accept and refuse."""

from __future__ import annotations

import pytest

from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text
from featlab.learners import NormalisedFlow, Readout, SphericalFlow


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: SphericalFlow(0), "steps"),
        (lambda: SphericalFlow(arc=0.0), "arc"),
        (lambda: SphericalFlow(arc=1.6), "arc"),
        (lambda: SphericalFlow(floor=0.1), "floor"),
        (lambda: SphericalFlow(floor=-1.0), "floor"),
        (lambda: SphericalFlow(tolerance=1.0), "tolerance"),
        (lambda: SphericalFlow(loss="hinge"), "loss"),
        (lambda: SphericalFlow(positive_start=1), "positive_start"),
        (lambda: SphericalFlow(common="yes"), "common"),
        (lambda: NormalisedFlow(arc=2.0), "arc"),
        (lambda: NormalisedFlow(covariance="population"), "covariance"),
        (lambda: NormalisedFlow(preconditioned=0), "preconditioned"),
        (lambda: Readout(SphericalFlow(), data="same", samples=9), "samples"),
    ],
)
def test_bad_values_are_refused_by_name(make, name):
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert caught.value.name == name


def test_by_name():
    flow = learner_from_text("normalised-flow", {"steps": 50, "covariance": "known", "readout": "same"})[0]
    assert flow == Readout(NormalisedFlow(50, covariance="known"), data="same")


def test_how_often_a_batch_is_read():
    assert SphericalFlow(7).uses == 8
    assert SphericalFlow(common=True).rows(5) == 1
    assert NormalisedFlow().rows(5) == 5
