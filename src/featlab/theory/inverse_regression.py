"""What classical dimension reduction sees of a target: its matrices as n / d goes to infinity, on the r directions.

With the label's law cut into S slices of equal probability (equal labels shared in proportion), p = 1/S, m_s = E[h | s]
and C_s = Cov(h | s):

    SIR   sum_s p m_s m_s^T            Li 1991: blind to links that are even in a direction
    SAVE  sum_s p (I - C_s)^2          Cook, Weisberg 1991: sees both kinds, less sharply
    PHD   E[(y - E y - <b, h>) h h^T]  Li 1992: the Hessian E[grad^2 f], blind to odd links

On the other d - r directions all three vanish. At a finite n / d sampling adds to them. For SIR this is simple, S being
fixed: the S means are those above plus independent noise, of squared norm d / n_s, that is nearly orthogonal between
slices, so that with alpha = n / d each eigenvalue lambda becomes lambda + 1/alpha and its eigenvector has

    cos^2 = lambda / (lambda + 1 / alpha)    with the true one, as d -> infinity.

The optimal spectral method, sum over samples of G(y) = E[z^2 - 1 | y] (one direction, or one common eigenvector of all
G), has an eigenvalue lambda = alpha / alpha_c = alpha E[G^2], and above lambda = 1

    cos^2 = (lambda - 1) / (lambda + E[G^3] / E[G^2]):

in a linear iteration with the memory of message passing the signal grows as m' = lambda m, and the squared norm q by
q' = m'^2 + alpha E[G^2 (1 + G)] m^2 + lambda (q - m^2), of which m^2 / q has this fixed point (state evolution of the
linearised iteration of Defilippis et al. 2025, arXiv:2502.02545).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from featlab.analysis.verdict import check_size
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.sobol import sobol_normals
from featlab.learners.checks import finite_number, positive_number
from featlab.learners.spectral_methods import SLICES
from featlab.targets import Target
from featlab.targets import target as make_target
from featlab.theory.first_step import hessian

_LOG2_POINTS = 15
_SCRAMBLES = 8
# An eigenvalue is not zero above so many of its errors, and above this floor, which rounding never reaches.
_SURE = 6.0
_FLOOR = 1e-6
_SAME_LABEL = 9
_MOST_SLICES = 10**6


class Labelled(Protocol):
    """What is asked of a target here: r fields, m noise variables inside its link, and noise beside it."""

    @property
    def rank(self) -> int: ...

    @property
    def hidden(self) -> int: ...

    @property
    def noise(self) -> float: ...

    def link(self, fields: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class PopulationMatrix:
    """A matrix on the target's directions, (r, r), in the coordinates h1..hr, and the error of its entries."""

    matrix: Floats
    error: float

    @property
    def eigenvalues(self) -> Floats:
        """The largest in size first."""
        return self._pairs()[0]

    @property
    def visible(self) -> Floats:
        """Orthonormal columns (r, s): the directions that the method sees."""
        values, vectors = self._pairs()
        return vectors[:, self._seen(values)]

    @property
    def invisible(self) -> Floats:
        """Orthonormal columns (r, r - s): those that no number of samples would show to it."""
        values, vectors = self._pairs()
        return vectors[:, ~self._seen(values)]

    def _pairs(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.matrix)
        order = np.argsort(-np.abs(values))
        return values[order], vectors[:, order]

    def _seen(self, values: Floats) -> np.ndarray:
        return np.abs(values) > max(_SURE * self.error, _FLOOR)


def sir_matrix(target: Target | str, slices: int = 10) -> PopulationMatrix:
    """The matrix of `SlicedInverseRegression` at n / d -> infinity: the mean over slices of m_s m_s^T.

    Source: Li 1991.

    Args:
        target: a `Target`, or its text.
        slices: S, of equal probability.

    Examples:
        >>> from featlab.theory import sir_matrix
        >>> sir_matrix("h1", slices=2).matrix.round(4).tolist()  # 2/pi
        [[0.6366]]
    """
    return _averaged(target, slices, lambda means, _: means.T @ means / len(means))


def save_matrix(target: Target | str, slices: int = 10) -> PopulationMatrix:
    """The matrix of `SlicedAverageVariance` at n / d -> infinity: the mean over slices of (I - C_s)^2.

    Source: Cook, Weisberg 1991.

    Args:
        target: a `Target`, or its text.
        slices: S, of equal probability.

    Examples:
        >>> from featlab.theory import save_matrix
        >>> save_matrix("abs(h1)", slices=2).matrix.shape
        (1, 1)
    """

    def matrix(means: Floats, seconds: Floats) -> Floats:
        rest = np.eye(means.shape[1]) - (seconds - means[:, :, None] * means[:, None, :])
        return np.mean(rest @ rest, axis=0)

    return _averaged(target, slices, matrix)


def phd_matrix(target: Target | str) -> PopulationMatrix:
    """The matrix of `PrincipalHessian` at n / d -> infinity: the Hessian of the target.

    Source: Li 1992.

    Args:
        target: a `Target`, or its text.

    Examples:
        >>> from featlab.theory import phd_matrix
        >>> phd_matrix("He2(h1)").matrix.round(6).tolist()
        [[2.0]]
    """
    found = hessian(target)
    return PopulationMatrix(found.matrix, found.error)


