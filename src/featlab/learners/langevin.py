"""Mean-field Langevin dynamics: noisy gradient descent of a wide network. Descriptions only."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import (
    COUNT,
    POSITIVE,
    SIGNED_STEP,
    STEP_SIZE,
    STEPS,
    Description,
    option,
    or_none,
    within,
)
from featlab.learners.protocol import LearnerDescription
from featlab.learners.steps import StepLaw
from featlab.targets.inputs import Hypercube

_TEMPERATURE = StepLaw(0.1, 1)
_RATE = within(0, inf, "lambda1 >= 0; 0 is no decay at all", closed=True)


@dataclass(frozen=True)
class MeanFieldTanh(Description):
    """f = (1/N) sum_i h(X_i), every neuron X = (w, b, c) in R^(d+2) with the bounded output
    h = R [tanh(<w, x> + b) + 2 tanh(c)] / 3 (Suzuki et al. 2023, NeurIPS); all of X is trained. The class is sign f.

    Attributes:
        width: the number N of neurons.
        output_scale: R; 15 in the paper's experiment.
        start_deviation: every entry of X starts as N(0, start_deviation^2).

    Examples:
        >>> import featlab
        >>> featlab.MeanFieldTanh(width=128)
        MeanFieldTanh(width=128, output_scale=15.0, start_deviation=1.0)
    """

    certain: ClassVar[bool] = True  # no prediction is made from its start

    width: int = field(default=256, metadata=option(COUNT, "number of neurons"))
    output_scale: float = field(default=15.0, metadata=option(POSITIVE, "R, the bound of a neuron's output"))
    start_deviation: float = field(default=1.0, metadata=option(POSITIVE, "deviation of every entry at the start"))


@dataclass(frozen=True)
class LangevinDynamics(LearnerDescription):
    """Mean-field Langevin dynamics on one batch of n samples (Suzuki et al. 2023; Nitanda, Oko, Suzuki, Wu 2024),
    noisy gradient descent of L(mu) + lambda KL(mu, nu) over the law mu of a neuron, with the logistic loss
    L = mean log(1 + exp(-y f)) of labels +-1 and the prior nu = N(0, I / (2 lambda1)):

        X_i <- X_i - eta (N dL/dX_i + 2 lambda lambda1 X_i) + sqrt(2 lambda eta) N(0, I).

    The weight decay is 2 lambda lambda1, small as the temperature is: it belongs to KL, not to the loss.

    Attributes:
        steps: the number T of steps.
        step_size: eta per neuron, a number or a law c d^(-e).
        temperature: lambda, a number or a law in d; 0 is plain gradient descent without decay.
        prior_rate: lambda1, of the prior's density exp(-lambda1 |X|^2).
        halve_every: None, lambda stays; k, it is halved after every k steps, which is the annealing of the theorems.
        test_samples: the number of fresh samples that accuracy and loss are measured on.

    Examples:
        >>> import featlab
        >>> featlab.LangevinDynamics(steps=200).temperature
        StepLaw(scale=0.1, exponent=1)
    """

    clock: ClassVar[str] = "iterations"
    student_kind: ClassVar[type] = MeanFieldTanh
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.langevin:SIMULATOR"

    steps: int = field(metadata=STEPS)
    step_size: float | StepLaw = field(default=0.2, metadata=STEP_SIZE)
    temperature: float | StepLaw = field(default=_TEMPERATURE, metadata=option(SIGNED_STEP, "lambda, number or law"))
    prior_rate: float = field(default=0.1, metadata=option(_RATE, "lambda1 of the prior exp(-lambda1 |X|^2)"))
    halve_every: int | None = field(default=None, metadata=option(or_none(COUNT), "steps after which lambda is halved"))
    test_samples: int = field(default=4096, metadata=option(COUNT, "fresh samples for accuracy and loss"))

    @property
    def inputs(self) -> tuple[type, ...]:
        """Signs: the loss is logistic, labels are parities."""
        return (Hypercube,)

    def check_together(self) -> None:
        """No negative temperature."""
        scale = self.temperature.scale if isinstance(self.temperature, StepLaw) else self.temperature
        if scale < 0:
            raise InvalidParameter("temperature", self.temperature, "lambda >= 0, as a number or StepLaw(scale, power)")
