"""From a learner to what runs it: the `Simulator` that the learner names."""

from __future__ import annotations

from functools import cache

from featlab.errors import InvalidParameter
from featlab.learners.protocol import Learner, Student
from featlab.learners.registry import load_object
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.targets import Target


def simulator_of(learner: Learner) -> Simulator:
    """What runs a learner."""
    return _loaded(learner.simulator)


def algorithm(problem: Problem) -> Algorithm:
    """The algorithm of a problem's learner."""
    return simulator_of(problem.learner).algorithm(problem)


def demand(learner: Learner, student: Student | None, target: Target, sizes: Sizes) -> Demand:
    """What the learner asks of its design."""
    return simulator_of(learner).demand(learner, student, target, sizes)


def check_runnable(learner: Learner, student: Student | None, target: Target) -> None:
    """Refuse a target or a student that the learner cannot be run on."""
    check = simulator_of(learner).check
    if check is not None:
        check(learner, student, target)


@cache
def _loaded(reference: str) -> Simulator:
    loaded = load_object(reference, "simulator")
    if not isinstance(loaded, Simulator):
        raise InvalidParameter("simulator", reference, "module:name of a Simulator(algorithm, demand, check)")
    return loaded
