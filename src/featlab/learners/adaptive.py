"""Learners that look at single coordinates of the gradient: its sign, or its ratio to a running mean.

Descriptions only.

They are not rotation-equivariant: what they do depends on how the target's directions lie to the coordinate axes, which
`directions` says, and the design "virtual", which knows no coordinates, is not for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import BATCH, COUNT, LOSS, POSITIVE, STEP_SIZE, choice, option, or_none, within
from featlab.learners.protocol import LearnerDescription
from featlab.learners.steps import StepLaw
from featlab.learners.students import TwoLayer

DIRECTIONS = ("axes", "random")
_DECAY = within(0, 1, "from 0 to below 1, the weight of the past", closed=True)


@dataclass(frozen=True)
class SignSgd(LearnerDescription):
    """Sign descent (Bernstein et al. 2018, arXiv:1802.04434): with g_i = p (d/d w_i) mean over the batch of the loss,

        w_i <- w_i - gamma sign(g_i), coordinate by coordinate.

    Attributes:
        step_size: gamma, of every coordinate: a step has norm gamma sqrt(d).
        steps: None, one pass over fresh batches; T, so many steps on one batch of n samples.
        batch: of one pass, the number of fresh samples per step.
        loss: "squared", (y - f)^2 / 2, or "correlation", -y f.
        directions: "axes", the target's directions are coordinate axes, as sparse as can be; "random", uniform ones,
            orthonormal, in the coordinates that the rule looks at.

    Examples:
        >>> import featlab
        >>> featlab.SignSgd(step_size=0.01).equivariant
        False
    """

    student_kind: ClassVar[type] = TwoLayer
    equivariant: ClassVar[bool] = False
    simulator: ClassVar[str] = "featlab.simulation.adaptive:SIMULATOR"

    step_size: float | StepLaw = field(metadata=STEP_SIZE)
    steps: int | None = field(default=None, metadata=option(or_none(COUNT), "steps on one batch; none: one pass"))
    batch: int = field(default=1, metadata=BATCH)
    loss: str = field(default="squared", metadata=LOSS)
    directions: str = field(
        default="axes", metadata=option(choice(*DIRECTIONS), "how directions lie to the coordinates")
    )

    @property
    def clock(self) -> str:
        """One pass over fresh batches, or steps on one."""
        return "one-pass" if self.steps is None else "steps"

    def check_together(self) -> None:
        """A batch size belongs to one pass."""
        if self.steps is not None and self.batch != 1:
            expected = "1 beside steps, whose one batch are all samples"
            raise InvalidParameter("batch", self.batch, expected)


@dataclass(frozen=True)
class Adam(SignSgd):
    """Adam (Kingma, Ba 2015, arXiv:1412.6980): with g = p (d/dw) mean over the batch of the loss, at step t = 1, 2, ..

        m <- beta1 m + (1 - beta1) g,   v <- beta2 v + (1 - beta2) g^2,
        w <- w - gamma (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), coordinate by coordinate.

    With beta1 = beta2 = 0 and epsilon -> 0 it is `SignSgd`.

    Attributes:
        step_size, steps, batch, loss, directions: as in `SignSgd`.
        beta1, beta2: the weights of the past in the means of the gradient and of its square.
        epsilon: keeps the division finite.

    Examples:
        >>> import featlab
        >>> featlab.Adam(step_size=0.01, steps=10)
        Adam(step_size=0.01, steps=10, batch=1, loss='squared', ...
    """

    beta1: float = field(default=0.9, metadata=option(_DECAY, "weight of the past in the mean gradient"))
    beta2: float = field(default=0.999, metadata=option(_DECAY, "weight of the past in the mean square"))
    epsilon: float = field(default=1e-8, metadata=option(POSITIVE, "keeps the division finite"))
