"""The channel of a label with finitely many values and several directions (or noise inside the link).

For each omega the probability of a label, and the mean of z over it, are integrals over regions bounded by kinks: exact
differences of error functions along the last axis, cut Gauss rules along the others.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from featlab.analysis.label_law import label_law
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.matrices import triangular_root
from featlab.gaussian.quadrature import gaussian_density
from featlab.targets import Target
from featlab.theory.bayes.channel import Told
from featlab.theory.bayes.outer import known_fields
from featlab.theory.bayes.rules import (
    COARSE_PANELS,
    FINE_PANELS,
    REACH,
    Lines,
    View,
    crossing_places,
    extend,
    lines_through,
)

# Nodes on each panel and of smooth axes, by the number of axes that are not last; three directions, whose average over
# omega is long, have to do with fewer.
_NODES = {1: (8, 32), 2: (4, 16), 3: (3, 10)}
_FEWER_NODES = {2: (3, 16), 3: (2, 10)}
_PANELS = {1: FINE_PANELS, 2: COARSE_PANELS, 3: COARSE_PANELS}
_MARGINS, _FEWER_MARGINS = (0.15, 0.6), (0.4,)
_CHUNK = 400_000


class Discrete:
    """F and H of a target whose label has finitely many values."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.law = label_law(target)
        # Regions with slanted or curved borders have features on the axes too, at no fixed distance from omega.
        self.slanted = any(len(kink.variables) > 1 for kink in target.kinks)
        self.view = View(target, origin=self.slanted)

    def at(self, overlap: Floats) -> Told:
        """F and H at Q (r, r)."""
        rank = self.target.rank
        known = known_fields(self.target, overlap)
        factor = np.eye(self.view.dimension)
        factor[:rank, :rank] = triangular_root(np.eye(rank) - overlap, scale=1.0)
        mass, moment = self.masses(known.omega, factor)
        # g_out = L^{-T} E[t | y, omega]
        score = np.linalg.solve(factor[:rank, :rank].T, np.moveaxis(moment, -1, 0).reshape(rank, -1))
        score = np.moveaxis(score.reshape(rank, *mass.shape), 0, -1)
        safe = np.where(mass > 0, mass, 1.0)
        per_omega = np.einsum("oli,olj,ol->oij", score, score, 1 / safe)
        entropy = np.sum(mass * np.log(safe), axis=1)
        return Told(known.mean(per_omega), float(known.weights @ entropy))

    def masses(self, omega: Floats, factor: Floats) -> tuple[Floats, Floats]:
        """P(y | omega) (O, labels) and E[t; y | omega] (O, labels, r) for z = omega + factor t."""
        centres = np.zeros((len(omega), self.view.dimension))
        centres[:, : self.target.rank] = omega
        parts = [
            self._chunk(centres[rows], factor)
            for rows in np.array_split(np.arange(len(omega)), max(1, len(omega) * self._rows_each // _CHUNK))
        ]
        return np.concatenate([mass for mass, _ in parts]), np.concatenate([moment for _, moment in parts])

    @property
    def _rows_each(self) -> int:
        return 40 ** (self.view.dimension - 1)

    def _chunk(self, centres: Floats, factor: Floats) -> tuple[Floats, Floats]:
        rank, labels = self.target.rank, self.law.atoms.size
        last = self.view.dimension - 1
        lines = lines_through(centres)
        many = rank > 2
        nodes = _FEWER_NODES[last] if many and self.slanted else _NODES[last]
        margins = (_FEWER_MARGINS if many else _MARGINS) if self.slanted else ()
        for _ in range(last):
            lines = extend(lines, self.view, centres, factor, *nodes, margins, _PANELS[last])
        label, row, cell_mass, first_moment = self._cells(lines, centres, factor)
        place = lines.owner[row] * labels + label
        size = len(centres) * labels
        weight = lines.weights[row] * cell_mass
        mass = np.bincount(place, weight, size).astype(float)
        moment = np.zeros((size, rank))
        for axis in range(min(rank, last)):
            moment[:, axis] = np.bincount(place, weight * lines.t[row, axis], size)
        if last < rank:
            moment[:, last] = np.bincount(place, lines.weights[row] * first_moment, size)
        return mass.reshape(-1, labels), moment.reshape(-1, labels, rank)

    def _cells(self, lines: Lines, centres: Floats, factor: Floats) -> tuple[Integers, Integers, Floats, Floats]:
        """Intervals of the last axis between crossings: (label number, row, mass, first moment)."""
        ends = np.full((len(lines.t), 1), REACH)
        edges = np.sort(np.concatenate([-ends, crossing_places(lines, self.view, centres, factor), ends], axis=1))
        row, cell = np.nonzero(np.diff(edges, axis=1) > 1e-12)
        low, high = edges[row, cell], edges[row, cell + 1]
        t = np.column_stack([lines.t[row], 0.5 * (low + high)])
        label = self.law.atom_of(self.target.link(centres[lines.owner[row]] + t @ factor.T))
        if np.any(label < 0):
            raise AssertionError(
                f"{self.target.text}: a label outside {self.law.atoms}, yet its labels looked discrete"
            )
        density = gaussian_density(np.stack([low, high]))
        return label, row, ndtr(high) - ndtr(low), density[0] - density[1]
