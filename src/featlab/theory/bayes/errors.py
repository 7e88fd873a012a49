"""Errors on fresh samples at a given overlap: of the Bayes-optimal predictor and of the link at the estimate itself.

With omega ~ N(0, Q) the estimated fields of a fresh sample and z ~ N(omega, I - Q) the true ones, the best guess of its
label is E[y | omega], or the likeliest label; the plug-in predictor says g(omega) as if the estimate were the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.label_law import label_law
from featlab.analysis.level_sets import level_sets, log_partition
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import of_eigenvalues
from featlab.gaussian.quadrature import gauss_pieces, product_rule
from featlab.interruption import check
from featlab.targets import Target, target
from featlab.theory.bayes.discrete import Discrete
from featlab.theory.bayes.rules import COARSE_PANELS, FINE_PANELS, View, frame_given, known_fields

# By the number of fields: nodes on each panel and of smooth axes.
_NODES = {1: (12, 40), 2: (8, 24), 3: (5, 14), 4: (4, 8), 5: (3, 6)}
_NOISE_NODES = 24


@dataclass(frozen=True)
class BayesErrors:
    """Errors at an overlap Q.

    Attributes:
        squared: E[(y - E[y | omega])^2], label noise included: no predictor of the same overlap does better.
        plug_in: E[(y - g(omega))^2]; g averaged over the noise inside the link.
        label: P(y is not the likeliest label given omega), for labels with finitely many values, else None.
        plug_in_label: P(y != g(omega)), likewise; None with noise inside the link, too.
    """

    squared: float
    plug_in: float
    label: float | None
    plug_in_label: float | None


def bayes_errors(of: Target | str, overlap: Floats) -> BayesErrors:
    """The errors on fresh samples of the predictors built on an estimate with overlap Q (r, r), 0 <= Q <= I."""
    check()
    of = target(of)
    # A perfect estimate leaves only the noise; the rules below want some room.
    overlap = of_eigenvalues(lambda q: np.clip(q, 0.0, 1 - 1e-10), np.asarray(overlap, dtype=float))
    known = known_fields(of, overlap, smooth=False)
    mean, square = _moments(of, known.omega, overlap)
    guess = _without_noise_inside(of, known.omega)
    spread = known.weights @ (square - mean**2)
    squared = float(spread) + of.noise
    plug_in = squared + float(known.weights @ (mean - guess) ** 2)
    law = label_law(of)
    if not law.discrete:
        return BayesErrors(squared, plug_in, None, None)
    mass = _label_masses(of, known.omega, overlap)
    likeliest = float(known.weights @ mass.max(axis=1))
    if of.hidden:
        return BayesErrors(squared, plug_in, 1 - likeliest, None)
    said = np.take_along_axis(mass, law.atom_of(guess)[:, None], axis=1)[:, 0]
    return BayesErrors(squared, plug_in, 1 - likeliest, 1 - float(known.weights @ said))


def _label_masses(of: Target, omega: Floats, overlap: Floats) -> Floats:
    """P(y | omega) for every label, (O, labels)."""
    if of.rank + of.hidden > 1:
        return Discrete(of).masses(omega, overlap)[0]
    levels = level_sets(of)
    rows = [levels.at(np.full(len(omega), atom)) for atom in levels.law.atoms]
    return np.exp(np.stack([log_partition(row, omega, 1 - overlap)[0] for row in rows], axis=1))


def _moments(of: Target, omega: Floats, overlap: Floats) -> tuple[Floats, Floats]:
    """E[g | omega] and E[g^2 | omega], by rules cut at the kinks."""
    view = View(of)
    nodes, smooth = _NODES[view.dimension]
    panels = FINE_PANELS if view.dimension < 3 else COARSE_PANELS
    means, squares = [], []
    for frame in frame_given(view, omega, overlap).parts((2 * smooth) ** view.dimension):
        lines = frame.lines(view.dimension, nodes, smooth, panels=panels)
        labels = of.link(frame.fields(lines.owner, lines.t))
        total = np.bincount(lines.owner, lines.weights)
        means.append(np.bincount(lines.owner, lines.weights * labels) / total)
        squares.append(np.bincount(lines.owner, lines.weights * labels**2) / total)
    return np.concatenate(means), np.concatenate(squares)


def _without_noise_inside(of: Target, omega: Floats) -> Floats:
    """g(omega), averaged over the noise variables inside the link."""
    noise = product_rule([gauss_pieces((), _NOISE_NODES)] * of.hidden)
    shape = (len(omega), len(noise.points))
    known = np.broadcast_to(omega[:, None, :], (*shape, of.rank))
    return of.link(np.concatenate([known, np.broadcast_to(noise.points, (*shape, of.hidden))], axis=2)) @ noise.weights
