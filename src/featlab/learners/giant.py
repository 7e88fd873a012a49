"""A few giant steps, each on its own large batch. A description only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.checks import one_of, positive_integer, positive_number
from featlab.learners.steps import LOSSES
from featlab.learners.students import TwoLayer


@dataclass(frozen=True)
class GiantSteps:
    """T full-batch gradient steps on fresh batches of n samples, eta = c p d^((l-1)/2)
    (Dandi et al. 2023, arXiv:2305.18270): W <- W - eta grad, that is c d^((l-1)/2) per neuron.

    Attributes:
        steps: the number T of steps.
        scale: c, one number or one per step.
        leap: l, which sets the power of d.
        loss: "squared" or "correlation".
    """

    clock: ClassVar[str] = "steps"
    student_kind: ClassVar[type] = TwoLayer

    steps: int = 1
    scale: float | tuple[float, ...] = 1.0
    leap: int = 1
    loss: str = "squared"

    def __post_init__(self) -> None:
        positive_integer("steps", self.steps)
        positive_integer("leap", self.leap)
        one_of("loss", self.loss, LOSSES)
        if isinstance(self.scale, tuple) and len(self.scale) != self.steps:
            raise InvalidParameter("scale", self.scale, f"one number, or a tuple of {self.steps}, one per step")
        for value in self.scales:
            positive_number("scale", value)

    @property
    def scales(self) -> tuple[float, ...]:
        """c for each step."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,) * self.steps

    def steps_at(self, dim: int) -> tuple[float, ...]:
        """The steps per neuron, eta/p = c d^((l-1)/2), at dimension `dim`."""
        return tuple(float(c * float(dim) ** ((self.leap - 1) / 2)) for c in self.scales)
