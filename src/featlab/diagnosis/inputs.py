"""What the inputs are like: how far from Gaussian, which columns are discrete, the spectrum of their correlations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import kstest, rankdata

from featlab.gaussian.hermite import Floats
from featlab.theory.spikes import bulk_density

# A column of at most so many values is discrete. One with a larger excess of kurtosis than HEAVY is replaced by normal
# scores, and with it all that have some excess: tails come together, and a sample does not show all of them.
DISCRETE, HEAVY, _ALSO_HEAVY = 20, 7.0, 1.0
_LOOKED_AT = 2000  # rows, for what is told of single columns
_TRACY_WIDOM_95 = 0.9793  # the 95% quantile of the law of the largest eigenvalue (Johnstone 2001)
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes:
        values: how many different ones, among the rows that were looked at.
        skewness, kurtosis: of the standardised column; the second is the excess over that of N(0, 1).
        distance: largest difference of its distribution function from that of N(0, 1), after standardising.
        rank_distance: the same after normal scores: 0 but for ties.
        ranked: whether normal scores take its place.
    """

    name: str
    values: int
    skewness: float
    kurtosis: float
    distance: float
    rank_distance: float
    ranked: bool

    @property
    def discrete(self) -> bool:
        return self.values <= DISCRETE


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the correlations against the law of Marchenko and Pastur, that of independent columns.

    Attributes:
        eigenvalues: largest first.
        spikes: how many stand above the bulk, each at a level of 5% (Tracy, Widom; Johnstone 2001).
        level: the variance of the bulk.
        edge: where a spike begins.
        distance: of the distribution function of the others from that of the law.
        grid, density: the law, for pictures; without its atom at zero if there are fewer samples than columns.
    """

    eigenvalues: Floats
    spikes: int
    level: float
    edge: float
    distance: float
    grid: Floats
    density: Floats


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the inputs are like.

    Attributes:
        frame: "whitened", or "standardised" where samples are fewer than twice the columns.
        norm_spread: Var |z|^2 / (2 q) of the coordinates: 1 for Gaussian inputs, more for heavy tails they share.
    """

    samples: int
    columns: tuple[Column, ...]
    spectrum: Spectrum
    frame: str
    norm_spread: float

    @property
    def gaussian(self) -> bool:
        """Whether what rests on Gaussian inputs can be trusted: no tie, tail or shared scale of a size that matters."""
        return self.norm_spread < 2 and all(min(one.distance, one.rank_distance) < 0.1 for one in self.columns)

    @property
    def isotropic(self) -> bool:
        """Whether the standardised columns may be N(0, I), as the theory of kernels takes them."""
        return self.gaussian and self.frame == "whitened" and not self.spectrum.spikes


def describe_columns(inputs: Floats, names: tuple[str, ...]) -> tuple[Column, ...]:
    """Each column by itself, from the first rows, which are in random order."""
    looked = inputs[:_LOOKED_AT]
    found = tuple(_column(name, column) for name, column in zip(names, looked.T, strict=True))
    if not any(one.kurtosis > HEAVY and not one.discrete for one in found):
        return found
    return tuple(replace(one, ranked=one.kurtosis > _ALSO_HEAVY and not one.discrete) for one in found)


def _column(name: str, column: Floats) -> Column:
    spread = column.std()
    standard = (column - column.mean()) / (spread if spread > 0 else 1)
    return Column(
        name,
        len(np.unique(column)),
        float(np.mean(standard**3)),
        float(np.mean(standard**4) - 3),
        float(kstest(standard, "norm").statistic),
        float(kstest(normal_scores(column), "norm").statistic),
        ranked=False,
    )


def normal_scores(column: Floats) -> Floats:
    """Phi^-1((rank - 1/2)/n), ties sharing their mean rank."""
    return ndtri((rankdata(column) - 0.5) / len(column))


def correlations(columns: Floats) -> Floats:
    """X^T X / n of standardised columns (n, d)."""
    return columns.T @ columns / len(columns)


