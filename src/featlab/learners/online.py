"""One-pass learners: every step sees fresh samples. Descriptions only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from featlab.learners.fields import BATCH, CONSTRAINT, LOSS, SIGNED_STEP, STEP_SIZE, option
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.learners.steps import StepLaw, with_steps_over
from featlab.learners.students import TwoLayer


@dataclass(frozen=True)
class OnlineSgd(LearnerDescription):
    """One-pass stochastic gradient descent: w_i <- w_i - gamma p (d/d w_i) mean over the batch of the loss.

    Attributes:
        step_size: gamma per neuron, a number or a law c d^(-e).
        batch: the number of fresh samples per step.
        loss: "squared", (y - f)^2 / 2, or "correlation", -y f.
        constraint: "none"; "projected", rows are set back to their norm at the start after each step;
            "spherical", the gradient is made orthogonal to its row first, then as "projected".

    Examples:
        >>> import featlab
        >>> featlab.OnlineSgd(step_size=featlab.StepLaw(0.5, 1))  # 0.5/d
        OnlineSgd(step_size=StepLaw(scale=0.5, exponent=1), batch=1, loss='squared', constraint='none')
    """

    clock: ClassVar[str] = "one-pass"
    student_kind: ClassVar[type] = TwoLayer
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.online:SIMULATOR"

    step_size: float | StepLaw = field(metadata=STEP_SIZE)
    batch: int = field(default=1, metadata=BATCH)
    loss: str = field(default="squared", metadata=LOSS)
    constraint: str = field(default="none", metadata=CONSTRAINT)

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """gamma d and samples / d are kept."""
        return None if limit == "samples" else Grown(with_steps_over(dim, self, "step_size"), student, factor)


@dataclass(frozen=True)
class Extragradient(LearnerDescription):
    """Extragradient: the gradient of each sample is taken after an inner step on that same sample
    (Arnaboldi et al. 2024, arXiv:2405.15459): W <- W - gamma grad L(x, y; W - rho grad L(x, y; W)).

    Attributes:
        step_size: the outer step gamma per neuron.
        inner_step: the inner step rho per neuron; a negative one is sharpness-aware minimisation (SAM).
        batch, loss, constraint: as in `OnlineSgd`. The inner step is never constrained.

    Examples:
        >>> import featlab
        >>> featlab.Extragradient(step_size=0.001, inner_step=0.01).clock
        'one-pass'
    """

    clock: ClassVar[str] = "one-pass"
    student_kind: ClassVar[type] = TwoLayer
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.extragradient:SIMULATOR"

    step_size: float | StepLaw = field(metadata=STEP_SIZE)
    inner_step: float | StepLaw = field(metadata=option(SIGNED_STEP, "inner step on the same sample; below 0, SAM"))
    batch: int = field(default=1, metadata=BATCH)
    loss: str = field(default="squared", metadata=LOSS)
    constraint: str = field(default="none", metadata=CONSTRAINT)

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """gamma d, rho d and samples / d are kept."""
        if limit == "samples":
            return None
        return Grown(with_steps_over(dim, self, "step_size", "inner_step"), student, factor)
