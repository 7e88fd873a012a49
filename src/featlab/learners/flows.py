"""Gradient flows of single neurons on one batch, in steps of a given arc: on the sphere, and normalised.

Descriptions only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi
from typing import TYPE_CHECKING, ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import FLAG, LOSS, POSITIVE, STEPS, choice, option, within
from featlab.learners.protocol import Grown, LearnerDescription, Student
from featlab.learners.students import TwoLayer
from featlab.results import START
from featlab.targets.inputs import Isotropic

if TYPE_CHECKING:
    from featlab.targets import Target

COVARIANCES = ("empirical", "known")
_SHARE = within(0, 1, "a number above 0 and below 1")


@dataclass(frozen=True)
class SphericalFlow(LearnerDescription):
    """Gradient flow of a neuron f(x) = a sigma(<w, x> + b) on the sphere |w| = norm, on one batch of n samples:

        dw = -(I - w w^T / norm^2) grad_w R dt,   R = (1/n) sum_j (y_j - f(x_j))^2 / 2.

    Ben Arous et al. 2021 and Bietti et al. 2022 have it on isotropic inputs; under a spike it may fail
    (Mousavi-Hosseini et al. 2023, arXiv:2309.03843).

    Only the path matters, so a step goes a given angle along the great circle of steepest descent: `arc` if the loss is
    lower there, else to the vertex of the parabola through what is known of it (at most half as far, at least a tenth),
    until the loss is lower. A neuron rests, "ok", once its slope is below `tolerance` times the steepest on its way.
    It is "stalled" if there is no slope at all, or no lower loss at any angle down to `floor`, and "not converged" if
    it still moves after the last step. In a narrow valley steps are short, and its slope may be below the tolerance:
    there a flow that has time goes on (`featlab.theory.flows.time`).

    The p neurons of a student are p flows side by side, each with the loss of its own output; a student ends as the
    worst of them.

    Attributes:
        steps: the number of steps at most.
        arc: the angle of a step, in radians.
        floor: the smallest angle that is tried.
        tolerance: the slope at which a neuron rests, over the steepest on its way.
        loss: "squared", or "correlation", -y f.
        positive_start: whether rows are turned at the start (w -> -w) so that their fields correlate positively with
            the one field of the target: with an odd link the other half of the sphere leads nowhere.
        common: whether the student's neurons are copies of one, as in Mousavi-Hosseini et al. 2023; they become
            different features by the new biases of a `Readout`. Needs one bias and one sign for all.

    Examples:
        >>> import featlab
        >>> featlab.SphericalFlow(steps=50, arc=0.05)
        SphericalFlow(steps=50, arc=0.05, floor=1e-05, tolerance=0.0001, ...
    """

    clock: ClassVar[str] = "iterations"
    student_kind: ClassVar[type] = TwoLayer
    keeps_batch: ClassVar[bool] = True
    normalised: ClassVar[bool] = False
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.flows:SIMULATOR"

    steps: int = field(default=200, metadata=STEPS)
    arc: float = field(default=0.1, metadata=option(POSITIVE, "angle of a step, in radians"))
    floor: float = field(default=1e-5, metadata=option(POSITIVE, "smallest angle that is tried, in radians"))
    tolerance: float = field(default=1e-4, metadata=option(_SHARE, "slope at which it rests, over the steepest"))
    loss: str = field(default="squared", metadata=LOSS)
    positive_start: bool = field(default=False, metadata=option(FLAG, "start on the target's side of the sphere"))
    common: bool = field(default=False, metadata=option(FLAG, "all neurons are copies of one"))

    def check_together(self) -> None:
        """Angles in order."""
        if self.arc > pi / 2:
            raise InvalidParameter("arc", self.arc, "an angle above 0, at most pi/2")
        if not self.floor < self.arc:
            raise InvalidParameter("floor", self.floor, f"an angle above 0, below the arc {self.arc}")

    @property
    def uses(self) -> int:
        """How often the batch is read: at the start, and once by every step."""
        return self.steps + 1

    def rows(self, width: int) -> int:
        """How many neurons of a student of that width are different."""
        return 1 if self.common else width

    def needs_start(self, student: Student | None, target: Target) -> tuple[str, ...]:
        """Under a spike also where it starts along the spike, which every description leaves to chance."""
        if isinstance(target.inputs, Isotropic):
            return super().needs_start(student, target)
        return (*START, "spike_overlap")

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """Of a prediction for many samples at one dimension, samples grow."""
        return Grown(self, student, factor) if limit == "samples" else None


@dataclass(frozen=True)
class NormalisedFlow(SphericalFlow):
    """Gradient flow of a neuron f(x) = a sigma(norm <w, x> / |S^{1/2} w| + b), S the covariance of the inputs, on one
    batch of n samples (Mousavi-Hosseini et al. 2023, arXiv:2309.03843):

        dw = -<w, S w> S^{-1} grad_w R dt.

    Its output has the same second moment wherever w points, so that nothing drives w away from the directions in which
    the inputs vary most. With v = S^{1/2} w it is the spherical flow on whitened inputs S^{-1/2} x, and arcs are angles
    of v. The weights that are reported have |S^{1/2} w| = norm, so that f(x) = a sigma(<w, x> + b).

    Attributes:
        steps, arc, floor, tolerance, loss, positive_start, common: as in `SphericalFlow`.
        covariance: "empirical", S = X^T X / n, of which n > d samples are needed and X itself; "known", that of the
            inputs' law, on any design.
        preconditioned: False leaves out S^{-1}, as in the paper's population dynamics: the path differs.

    Examples:
        >>> import featlab
        >>> featlab.NormalisedFlow(covariance="known").arc
        0.1
    """

    normalised: ClassVar[bool] = True

    covariance: str = field(default="empirical", metadata=option(choice(*COVARIANCES), "which covariance it uses"))
    preconditioned: bool = field(default=True, metadata=option(FLAG, "whether the step has the factor S^-1"))
