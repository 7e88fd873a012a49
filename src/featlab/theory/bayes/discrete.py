"""The channel of a label with finitely many values and several directions (or noise inside the link).

For each omega the probability of a label, and the mean of z over it, are integrals over regions bounded by kinks: exact
differences of error functions along the last axis, cut Gauss rules along the others.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from featlab.analysis.label_law import label_law
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import gaussian_density
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.rules import (
    COARSE_PANELS,
    FINE_PANELS,
    REACH,
    SIX_PANELS,
    Frame,
    Lines,
    View,
    frame_given,
    known_fields,
)

# Nodes on each panel and of smooth axes, by the number of axes that are not last; three directions, whose average over
# omega is long, have to do with fewer.
_NODES = {1: (8, 32), 2: (4, 16), 3: (3, 10)}
_FEWER_NODES = {2: (3, 16), 3: (2, 10)}
_PANELS = {1: FINE_PANELS, 2: SIX_PANELS, 3: COARSE_PANELS}
# Of omega; with three nodes for three directions F of sign(h1 h2 h3) is up to 3% off, with five 3e-4.
_KNOWN_NODES = {1: 6, 2: 4, 3: 5, 4: 3}
# Of F, by the number of fields, and times as much where borders are slanted or curved.
_RELATIVE_ERROR, _SLANTED = {1: 1e-5, 2: 1e-4, 3: 5e-4, 4: 1e-2}, 10.0
_MARGINS, _FEWER_MARGINS = (0.15, 0.6), (0.4,)


class Discrete:
    """F and H of a target whose label has finitely many values."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.law = label_law(target)
        # Regions with slanted or curved borders have features on the axes too, at no fixed distance from omega.
        self.slanted = any(len(kink.variables) > 1 for kink in target.kinks)
        self.view = View(target, origin=self.slanted)

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r)."""
        rank = self.target.rank
        known = known_fields(self.target, overlap, nodes=_KNOWN_NODES)
        mass, moment = self.masses(known.omega, overlap)
        root = frame_given(self.view, known.omega, overlap).factor[:rank, :rank]
        # g_out = L^{-T} E[t | y, omega]
        score = np.linalg.solve(root.T, np.moveaxis(moment, -1, 0).reshape(rank, -1))
        score = np.moveaxis(score.reshape(rank, *mass.shape), 0, -1)
        safe = np.where(mass > 0, mass, 1.0)
        per_omega = np.einsum("oli,olj,ol->oij", score, score, 1 / safe)
        entropy = np.sum(mass * np.log(safe), axis=1)
        return ChannelAverages(known.mean(per_omega), float(known.weights @ entropy))

    def relative_error(self, overlap: Floats) -> float:
        """Against parities in closed form; of regions with slanted or curved borders, against the analysis."""
        return _RELATIVE_ERROR[self.view.dimension] * (_SLANTED if self.slanted else 1.0)

    def masses(self, omega: Floats, overlap: Floats) -> tuple[Floats, Floats]:
        """P(y | omega) (O, labels) and E[t; y | omega] (O, labels, r) for z = omega + L t, L L^T = I - Q."""
        frame = frame_given(self.view, omega, overlap)
        masses, moments = zip(*map(self._masses, frame.parts(40 ** (self.view.dimension - 1))), strict=True)
        return np.concatenate(masses), np.concatenate(moments)

    def _masses(self, frame: Frame) -> tuple[Floats, Floats]:
        rank, labels = self.target.rank, self.law.atoms.size
        last = self.view.dimension - 1
        many = rank > 2
        nodes = _FEWER_NODES[last] if many and self.slanted else _NODES[last]
        margins = (_FEWER_MARGINS if many else _MARGINS) if self.slanted else ()
        lines = frame.lines(last, *nodes, margins, _PANELS[last])
        label, row, cell_mass, first_moment = self._cells(frame, lines)
        place = lines.owner[row] * labels + label
        size = len(frame.centres) * labels
        weight = lines.weights[row] * cell_mass
        mass = np.bincount(place, weight, size).astype(float)
        moment = np.zeros((size, rank))
        for axis in range(min(rank, last)):
            moment[:, axis] = np.bincount(place, weight * lines.t[row, axis], size)
        if last < rank:
            moment[:, last] = np.bincount(place, lines.weights[row] * first_moment, size)
        return mass.reshape(-1, labels), moment.reshape(-1, labels, rank)

    def _cells(self, frame: Frame, lines: Lines) -> tuple[Integers, Integers, Floats, Floats]:
        """Intervals of the last axis between crossings: (label number, row, mass, first moment)."""
        ends = np.full((len(lines.t), 1), REACH)
        edges = np.sort(np.concatenate([-ends, frame.crossings(lines), ends], axis=1))
        row, cell = np.nonzero(np.diff(edges, axis=1) > 1e-12)
        low, high = edges[row, cell], edges[row, cell + 1]
        t = np.column_stack([lines.t[row], 0.5 * (low + high)])
        label = self.law.atom_of(self.target.link(frame.fields(lines.owner[row], t)))
        if np.any(label < 0):
            raise AssertionError(
                f"{self.target.text}: a label outside {self.law.atoms}, yet its labels looked discrete"
            )
        density = gaussian_density(np.stack([low, high]))
        return label, row, ndtr(high) - ndtr(low), density[0] - density[1]