def describe_spectrum(eigenvalues: Floats, samples: int) -> Spectrum:
    """The spikes of a spectrum, largest eigenvalue first, and its bulk against the law.

    Statement: for independent columns of variance s, n times the largest of d eigenvalues is below
    s (mu + .98 sigma) with probability 95%, mu = (sqrt(n - 1) + sqrt(d))^2 and
    sigma = (sqrt(n - 1) + sqrt(d)) (1/sqrt(n - 1) + 1/sqrt(d))^(1/3) (Johnstone 2001). s is the
    median of the eigenvalues over that of the law, which neither spikes nor small eigenvalues move by much.
    """
    dim = len(eigenvalues)
    ratio = dim / samples
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    grid = np.linspace(max(low, 1e-9 * high), high, 1000)[1:-1]
    density = bulk_density(np.sqrt(grid), ratio) / (2 * np.sqrt(grid))
    shares = np.cumsum(density) / density.sum()
    positive = eigenvalues[eigenvalues > 1e-8 * eigenvalues[0]]
    level = float(np.median(positive) / np.interp(0.5, shares, grid)) if dim > 2 else 1.0
    edge = level * _largest(samples, dim)
    spikes = int(np.sum(eigenvalues > edge))
    seen = np.sort(positive[positive <= edge])
    below = np.interp(seen, level * grid, shares, left=0, right=1)
    steps = np.arange(1, len(seen) + 1) / len(seen)
    distance = float(np.max(np.abs(np.concatenate([below - steps, below - steps + 1 / len(seen)]))))
    return Spectrum(eigenvalues, spikes, level, edge, distance, level * grid, density / level)


def _largest(samples: int, dim: int) -> float:
    roots = np.sqrt(samples - 1), np.sqrt(dim)
    spread = sum(roots) * (1 / roots[0] + 1 / roots[1]) ** (1 / 3)
    return float((sum(roots) ** 2 + _TRACY_WIDOM_95 * spread) / samples)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Isotropic coordinates z (n, q), in float32, and the matrix (q, d) with z = matrix (standardised columns)."""

    values: Floats
    matrix: Floats


def prepare(inputs: Floats, columns: tuple[Column, ...]) -> tuple[Coordinates, Spectrum, str]:
    """Isotropic coordinates of inputs, which are overwritten by their standardised columns.

    Columns of heavy tails become normal scores. Whitened where there are at least twice as many samples as columns,
    in the span of the columns; else each column by itself.
    """
    for place, column in enumerate(columns):
        if column.ranked:
            inputs[:, place] = normal_scores(inputs[:, place])
    count, dim = inputs.shape
    inputs -= inputs.mean(axis=0)
    inputs /= np.sqrt(np.einsum("ij,ij->j", inputs, inputs) / count)
    if dim <= count:
        values, vectors = np.linalg.eigh(correlations(inputs))
    else:  # the others are zero
        values, vectors = np.linalg.eigvalsh(inputs @ inputs.T / count)[-dim:], None
        values = np.concatenate([np.zeros(dim - count), values])
    spectrum = describe_spectrum(values[::-1], count)
    whiten = vectors is not None and count >= 2 * dim
    kept = values > 1e-8 * values[-1]
    matrix = (vectors[:, kept] / np.sqrt(values[kept])).T if whiten and vectors is not None else np.eye(dim)
    coordinates: Any = np.empty((count, len(matrix)), np.float32)
    for begin in range(0, count, _BLOCK):
        block = inputs[begin : begin + _BLOCK]
        coordinates[begin : begin + _BLOCK] = block @ matrix.T if whiten else block
    return Coordinates(coordinates, matrix), spectrum, "whitened" if whiten else "standardised"


def norm_spread(coordinates: Floats) -> float:
    """Var |z|^2 / (2 q)."""
    squares = np.einsum("ij,ij->i", coordinates[:_LOOKED_AT], coordinates[:_LOOKED_AT], dtype=float)
    return float(squares.var() / (2 * coordinates.shape[1]))
