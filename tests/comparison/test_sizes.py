"""The other sizes of an experiment: what stays in proportion, and what is too much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from featlab.comparison.sizes import ladder
from featlab.errors import InvalidParameter
from featlab.experiments import Experiment
from featlab.learners import (
    BayesAmp,
    Extragradient,
    GiantSteps,
    KernelRidge,
    OnlineSgd,
    PreprocessedStep,
    RandomFeatures,
    ReusedBatch,
    SignSgd,
    SphericalFlow,
    StepLaw,
    TwoLayer,
)


def of(learner, **sizes) -> Experiment:
    return Experiment.of("tanh(h1)", learner, **{"dim": 1000, "seeds": 4, **sizes})


def dims(rungs) -> list[int]:
    return [one.dim for one in rungs]


def test_one_pass_keeps_time_and_gamma_d() -> None:
    for step in (0.002, StepLaw(2.0, 1), StepLaw(2 * 1000**0.5, 1.5)):
        rungs = ladder(of(OnlineSgd(step), samples=3000), "dimension")
        assert dims(rungs) == [1000, 4000, 16_000]
        assert [one.samples for one in rungs] == [3000, 12_000, 48_000]
        for one in rungs[1:]:
            assert one.learner.step_size.at(one.dim) * one.dim == pytest.approx(2.0)
            looks = [step / one.plan.unit for step in one.plan.steps]
            assert looks == pytest.approx([step / 1000 for step in rungs[0].plan.steps])


def test_both_steps_of_extragradient_scale() -> None:
    last = ladder(of(Extragradient(StepLaw(0.5, 1), 0.003), times=(0, 1)), "dimension")[-1]
    assert last.learner.inner_step.at(last.dim) * last.dim == pytest.approx(3.0)


def test_what_a_batch_learner_keeps() -> None:
    reused = ladder(of(ReusedBatch(2, StepLaw(10.0, 0.5)), samples=3000), "dimension")
    assert [one.learner.step_size for one in reused[1:]] == [pytest.approx(10 / 1000**0.5)] * 2
    giant = ladder(of(GiantSteps(leap=2), dim=100, samples=20_000), "sizes")
    assert [one.samples / one.dim**2 for one in giant] == [2.0] * len(giant)
    amp = ladder(of(BayesAmp(10), samples=1500), "dimension")
    assert [one.samples / one.dim for one in amp] == [1.5] * 3
    features = ladder(of(RandomFeatures(200), dim=400, student=TwoLayer(100)), "sizes")
    assert [(one.student.width / one.dim, one.learner.samples / one.dim) for one in features] == [(0.25, 0.5)] * 3


def test_a_preprocessed_step_keeps_what_its_start_allows() -> None:
    """n/d next to overlaps of order one, n/d^2 next to those of a random start."""
    planted = TwoLayer(start="planted", planted=((0.3,),))
    rungs = ladder(of(PreprocessedStep(step_size=StepLaw(2.0, -0.5)), dim=100, samples=2000, student=planted), "sizes")
    assert dims(rungs) == [100, 400, 1600]
    assert {one.samples / one.dim for one in rungs} == {20.0}
    assert [one.learner.step_size for one in rungs[1:]] == [pytest.approx(20.0)] * 2
    rungs = ladder(of(PreprocessedStep(), dim=64, samples=4096, student=TwoLayer()), "sizes")
    assert len(rungs) > 1
    assert {one.samples / one.dim**2 for one in rungs} == {1.0}


def test_random_numbers_of_other_sizes_are_others() -> None:
    rungs = ladder(of(OnlineSgd(StepLaw(1, 1)), times=(0, 1)), "dimension")
    numbers = [seed for one in rungs for seed in one.seeds]
    assert len(set(numbers)) == len(numbers) == 12


def test_of_a_population_flow_the_samples_grow() -> None:
    rungs = ladder(of(SphericalFlow(), dim=300, samples=3000), "samples")
    assert [(one.dim, one.samples) for one in rungs] == [(300, 3000), (300, 12_000), (300, 48_000)]


def test_too_much_work_goes_down_instead() -> None:
    large = of(OnlineSgd(StepLaw(1, 1)), dim=10**6, times=(0, 1))
    assert dims(ladder(large, "dimension")) == [10**6, 250_000, 62_500]
    kernel = of(KernelRidge(), dim=400, samples=2000)
    assert dims(ladder(kernel, "sizes")) == [400, 100]
    assert dims(ladder(replace(kernel, dim=100, samples=2000), "sizes")) == [100]
    little = of(OnlineSgd(StepLaw(1, 1)), times=(0, 1), memory=1)
    assert dims(ladder(little, "dimension")) == [1000]


def test_how_many() -> None:
    asked = of(OnlineSgd(StepLaw(1, 1)), times=(0, 1))
    assert [len(ladder(asked, "dimension", most)) for most in (1, 2, 3)] == [1, 2, 3]
    with pytest.raises(InvalidParameter, match=r"^sizes: got 4"):
        ladder(asked, "dimension", 4)
    assert len(ladder(of(SignSgd(0.1), times=(0, 1)), "dimension")) == 1  # of which nothing is known
