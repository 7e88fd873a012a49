"""A network whose neurons share one direction, and the projected gradient flow that trains it. Descriptions only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import (
    COUNT,
    FIT_SAMPLES,
    FLAG,
    LEAVE_ONE_OUT,
    NUMBER,
    POSITIVE,
    RIDGE,
    Description,
    choice,
    option,
    or_none,
)
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.results import TIED_START

if TYPE_CHECKING:
    from featlab.targets import Target

TIED_STARTS = ("sphere", "guided")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TiedNetwork(Description):
    """f(x) = (1/sqrt N) sum_i c_i relu(eps_i <theta, x> - b_i): N neurons that share one unit direction theta
    (Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651). theta and c are trained; biases and signs are frozen.

    Attributes:
        width: the number N of neurons.
        bias_scale: tau, b_i ~ N(0, tau^2).
        signs: eps_i are random signs, as in the theorems; False, all are +1, as in the authors' experiments.
        start: "sphere", theta uniform and c_i ~ N(0, 1); "guided", the start of the authors' experiments: theta has a
            positive overlap with the target's direction, and c the sign that makes the product of the lowest Hermite
            coefficients of network and target positive. It uses knowledge of the target that no learner has, and spares
            the runs that start on the wrong side.

    Examples:
        >>> import featlab
        >>> featlab.TiedNetwork(width=50)
        TiedNetwork(width=50, bias_scale=1.5, signs=True, start='sphere')
    """

    certain: ClassVar[bool] = False

    width: int = field(default=100, metadata=option(COUNT, "number of neurons"))
    bias_scale: float = field(default=1.5, metadata=option(POSITIVE, "factor of random biases"))
    signs: bool = field(default=True, metadata=option(FLAG, "random signs eps_i in front of theta"))
    start: str = field(default="sphere", metadata=option(choice(*TIED_STARTS), "where rows start"))


@dataclass(frozen=True)
class TiedFlow(LearnerDescription):
    """Projected gradient flow of a `TiedNetwork` on n samples (Bietti et al. 2022, arXiv:2210.15651):

        L(c, theta) = (1/n) sum (y - f(x))^2 + lambda |c|^2,
        dtheta/dt = -(I - theta theta^T) grad_theta L,   dc/dt = -[t > T0] grad_c L,

    from several starts at once; the one with the lowest L is chosen. Time is that of the flow. In the dataset each
    start is a row, on the axis `neuron`.

    Attributes:
        time: T, when the flow ends.
        frozen_time: T0, up to which only theta moves. The theorem has T0 ~ d^(s/2 - 1).
        penalty: lambda.
        restarts: from how many independent starts (theta, c, biases and signs).
        interval: the flow can be looked at at multiples of it.
        tolerance: of the adaptive Heun steps: the largest difference to an Euler step, in theta, and in c relative to
            1 + |c|. At rest steps are as long as it allows, and theta trembles: with .01 an error 1 - |m| of 3e-5 came
            out 8% too large, with .002 and .0005 it did not, on the same data.
        max_steps: Heun steps at most, refused ones included; a run that needs more ends as "out of steps".
        step_size: None, the flow; else full-batch gradient descent with this step instead, theta set back to norm 1
            after each. Time then is the number of steps times `step_size`.
        direction_speed: theta moves so many times faster. The authors' experiments are gradient descent with 100.
        tuning_samples: n', None for none: c is fitted once more by ridge regression on n' fresh samples, theta being
            that of the chosen start; the risk is then that of the fitted network.
        tuning_ridge: its lambda in (1/n') |y - Phi c|^2 + lambda |c|^2, or "leave-one-out".
        tuning_width: None, the same neurons; N', so many new ones on the same theta.

    Examples:
        >>> import featlab
        >>> featlab.TiedFlow(time=100.0, restarts=4).penalty
        0.01
    """

    clock: ClassVar[str] = "flow"
    student_kind: ClassVar[type] = TiedNetwork
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.tied:SIMULATOR"

    time: float = field(default=200.0, metadata=option(POSITIVE, "when the flow ends"))
    frozen_time: float = field(default=40.0, metadata=option(NUMBER, "up to when only theta moves"))
    penalty: float = field(default=0.01, metadata=option(POSITIVE, "lambda of the penalty on c"))
    restarts: int = field(default=8, metadata=option(COUNT, "independent starts"))
    interval: float = field(default=5.0, metadata=option(POSITIVE, "time between possible looks"))
    tolerance: float = field(default=0.002, metadata=option(POSITIVE, "error of an adaptive step"))
    max_steps: int = field(default=4000, metadata=option(COUNT, "adaptive steps at most"))
    step_size: float | None = field(default=None, metadata=option(or_none(POSITIVE), "gradient descent with this step"))
    direction_speed: float = field(default=1.0, metadata=option(POSITIVE, "how much faster theta moves"))
    tuning_samples: int | None = field(default=None, metadata=option(or_none(FIT_SAMPLES), "samples to refit c on"))
    tuning_ridge: float | str = field(default=LEAVE_ONE_OUT, metadata=option(RIDGE, "lambda of that fit"))
    tuning_width: int | None = field(default=None, metadata=option(or_none(COUNT), "new neurons for that fit"))

    def check_together(self) -> None:
        """Times are multiples of each other; tuning has samples."""
        if not 0 <= self.frozen_time <= self.time:
            raise InvalidParameter("frozen_time", self.frozen_time, f"from 0 to {self.time}, the end of the flow")
        for name in ("time", "frozen_time"):
            self._check_multiple(name, self.interval, getattr(self, name))
        if self.step_size is not None:
            self._check_multiple("interval", self.step_size, self.interval)
        if self.tuning_samples is None and self.tuning_width is not None:
            raise InvalidParameter("tuning_width", self.tuning_width, "None without tuning_samples")

    @property
    def steps(self) -> int:
        """The number of intervals."""
        return round(self.time / self.interval)

    @property
    def frozen_steps(self) -> int:
        """How many of them only theta moves in."""
        return round(self.frozen_time / self.interval)

    @property
    def descents(self) -> int:
        """The number of gradient steps in an interval, where they have a fixed size."""
        return 0 if self.step_size is None else round(self.interval / self.step_size)

    @property
    def uses(self) -> int:
        """How often the batch is read at most."""
        return 1 + (2 * self.max_steps if self.step_size is None else self.steps * self.descents)

    @staticmethod
    def _check_multiple(name: str, unit: float, value: float) -> None:
        count = value / unit
        if not math.isfinite(count) or abs(count - round(count)) > _ROUNDING * max(1.0, count):
            raise InvalidParameter(name, value, f"a multiple of {unit}")

    def needs_start(self, student: Student | None, target: Target) -> tuple[str, ...]:
        """Every start, with its neurons."""
        return TIED_START

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """Of a prediction for many samples at one dimension, samples grow."""
        return Grown(self, student, factor) if limit == "samples" else None
