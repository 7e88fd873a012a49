"""The lowest loss of a network with one shared direction, measured on samples at given cosines with the target's.

Of the inputs only the fields matter: z = <theta*, x>, and u = m z + sqrt(1 - m^2) w of the network, w independent. It
is NumPy alone, and independent of the Hermite series of `featlab.theory.tied`, which it is there to test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.targets import Target

_CHUNK = 20_000


@dataclass(frozen=True)
class LowestLosses:
    """Neurons relu(eps_i u - b_i) / sqrt N by their knots eps_i b_i and signs eps_i, and a loss for each cosine."""

    knots: Floats
    signs: Floats
    losses: list[float]


def lowest_losses(
    target: Target, cosines: Sequence[float], *, width: int, bias_scale: float, penalty: float, samples: int, seed: int
) -> LowestLosses:
    """Random neurons, and at each cosine the minimum over c of mean (y - c phi)^2 + lambda |c|^2 on one batch.

    Args:
        target: of one direction, without noise inside its link.
        cosines: m; the same samples serve all of them.
        width: N.
        bias_scale: tau, b_i ~ N(0, tau^2); eps_i are random signs.
        penalty: lambda.
        samples: a multiple of 20,000.
        seed: of all randomness.
    """
    if target.rank != 1 or target.hidden:
        raise InvalidParameter("target", target.text, "one direction, no noise inside the link")
    if samples % _CHUNK or samples < _CHUNK:
        raise InvalidParameter("samples", samples, f"a multiple of {_CHUNK}")
    rng = np.random.default_rng(seed)
    knots, signs = bias_scale * rng.standard_normal(width), rng.choice([-1.0, 1.0], width)
    moments = [np.zeros((width + 1,) * 2) for _ in cosines]  # of features and label
    for _ in range(samples // _CHUNK):
        field, other, noise = rng.standard_normal((3, _CHUNK))
        label = target.link(field[:, None]) + np.sqrt(target.noise) * noise
        for cosine, moment in zip(cosines, moments, strict=True):
            fields = cosine * field + np.sqrt(1 - cosine**2) * other
            features = np.maximum(signs * (fields[:, None] - knots), 0) / np.sqrt(width)
            both = np.column_stack([features, label])
            moment += both.T @ both / samples
    return LowestLosses(knots, signs, [_lowest(moment, penalty) for moment in moments])


def _lowest(moments: Floats, penalty: float) -> float:
    """From the second moments of (phi, y)."""
    gram, towards = moments[:-1, :-1] + penalty * np.eye(len(moments) - 1), moments[:-1, -1]
    return float(moments[-1, -1] - towards @ np.linalg.solve(gram, towards))