def sir_cosine(eigenvalue: float, alpha: float) -> float:
    """sqrt(lambda / (lambda + 1 / alpha)): the cosine of SIR's estimate with the direction of that eigenvalue.

    Source: derived in this module from the noise of S means of n/S samples each.

    Args:
        eigenvalue: lambda of `sir_matrix`.
        alpha: n/d.

    Raises:
        InvalidParameter: an eigenvalue below 0, or an alpha that is not above 0.

    Examples:
        >>> from featlab.theory import sir_cosine
        >>> round(sir_cosine(eigenvalue=0.5, alpha=2.0) ** 2, 6)
        0.5
    """
    if finite_number("eigenvalue", eigenvalue) < 0:
        raise InvalidParameter("eigenvalue", eigenvalue, "a number of at least 0")
    return float(np.sqrt(eigenvalue / (eigenvalue + 1 / positive_number("alpha", alpha))))


def spectral_cosine(ratio: float, skewness: float) -> float:
    """sqrt((lambda - 1) / (lambda + E[G^3] / E[G^2])) for lambda = alpha / alpha_c above 1, else 0.

    Source: the state evolution of the linearised iteration of Defilippis et al. 2025, arXiv:2502.02545.

    Args:
        ratio: lambda.
        skewness: E[G^3] / E[G^2]: 4 for h1^2 and abs(h1), where G = y - 1; 0 for sign(h1*h2), where it is +-2y/pi.

    Raises:
        InvalidParameter: a ratio that is not above 0, or a skewness that no label has.

    Examples:
        >>> from featlab.theory import spectral_cosine
        >>> round(spectral_cosine(ratio=2.0, skewness=0.0) ** 2, 6)
        0.5
    """
    if positive_number("ratio", ratio) <= 1:
        return 0.0
    if finite_number("skewness", skewness) <= -1:
        raise InvalidParameter("skewness", skewness, "above -1, as that of any G(y) = E[z^2 | y] - 1 > -1")
    return float(np.sqrt((ratio - 1) / (ratio + skewness)))


def slice_moments(target: Labelled, slices: int, key: int) -> tuple[Floats, Floats]:
    """E[h | s] (S, r) and E[h h^T | s] (S, r, r) of each slice; one Sobol sequence, reflected in every direction."""
    if slices > _MOST_SLICES:
        needed = f"the moments of so many slices take {8 * slices * target.rank * (1 + target.rank):,} bytes"
        raise InvalidParameter("slices", slices, f"at most {_MOST_SLICES:,}; {needed}")
    fields, labels, _ = labelled_points(target, key)
    _, place = np.unique(np.round(labels / np.std(labels), _SAME_LABEL), return_inverse=True)
    squares = fields[:, :, None] * fields[:, None, :]
    table = np.column_stack([fields, squares.reshape(len(fields), -1)])
    mass = np.append(0.0, np.cumsum(np.bincount(place))) / len(fields)
    edges = np.linspace(0, 1, slices + 1)
    # Sums up to an edge that falls within one label take their share of it: a straight line between the sums.
    sums = [np.append(0.0, np.cumsum(np.bincount(place, column))) / len(fields) for column in table.T]
    moments = slices * np.column_stack([np.diff(np.interp(edges, mass, values)) for values in sums])
    rank = fields.shape[1]
    return moments[:, :rank], moments[:, rank:].reshape(slices, rank, rank)


def _averaged(target: Target | str, slices: int, matrix: Callable[[Floats, Floats], Floats]) -> PopulationMatrix:
    of = make_target(target)
    check_size(of)
    SLICES.check("slices", slices)
    found = np.array([matrix(*slice_moments(of, slices, key)) for key in range(_SCRAMBLES)])
    error = float(np.max(np.std(found, axis=0, ddof=1)) / np.sqrt(_SCRAMBLES))
    return PopulationMatrix(found.mean(axis=0), error)


def labelled_points(target: Labelled, key: int, spare: int = 0) -> tuple[Floats, Floats, Floats]:
    """Fields (N, r) and labels (N,) of a Sobol sequence, and `spare` other normals (spare, N).

    Every sign of every field comes with the same noise, so that symmetries are exact.
    """
    columns = target.rank + target.hidden + (target.noise > 0) + spare
    points = sobol_normals(columns, 2 ** (_LOG2_POINTS - target.rank), np.random.default_rng([11, key]))
    signs = np.array(list(product([1.0, -1.0], repeat=target.rank)))
    fields = (signs[:, None, :] * points[:, : target.rank]).reshape(-1, target.rank)
    others = np.tile(points[:, target.rank :], (len(signs), 1))
    labels = target.link(np.column_stack([fields, others[:, : target.hidden]]))
    if target.noise > 0:
        labels = labels + np.sqrt(target.noise) * others[:, target.hidden]
    return fields, labels, others[:, others.shape[1] - spare :].T
