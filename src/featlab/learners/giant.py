"""A few giant steps, each on its own large batch. A description only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import COUNT, LOSS, SCALES, STEPS, option
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.learners.steps import StepLaw
from featlab.learners.students import TwoLayer

_MOST_STEPS = 10**6


@dataclass(frozen=True)
class GiantSteps(LearnerDescription):
    """T full-batch gradient steps on fresh batches of n samples, eta = c p d^((l-1)/2)
    (Dandi et al. 2023, arXiv:2305.18270): W <- W - eta grad, that is c d^((l-1)/2) per neuron.

    Attributes:
        steps: the number T of steps.
        scale: c, one number or one per step.
        leap: l, which sets the power of d.
        loss: "squared" or "correlation".

    Examples:
        >>> import featlab
        >>> featlab.GiantSteps(steps=2, scale=(1.0, 0.5))
        GiantSteps(steps=2, scale=(1.0, 0.5), leap=1, loss='squared')
    """

    clock: ClassVar[str] = "steps"
    student_kind: ClassVar[type] = TwoLayer
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.giant:SIMULATOR"

    steps: int = field(default=1, metadata=STEPS)
    scale: float | tuple[float, ...] = field(default=1.0, metadata=option(SCALES, "c in eta = c p d^((l-1)/2)"))
    leap: int = field(default=1, metadata=option(COUNT, "l in eta = c p d^((l-1)/2)"))
    loss: str = field(default="squared", metadata=LOSS)

    def check_together(self) -> None:
        """One scale for all steps, or one for each, and not so many that their list would be the largest of all."""
        if self.steps > _MOST_STEPS:
            takes = f"the list of the scales of {self.steps:,} takes {8 * self.steps:,} bytes"
            raise InvalidParameter("steps", self.steps, f"at most {_MOST_STEPS:,} giant steps; {takes}")
        if isinstance(self.scale, tuple) and len(self.scale) != self.steps:
            raise InvalidParameter("scale", self.scale, f"one number, or {self.steps} of them, one per step")

    @property
    def scales(self) -> tuple[float, ...]:
        """c for each step."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,) * self.steps

    def steps_at(self, dim: int) -> tuple[float, ...]:
        """The steps per neuron, eta/p = c d^((l-1)/2), at dimension `dim`; c may be an argument of a program."""
        growth = StepLaw(1.0, (1 - self.leap) / 2).at(dim)
        return tuple(c * growth for c in self.scales)

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """samples / d^leap is kept."""
        return None if limit == "samples" else Grown(self, student, factor**self.leap)
