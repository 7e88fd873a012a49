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
from featlab.theory.bayes.rules import omega_given, standard_nodes
from featlab.theory.bayes.symmetry import reflections

_REACH = 7.0
_RELATIVE_ERROR = 1e-4
_GRADES = 0.5 ** np.arange(0, 15)
_NODES = 6
_NUMBERS = 2**17  # side by side, a megabyte


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
        if len(reflections(self.target)) > 1:  # 0 is an edge: what is the same at -z and -omega is counted once
            kept, weights = kept & (z > 0), 2 * weights
        return z[kept], weights[kept], self.levels.at(self.target.link(z[kept, None]))

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at q (given as a 1 x 1 matrix)."""
        q = float(np.asarray(overlap).reshape(()))
        z, weights, fibres = self._outer
        if np.all(fibres.is_point):
            return self._among_points(q)
        nodes, inner = omega_given(z, q)
        information, entropy = 0.0, 0.0
        for omega, weight in zip(nodes.T, inner, strict=True):
            log_z, gradient = log_partition(fibres, omega[:, None], np.array([[1 - q]]))
            information += weight * float(weights @ gradient[:, 0] ** 2)
            entropy += weight * float(weights @ log_z)
        return ChannelAverages(np.array([[information]]), entropy)

    def relative_error(self, overlap: Floats) -> float:
        """The largest difference from closed forms, of dH = 1/2 F dq, and from thresholds of the analysis."""
        return _RELATIVE_ERROR

    def _among_points(self, q: float) -> ChannelAverages:
        """The same where all preimages are points."""
        z, weights, fibres = self._outer
        tau, inner = standard_nodes(q)
        at_once = max(1, _NUMBERS // (tau.size * fibres.base.shape[1]))
        information, entropy = 0.0, 0.0
        for first in range(0, z.size, at_once):
            part = slice(first, first + at_once)
            points, log_weights = (
                np.ascontiguousarray(one[part].T) for one in (fibres.base[..., 0], fibres.log_weights)
            )
            log_z, gradient = _softmax(z[part], points, log_weights, q, tau[:, None])
            information += float(inner @ (gradient * gradient) @ weights[part])
            entropy += float(inner @ log_z @ weights[part])
        return ChannelAverages(np.array([[information]]), entropy)


def _softmax(z: Floats, points: Floats, log_weights: Floats, q: float, tau: Floats) -> tuple[Floats, Floats]:
    """log Z and g_out (T, Z) of `log_partition` among preimages that are points (K, Z), at tau (T, 1).

    With omega = q z + s tau, s^2 = q V and V = 1 - q, the exponent of a preimage u away from q z is
    -u^2 / (2 V) + u s tau / V - q tau^2 / 2: linear in tau but for what all of them share.
    """
    variance = 1 - q
    offset = points - q * z
    constant, slope = log_weights - offset**2 / (2 * variance), offset * np.sqrt(q / variance)
    terms = slope[:, None] * tau
    terms += constant[:, None]
    top = terms.max(axis=0)
    terms -= top
    np.exp(terms, out=terms)
    total, mean = terms[0].copy(), terms[0] * offset[0]
    for term, place in zip(terms[1:], offset[1:], strict=True):
        total += term
        mean += term * place
    mean /= total
    shared = -0.5 * q * tau**2 - 0.5 * np.log(2 * np.pi * variance)
    return top + np.log(total) + shared, (mean - np.sqrt(q * variance) * tau) / variance
