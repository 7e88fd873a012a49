"""One experiment for both doors: defaults filled in, faults refused at once, the same result by parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pytest
import xarray as xr

import featlab
from featlab import Experiment, InvalidParameter
from featlab.learners import BayesAmp, GiantSteps, OnlineSgd, ReusedBatch, StepLaw
from featlab.learners.protocol import check_contract

RULE = featlab.OnlineSgd(0.1)


def experiment(**changes: Any) -> Experiment:
    return Experiment.of("tanh(h1)", RULE, **{"dim": 20, "times": [0, 1], "seeds": 2, **changes})


def test_defaults_are_filled_in() -> None:
    one = experiment()
    assert one.student == featlab.TwoLayer()
    assert one.seeds == (0, 1)
    assert one.plan.steps == (0, 20)
    assert one.needs_start == ("overlap", "gram", "second_layer", "biases")
    assert hash(one) == hash(experiment())


def test_both_doors_take_it() -> None:
    one = experiment(student=featlab.TwoLayer(start="orthogonal"))
    parts = featlab.simulate("tanh(h1)", RULE, dim=20, times=[0, 1], seeds=2, student=one.student)
    xr.testing.assert_identical(featlab.simulate(one), parts)
    theory = featlab.predict("tanh(h1)", RULE, dim=20, times=[0, 1], student=one.student)
    xr.testing.assert_identical(featlab.predict(one), theory)


def test_nothing_is_said_beside_it() -> None:
    with pytest.raises(InvalidParameter, match="dim: got 30, expected nothing beside an Experiment"):
        featlab.simulate(experiment(), dim=30)
    with pytest.raises(InvalidParameter, match="learner"):
        featlab.predict(experiment(), RULE)
    with pytest.raises(InvalidParameter, match="a learner, or an Experiment"):
        featlab.simulate("h1")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dim": 0}, "dim: got 0"),
        ({"dtype": "float16"}, "dtype"),
        ({"design": "sparse"}, "design"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": [-1]}, "seeds"),
        ({"times": [-1]}, "times"),
        ({"key": 2**64}, r"key: got 18446744073709551616, expected a whole number from 0 to 2\^64 - 1"),
        ({"key": -1}, "key: got -1"),
        ({"key": 1.5}, "key: got 1.5"),
        ({"key": True}, "key: got True"),
        ({"student": featlab.ThreeLayer()}, "a TwoLayer, which is what online-sgd trains"),
    ],
)
def test_faults_are_refused_at_once(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        experiment(**changes)


@pytest.mark.parametrize("learner", [featlab.ReusedBatch(3, 0.1), featlab.BayesAmp()])
def test_numbers_of_steps_are_whole(learner: Any) -> None:
    """They were rounded without a word: time 1.5 was step 2."""
    given = {"dim": 20, "samples": 40, "seeds": 2}
    assert Experiment.of("h1", learner, times=[0, 1.0, 2], **given).plan.steps == (0, 1, 2)
    with pytest.raises(
        InvalidParameter, match=r"times: got .*1\.5.*, expected whole numbers: they are numbers of steps"
    ):
        Experiment.of("h1", learner, times=[0, 1.5], **given)


def test_inputs_that_the_learner_does_not_know() -> None:
    cube = featlab.target("sign(h1)", inputs=featlab.Hypercube())
    with pytest.raises(InvalidParameter, match="Isotropic or Spiked for online-sgd"):
        Experiment.of(cube, RULE, dim=20, times=[1])


def test_a_learner_that_lacks_a_part_is_told_which() -> None:
    class Half:
        clock: ClassVar[str] = "one-pass"
        student_kind = featlab.TwoLayer
        inputs = (featlab.Isotropic,)

    with pytest.raises(InvalidParameter, match="has no `equivariant`, True or False"):
        check_contract(Half())
    with pytest.raises(InvalidParameter, match="an instance"):
        check_contract(featlab.OnlineSgd)


def test_the_law_of_inputs_is_taken_at_the_dimension() -> None:
    law = featlab.target("h1", inputs=featlab.SpikeLaw(0.5))
    one = Experiment.of(law, featlab.GiantSteps(), dim=16, samples=64)
    assert one.target.inputs == featlab.SpikeLaw(0.5)
    assert one.concrete.inputs == featlab.Spiked(4.0, (1.0,))
    assert replace(one, dim=64).concrete.inputs == featlab.Spiked(8.0, (1.0,))


@pytest.mark.parametrize("seeds", [10**9, 10**12, range(10**9)])
def test_more_seeds_than_can_be_held_are_refused_at_once(seeds):
    with pytest.raises(
        InvalidParameter, match=r"at most 10,000,000 in one experiment: [\d,]+ take at least [\d,.]+ GB"
    ):
        Experiment.of("h1", OnlineSgd(0.1), dim=10, times=[1], seeds=seeds)


@pytest.mark.parametrize(
    ("learner", "times", "expected"),
    [
        (ReusedBatch(10**9, 0.1), None, "at most 1,000,000 looks; .* of 1,000,000,001 take 56,000,000,056 bytes"),
        (ReusedBatch(10**9, 0.1), range(2 * 10**6), "at most 1,000,000 looks; .* 112,000,000 bytes"),
        (ReusedBatch(3 * 10**9, 0.1), [3 * 10**9], "at most 2,147,483,647 steps, time 2.15e.09: a simulation of 3e.09"),
        (BayesAmp(iterations=10**15), None, "iterations: .*: a simulation of 1e.15 takes 1.6e.02 years"),
    ],
)
def test_more_times_than_can_be_looked_at_are_refused_at_once(learner, times, expected):
    with pytest.raises(InvalidParameter, match=expected):
        Experiment.of("h1", learner, dim=10, samples=100, times=times)


def test_giant_steps_are_few():
    with pytest.raises(InvalidParameter, match=r"at most 1,000,000 giant steps; .* takes 8,000,000,000 bytes"):
        GiantSteps(10**9)


def test_a_curve_is_looked_at_more_often_where_there_are_steps_between() -> None:
    asked = Experiment.of("h1", OnlineSgd(StepLaw(0.5, 1)), dim=1000, times=(0, 1, 4))
    finer = asked.finely()
    assert set(asked.plan.steps) < set(finer.plan.steps)
    assert len(finer.plan.steps) >= 40
    assert (finer.plan.steps[0], finer.plan.steps[-1]) == (0, 4000)
    every = Experiment.of("h1", ReusedBatch(3, 0.1), dim=100, samples=200)
    assert every.finely().plan == every.plan
