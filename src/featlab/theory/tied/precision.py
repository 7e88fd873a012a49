"""How well n samples fix the shared direction, once it is found: 1 - |m| to first order in d/n, with its constant.

Statement: near a pole the flow ends where the gradient on the samples vanishes. Along each of the d - 1 directions v
across theta that gradient has the mean H <theta - m theta*, v>, H the curvature of the population loss on the sphere,
and a fluctuation 2 mean(r f'(u) <v, x>) of variance 4 E[r^2 f'^2] / n, r = y - f being what the network misses; c and
theta do not mix to this order, as the loss is even in <theta, v>. So each component of theta has the variance
4 E[r^2 f'^2] / (n H^2), and

    1 - |m| = K (d - 1) / n + o(d/n),     K = 2 E[r^2 f'^2] / H^2.

For a network that is the target, with E[f'^2] = 1, it is sigma^2 / 2, as for least squares. The usual expansion of an
estimator around its limit; the rate d/n is that of Bietti, Bruna, Sanford, Song 2022 (arXiv:2210.15651).
"""

from __future__ import annotations

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.activations_integrals import line_rule
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import static_breaks
from featlab.targets import Target
from featlab.targets import target as make_target
from featlab.theory.tied.loss import population_loss
from featlab.theory.tied.neurons import Neurons

_PIECE, _REACH = 0.25, 14.0


def direction_error(
    target: Target | str, neurons: Neurons, penalty: float, pole: int = 1, second: Floats | None = None
) -> float:
    """K = lim n (1 - |m|) / (d - 1) at the pole m = 1 or m = -1.

    Args:
        target: a target of one direction, or its text.
        neurons: the frozen ones of the network.
        penalty: lambda, which bends c towards zero.
        pole: the sign of m.
        second: c; None, the best one at the pole. theta settles within times of order 1, c within 1/(2 lambda), so that
            a flow that has not ended is described by the c that it has reached.

    Raises:
        InvalidParameter: for another pole, or where the pole is no minimum, so that no flow ends there.
    """
    if pole not in (1, -1):
        raise InvalidParameter("pole", pole, "1 or -1")
    of = make_target(target)
    loss = population_loss(of, neurons, penalty)
    second = loss.best_second(pole) if second is None else second
    curvature = -pole * loss.gradient(second, pole)[1]
    if curvature <= 0:
        raise InvalidParameter("neurons", f"a curvature of {curvature:.3g} at m = {pole}", "a minimum there")
    kinks = np.array(static_breaks(of.kinks, 0, 1), dtype=np.float64)
    fields, weights = line_rule([*(pole * kinks), *neurons.knots], _PIECE, _REACH)
    missed = of.link(pole * fields[:, None]) - neurons.features(fields) @ second
    return float(2 * weights @ ((missed**2 + of.noise) * neurons.slopes(fields, second) ** 2) / curvature**2)
