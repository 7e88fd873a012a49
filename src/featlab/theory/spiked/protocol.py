"""One gradient step and a fitted second layer, as the theorem on spiked inputs has it."""

from __future__ import annotations

from dataclasses import replace

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.learners.giant import GiantSteps
from featlab.learners.readout import Readout
from featlab.learners.students import TwoLayer
from featlab.targets import Target
from featlab.theory.spiked.signal import gradient_sizes

# The width of the features in units of the start's: what is left of the start is a thousandth.
_LARGE = 1000.0


def one_step_readout(
    target: Target | str,
    *,
    dim: int,
    samples: int,
    student: TwoLayer | None = None,
    ridge: float | str = LEAVE_ONE_OUT,
    test_samples: int = Readout.test_samples,
) -> Readout:
    """One step so large that the start is forgotten, then ridge regression on as many fresh samples, for `simulate`.

    With G_i the gradient of neuron i the features are relu(<x, G_i>/s + b_i), where s is their root mean square width
    (`gradient_sizes(...).spread`) and b_i ~ N(0, 1) are new: biases as wide as the features, which let the second layer
    approximate any link (Ba et al. 2023, "univariate approximation"). No number is left to be tuned.

    Args:
        target, dim, samples, student: as in `gradient_sizes`; the student must be a relu network, which knows no scale.
        ridge, test_samples: as in `Readout`.
    """
    network = student or TwoLayer(biases="gaussian")
    if activation(network.activation).name != "relu":
        raise InvalidParameter("student", network, "relu neurons, whose features may have any scale")
    spread = gradient_sizes(target, dim=dim, samples=samples, student=network).spread
    step = GiantSteps(1, scale=_LARGE / spread, loss="correlation")
    readout = Readout(step, samples, ridge, test_samples=test_samples)
    return replace(readout, biases="gaussian", bias_scale=_LARGE)
