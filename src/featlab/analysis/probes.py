"""Test functions of what is already known, against which the Hermite tensors of the unknown part are measured.

Write U for the subspace known so far, x = h_U, z = the rest. Whether T_k(x) = E[Y He_k(z) | x] vanishes for all x is
decided on finitely many numbers E[Y chi_l(x) He_k(z)]; whether L_k(y, x) = E[He_k(z) | Y = y, x] vanishes for all (y,
x) on E[psi_l(Y, x) He_k(z)]. The test functions are random waves with fixed seeds: a function that is orthogonal to
all of them but not zero would have to oscillate faster than any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtr

from featlab.analysis.cells import clusters
from featlab.analysis.grids import Grid
from featlab.gaussian.hermite import Floats, Integers

# Labels with at most so many different values are discrete; their indicators are then the test functions.
MOST_DISCRETE_LABELS = 12
_WAVES = 16
_POWERS = 4
_QUANTILES = 8
_ROUNDING = 1e-13  # of the largest label


@dataclass(frozen=True, eq=False)
class Probes:
    """Test functions: `values(labels, x)` is (N, count) for labels (N,) and known coordinates x (N, s).

    `families` numbers them by how hard they are to integrate: the errors of one family are comparable.
    """

    families: Integers
    values: Callable[[Floats, Floats], Floats]


def _waves(dimension: int, count: int) -> tuple[Floats, Floats]:
    """Frequencies (dimension, count) on three scales and phases (count,) of random waves; the first is constant."""
    generator = np.random.default_rng(20_240_915)
    scales = np.array([0.5, 1.0, 2.0])[np.arange(count) % 3]
    frequencies = generator.standard_normal((dimension, count)) * scales
    phases = generator.uniform(0, 2 * np.pi, count)
    frequencies[:, 0], phases[0] = 0.0, 0.0
    return frequencies, phases


@cache
def correlation_probes(known_dimension: int) -> Probes:
    """Y cos(a.x + b): what correlational queries (one gradient, a giant step, one-pass SGD) can see."""
    count = _WAVES if known_dimension else 1
    frequencies, phases = _waves(known_dimension, count)

    def values(labels: Floats, x: Floats) -> Floats:
        return labels[:, None] * np.cos(x @ frequencies + phases)

    return Probes(np.zeros(count, dtype=np.intp), values)


def label_probes(grid: Grid, known_dimension: int) -> Probes:
    """Functions of the label and of x: what statistical queries and methods that transform the label can see.

    Discrete labels: the indicator of each value times cos(a.x + b). Otherwise Y^p cos(a.x + b) for p = 1..4, which are
    exact for polynomials, and cos(c pi (2 R(Y) - 1) + a.x + b), R being a smooth form of the label's rank.
    """
    if (label_probes, known_dimension) not in grid.kept:
        grid.kept[label_probes, known_dimension] = _label_probes(grid, known_dimension)
    return grid.kept[label_probes, known_dimension]


def _label_probes(grid: Grid, known_dimension: int) -> Probes:
    levels = discrete_levels(grid)
    if levels is not None:
        return _indicator_probes(levels, known_dimension)
    centre, scale, rank = grid.mean, float(np.sqrt(grid.variance)), smooth_rank(grid)
    waves = _WAVES if known_dimension else 1
    frequencies, phases = _waves(known_dimension, waves)
    label_frequencies, label_phases = _waves(1 + known_dimension, 2 * _WAVES)

    def values(labels: Floats, x: Floats) -> Floats:
        angle = np.pi * (2 * rank(labels) - 1)
        of_x = np.cos(x @ frequencies + phases)
        powers = [((labels - centre) / scale)[:, None] ** p * of_x for p in range(1, _POWERS + 1)]
        bounded = np.cos(np.column_stack([angle, x]) @ label_frequencies + label_phases)
        return np.column_stack([*powers, bounded])

    # Families: each power of the label; then the bounded waves in four groups of growing frequency in the label.
    of_powers = np.repeat(np.arange(_POWERS), waves)
    speed = np.argsort(np.argsort(np.abs(label_frequencies[0])))
    return Probes(np.concatenate([of_powers, _POWERS + 4 * speed // (2 * _WAVES)]), values)


def smooth_rank(grid: Grid) -> Callable[[Floats], Floats]:
    """R(y) close to P(Y <= y), increasing and analytic: the mean of Phi((y - q_j) / s_j), q_j quantiles of the label.

    The widths s_j are the local distances of the quantiles, so that R sees what happens among the small labels of
    h1^20 + 0.1 h1 as well as among the large ones, and an increasing function of the label changes little.
    """
    order = np.argsort(grid.labels)
    below = np.cumsum(grid.weights[order])
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES * below[-1]
    knots, shares = np.unique(grid.labels[order][np.searchsorted(below, levels)], return_counts=True)
    gaps = np.diff(knots)
    if not gaps.size:  # most of the label is one value: what is left is seen by its distance from that
        gaps = np.array([float(np.sqrt(grid.variance))])
    widths = np.maximum(np.append(gaps[:1], gaps), np.append(gaps, gaps[-1:]))[: knots.size]

    def rank(labels: Floats) -> Floats:
        return ndtr((labels[:, None] - knots) / widths) @ (shares / _QUANTILES)

    return rank


def _indicator_probes(levels: Floats, known_dimension: int) -> Probes:
    waves = _WAVES if known_dimension else 1
    frequencies, phases = _waves(known_dimension, waves)
    tolerance = 0.25 * np.min(np.diff(levels)) if levels.size > 1 else 1.0

    def values(labels: Floats, x: Floats) -> Floats:
        of_x = np.cos(x @ frequencies + phases)
        return np.column_stack([(np.abs(labels - level) < tolerance)[:, None] * of_x for level in levels])

    return Probes(np.zeros(levels.size * waves, dtype=np.intp), values)


def discrete_levels(grid: Grid) -> Floats | None:
    """The distinct labels if they are few, else None. Seen on the grid's own points, which avoid the kinks."""
    _, least, largest = clusters(grid.labels, np.full(grid.labels.size, _ROUNDING * np.max(np.abs(grid.labels))))
    return 0.5 * (least + largest) if least.size <= MOST_DISCRETE_LABELS else None
