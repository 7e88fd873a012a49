"""Approximate message passing with the Bayes-optimal denoiser. A description only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from featlab.learners.fields import COUNT, DAMPING, POSITIVE, choice, option, within
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.results import ESTIMATE_START

if TYPE_CHECKING:
    from featlab.targets import Target

AMP_STARTS = ("random", "spectral", "informed")
SHARE = within(0, 1, "a number above 0 and below 1")


@dataclass(frozen=True)
class BayesAmp(LearnerDescription):
    """Bayes-AMP on one batch of n samples (Troiani et al. 2024, arXiv:2405.15480): the estimate What (r x d) of the
    target's directions and its covariance C (r x r), given labels y = g(W* x) and the Gaussian prior.

    With inputs x ~ N(0, I_d) and unit directions (the papers have x ~ N(0, I_d / d) and directions of norm sqrt d),

        omega = X What^T - O,   g = g_out(y, omega, C),   A = (1/d) g^T g,
        C' = (I + A)^-1,   What' = C' ((1/d) g^T X + A What),   O' = g C',

    and What, C, O become (1 - damping) times the new plus damping times the old. O is the Onsager term; taking its
    damped mean keeps it exact under damping. A = (1/d) sum g g^T has the limit of -(1/d) sum dg/domega and is positive;
    where a direction is known well (A > 10) it is the second that is taken, which is stable there.
    g_out(y, omega, V) is the gradient in omega of log E[P(y | z)], z ~ N(omega, V).
    Without damping, overlaps follow state evolution step by step; with it, to the same fixed points.

    Attributes:
        iterations: the number of iterations at most.
        damping: the weight of the old estimate, from 0 to below 1.
        start: "random", rows independent of the target, C = I; "spectral", the leading modes of the iteration
            linearised at What = 0, found by power iteration; "informed", M = Q = q I and C = (1 - q) I.
        start_overlap: q of an informed start; else the squared norm of the rows, best small: from rows of norm 1, as in
            the paper, A = (1/d) g^T g is far too large at first, and runs get stuck.
        power_steps: iterations of the linearised map for a spectral start, on the same batch.
        tolerance: a run stops when every row of What moves by less than this share of its norm; a row of norm below
            1e-3 that does not grow counts as standing.

    Examples:
        >>> import featlab
        >>> learner = featlab.BayesAmp(start="informed", start_overlap=0.1)
        >>> prediction = featlab.predict("abs(h1)", learner, dim=1000, samples=1500)
        >>> prediction["overlap"].values[-1].round(3).tolist()
        [[1.0]]
    """

    clock: ClassVar[str] = "iterations"
    student_kind: ClassVar[None] = None
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.amp:SIMULATOR"

    iterations: int = field(default=200, metadata=option(COUNT, "iterations at most"))
    damping: float = field(default=0.35, metadata=option(DAMPING, "weight of the old estimate"))
    start: str = field(default="random", metadata=option(choice(*AMP_STARTS), "what is known at the start"))
    start_overlap: float = field(default=1e-3, metadata=option(SHARE, "overlap, or squared norm, at the start"))
    power_steps: int = field(default=30, metadata=option(COUNT, "steps of a spectral start"))
    tolerance: float = field(default=1e-4, metadata=option(POSITIVE, "relative change at which it stops"))

    @property
    def steps(self) -> int:
        """The number of iterations, by the name it has in learners of a few steps."""
        return self.iterations

    @property
    def uses(self) -> int:
        """How often the batch is read: once for each iteration, those of a spectral start included."""
        return self.iterations + (self.power_steps if self.start == "spectral" else 0)

    def needs_start(self, student: Student | None, target: Target) -> tuple[str, ...]:
        """What a spectral start knows. An informed one is described; from a random one, which knows nothing yet, theory
        tells the end, the same for all."""
        return ESTIMATE_START if self.start == "spectral" else ()

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """samples / d is kept."""
        return None if limit == "samples" else Grown(self, student, factor)
