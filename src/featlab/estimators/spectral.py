"""The optimal spectral method on data: the label's preprocessing from a link that is given, or from slices."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from featlab.errors import InvalidParameter
from featlab.estimators.directions import Directions
from featlab.estimators.moments import SlicedAverageVariance, label_slices
from featlab.gaussian.hermite import Floats
from featlab.learners.spectral_methods import SpectralEstimator
from featlab.precision import double_precision
from featlab.simulation.lanczos import MOVING
from featlab.simulation.on_data import key_of, stored_problem
from featlab.simulation.random import named
from featlab.simulation.slices import Slices
from featlab.simulation.spectral import response
from featlab.simulation.spectral_estimator import begin, iterate
from featlab.targets import Target
from featlab.targets import target as as_target

# How often G is estimated along the directions that were found before.
_ROUNDS = 3


class SpectralDirections(Directions):
    """The leading eigenvector of omega -> (X X^T / d - I) G omega (Defilippis et al. 2025, arXiv:2502.02545), with
    G(y) = E[z z^T | y] - I for the coordinates z along the directions: the preprocessing of the label that finds
    something from the fewest samples where E[z | y] = 0, as for even links. Elsewhere a link that is given is asked for
    Cov(z | y) in the place of the second moment, as by `featlab.SpectralEstimator`, and moments are better estimated.

    Parameters:
        n_directions: how many; "auto", those of the link, or without one as many as `count_directions` finds by SAVE.
        link: a text such as "h1*h2", with `noise`, the variance of additive noise, of which G is computed; None, G is
            estimated: the second moments over slices along SAVE's directions, then twice along those found.
        slices: of the labels, where G is estimated.
        iterations, tolerance: of the power iteration, as in `featlab.SpectralEstimator`.
        damping: the weight of the old vector; None, as eigenvalues of size n/d ask for: (n/d) / (2 + n/d). Those below
            zero, which may be the larger ones in size where n/d is large, then fall behind.
        inputs, permutations, level, random_state: as in `SlicedInverseRegression`.

    Attributes are those of all directions; `eigenvalues_` holds one, alpha / alpha_c in the limit of many dimensions
    where it is above 1; `n_iter_` says after how many iterations the vector stood, `converged_` whether it did.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import SpectralDirections
        >>> X = np.random.default_rng(0).standard_normal((2000, 4))
        >>> found = SpectralDirections(n_directions=1).fit(X, X[:, 0] ** 2)
        >>> float(round(abs(found.directions_[0, 0]), 1))
        1.0
    """

    def __init__(
        self,
        n_directions: int | str = "auto",
        *,
        link: str | Target | None = None,
        noise: float = 0.0,
        slices: int = 10,
        iterations: int = 200,
        damping: float | None = None,
        tolerance: float = 1e-4,
        inputs: str = "whiten",
        permutations: int = 99,
        level: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.link = link
        self.noise = noise
        self.slices = slices
        self.iterations = iterations
        self.damping = damping
        self.tolerance = tolerance
        self.inputs = inputs
        self.permutations = permutations
        self.level = level
        self.random_state = random_state

    def _found(self, inputs: Floats, y: Floats, draw: np.random.RandomState) -> tuple[Floats, Floats]:
        seed = int(draw.randint(2**31))
        if self.link is not None:
            link = as_target(self.link, noise=self.noise) if isinstance(self.link, str) else self.link
            self.n_significant_ = self.p_values_ = None
            if self.n_directions not in ("auto", link.rank):
                raise InvalidParameter("n_directions", self.n_directions, f"'auto' or {link.rank}, those of the link")
            with double_precision():
                moments = np.asarray(response(link, jnp.asarray(y)))
            return self._iterated(inputs, y, moments, seed)
        pilot = partial(SlicedAverageVariance(slices=self.slices)._spectrum, seed=seed)
        rows = pilot(inputs, y)[1][: self._count(pilot, inputs, y, draw)]
        slices = label_slices(y, self.slices)
        for _ in range(_ROUNDS):
            value, rows = self._iterated(inputs, y, slice_moments(slices, inputs @ rows.T), seed)
        return value, rows

    def _iterated(self, inputs: Floats, y: Floats, moments: Floats, seed: int) -> tuple[Floats, Floats]:
        """The eigenvalue, and the directions that span the eigenvector, for G (n, r, r) of every sample."""
        ratio = len(inputs) / inputs.shape[1]
        damping = ratio / (2 + ratio) if self.damping is None else self.damping
        learner = SpectralEstimator(self.iterations, damping, self.tolerance)
        problem = stored_problem(learner, None, inputs, y)
        state = begin(problem, problem.design.batch, moments, named(key_of(seed), "start"))
        while state.outcome == MOVING and state.iterations < self.iterations:
            state, _ = iterate(problem, state)
        self.n_iter_, self.converged_ = int(state.iterations), bool(state.outcome != MOVING)
        return np.array([state.growth]), np.asarray(state.network.weights)


def slice_moments(slices: Slices, fields: Floats) -> Floats:
    """E[z z^T | slice] - I of the slice of every sample, (n, r, r), for coordinates z (n, r)."""
    eye, shape = np.eye(fields.shape[1]), (len(slices.counts), fields.shape[1], fields.shape[1])
    found = np.zeros(shape)
    for number, column in enumerate(slices.indicators.T):
        own = fields[column > 0]
        found[number] = own.T @ own / len(own) - eye
    return found[np.argmax(slices.indicators, axis=1)]
