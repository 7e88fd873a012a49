"""A trained second layer: ridge regression on the features that the first layer has learned, or was born with.

A description only.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.checks import finite_number, one_of, positive_integer, positive_number
from featlab.learners.flows import NormalisedFlow, SphericalFlow
from featlab.learners.giant import GiantSteps
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.reuse import ReusedBatch
from featlab.learners.students import BIASES, TwoLayer

LEAVE_ONE_OUT = "leave-one-out"
DATA = ("fresh", "same")

# The ridges that leave-one-out chooses among, in units of the mean squared norm of a sample's features.
LEAVE_ONE_OUT_GRID = tuple(10.0 ** (k / 2) for k in range(-18, 5))


def check_ridge(name: str, ridge: object) -> None:
    """Refuse what is neither a number above zero nor "leave-one-out"."""
    if isinstance(ridge, str):
        one_of(name, ridge, (LEAVE_ONE_OUT,))
    else:
        positive_number(name, ridge)


def check_test_samples(count: object) -> None:
    """Refuse fewer than two test samples."""
    if positive_integer("test_samples", count) < 2:
        raise InvalidParameter("test_samples", count, "at least 2, to know the error of the risk")


First = OnlineSgd | Extragradient | GiantSteps | ReusedBatch | SphericalFlow | NormalisedFlow
# Those that keep the batch that they have seen.
_KEEPERS = (ReusedBatch, SphericalFlow, NormalisedFlow)


@dataclass(frozen=True)
class Readout:
    """The first layer is trained by `first`; at every time looked at, the second layer is fitted by ridge regression
    to n samples, and the risk is that of the fitted network. The first layer never sees the fitted second one.

    With features phi_i(x) = sigma(<w_i, x> + b_i) / sqrt(p) it minimises (1/n) |y - Phi a|^2 + lambda |a|^2. Other
    conventions: |y - Phi a|^2 + L |a|^2 is lambda = L/n (Cui et al. 2024), and (1/n) |y - Phi a|^2 + (L/p) |a|^2 is
    lambda = L/p (Ba et al. 2022). There is no intercept.

    Attributes:
        first: what trains the first layer; None, nothing does: random features.
        samples: the number n of fresh samples; None when `data` is "same".
        ridge: lambda, a number above zero; or "leave-one-out", the one of `LEAVE_ONE_OUT_GRID` with the smallest
            exact leave-one-out error. A lambda below 1e-12 mean squared norms of the features is out of reach of
            float64 and is raised to that; the result says which lambda was used.
        data: "fresh", samples that the first layer has not seen; "same", the batch that it has just seen, for a
            `first` that keeps it: a `ReusedBatch` (with steps_per_batch=1 these are giant steps) or a flow.
        biases, bias_scale: None, the biases of the first layer's training; else new ones for the readout, as in
            `TwoLayer` (neurons that learned the same direction become different features).
        test_samples: the number of fresh samples that the risk is measured on.
    """

    student_kind: ClassVar[type] = TwoLayer

    first: First | None
    samples: int | None = None
    ridge: float | str = LEAVE_ONE_OUT
    data: str = "fresh"
    biases: float | str | None = None
    bias_scale: float = 1.0
    test_samples: int = 2**14

    def __post_init__(self) -> None:
        if self.first is not None and not isinstance(self.first, First):
            expected = "OnlineSgd, Extragradient, GiantSteps, ReusedBatch, a flow, or None for random features"
            raise InvalidParameter("first", self.first, expected)
        one_of("data", self.data, DATA)
        self._check_samples()
        check_ridge("ridge", self.ridge)
        if isinstance(self.biases, Real):
            finite_number("biases", self.biases)
        elif self.biases is not None:
            one_of("biases", self.biases, BIASES)
        positive_number("bias_scale", self.bias_scale)
        check_test_samples(self.test_samples)

    @property
    def clock(self) -> str:
        """That of the first layer's learner; an untrained one has none."""
        return "once" if self.first is None else self.first.clock

    def _check_samples(self) -> None:
        if self.data == "same":
            if not isinstance(self.first, _KEEPERS):
                expected = "'fresh'; or a first learner that keeps its batch: a ReusedBatch or a flow"
                raise InvalidParameter("data", self.data, expected)
            if self.samples is not None:
                raise InvalidParameter("samples", self.samples, "None: with data='same' it is the first layer's batch")
        elif positive_integer("samples", self.samples) < 2 and self.ridge == LEAVE_ONE_OUT:
            raise InvalidParameter("samples", self.samples, "at least 2, so that one can be left out")


def RandomFeatures(
    samples: int, ridge: float | str = LEAVE_ONE_OUT, test_samples: int = Readout.test_samples
) -> Readout:
    """Ridge regression on the features of an untrained first layer: the `Readout` after no step at all."""
    return Readout(None, samples, ridge, test_samples=test_samples)
