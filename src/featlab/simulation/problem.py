"""What one run is about, as one hashable value: target, student, learner and design; and the labels of its samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import jax.numpy as jnp
from jax import Array

from featlab.gaussian.activations import Activation, activation
from featlab.learners.protocol import Learner
from featlab.outcome import Outcome
from featlab.simulation.designs.stored import Stored
from featlab.simulation.random import normal

if TYPE_CHECKING:  # a run needs no parser: anything with a rank, a link and a noise will do
    from featlab.simulation.designs.choose import Demand, Sizes
    from featlab.targets import Target


DIM = "dim"
"""The name of the dimension among the arguments of a `Simulator`."""
LearnerKind = TypeVar("LearnerKind", bound=Learner)
StudentKind = TypeVar("StudentKind", bound=Any)


@dataclass(frozen=True)
class Problem(Generic[LearnerKind, StudentKind]):
    """Everything about a run that is known before it is compiled; its algorithm knows which learner and student it has.

    The student is None for a learner that estimates the target's directions by itself.

    Examples:
        >>> import featlab
        >>> from featlab.extending import Problem
        >>> learner, student = featlab.OnlineSgd(step_size=0.01), featlab.TwoLayer(1, "tanh")
        >>> Problem(featlab.target("tanh(h1)"), student, learner, design=None).activation.name
        'tanh'
    """

    target: Target
    student: StudentKind
    learner: LearnerKind
    design: Any

    @property
    def activation(self) -> Activation:
        """The student's activation."""
        return activation(self.student.activation)


class Algorithm(NamedTuple):
    """A learning algorithm for one problem, as pure functions of one seed.

    Attributes:
        init: key -> State.
        draw: key -> what the next `block` steps need at random, stacked along a first axis.
        step: State, one slice of that, the number of the step -> State, Info.
        block: how many steps one `draw` serves.
        informs: whether Info is worth keeping at observed times (few, heavy steps).
        outcomes: if not empty, the State has an `outcome`, an index into these, and a number of `iterations`.
            Where the first of them is NOT_CONVERGED, all others are ends: after them a step changes nothing.
        measures: name -> (State, key -> its value), for quantities of `featlab.results` that only this learner has, or
            that it measures in its own way; "risk" comes as (risk, its error).
        absent: names of quantities that this learner does not have.
        on_request: names of those of its own that are measured only when asked for.
        fit: State, key -> "risk", "risk_error", "ridge" of a readout fitted at an observed time, in float64; or None.
        fitted: names of its own that come with the fit.
    """

    init: Callable[[Array], Any]
    draw: Callable[[Array], Any]
    step: Callable[[Any, Any, Array], tuple[Any, Any]]
    block: int = 1
    informs: bool = False
    outcomes: tuple[Outcome, ...] = ()
    measures: Mapping[str, Callable[[Any, Array], Any]] = MappingProxyType({})
    absent: tuple[str, ...] = ()
    on_request: tuple[str, ...] = ()
    fit: Callable[[Any, Array], dict[str, Array]] | None = None
    fitted: tuple[str, ...] = ()


class Simulator(NamedTuple):
    """What runs a kind of learner; a learner names it by its `simulator`.

    Attributes:
        algorithm: the algorithm of a problem with such a learner.
        demand: learner, student, target and sizes -> what is asked of a design, and the memory besides.
        check: learner, student, target -> refuses those that it cannot run; None, it runs all.
        arguments: fields of the learner whose value, a number or a step law, the algorithm uses as a number only (in no
            condition, no shape, no function of NumPy), and `DIM` where it uses `design.dim` so. Runs that differ in
            these alone share one compiled program.
        on_host: whether its algorithm also runs on arrays of NumPy, without being compiled.
    """

    algorithm: Callable[[Problem], Algorithm]
    demand: Callable[[Any, Any, Target, Sizes], Demand]
    check: Callable[[Any, Any, Target], None] | None = None
    arguments: tuple[str, ...] = ()
    on_host: bool = False


def label_noise(problem: Problem, key: Array, shape: tuple[int, ...]) -> Array:
    """The N(0, 1) numbers behind the randomness of labels: one column per hidden variable, one for additive noise.

    Stored samples have their labels already, and no numbers.

    Args:
        problem: the run.
        key: of the draw.
        shape: that of the labels.
    """
    if isinstance(problem.design, Stored):
        return normal(key, (*shape, 0), problem.design.dtype)
    columns = problem.target.hidden + (problem.target.noise > 0)
    return normal(key, (*shape, columns), problem.design.dtype)


def labels(problem: Problem, target_fields: Array, noise: Array) -> Array:
    """y = g(h, xi) + sqrt(noise) z for fields h (..., r) and the numbers of `label_noise`; or y as it is stored.

    Args:
        problem: the run.
        target_fields: h (..., r).
        noise: as `label_noise` drew it.
    """
    if isinstance(problem.design, Stored):
        return target_fields[..., 0]
    hidden = problem.target.hidden
    clean = problem.target.link_jax(jnp.concatenate([target_fields, noise[..., :hidden]], axis=-1))
    if problem.target.noise > 0:
        clean = clean + math.sqrt(problem.target.noise) * noise[..., hidden]
    return clean.astype(problem.design.dtype)
