"""What the coordinate along the spike says of the label: E[y | kappa], E[y^2 | kappa] and E[y x_perp | kappa].

The spike v has cosine c with the target's linear direction b, so that given kappa = <x, v> the target's fields are
h = b (c kappa + sqrt(1 - c^2) s) + B z with s, z independent standard normals and B an orthonormal complement of b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from featlab.analysis.subspaces import complement
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import moved_surfaces, nested_rule
from featlab.targets import Target
from featlab.theory.question import NoPrediction

_NODES = {1: 24, 2: 14, 3: 8}
_APART = 1e-3  # cuts closer than this gain nothing, and a rule between them is ill-conditioned


@dataclass(frozen=True)
class LabelsGivenSpike:
    """On nodes (K,) of kappa.

    Attributes:
        mean: E[y | kappa].
        square: E[y^2 | kappa], label noise included.
        linear: E[y s | kappa] and E[y z | kappa], (K, r).
        noise: the additive label noise, a part of `square`.
    """

    mean: Floats
    square: Floats
    linear: Floats
    noise: float


def conditional_labels(target: Target, direction: Floats, cosine: float, nodes: Floats) -> LabelsGivenSpike:
    """The labels given the coordinate along a spike of that cosine with the unit vector `direction` (r,).

    Quadrature over (s, z, xi) is cut at the target's kinks, for each node.
    """
    dimension = target.rank + target.hidden
    if dimension not in _NODES:
        raise NoPrediction(f"the target has {dimension} fields; labels given a spike are computed for at most 3")
    others = complement(direction[:, None])
    tables = [_moments(target, direction, others, cosine, float(node)) for node in nodes]
    mean, square, linear = (np.array(column) for column in zip(*tables, strict=True))
    return LabelsGivenSpike(mean, square + target.noise, linear, target.noise)


def _moments(
    target: Target, direction: Floats, others: Floats, cosine: float, node: float
) -> tuple[float, float, Floats]:
    spread = float(np.sqrt(max(0.0, 1 - cosine**2)))
    rank = target.rank
    dimension = rank + target.hidden
    offset = np.append(cosine * node * direction, np.zeros(target.hidden))
    turn = block_diag(np.column_stack([spread * direction, others]), np.eye(target.hidden))
    surfaces = moved_surfaces(target.kinks, offset, turn)
    # A smooth link that is steep at its origin is so where the field along the spike vanishes; kinks are cut anyway.
    zero = -cosine * node / spread if spread > 0 else 0.0
    breaks = (0.0, zero) if abs(zero) > _APART and not surfaces else (0.0,)
    rule = nested_rule(surfaces, dimension, _NODES[dimension], breaks)
    values = target.link(offset + rule.points @ turn.T)
    weighted = rule.weights * values
    return float(weighted.sum()), float(weighted @ values), weighted @ rule.points[:, :rank]
