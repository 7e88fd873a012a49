"""Mean-field Langevin dynamics: noisy gradient descent of a wide network. Descriptions only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.checks import finite_number, positive_integer, positive_number
from featlab.learners.steps import StepLaw, check_step

_TEMPERATURE = StepLaw(0.1, 1)


@dataclass(frozen=True)
class MeanFieldTanh:
    """f = (1/N) sum_i h(X_i), every neuron X = (w, b, c) in R^(d+2) with the bounded output
    h = R [tanh(<w, x> + b) + 2 tanh(c)] / 3 (Suzuki et al. 2023, NeurIPS); all of X is trained. The class is sign f.

    Attributes:
        width: the number N of neurons.
        output_scale: R; 15 in the paper's experiment.
        start_deviation: every entry of X starts as N(0, start_deviation^2).
    """

    width: int = 256
    output_scale: float = 15.0
    start_deviation: float = 1.0

    def __post_init__(self) -> None:
        positive_integer("width", self.width)
        positive_number("output_scale", self.output_scale)
        positive_number("start_deviation", self.start_deviation)


@dataclass(frozen=True)
class LangevinDynamics:
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
    """

    clock: ClassVar[str] = "iterations"
    student_kind: ClassVar[type] = MeanFieldTanh

    steps: int
    step_size: float | StepLaw = 0.2
    temperature: float | StepLaw = _TEMPERATURE
    prior_rate: float = 0.1
    halve_every: int | None = None
    test_samples: int = 4096

    def __post_init__(self) -> None:
        positive_integer("steps", self.steps)
        check_step("step_size", self.step_size)
        scale = self.temperature.scale if isinstance(self.temperature, StepLaw) else self.temperature
        if finite_number("temperature", scale) < 0:
            raise InvalidParameter("temperature", self.temperature, "lambda >= 0, as a number or StepLaw(scale, power)")
        if finite_number("prior_rate", self.prior_rate) < 0:
            raise InvalidParameter("prior_rate", self.prior_rate, "lambda1 >= 0; 0 is no decay at all")
        if self.halve_every is not None:
            positive_integer("halve_every", self.halve_every)
        positive_integer("test_samples", self.test_samples)
