"""Full-batch steps that use a batch more than once. A description only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from featlab.learners.checks import one_of, positive_integer
from featlab.learners.steps import CONSTRAINTS, LOSSES, StepLaw, check_step
from featlab.learners.students import TwoLayer


@dataclass(frozen=True)
class ReusedBatch:
    """T full-batch gradient steps on one batch of n samples (Dandi et al. 2024, arXiv:2402.03220).

    Attributes:
        steps: the number T of steps.
        step_size: gamma per neuron, for the gradient of the *mean* loss over the batch.
        steps_per_batch: None, one batch throughout; k, a new batch after every k steps.
        loss, constraint: as in `OnlineSgd`.
    """

    clock: ClassVar[str] = "steps"
    student_kind: ClassVar[type] = TwoLayer

    steps: int
    step_size: float | StepLaw
    steps_per_batch: int | None = None
    loss: str = "squared"
    constraint: str = "none"

    def __post_init__(self) -> None:
        positive_integer("steps", self.steps)
        check_step("step_size", self.step_size)
        if self.steps_per_batch is not None:
            positive_integer("steps_per_batch", self.steps_per_batch)
        one_of("loss", self.loss, LOSSES)
        one_of("constraint", self.constraint, CONSTRAINTS)

    @property
    def uses(self) -> int:
        """How many steps read one batch."""
        return min(self.steps, self.steps_per_batch or self.steps)
