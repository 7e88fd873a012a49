"""The average over what message passing knows: omega ~ N(0, Q), with nodes where the label's law changes fast.

For a nearly perfect overlap the labels tell something new only within sqrt(1 - q) of the kinks (and of the origin,
where many links are critical): panels are graded there in units of the deviation of z given omega.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import triangular_root
from featlab.targets import Target
from featlab.theory.bayes.rules import COARSE_PANELS, FINE_PANELS, View, extend, lines_through
from featlab.theory.bayes.symmetry import Fold, fold

# Cuts at these multiples of the deviation of z given omega around each kink, and nodes on each panel, by rank.
_MARGINS = {1: (0.5, 1.5, 4.0), 2: (0.5, 1.5, 4.0), 3: (1.5,), 4: (1.5,)}
_PANEL_NODES = {1: 6, 2: 4, 3: 3, 4: 2}
_PANELS = {1: FINE_PANELS, 2: FINE_PANELS, 3: COARSE_PANELS, 4: COARSE_PANELS}
_SMOOTH_NODES = {1: 24, 2: 14, 3: 10, 4: 6}
# With q <= 0.3 the law given omega is smooth on omega's own scale and a Gauss-Hermite rule does.
_SMOOTH_BELOW = 0.3


@dataclass(frozen=True)
class Known:
    """Nodes omega (O, r) of N(0, Q) in one cell of the symmetry group, with weights that sum to 1."""

    omega: Floats
    weights: Floats
    fold: Fold

    def mean(self, matrices: Floats) -> Floats:
        """E of matrices (O, r, r), averaged over the symmetry group too."""
        return self.fold.average(np.tensordot(self.weights, matrices, axes=1))


def known_fields(target: Target, overlap: Floats, *, smooth: bool = True) -> Known:
    """A rule for omega ~ N(0, Q).

    Args:
        smooth: whether the integrand is smooth in omega, being an average over z; otherwise every axis is cut.
    """
    rank = target.rank
    view = View(target)
    group = fold(target, overlap)
    factor = np.zeros((view.dimension, view.dimension))
    factor[:rank, :rank] = triangular_root(overlap, scale=1.0)
    centre = np.zeros((1, view.dimension))
    lines = lines_through(centre)
    live = max(1, int(np.count_nonzero(np.diag(factor))))
    for axis in range(rank):
        margins: tuple[float, ...] | None = None if smooth else ()
        if factor[axis, axis] ** 2 > _SMOOTH_BELOW:
            deviation = np.sqrt(max(1 - overlap[axis, axis], 1e-12)) / factor[axis, axis]
            margins = tuple(margin * deviation for margin in _MARGINS[live] if margin * deviation < 3)
        lines = extend(lines, view, centre, factor, _PANEL_NODES[live], _SMOOTH_NODES[live], margins, _PANELS[live])
        if axis in group.halved and factor[axis, axis] > 0:
            lines = lines.chosen(lines.t[:, axis] > 0, 2.0)
    omega = lines.t @ factor[:rank, :rank].T
    return Known(omega, lines.weights / lines.weights.sum(), group)
