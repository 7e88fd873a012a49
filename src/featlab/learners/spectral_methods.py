"""Classical dimension reduction, which has no student: it estimates the span of the target's directions from moments
of the inputs at given labels. Descriptions only.

All take the inputs to be N(0, I_d), known to be so: nothing is whitened, no mean is subtracted. Each estimates as many
directions as the target has, as orthonormal rows; what they estimate is a subspace, so the rows may be any rotation of
the directions, and no risk is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from featlab.learners.fields import COUNT, DAMPING, POSITIVE, at_least, option
from featlab.learners.protocol import Grown, LearnerDescription, Student

SLICES = at_least(2, "at least 2: one slice is the whole sample")
_SLICES = option(SLICES, "parts of equal size that labels are cut into")
_ITERATIONS = option(COUNT, "iterations at most")
_TOLERANCE = option(POSITIVE, "relative change at which it stops")


class _Reduction(LearnerDescription):
    """An estimator of the span."""

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """samples / d is kept."""
        return None if limit == "samples" else Grown(self, student, factor)


class _Iterated(_Reduction):
    """An estimator that iterates on one batch."""

    clock: ClassVar[str] = "iterations"
    student_kind: ClassVar[None] = None
    equivariant: ClassVar[bool] = True
    iterations: int

    @property
    def steps(self) -> int:
        """The number of iterations, by the name it has in learners of a few steps."""
        return self.iterations


@dataclass(frozen=True)
class SlicedInverseRegression(_Reduction):
    """SIR (Li 1991): the leading eigenvectors of sum_s p_s m_s m_s^T, with m_s the mean of x over the samples whose
    label is in slice s, a share p_s of all. It is blind to directions along which E[x | y] = 0, as those of even links.

    Attributes:
        slices: into how many parts of equal size the sorted labels are cut; more than the target has directions.
            Equal labels are told apart by the order of the samples, which knows nothing.

    Examples:
        >>> import featlab
        >>> prediction = featlab.predict("tanh(h1)", featlab.SlicedInverseRegression(), dim=1000, samples=4000)
        >>> prediction["subspace"].values[-1].round(3).tolist()
        [0.891]
    """

    clock: ClassVar[str] = "once"
    student_kind: ClassVar[None] = None
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.inverse_regression:SIMULATOR"

    slices: int = field(default=10, metadata=_SLICES)


@dataclass(frozen=True)
class SlicedAverageVariance(_Iterated):
    """SAVE (Cook, Weisberg 1991): the leading eigenvectors of sum_s p_s (I - C_s)^2, with C_s the covariance of x over
    the samples whose label is in slice s, by block Lanczos iteration.

    Attributes:
        slices: as in `SlicedInverseRegression`.
        iterations: of Lanczos, at most; each reads the batch twice.
        tolerance: it stops when |M v - theta v| < tolerance |theta|, over the leading pairs together.

    Examples:
        >>> import featlab
        >>> featlab.SlicedAverageVariance(slices=8)
        SlicedAverageVariance(slices=8, iterations=30, tolerance=0.0001)
    """

    simulator: ClassVar[str] = "featlab.simulation.average_variance:SIMULATOR"

    slices: int = field(default=10, metadata=_SLICES)
    iterations: int = field(default=30, metadata=_ITERATIONS)
    tolerance: float = field(default=1e-4, metadata=_TOLERANCE)


@dataclass(frozen=True)
class PrincipalHessian(_Iterated):
    """PHD (Li 1992, from residuals): the eigenvectors of mean(r x x^T) with the eigenvalues largest in size, where
    r = y - mean(y) - <b, x> and b = mean((y - mean(y)) x), by block Lanczos iteration. Its limit is E[grad^2 f], on
    the target's directions; it is blind to odd links, whose second Hermite coefficients vanish.

    Attributes:
        iterations, tolerance: as in `SlicedAverageVariance`; an iteration reads the batch once.

    Examples:
        >>> import featlab
        >>> prediction = featlab.predict("He2(h1)", featlab.PrincipalHessian(), dim=1000, samples=20000)
        >>> prediction["subspace"].values[-1].round(3).tolist()
        [0.933]
    """

    simulator: ClassVar[str] = "featlab.simulation.principal_hessian:SIMULATOR"

    iterations: int = field(default=30, metadata=_ITERATIONS)
    tolerance: float = field(default=1e-4, metadata=_TOLERANCE)


@dataclass(frozen=True)
class SpectralEstimator(_Iterated):
    """The optimal spectral method for multi-index models (Defilippis et al. 2025, arXiv:2502.02545): the leading
    eigenvector, in R^(n x r), of omega -> (X X^T / d - I) G omega with G(y) = E[z z^T - I | y], by damped power
    iteration; the estimate is the span of (1/d) (G omega)^T X, r rows.

    Where E[z | y] = 0 it finds something iff n/d > alpha_c, the threshold of Bayes-AMP: then its eigenvalue is
    alpha / alpha_c, outside a bulk of radius sqrt(alpha / alpha_c). It finds the directions that share the smallest
    threshold; where two directions have thresholds of their own, only those of the smaller one. Where E[z | y] is not
    zero, the covariance of z at given y takes the place of the second moment: Bayes-AMP and `SlicedInverseRegression`
    do better there.

    Attributes:
        iterations: at most; each reads the batch once.
        damping: the weight of the old vector, from 0 to below 1: eigenvalues -alpha / alpha_c, as for sign(h1*h2), fall
            behind those above zero.
        tolerance: it stops when the vector, of norm 1, moves less than that. Below the threshold it often does not, but
            may: an eigenvalue well above sqrt(alpha / alpha_c) says that something was found, not that it stopped.

    Examples:
        >>> import featlab
        >>> prediction = featlab.predict("abs(h1)", featlab.SpectralEstimator(), dim=1000, samples=1000)
        >>> prediction["subspace"].values[-1].round(3).tolist()
        [0.408]
    """

    simulator: ClassVar[str] = "featlab.simulation.spectral_estimator:SIMULATOR"

    iterations: int = field(default=60, metadata=_ITERATIONS)
    damping: float = field(default=0.35, metadata=option(DAMPING, "weight of the old vector"))
    tolerance: float = field(default=1e-3, metadata=_TOLERANCE)
