"""Averages that rest on samples which no run contains.

The force of a polynomial student on a sample is a polynomial of a high degree: after an inner step (extragradient) or
on a reused batch, of degree 9 for He2. Its mean square exists, and drives the limit d -> infinity, but is made by
samples several standard deviations out; a run of n samples that has none of these follows something else, until it
meets one. The limit is right and tells nothing of runs at such n, which is said in place of a number.
"""

from __future__ import annotations

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.gaussian.sobol import balanced_normals
from featlab.targets import Target
from featlab.theory.online.averages import Descent

# A prediction rests on rare samples where more than this share of a squared norm is made by samples that so many runs
# (or batches) lack.
MOST_RARE, RUNS = 0.1, 10
_LOG2_POINTS = 14


def rare_share(weights: Floats, forces: Floats, squares: Floats, scale: float, rarer_than: float) -> float:
    """Which share of a neuron's squared norm after a step rests on the largest forces, those of samples that together
    have less than that probability: the largest share of any neuron.

    Args:
        weights, forces: of the samples, (N,) and (N, p).
        squares: squared norms before the step (p,).
        scale: by which E[D^2] adds to them: gamma^2 / alpha of a batch, (c^2 / b) t of one pass.
    """
    powers = forces**2
    order = np.argsort(-powers.sum(axis=1))
    rare = order[np.cumsum(weights[order]) < rarer_than]
    return float(np.max(scale * (weights[rare] @ powers[rare]) / (squares + scale * (weights @ powers))))


def rare_share_of(
    target: Target, descent: Descent, overlap: Floats, gram: Floats, scale: float, samples: float
) -> float:
    """That share for one pass over so many samples, at M and Q: over Sobol points, half of them twice as far out."""
    known, width = target.rank + target.hidden, len(overlap)
    axes = known + 1 + width
    points, weights = balanced_normals(axes, _LOG2_POINTS, 0, axes)
    labels = target.link(points[:, :known]) + np.sqrt(target.noise) * points[:, known]
    values, vectors = np.linalg.eigh(gram - overlap @ overlap.T)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    fields = points[:, : target.rank] @ overlap.T + points[:, known + 1 :] @ root.T
    forces = descent.force(descent.shifted(fields, labels), labels)
    return rare_share(weights, forces, np.diag(gram), scale, 1 / (RUNS * samples))
