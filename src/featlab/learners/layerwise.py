"""A three-layer student, and training it layer by layer. Descriptions only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from featlab.errors import InvalidParameter
from featlab.learners.fields import (
    ACTIVATION,
    BIASES,
    COUNT,
    FIT_SAMPLES,
    FLAG,
    LEAVE_ONE_OUT,
    POSITIVE,
    RIDGE,
    STEP_SIZE,
    STEPS,
    STEPS_PER_BATCH,
    TEST,
    Description,
    choice,
    option,
    or_none,
)
from featlab.learners.protocol import LearnerDescription
from featlab.learners.reuse import ReusedBatch
from featlab.learners.steps import StepLaw
from featlab.learners.students import TwoLayer

if TYPE_CHECKING:
    from featlab.gaussian.activations import Activation

TRAINED = ("none", "first", "second", "both")
THREE_LAYER_STARTS = ("sphere", "aligned")


@dataclass(frozen=True)
class ThreeLayer(Description):
    """f(x) = (1/p2) sum_j a_j s2(<v_j, z(x)> + c_j) with z_i(x) = s1(<w_i, x> + b_i) / sqrt(p1).

    The rows w_i of the first layer start with norm 1; the second layer starts at V = 0; the last one is paired,
    a_j ~ N(0, 1) and a_(j + p2/2) = -a_j with the same c_j, so that f = 0 at first.

    Attributes:
        width: p1, the neurons of the first layer.
        second_width: p2, those of the second, an even number.
        activation: s1, which the second layer sees: a name of the registry or an `Activation`.
        second_activation: s2.
        biases, bias_scale: b_i, as in `TwoLayer`. While the first layer itself is trained it has none.
        second_biases, second_bias_scale: c_j.
        start: w_i uniform on the "sphere"; or "aligned", uniform on the sphere within the target's directions, as
            after a training of the first layer on any number of samples.

    Examples:
        >>> import featlab
        >>> featlab.ThreeLayer(width=32, second_width=16).second_biases
        'gaussian'
    """

    certain: ClassVar[bool] = True  # no prediction is made from its start

    width: int = field(default=64, metadata=option(COUNT, "number of neurons"))
    second_width: int = field(default=64, metadata=option(COUNT, "neurons of the second layer, an even number"))
    activation: str | Activation = field(default="relu", metadata=option(ACTIVATION, "relu, tanh, erf, He3, .."))
    second_activation: str | Activation = field(default="relu", metadata=option(ACTIVATION, "that of the second layer"))
    biases: float | str = field(default=0.0, metadata=option(BIASES, "biases, never trained"))
    bias_scale: float = field(default=1.0, metadata=option(POSITIVE, "factor of random biases"))
    second_biases: float | str = field(default="gaussian", metadata=option(BIASES, "biases of the second layer"))
    second_bias_scale: float = field(default=1.0, metadata=option(POSITIVE, "factor of these"))
    start: str = field(default="sphere", metadata=option(choice(*THREE_LAYER_STARTS), "where rows start"))

    def check_together(self) -> None:
        """The second layer is paired."""
        if self.second_width % 2:
            raise InvalidParameter("second_width", self.second_width, "an even number of neurons, paired at the start")


@dataclass(frozen=True)
class Layerwise(LearnerDescription):
    """The layers of a `ThreeLayer` trained one after the other (Dandi, Pesce, Zdeborova, Krzakala 2025,
    arXiv:2502.13961), each on its own samples.

    First: T1 large steps on the sphere along the correlation of the label with s(<w_i, x>), s the training activation,

        w_i <- normalised(w_i + eta (I - w_i w_i^T) mean[y s'(<w_i, x>) x]).

    Second, at every time looked at: from V = 0, T2 steps on one batch of n2 fresh samples,

        v_j <- v_j + eta2 mean[(y - f) a_j s2'(<v_j, z> + c_j) z] (mean[z z^T] + lambda2)^-1.

    Then a is fitted by ridge regression to n3 fresh samples, min (1/n3) |y - Phi a|^2 + lambda |a|^2 with
    Phi_j = s2(<v_j, z> + c_j) / sqrt(p2). Without a trained second layer it is fitted to the features z themselves:
    that is a two-layer network, or with no layer trained random features. There is no intercept. In the theorem T2 = 1
    and batches are fresh; more second steps, and a first batch that is used again, need fewer samples.

    Attributes:
        trained: "none", readout only (scenario I of the paper); "first" (II); "both" (III); "second", on an untrained
            first layer, as a control, or after an "aligned" start.
        steps: T1. Not used where the first layer is not trained.
        step_size: eta per neuron, a number or a law; large, for it grows as sqrt(D).
        steps_per_batch: k, a new batch of n samples after every k steps; None, one batch throughout.
        first_activation: s, the activation while the first layer is trained; None, that of the student. It must have a
            second Hermite coefficient: relu has, tanh has not.
        second_steps, second_step: T2 and eta2.
        second_ridge: lambda2, a number, or "leave-one-out": that of the best ridge regression of y on z.
        preconditioned: False leaves out (mean[z z^T] + lambda2)^-1; eta2 then has to be far larger.
        second_samples, readout_samples: n2 and n3; None, as many as n, the samples of a first batch.
        readout_ridge: lambda, a number or "leave-one-out".
        test_samples: the number of fresh samples that the risk is measured on.

    Examples:
        >>> import featlab
        >>> featlab.Layerwise(trained="first", steps=2).step_size
        50.0
    """

    student_kind: ClassVar[type] = ThreeLayer
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.layerwise:SIMULATOR"

    trained: str = field(default="both", metadata=option(choice(*TRAINED), "which layers are trained before the last"))
    steps: int = field(default=4, metadata=STEPS)
    step_size: float | StepLaw = field(default=50.0, metadata=STEP_SIZE)
    steps_per_batch: int | None = field(default=1, metadata=STEPS_PER_BATCH)
    first_activation: str | Activation | None = field(
        default="He2", metadata=option(or_none(ACTIVATION), "activation while the first layer is trained")
    )
    second_steps: int = field(default=1, metadata=option(COUNT, "steps of the second layer"))
    second_step: float = field(default=1.0, metadata=option(POSITIVE, "step of the second layer"))
    second_ridge: float | str = field(default=LEAVE_ONE_OUT, metadata=option(RIDGE, "lambda2 of its preconditioner"))
    preconditioned: bool = field(default=True, metadata=option(FLAG, "whether its steps are preconditioned"))
    second_samples: int | None = field(default=None, metadata=option(or_none(FIT_SAMPLES), "samples for layer two"))
    readout_samples: int | None = field(default=None, metadata=option(or_none(FIT_SAMPLES), "samples for the last"))
    readout_ridge: float | str = field(default=LEAVE_ONE_OUT, metadata=option(RIDGE, "lambda of the last layer's fit"))
    test_samples: int = field(default=2**14, metadata=TEST)

    @property
    def clock(self) -> str:
        """Steps of the first layer; without them there is only a result."""
        return "steps" if self.trains_first else "once"

    @property
    def trains_first(self) -> bool:
        """Whether the first layer takes steps."""
        return self.trained in ("first", "both")

    @property
    def trains_second(self) -> bool:
        """Whether the second layer takes steps."""
        return self.trained in ("second", "both")

    @property
    def first(self) -> ReusedBatch:
        """The first layer's steps, as those of a two-layer network."""
        return ReusedBatch(self.steps, self.step_size, self.steps_per_batch, loss="correlation", constraint="spherical")

    def first_student(self, student: ThreeLayer) -> TwoLayer:
        """The network that those steps train: second layer one, no biases."""
        chosen = student.activation if self.first_activation is None else self.first_activation
        return TwoLayer(student.width, chosen)
