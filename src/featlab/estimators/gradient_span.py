"""Directions that a first layer learns in one gradient step: the leading singular vectors of the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter
from featlab.estimators.directions import SpectrumDirections
from featlab.gaussian.hermite import Floats
from featlab.learners.first_step import PreprocessedStep
from featlab.learners.giant import GiantSteps
from featlab.learners.protocol import Learner
from featlab.learners.reuse import ReusedBatch
from featlab.learners.students import TwoLayer
from featlab.simulation.on_data import trained

STEPS = ("giant", "preprocessed", "reused")


class GradientSpan(SpectrumDirections):
    """The span of the gradients of a two-layer network's neurons: the leading right singular vectors of the matrix
    (p, d) of gradients that a step follows.

    One step on the labels sees what correlates with them (Dandi et al. 2023, arXiv:2305.18270: information exponent 1);
    labels without their linear part show the next order (Damian et al. 2022, arXiv:2206.15144); a second step on the
    same samples sees functions of the label (Dandi et al. 2024, arXiv:2402.03220).

    Parameters:
        n_directions: how many; "auto", as many as `count_directions` finds.
        step: "giant", one step on the labels; "preprocessed", one on labels without their linear part; "reused", the
            second of two on the same samples, the first of size `step_size`.
        width, activation: of the network, whose rows start on the unit sphere, with biases N(0, 1) and random signs
            in the second layer.
        step_size: per neuron, of "reused" alone, in units of sqrt(d).
        inputs, permutations, level: as in `SlicedInverseRegression`.
        random_state: of the network's start, and of the permutations.

    Labels are standardised first: the size of a step is in their units.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import GradientSpan
        >>> X = np.random.default_rng(0).standard_normal((2000, 4))
        >>> found = GradientSpan(n_directions=1, random_state=0).fit(X, X[:, 0] ** 2)
        >>> float(round(abs(found.directions_[0, 0]), 1))
        1.0
    """

    def __init__(
        self,
        n_directions: int | str = "auto",
        *,
        step: str = "preprocessed",
        width: int = 128,
        activation: str = "relu",
        step_size: float = 1.0,
        inputs: str = "whiten",
        permutations: int = 99,
        level: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.n_directions = n_directions
        self.step = step
        self.width = width
        self.activation = activation
        self.step_size = step_size
        self.inputs = inputs
        self.permutations = permutations
        self.level = level
        self.random_state = random_state

    def _spectrum(self, inputs: Floats, outcome: Floats, seed: int) -> tuple[Floats, Floats]:
        student = TwoLayer(self.width, self.activation, "signs", biases="gaussian")
        spread = outcome.std()
        labels = (outcome - outcome.mean()) / (spread if spread > 0 else 1)
        _, info = trained(self._learner(inputs.shape[1]), student, inputs, labels, seed)
        _, sizes, rows = np.linalg.svd(info.gradient, full_matrices=False)
        return sizes, rows

    def _learner(self, dim: int) -> Learner:
        learners: dict[str, Callable[[], Learner]] = {
            "giant": lambda: GiantSteps(loss="correlation"),
            "preprocessed": lambda: PreprocessedStep(),
            "reused": lambda: ReusedBatch(2, self.step_size * dim**0.5, loss="correlation"),
        }
        if self.step not in learners:
            raise InvalidParameter("step", self.step, f"one of {', '.join(map(repr, STEPS))}")
        return learners[self.step]()
