"""A network whose neurons share one direction, and the projected gradient flow that trains it. Descriptions only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.checks import finite_number, one_of, positive_integer, positive_number
from featlab.learners.readout import LEAVE_ONE_OUT, check_ridge

TIED_STARTS = ("sphere", "guided")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TiedNetwork:
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
    """

    width: int = 100
    bias_scale: float = 1.5
    signs: bool = True
    start: str = "sphere"

    def __post_init__(self) -> None:
        positive_integer("width", self.width)
        positive_number("bias_scale", self.bias_scale)
        if not isinstance(self.signs, bool):
            raise InvalidParameter("signs", self.signs, "True, random signs; or False, none")
        one_of("start", self.start, TIED_STARTS)


@dataclass(frozen=True)
class TiedFlow:
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
            1 + |c|.
        max_steps: Heun steps at most, refused ones included; a run that needs more ends as "out of steps".
        step_size: None, the flow; else full-batch gradient descent with this step instead, theta set back to norm 1
            after each. Time then is the number of steps times `step_size`.
        direction_speed: theta moves so many times faster. The authors' experiments are gradient descent with 100.
        tuning_samples: n', None for none: c is fitted once more by ridge regression on n' fresh samples, theta being
            that of the chosen start; the risk is then that of the fitted network.
        tuning_ridge: its lambda in (1/n') |y - Phi c|^2 + lambda |c|^2, or "leave-one-out".
        tuning_width: None, the same neurons; N', so many new ones on the same theta.
    """

    clock: ClassVar[str] = "flow"
    student_kind: ClassVar[type] = TiedNetwork

    time: float = 200.0
    frozen_time: float = 40.0
    penalty: float = 0.01
    restarts: int = 8
    interval: float = 5.0
    tolerance: float = 0.01
    max_steps: int = 4000
    step_size: float | None = None
    direction_speed: float = 1.0
    tuning_samples: int | None = None
    tuning_ridge: float | str = LEAVE_ONE_OUT
    tuning_width: int | None = None

    def __post_init__(self) -> None:
        for name in ("time", "penalty", "interval", "tolerance", "direction_speed"):
            positive_number(name, getattr(self, name))
        if not 0 <= finite_number("frozen_time", self.frozen_time) <= self.time:
            raise InvalidParameter("frozen_time", self.frozen_time, f"from 0 to {self.time}, the end of the flow")
        positive_integer("restarts", self.restarts)
        positive_integer("max_steps", self.max_steps)
        for name in ("time", "frozen_time"):
            self._check_multiple(name, self.interval, getattr(self, name))
        if self.step_size is not None:
            self._check_multiple("interval", positive_number("step_size", self.step_size), self.interval)
        self._check_tuning()

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
        if abs(count - round(count)) > _ROUNDING * max(1.0, count):
            raise InvalidParameter(name, value, f"a multiple of {unit}")

    def _check_tuning(self) -> None:
        check_ridge("tuning_ridge", self.tuning_ridge)
        if self.tuning_width is not None:
            positive_integer("tuning_width", self.tuning_width)
        if self.tuning_samples is None:
            if self.tuning_width is not None:
                raise InvalidParameter("tuning_width", self.tuning_width, "None without tuning_samples")
        elif positive_integer("tuning_samples", self.tuning_samples) < 2:
            raise InvalidParameter("tuning_samples", self.tuning_samples, "at least 2, so that one can be left out")
