"""Step sizes: a number, or a law in the dimension.

Convention, the same for every learner: steps are *per neuron*. The student is (1/p) sum_i a_i sigma(<w_i, x>
+ b_i) and one step with step size gamma is w_i <- w_i - gamma p (d loss / d w_i), so that the factor 1/p of
the network cancels and gamma means the same thing at every width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from featlab.errors import InvalidParameter
from featlab.learners.checks import finite_number

LearnerKind = TypeVar("LearnerKind", bound=Any)
LOSSES = ("squared", "correlation")
CONSTRAINTS = ("none", "projected", "spherical")


@dataclass(frozen=True)
class StepLaw:
    """The step size c d^(-e) as a function of the dimension d.

    Examples:
        >>> import featlab
        >>> featlab.StepLaw(2.0, 0.5)  # 2/sqrt(d)
        StepLaw(scale=2.0, exponent=0.5)
    """

    scale: float
    exponent: float

    def __post_init__(self) -> None:
        finite_number("scale", self.scale)
        finite_number("exponent", self.exponent)

    def at(self, dim: int) -> float:
        """Its value at dimension `dim`.

        Raises:
            InvalidParameter: where that is too large or too small for a float.
        """
        try:
            found = float(self.scale * float(dim) ** (-self.exponent))
        except OverflowError:
            found = math.inf
        if not math.isfinite(found) or (found == 0 and self.scale):
            given = f"{self.scale!r}*d^{-self.exponent!r}"
            raise InvalidParameter("step", given, f"a law that is neither 0 nor infinite at d = {dim:.3g}")
        return found


def step_at(step: float | StepLaw, dim: int) -> float:
    """The value of a step size, number or law, at dimension `dim`; a number that is traced stays so."""
    return step.at(dim) if isinstance(step, StepLaw) else step


def with_steps_over(dim: int, learner: LearnerKind, *names: str) -> LearnerKind:
    """The learner with these step sizes, as they are at dimension `dim`, as laws c/d.

    Args:
        dim: d.
        learner: as it is at d.
        names: of the fields that hold step sizes.
    """
    return replace(learner, **{name: StepLaw(step_at(getattr(learner, name), dim) * dim, 1.0) for name in names})


def check_step(name: str, step: object, *, signed: bool = False) -> None:
    """Refuse a step that is no finite number or law, or (unless `signed`) not above zero."""
    if isinstance(step, str):
        raise InvalidParameter(name, step, "a number, or a law as StepLaw(scale, exponent): StepLaw(0.1, 1) is 0.1/d")
    value = step.scale if isinstance(step, StepLaw) else finite_number(name, step)
    if not signed and value <= 0:
        raise InvalidParameter(name, step, "a step size above 0, as a number or as StepLaw(scale, exponent)")
