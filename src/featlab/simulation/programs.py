"""Problems that share a compiled program: numbers that only ever enter as numbers are arguments of the program.

A program is known by its `Problem`, a hashable value. Step sizes, ridges and the like, and the dimension of a design
that keeps it as a number only, are taken out of the problem before and put back, traced, within: a sweep over step
sizes compiles once, and so do d, 4d and 16d of a one-pass learner. Which numbers these are a `Simulator` says. What is
then computed in float32 at run time was a constant before, so that last bits may differ, and nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial, wraps
from typing import Any

import jax

from featlab.learners.steps import StepLaw, step_at
from featlab.simulation.algorithms import simulator_of
from featlab.simulation.designs.spiked import SpikedDesign
from featlab.simulation.designs.virtual import Framed, least_of
from featlab.simulation.problem import DIM, Problem

Numbers = dict[str, Any]
# A CPU that has registers of 512 bits is to use them: unless told, XLA takes half of each, and a cipher twice as long.
_ON_CPU = {"xla_cpu_prefer_vector_width": 512}


@dataclass(frozen=True)
class _Argument:
    """What stands for a number in the problem of a program: computing with it fails, so that none is forgotten."""


_ARGUMENT = _Argument()


class Shared:
    """A function of a problem, compiled once for all problems of one program.

    Args:
        function: of a problem and further arguments.
        static: places of those that are known before it is compiled.
        donate: places of those whose memory it may take over.
        often: whether it draws so often that it pays to know whether the dimension is large.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static: tuple[int, ...] = (),
        donate: tuple[int, ...] = (),
        often: bool = False,
    ) -> None:
        @wraps(function)
        def within(program: Problem, numbers: Numbers, *arguments: Any) -> Any:
            return function(filled(program, numbers), *arguments)

        places = tuple(place + 1 for place in static)  # numbers come between the problem and its first argument
        self._jit = partial(
            jax.jit, within, static_argnums=(0, *places), donate_argnums=tuple(place + 1 for place in donate)
        )
        self.__doc__, self._often = function.__doc__, often

    @cached_property
    def compiled(self) -> Any:
        """What JAX makes of it; which device there is, is asked when it is first needed."""
        return self._jit(compiler_options=_ON_CPU if jax.default_backend() == "cpu" else None)

    def __call__(self, problem: Problem, *arguments: Any) -> Any:
        return self.compiled(*split(problem, self._often), *arguments)

    def shapes(self, problem: Problem, *arguments: Any) -> Any:
        """Of what it gives, without computing it."""
        return self.compiled.eval_shape(*split(problem, self._often), *arguments)

    def compile(self, problem: Problem, *arguments: Any) -> Callable[..., Any]:
        """Compiled for these arguments, or what has their shapes; to be called with such, but those that are static."""
        program, numbers = split(problem, self._often)
        return partial(self.compiled.lower(program, numbers, *arguments).compile(), numbers)


def shared(**how: Any) -> Callable[[Callable[..., Any]], Shared]:
    """`Shared` as a decorator."""
    return partial(Shared, **how)


def split(problem: Problem, often: bool = False) -> tuple[Problem, Numbers]:
    """A problem without its numbers, the same for all that share a program; and these. `often` as in `Shared`."""
    numbers: Numbers = {}
    learner, dim = problem.learner, problem.design.dim
    program = replace(problem, learner=_emptied(learner, dim, numbers, ""))
    inner = problem.design.inner if isinstance(problem.design, SpikedDesign) else problem.design
    if DIM in simulator_of(learner).arguments and isinstance(inner, Framed):
        numbers[DIM] = float(dim)
        program = with_inner(program, dim=_ARGUMENT, least_dim=least_of(dim) if often else least_of(0))
    return program, numbers


def filled(program: Problem, numbers: Numbers) -> Problem:
    """The problem of a program and its numbers; those may be traced."""
    problem = replace(program, learner=_refilled(program.learner, numbers, ""))
    return with_inner(problem, dim=numbers[DIM]) if DIM in numbers else problem


def _emptied(learner: Any, dim: int, numbers: Numbers, prefix: str) -> Any:
    """The learner, and a learner within it, without the numbers, which are noted; step laws at that dimension."""
    found = {}
    for name in simulator_of(learner).arguments:
        value = getattr(learner, name, None)
        if isinstance(value, int | float | StepLaw):
            found[name], numbers[prefix + name] = _ARGUMENT, float(step_at(value, dim))
        elif isinstance(value, tuple):
            found[name], numbers[prefix + name] = _ARGUMENT, tuple(map(float, value))
    for name, inner in _learners_within(learner):
        found[name] = _emptied(inner, dim, numbers, f"{prefix}{name}.")
    return _with(learner, **found)


def _refilled(learner: Any, numbers: Numbers, prefix: str) -> Any:
    found = {name: numbers[prefix + name] for name in _names(learner) if prefix + name in numbers}
    for name, inner in _learners_within(learner):
        found[name] = _refilled(inner, numbers, f"{prefix}{name}.")
    return _with(learner, **found)


def _names(description: Any) -> list[str]:
    return [field.name for field in fields(description)] if is_dataclass(description) else []


def _learners_within(learner: Any) -> list[tuple[str, Any]]:
    named = [(name, getattr(learner, name)) for name in _names(learner)]
    return [(name, value) for name, value in named if hasattr(value, "simulator")]


def with_inner(problem: Problem, **values: Any) -> Problem:
    """The problem with other values of some fields of its design, or of the one within it, unchecked."""
    design = problem.design
    if isinstance(design, SpikedDesign):
        return replace(problem, design=replace(design, inner=_with(design.inner, **values)))
    return replace(problem, design=_with(design, **values))


def _with(description: Any, **values: Any) -> Any:
    """The frozen dataclass with other values of some fields, unchecked: they stand for numbers that were checked."""
    if not values:
        return description
    changed = copy.copy(description)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    return changed
