"""How much of the target's space one giant step finds: the cosine of a typical neuron with it, at every n and leap.

A neuron that starts uniformly on the sphere has overlaps g/sqrt(d) with the directions, g ~ N(0, I_r) as d grows. One
step with gamma = c d^{(l-1)/2} moves it by gamma a E[y sigma'(lambda) h] within their span, to leading order (Dandi et
al. 2023, arXiv:2305.18270, with the constants)

    c a mu_l(sigma)/(l-1)! T_l[g, ..., g],    T_l = E[y He_l(h)], mu_l = E[sigma He_l],

and by noise of squared length gamma^2 E[sigma'^2] E[y^2 |x|^2]/n, of which gamma^2 E[sigma'^2] E[y^2 |h|^2]/n lies in
the span (more than its share r/d: samples with large labels are those with large fields). For l = 1 this is
cos^2 = (m^2 + N_h/n)/(1 + m^2 + N d/n), m = c E[sigma'] |E[y h]|, N = E[y^2] E[sigma'^2], N_h = E[y^2 |h|^2]
E[sigma'^2].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.quadrature import nested_rule
from featlab.learners.giant import GiantSteps
from featlab.targets import Target
from featlab.theory.giant.overlaps import label_drift
from featlab.theory.online.averages import Descent
from featlab.theory.spikes import label_grid, slope_moments

_NODES = {1: 16, 2: 7, 3: 4}


@dataclass(frozen=True)
class SpanCosine:
    """The length of a neuron's projection on the target's span over its norm, over random starts.

    Attributes:
        mean: its mean.
        root_mean_square: the root of the mean of its square.
    """

    mean: float
    root_mean_square: float


def one_step_cosine(
    target: Target, activation: Activation, learner: GiantSteps, *, dim: int, samples: int
) -> SpanCosine:
    """After the first step of `learner` on `samples` samples, for a = +-1, without biases and without output (paired).

    The drift is integrated exactly at overlaps g/sqrt(d - r + |g|^2), so that the mean step is not cut off in 1/d;
    the noise is to leading order.

    Source: Dandi et al. 2023, arXiv:2305.18270, with the constants, which are derived in this module.

    Examples:
        >>> from featlab import GiantSteps, target
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import one_step_cosine
        >>> learner = GiantSteps(scale=2.0, loss="correlation")
        >>> sizes = {"dim": 1000, "samples": 20_000}
        >>> round(one_step_cosine(target("tanh(h1)"), activation("relu"), learner, **sizes).mean, 3)
        0.511
    """
    return one_step_cosines(target, activation, learner, dim=dim, samples=[samples])[0]


def one_step_cosines(
    target: Target, activation: Activation, learner: GiantSteps, *, dim: int, samples: Sequence[int]
) -> list[SpanCosine]:
    """`one_step_cosine` at several numbers of samples, which share their drift: that is what takes the time."""
    rate = learner.steps_at(dim)[0]
    # A rule for g ~ N(0, I_r), cut at 0, where the length of what is found has a corner.
    rule = nested_rule((), target.rank, _NODES.get(target.rank, 3), (0.0,))
    starts, weights = rule.points, rule.weights
    # A uniform row is g/|(g, rest)|, and |rest|^2 is d - r on average: no overlap exceeds one.
    overlap = starts / np.sqrt(dim - target.rank + np.sum(starts**2, axis=1, keepdims=True))
    rest = np.sqrt(1 - np.sum(overlap**2, axis=1))
    student = Descent(activation, np.ones(len(weights)), np.zeros(len(weights)), "correlation")
    drive, pull = label_drift(target, student, overlap, np.eye(len(weights)))
    across = (np.diag(pull) - np.sum(drive * overlap, axis=1)) / rest
    grid = label_grid(target)
    squares = rate**2 * slope_moments(activation).square * grid.weights * (grid.labels**2 + target.noise)
    noise_within = float(squares @ np.sum(grid.directions**2, axis=1))
    noise_beyond = float((dim - target.rank) * squares.sum())
    within = np.sum((overlap + rate * np.array([1, -1])[:, None, None] * drive) ** 2, axis=2)
    beyond = (rest + rate * np.array([1, -1])[:, None] * across) ** 2
    found = []
    for count in samples:
        ratios = (within + noise_within / count) / (within + beyond + (noise_within + noise_beyond) / count)
        mean, square = (float(np.mean(values, axis=0) @ weights) for values in (np.sqrt(ratios), ratios))
        found.append(SpanCosine(mean, float(np.sqrt(square))))
    return found
