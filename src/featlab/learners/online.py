"""One-pass learners: every step sees fresh samples. Descriptions only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from featlab.learners.checks import one_of, positive_integer
from featlab.learners.steps import CONSTRAINTS, LOSSES, StepLaw, check_step
from featlab.learners.students import TwoLayer


@dataclass(frozen=True)
class OnlineSgd:
    """One-pass stochastic gradient descent: w_i <- w_i - gamma p (d/d w_i) mean over the batch of the loss.

    Attributes:
        step_size: gamma per neuron, a number or a law c d^(-e).
        batch: the number of fresh samples per step.
        loss: "squared", (y - f)^2 / 2, or "correlation", -y f.
        constraint: "none"; "projected", rows are set back to their norm at the start after each step;
            "spherical", the gradient is made orthogonal to its row first, then as "projected".
    """

    clock: ClassVar[str] = "one-pass"
    student_kind: ClassVar[type] = TwoLayer

    step_size: float | StepLaw
    batch: int = 1
    loss: str = "squared"
    constraint: str = "none"

    def __post_init__(self) -> None:
        check_step("step_size", self.step_size)
        positive_integer("batch", self.batch)
        one_of("loss", self.loss, LOSSES)
        one_of("constraint", self.constraint, CONSTRAINTS)


@dataclass(frozen=True)
class Extragradient:
    """Extragradient: the gradient of each sample is taken after an inner step on that same sample
    (Arnaboldi et al. 2024, arXiv:2405.15459): W <- W - gamma grad L(x, y; W - rho grad L(x, y; W)).

    Attributes:
        step_size: the outer step gamma per neuron.
        inner_step: the inner step rho per neuron; a negative one is sharpness-aware minimisation (SAM).
        batch, loss, constraint: as in `OnlineSgd`. The inner step is never constrained.
    """

    clock: ClassVar[str] = "one-pass"
    student_kind: ClassVar[type] = TwoLayer

    step_size: float | StepLaw
    inner_step: float | StepLaw
    batch: int = 1
    loss: str = "squared"
    constraint: str = "none"

    def __post_init__(self) -> None:
        check_step("step_size", self.step_size)
        check_step("inner_step", self.inner_step, signed=True)
        positive_integer("batch", self.batch)
        one_of("loss", self.loss, LOSSES)
        one_of("constraint", self.constraint, CONSTRAINTS)
