"""Directions from moments of the inputs at given labels: SIR, SAVE and PHD, as `simulate` computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from featlab.estimators.directions import SpectrumDirections
from featlab.gaussian.hermite import Floats
from featlab.learners.spectral_methods import PrincipalHessian
from featlab.learners.spectral_methods import SlicedAverageVariance as AverageVariance
from featlab.simulation import average_variance, inverse_regression, principal_hessian
from featlab.simulation.designs.stored import Stored
from featlab.simulation.lanczos import Operator
from featlab.simulation.on_data import stored_problem
from featlab.simulation.problem import Problem
from featlab.simulation.questions import Labelled
from featlab.simulation.slices import Slices, sliced, slices_of

_BLOCK = 256


class SlicedInverseRegression(SpectrumDirections):
    """SIR (Li 1991): the leading eigenvectors of sum_s p_s m_s m_s^T, m_s the mean of the whitened inputs over the
    samples whose label is in slice s, a share p_s of all. It is blind to directions along which the link is even.

    Parameters:
        n_directions: how many, at most one less than there are slices; "auto", as many as `count_directions` finds.
        slices: into how many parts of equal size the sorted labels are cut; at most half as many as there are samples.
            Labels of no more values than that make a slice of each.
        inputs: "whiten", "standardise" or "isotropic", see docs/estimators.md.
        permutations, level: of the test of "auto".
        random_state: of its permutations.

    Further attributes are those of all directions: `directions_`, `components_`, `eigenvalues_`, `n_significant_`.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import SlicedInverseRegression
        >>> X = np.random.default_rng(0).standard_normal((400, 5))
        >>> found = SlicedInverseRegression(n_directions=1).fit(X, X[:, 0] ** 3)
        >>> abs(found.directions_[0]).round(1).tolist()
        [1.0, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        n_directions: int | str = "auto",
        *,
        slices: int = 10,
        inputs: str = "whiten",
        permutations: int = 99,
        level: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.slices = slices
        self.inputs = inputs
        self.permutations = permutations
        self.level = level
        self.random_state = random_state

    def _spectrum(self, inputs: Floats, outcome: Floats, seed: int) -> tuple[Floats, Floats]:
        design = Stored.whole(inputs, outcome)
        slices = label_slices(outcome, self.slices)
        values, rows = inverse_regression.spectrum(design, design.batch, slices)
        most = max(1, min(len(slices.counts) - 1, len(rows)))  # the means of S slices span S - 1 directions
        return values[:most], rows[:most]


class SlicedAverageVariance(SpectrumDirections):
    """SAVE (Cook, Weisberg 1991): the leading eigenvectors of sum_s p_s (I - C_s)^2, C_s the covariance of the whitened
    inputs over the samples whose label is in slice s. It sees even links too, and needs more samples than SIR.

    Parameters and attributes are those of `SlicedInverseRegression`.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import SlicedAverageVariance
        >>> X = np.random.default_rng(0).standard_normal((2000, 4))
        >>> found = SlicedAverageVariance(n_directions=1).fit(X, X[:, 0] ** 2)
        >>> float(round(abs(found.directions_[0, 0]), 1))
        1.0
    """

    def __init__(
        self,
        n_directions: int | str = "auto",
        *,
        slices: int = 10,
        inputs: str = "whiten",
        permutations: int = 99,
        level: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.slices = slices
        self.inputs = inputs
        self.permutations = permutations
        self.level = level
        self.random_state = random_state

    def _spectrum(self, inputs: Floats, outcome: Floats, seed: int) -> tuple[Floats, Floats]:
        problem = stored_problem(AverageVariance(), None, inputs, outcome)
        data = average_variance.prepared(problem.design, problem.design.batch, label_slices(outcome, self.slices))
        return eigenvectors(average_variance.OPERATOR, problem, data)


class PrincipalHessianDirections(SpectrumDirections):
    """PHD (Li 1992, from residuals): the eigenvectors of mean(r x x^T) on whitened inputs with the eigenvalues
    largest in size, r the residuals of linear regression. It sees what the label is quadratic in, not odd links.

    Parameters and attributes are those of `SlicedInverseRegression`, without slices.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import PrincipalHessianDirections
        >>> X = np.random.default_rng(0).standard_normal((2000, 4))
        >>> found = PrincipalHessianDirections(n_directions=1).fit(X, X[:, 0] ** 2)
        >>> float(round(abs(found.directions_[0, 0]), 1))
        1.0
    """

    def __init__(
        self,
        n_directions: int | str = "auto",
        *,
        inputs: str = "whiten",
        permutations: int = 99,
        level: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.inputs = inputs
        self.permutations = permutations
        self.level = level
        self.random_state = random_state

    def _spectrum(self, inputs: Floats, outcome: Floats, seed: int) -> tuple[Floats, Floats]:
        problem = stored_problem(PrincipalHessian(), None, inputs, outcome)
        data = principal_hessian.prepare(problem, Labelled(problem.design.batch, outcome))
        return eigenvectors(principal_hessian.OPERATOR, problem, data)


def label_slices(outcome: Floats, most: int) -> Slices:
    """Slices of equal size, at most `most` and of two samples at least; of each value where there are few values."""
    values, numbers, sizes = np.unique(outcome, return_inverse=True, return_counts=True)
    if 1 < len(values) <= most and sizes.min() > 1:
        return slices_of(numbers, sizes, np.float64)
    return sliced(outcome, max(1, min(most, len(outcome) // 2)))


def eigenvectors(operator: Operator, problem: Problem, data: Any) -> tuple[Floats, Floats]:
    """All eigenvalues of a symmetric operator, the largest in size first, and its eigenvectors as rows.

    The matrix is the operator's products with the axes, by blocks: stored inputs have few enough of them.
    """
    axes, parts = np.eye(problem.design.dim), []
    for begin in range(0, len(axes), _BLOCK):
        product, data = operator.apply(problem, data, axes[begin : begin + _BLOCK])
        parts.append(product)
    matrix = np.concatenate(parts)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    order = np.argsort(-np.abs(values))
    return values[order], vectors[:, order].T
