"""Full-batch steps that use a batch more than once. A description only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from featlab.learners.fields import CONSTRAINT, LOSS, STEP_SIZE, STEPS, STEPS_PER_BATCH
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.learners.steps import StepLaw, step_at
from featlab.learners.students import TwoLayer


@dataclass(frozen=True)
class ReusedBatch(LearnerDescription):
    """T full-batch gradient steps on one batch of n samples (Dandi et al. 2024, arXiv:2402.03220).

    Attributes:
        steps: the number T of steps.
        step_size: gamma per neuron, for the gradient of the *mean* loss over the batch.
        steps_per_batch: None, one batch throughout; k, a new batch after every k steps.
        loss, constraint: as in `OnlineSgd`.

    Examples:
        >>> import featlab
        >>> learner = featlab.ReusedBatch(steps=2, step_size=0.2)
        >>> student = featlab.TwoLayer(start="orthogonal")
        >>> prediction = featlab.predict("He3(h1)", learner, dim=1000, samples=3000, student=student)
        >>> abs(prediction["overlap"].values[:, 0, 0]).round(4).tolist()
        [0.0, 0.0, 0.0178]
    """

    clock: ClassVar[str] = "steps"
    student_kind: ClassVar[type] = TwoLayer
    keeps_batch: ClassVar[bool] = True
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.reuse:SIMULATOR"

    steps: int = field(metadata=STEPS)
    step_size: float | StepLaw = field(metadata=STEP_SIZE)
    steps_per_batch: int | None = field(default=None, metadata=STEPS_PER_BATCH)
    loss: str = field(default="squared", metadata=LOSS)
    constraint: str = field(default="none", metadata=CONSTRAINT)

    @property
    def uses(self) -> int:
        """How many steps read one batch."""
        return min(self.steps, self.steps_per_batch or self.steps)

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """The step, as it is at `dim`, and samples / d are kept."""
        if limit == "samples":
            return None
        return Grown(replace(self, step_size=step_at(self.step_size, dim)), student, factor)
