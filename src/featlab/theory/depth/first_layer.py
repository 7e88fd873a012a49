"""How well a first layer knows W*, the directions of a tree, after spherical steps with a quadratic activation.

Neurons with sigma = He2 follow the correlation with the label by power iteration: the gradient at w is
2 (E[y] w + T w) with T = E[y (x x^T - I)], which is diagonal, mu a_i on direction i and zero elsewhere,
mu = 2 c_2 E[g'(h)] / sqrt(D r) (Dandi et al. 2025, arXiv:2502.13961). A batch of n samples adds noise of covariance
4 E[y^2]/n I to the gradient. Exact as D, d/D and n/d go to infinity; derived from these statements. At finite D the
noise along directions already found is larger: E[y^2 <w, x>^2] exceeds E[y^2] by O(1/D), for P = He2/2 + He3/6 and
y = h* by the factor 1 + 4.5/D.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.learners.checks import positive_number
from featlab.targets import TreeTarget
from featlab.theory.depth.limits import checked_tree, tree_limits


@dataclass(frozen=True)
class Signal:
    """What of a tree target the first layer sees.

    Attributes:
        strength: mu = |E[y He2(z_i)]|, of every direction.
        second_moment: E[y^2], label noise included.
    """

    strength: float
    second_moment: float


def tree_signal(tree: TreeTarget | str, dim: int) -> Signal:
    """The signal in the limit of many directions a block, where E[g'(h)] = E[g(h) h] / Var h."""
    found = checked_tree(tree).at(dim)
    assert isinstance(found, TreeTarget)
    limits, shape = tree_limits(found), found.shape
    slope = limits.slope / limits.hidden_variance
    second = limits.variance + shape.blocks * limits.mean**2 + found.noise
    return Signal(float(2 * abs(shape.coefficients[2]) * abs(slope) / found.rank**0.5), second)


def fresh_overlaps(
    signal: Signal,
    *,
    steps: int,
    step_size: float,
    positive: int,
    negative: int,
    dim: int,
    samples: int,
    start: float | None = None,
) -> Floats:
    """M_W = sqrt(mean_j |W* w_j|^2 / |w_j|^2) after 0, ..., `steps` steps, each on its own batch.

    Statement: with m+, m- the squared overlaps with the directions of positive and of negative a_i,
    c = m+ - m-, s = 2 eta mu and nu = 4 eta^2 E[y^2] d / n, the unnormalised squares after a step are

        m+- (1 + s (+-1 - c))^2 + nu D+-/d    and    (1 - m+ - m-) (1 - s c)^2 + nu (d - D)/d   for the rest.

    Args:
        positive, negative: D+ and D-, the directions of either sign.
        step_size: eta per neuron.
        start: M_W at the start, spread evenly over the directions; None, sqrt(D/d), that of random neurons.

    Source: derived from Dandi et al. 2025, arXiv:2502.13961, as this module says.

    Raises:
        InvalidParameter: a step that is not above 0.

    Examples:
        >>> from featlab.theory import fresh_overlaps
        >>> from featlab.theory.depth.first_layer import Signal
        >>> signal = Signal(strength=0.1, second_moment=1.0)
        >>> sizes = {"positive": 10, "negative": 0, "dim": 1000, "samples": 10**6}
        >>> fresh_overlaps(signal, steps=3, step_size=10.0, **sizes).round(3).tolist()
        [0.1, 0.254, 0.571, 0.889]
    """
    counts = np.array([positive, negative, dim - positive - negative], float)
    signs = np.array([1.0, -1.0, 0.0])
    gain = 2 * positive_number("step_size", step_size) * signal.strength
    noise = 4 * step_size**2 * signal.second_moment * dim / samples
    squares = counts / dim
    if start is not None:
        inside = (positive + negative) / dim
        squares = squares * np.array([start**2 / inside, start**2 / inside, (1 - start**2) / (1 - inside)])
    found = [squares]
    for _ in range(steps):
        drift = squares[0] - squares[1]
        squares = squares * (1 + gain * (signs - drift)) ** 2 + noise * counts / dim
        squares = squares / squares.sum()
        found.append(squares)
    return np.sqrt(np.array(found)[:, :2].sum(axis=1))


def batch_overlap(signal: Signal, *, dim: int, samples: int) -> float:
    """M_W after many large steps on one batch: the first layer lies in the leading eigenvectors of T plus its noise.

    Statement: the noise of (1/n) sum y (x x^T - I) is a Wigner matrix of scale sigma^2 = E[y^2] d/n, so that
    M_W^2 = 1 - sigma^2/mu^2 if mu > sigma, and 0 otherwise (Benaych-Georges, Nadakuditi 2011): the batch must have
    n > d E[y^2] / mu^2 samples, which is a multiple of d D.

    Examples:
        >>> from featlab.theory import batch_overlap
        >>> from featlab.theory.depth.first_layer import Signal
        >>> signal = Signal(strength=0.1, second_moment=1.0)
        >>> [round(batch_overlap(signal, dim=1000, samples=n), 3) for n in (50_000, 200_000, 10**6)]
        [0.0, 0.707, 0.949]
    """
    share = signal.second_moment * dim / samples / signal.strength**2
    return float(np.sqrt(max(0.0, 1 - share)))
