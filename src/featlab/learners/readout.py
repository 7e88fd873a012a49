"""A trained second layer: ridge regression on the features that the first layer has learned, or was born with.

A description only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.checks import positive_integer
from featlab.learners.fields import (
    BIASES,
    COUNT,
    LEAVE_ONE_OUT,
    POSITIVE,
    RIDGE,
    TEST,
    choice,
    option,
    or_none,
    or_word,
)
from featlab.learners.protocol import GAUSSIAN, Grown, Learner, LearnerDescription, Student, check_contract
from featlab.learners.students import TwoLayer

if TYPE_CHECKING:
    from featlab.targets import Target

DATA = ("fresh", "same")
AS_FIELDS = "fields"

# The ridges that leave-one-out chooses among, in units of the mean squared norm of a sample's features.
LEAVE_ONE_OUT_GRID = tuple(10.0 ** (k / 2) for k in range(-18, 5))


@dataclass(frozen=True)
class Readout(LearnerDescription):
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
            `TwoLayer` (neurons that learned the same direction become different features). With bias_scale="fields"
            they are as wide as the fields <w_i, x> are at that time, by their root mean square over neurons and inputs.
        test_samples: the number of fresh samples that the risk is measured on.

    Examples:
        >>> import featlab
        >>> featlab.Readout(featlab.GiantSteps(), samples=1000).samples
        1000
    """

    student_kind: ClassVar[type] = TwoLayer
    fits_readout: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.readout:SIMULATOR"

    first: Learner | None
    samples: int | None = field(default=None, metadata=option(or_none(COUNT), "fresh samples that it is fitted to"))
    ridge: float | str = field(default=LEAVE_ONE_OUT, metadata=option(RIDGE, "lambda of the ridge regression"))
    data: str = field(default="fresh", metadata=option(choice(*DATA), "which samples it is fitted to"))
    biases: float | str | None = field(default=None, metadata=option(or_none(BIASES), "new biases for the fit"))
    bias_scale: float | str = field(
        default=1.0, metadata=option(or_word(POSITIVE, AS_FIELDS), "factor of these, or as wide as the fields")
    )
    test_samples: int = field(default=2**14, metadata=TEST)

    def check_together(self) -> None:
        """A first learner that trains a two-layer student, and samples to fit to."""
        if self.first is not None:
            check_contract(self.first, "first")
            if self.first.student_kind is not TwoLayer or getattr(self.first, "fits_readout", False):
                expected = "a learner that trains the first layer of a TwoLayer, or None for random features"
                raise InvalidParameter("first", self.first, expected)
        self._check_samples()

    @property
    def clock(self) -> str:
        """That of the first layer's learner; an untrained one has none."""
        return "once" if self.first is None else self.first.clock

    @property
    def inputs(self) -> tuple[type, ...]:
        """Those of the first layer's learner."""
        return GAUSSIAN if self.first is None else self.first.inputs

    @property
    def paced_by(self) -> Learner:
        """Whose steps pass, or batches: the first layer's learner."""
        return self if self.first is None else self.first

    @property
    def equivariant(self) -> bool:
        """Ridge regression on features is; the first layer's learner decides."""
        return self.first is None or self.first.equivariant

    def needs_start(self, student: Student | None, target: Target) -> tuple[str, ...]:
        """Nothing: a wide student is predicted by the laws of its start."""
        return ()

    def _check_samples(self) -> None:
        if self.data == "same":
            if not getattr(self.first, "keeps_batch", False):
                expected = "'fresh'; or a first learner that keeps its batch: reused-batch or a flow"
                raise InvalidParameter("data", self.data, expected)
            if self.samples is not None:
                raise InvalidParameter("samples", self.samples, "None: with data='same' it is the first layer's batch")
        elif positive_integer("samples", self.samples) < 2 and self.ridge == LEAVE_ONE_OUT:
            raise InvalidParameter("samples", self.samples, "at least 2, so that one can be left out")

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """samples : neurons : d are kept, those of the fit and those of the first layer as its learner says."""
        if limit == "samples" or not isinstance(student, TwoLayer):
            return None
        first = None if self.first is None else self.first.grown(student, dim, factor, limit)
        if self.first is not None and first is None:
            return None
        fitted = None if self.samples is None else round(factor * self.samples)
        wide = replace(student, width=round(factor * student.distinct) * (2 if student.paired else 1))
        learner = replace(self, first=None if first is None else first.learner, samples=fitted)
        return Grown(learner, wide, factor if first is None else first.samples)


def RandomFeatures(
    samples: int, ridge: float | str = LEAVE_ONE_OUT, test_samples: int = Readout.test_samples
) -> Readout:
    """Ridge regression on the features of an untrained first layer: the `Readout` after no step at all.

    Source: Rahimi, Recht 2007.

    Args:
        samples: n, fresh ones that the second layer is fitted to.
        ridge: lambda, or "leave-one-out".
        test_samples: fresh ones that the risk is measured on.

    Examples:
        >>> import featlab
        >>> featlab.RandomFeatures(samples=1000, ridge=0.01).first is None
        True
    """
    return Readout(None, samples, ridge, test_samples=test_samples)
