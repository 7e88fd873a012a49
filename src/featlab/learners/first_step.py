"""One gradient step on labels without their linear part, then a second layer. A description only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import FIT_SAMPLES, LEAVE_ONE_OUT, POSITIVE, RIDGE, STEP, TARGET, TEST, option, or_none
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.learners.readout import Readout
from featlab.learners.steps import StepLaw, step_at
from featlab.learners.students import TwoLayer

if TYPE_CHECKING:
    from featlab.targets import Target

# The root mean square norm of a row after the step, where nothing else is said. Biases are N(0, 1), so that features
# bend at fields of size 1 / norm: with 0.5 over the whole range of the samples, with 1.5 only in the middle of it.
DEFAULT_NORM = 0.5


@dataclass(frozen=True)
class PreprocessedStep(LearnerDescription):
    """Algorithm 1 of Damian, Lee, Soltanolkotabi 2022 (arXiv:2206.15144), on one batch of n samples:

        alpha = mean(y),   beta = mean(y x),   r = y - alpha - <beta, x>,
        w_i <- gamma mean(r a_i sigma'(<w_i, x> + b_i) x),   b_i <- N(0, 1),   a <- ridge regression of r,
        f(x) = alpha + <beta, x> + sum_i a_i sigma(<w_i, x> + b_i) / sqrt(p).

    The step forgets the old weights: the paper's weight decay 1/eta_1 cancels them. Its gradient is that at an output
    of zero, which the paper gets from a paired student; here every student has it. In the paper's convention (sums
    without 1/p, loss (f - y)^2 without 1/2) gamma = 2 eta_1, with eta_1 ~ sqrt(d). The paper trains a by gradient
    descent with weight decay lambda until it stands still; what it then stands at is ridge regression.

    Time 0 is before the step: ridge regression on the same labels with random features, which learned nothing.

    Attributes:
        step_size: gamma, a number or a law such as StepLaw(2, -0.5) for 2 sqrt(d); None, it is set by `row_norm`.
        row_norm: the root mean square norm of the rows after the step; None, 0.5 unless `step_size` is given.
        fit_samples: None, the second layer is fitted to the same batch; N, to N fresh samples.
        ridge, test_samples: as in `Readout`.
        transfer: another target in the same directions (h1 is the first of them, and so on), as text or `Target`, whose
            N fresh samples the second layer is fitted to, and whose risk is measured. Then f has no alpha and beta,
            which belong to the first target: another beta would cost N ~ d samples, where the features need none.

    Examples:
        >>> import featlab
        >>> featlab.PreprocessedStep(row_norm=0.5).fit_samples is None  # the same samples
        True
    """

    clock: ClassVar[str] = "steps"
    student_kind: ClassVar[type] = TwoLayer
    steps: ClassVar[int] = 1
    fits_readout: ClassVar[bool] = True
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.first_step:SIMULATOR"

    step_size: float | StepLaw | None = field(default=None, metadata=option(or_none(STEP), "gamma, a number or a law"))
    row_norm: float | None = field(default=None, metadata=option(or_none(POSITIVE), "norm of the rows after the step"))
    fit_samples: int | None = field(default=None, metadata=option(or_none(FIT_SAMPLES), "fresh samples for the fit"))
    ridge: float | str = field(default=LEAVE_ONE_OUT, metadata=option(RIDGE, "lambda of the ridge regression"))
    transfer: str | Target | None = field(default=None, metadata=option(or_none(TARGET), "another target to fit"))
    test_samples: int = field(default=Readout.test_samples, metadata=TEST)

    def check_together(self) -> None:
        """A step or a norm; another target has samples of its own."""
        if self.step_size is not None and self.row_norm is not None:
            expected = "None beside a step_size, which sets the norm by itself"
            raise InvalidParameter("row_norm", self.row_norm, expected)
        if self.transfer is not None and self.fit_samples is None:
            expected = "to stand beside fit_samples=N, those of the other target"
            raise InvalidParameter("transfer", self.transfer, expected)

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """samples / d is kept for neurons that begin with overlaps of order one. A random start has 1/sqrt(d), next to
        which what fluctuates in a step on n ~ d samples does not vanish: there samples / d^2 is."""
        if limit == "samples" or not isinstance(student, TwoLayer):
            return None
        step = None if self.step_size is None else step_at(self.step_size, dim)
        return Grown(replace(self, step_size=step), student, factor if student.start == "planted" else factor**2)

    @property
    def data(self) -> str:
        """Which samples the second layer is fitted to, in the words of `Readout`."""
        return "same" if self.fit_samples is None else "fresh"

    @property
    def samples(self) -> int | None:
        """The number of fresh samples that the second layer is fitted to, by its name in `Readout`."""
        return self.fit_samples

    @property
    def wanted_norm(self) -> float:
        """The root mean square norm of the rows that is asked for where no step size is."""
        return DEFAULT_NORM if self.row_norm is None else self.row_norm

    @property
    def transfer_target(self) -> Target | None:
        """The other target, if there is one."""
        from featlab.targets import target

        return target(self.transfer) if isinstance(self.transfer, str) else self.transfer
