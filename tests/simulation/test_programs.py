"""Runs that differ in numbers only share one compiled program, and have the numbers that they would have alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import featlab
from featlab import BayesAmp, Extragradient, GiantSteps, KernelRidge, OnlineSgd, Readout, ReusedBatch, StepLaw
from featlab.simulation import programs
from featlab.simulation.algorithms import simulator_of
from featlab.simulation.designs.virtual import FreshVirtual, least_of
from featlab.simulation.problem import Problem
from featlab.simulation.programs import filled, split
from featlab.simulation.run import group_size

EVENT = "/jax/core/compile/backend_compile_duration"
WHOLE: dict[str, Any] = {"dim": 300, "times": [0, 0.1], "seeds": 3}
BATCH: dict[str, Any] = {"dim": 30, "samples": 40, "seeds": 1}
Count = Callable[[Callable[[], Any]], int]


@pytest.fixture
def compilations() -> Iterator[Count]:
    """How many programs are compiled, or read from JAX's cache, while something is called."""
    names: list[str] = []

    def heard(name: str, _: float, **more: Any) -> None:
        if name == EVENT:
            names.append(more.get("fun_name", ""))

    def count(action: Callable[[], Any]) -> int:
        names.clear()
        action()
        return len(names)

    jax.monitoring.register_event_duration_secs_listener(heard)
    yield count
    jax.monitoring.unregister_event_duration_listener(heard)


@pytest.mark.parametrize(
    ("learners", "sizes"),
    [
        ([OnlineSgd(0.001), OnlineSgd(0.002), OnlineSgd(StepLaw(0.5, 1.0))], WHOLE),
        ([Extragradient(0.001, 0.002), Extragradient(0.002, -0.001)], WHOLE),
        ([ReusedBatch(2, 0.1), ReusedBatch(2, StepLaw(1.0, 0.5))], BATCH),
        ([GiantSteps(2, (1.0, 2.0)), GiantSteps(2, (2.0, 3.0))], BATCH),
        ([BayesAmp(3, damping=0.1), BayesAmp(3, tolerance=1e-3)], BATCH),
        ([KernelRidge(ridge=0.1, test_samples=64), KernelRidge(ridge=1, test_samples=64)], BATCH),
        ([Readout(GiantSteps(1, c), 50, r, test_samples=64) for c, r in ((1.0, 0.1), (2.0, 0.2))], BATCH),
    ],
    ids=lambda value: type(value[0]).__name__ if isinstance(value, list) else "",
)
def test_a_sweep_over_numbers_compiles_once(learners: list[Any], sizes: dict[str, Any], compilations: Count) -> None:
    runs = []
    first, *others = learners
    assert compilations(lambda: runs.append(featlab.simulate("tanh(h1)", first, **sizes))) > 0
    for other in others:
        assert compilations(lambda other=other: runs.append(featlab.simulate("tanh(h1)", other, **sizes))) == 0
    name = "risk" if "risk" in runs[0] else "overlap"
    assert len({float(run[name].values.sum()) for run in runs}) == len(runs), "each number is used"


def test_sizes_and_seeds_share_a_program(compilations: Count) -> None:
    """d, 4d and 16d, 3 and 4 seeds; at a small dimension, where norms are drawn otherwise, only the steps are compiled
    again."""
    law = OnlineSgd(StepLaw(0.3, 1.0))
    featlab.simulate("tanh(h1)", law, **WHOLE)
    assert compilations(lambda: featlab.simulate("tanh(h1)", law, **(WHOLE | {"dim": 1200}))) == 0
    assert compilations(lambda: featlab.simulate("tanh(h1)", law, **(WHOLE | {"seeds": 4}))) == 0
    assert compilations(lambda: featlab.simulate("tanh(h1)", law, **(WHOLE | {"dim": 4800}))) == 0
    assert compilations(lambda: featlab.simulate("tanh(h1)", law, **(WHOLE | {"dim": 100}))) == 1


def test_a_shared_program_computes_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same algorithm with its numbers as constants: last bits may differ, and nothing else."""
    learner = Extragradient(0.001, 0.002)
    shared = featlab.simulate("tanh(h1)", learner, **WHOLE)
    monkeypatch.setattr(programs, "simulator_of", lambda learner: simulator_of(learner)._replace(arguments=()))
    alone = featlab.simulate("tanh(h1)", learner, **WHOLE)
    for name in ("overlap", "norm", "risk"):
        np.testing.assert_allclose(shared[name], alone[name], rtol=1e-5, atol=1e-6)


@given(st.floats(0.01, 10), st.integers(300, 10**12), st.floats(0.01, 10))
def test_a_problem_comes_back_from_its_program(step: float, dim: int, other: float) -> None:
    design = FreshVirtual(dim, 1, 1, 1)
    problem = Problem(featlab.target("h1"), featlab.TwoLayer(), OnlineSgd(StepLaw(step, 1.0)), design)
    program, numbers = split(problem)
    rate = StepLaw(step, 1.0).at(dim)
    assert numbers == {"step_size": rate, "dim": float(dim)}
    back = filled(program, numbers)
    assert (back.learner.step_size, back.design.dim) == (rate, float(dim))
    assert split(replace(problem, learner=OnlineSgd(other)))[0] == program
    with pytest.raises(TypeError):
        program.learner.step_size * 2.0  # a number that is forgotten does not pass for another
    assert least_of(dim) <= dim


@given(st.integers(1, 10**4))
def test_groups_are_few_and_little_is_idle(count: int) -> None:
    size = group_size(count)
    assert size == group_size(size)
    assert count <= size <= max(count + 1, 1.25 * count)


def test_numbers_of_groups() -> None:
    assert sorted({group_size(count) for count in range(1, 41)}) == [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
