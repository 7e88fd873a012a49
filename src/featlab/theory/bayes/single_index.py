"""The channel of one direction without noise, exactly: the preimages of a label are finitely many points or intervals.

With z first and omega given z, F(q) = E_z E[g_out(g(z), omega)^2 | z], omega | z ~ N(q z, q (1 - q)). The preimages of
g(z) depend neither on q nor on omega, so they are found once; the sum over them is a softmax in omega, smooth on the
scale of omega's deviation for every q. The outer panels are graded towards the link's kinks and extrema, where two
preimages come as close as sqrt(1 - q): down to 1 - q = 1e-7.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from featlab.analysis.level_sets import Fibres, LevelSets, level_sets, log_partition
from featlab.analysis.pieces import REACH, monotone_pieces
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_panels
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.rules import omega_given

_REACH = 7.0
_GRADES = 0.5 ** np.arange(0, 15)
_NODES = 6


class SingleIndex:
    """F and H of a target with one direction, no noise on the label and none inside the link."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.levels: LevelSets = level_sets(target)

    @cached_property
    def _outer(self) -> tuple[Floats, Floats, Fibres]:
        """Nodes z with their weights, and the preimages of their labels."""
        pieces = monotone_pieces(self.target, self.levels.law, np.zeros((1, 1)), 0, np.linspace(-REACH, REACH, 1501))
        # Where a label is critical its other preimages see a pair of preimages come or go.
        critical = self.levels.at(np.unique(np.concatenate([pieces.first, pieces.last])))
        elsewhere = critical.base[np.isfinite(critical.log_weights) & critical.is_point, 0]
        ends = np.concatenate([pieces.low, pieces.high, elsewhere, [0.0]])
        cuts = (ends[:, None] + np.concatenate([-_GRADES, [0.0], _GRADES])).ravel()
        edges = np.unique(np.round(np.clip([*cuts, *np.linspace(-_REACH, _REACH, 15)], -_REACH, _REACH), 13))
        edges = edges[np.append(True, np.diff(edges) > 1e-6)]
        z, weights = gaussian_panels(edges, _NODES)
        kept = weights > 1e-14
        return z[kept], weights[kept], self.levels.at(self.target.link(z[kept, None]))

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at q (given as a 1 x 1 matrix)."""
        q = float(np.asarray(overlap).reshape(()))
        z, weights, fibres = self._outer
        nodes, inner = omega_given(z, q)
        information, entropy = 0.0, 0.0
        for omega, weight in zip(nodes.T, inner, strict=True):
            log_z, gradient = log_partition(fibres, omega[:, None], np.array([[1 - q]]))
            information += weight * float(weights @ gradient[:, 0] ** 2)
            entropy += weight * float(weights @ log_z)
        return ChannelAverages(np.array([[information]]), entropy)
