"""Bayes-AMP on data whose link is known: the directions that no other method estimates better."""

from __future__ import annotations

from typing import Any

import numpy as np

from featlab.errors import InvalidParameter
from featlab.estimators.directions import Directions
from featlab.gaussian.hermite import Floats
from featlab.learners.amp import BayesAmp
from featlab.outcome import Outcome
from featlab.simulation.on_data import estimated
from featlab.targets import Target
from featlab.targets import target as as_target


class BayesAmpDirections(Directions):
    """Directions by approximate message passing with the Bayes-optimal denoiser (Troiani et al. 2024,
    arXiv:2405.15480): the posterior mean of W in y = g(W x) + noise for a known link g,
    isotropic inputs and many dimensions.

    Labels have to be on the scale of the link: nothing is fitted but the directions.

    Parameters:
        link: g, a text such as "h1*h2" or "sign(h1*h2)", or a `featlab.Target` of up to three directions.
        noise: the variance of the additive noise of labels, for a link that is a text.
        n_directions: "auto", those of the link; or their number, which says the same.
        start, iterations, damping, tolerance: as in `featlab.BayesAmp`; the start is "random" or "spectral".
        inputs: "whiten", "standardise" or "isotropic", see docs/estimators.md.
        random_state: of the start.

    Attributes are those of all directions; `eigenvalues_` holds the squared norms of the estimates, which are their
    squared cosines with the truth if the link is right; `outcome_` says how the iteration ended, `n_iter_` when.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import BayesAmpDirections
        >>> BayesAmpDirections("abs(h1)", n_directions=1).get_params()["link"]
        'abs(h1)'
    """

    def __init__(
        self,
        link: str | Target = "abs(h1)",
        *,
        noise: float = 0.0,
        n_directions: int | str = "auto",
        start: str = "spectral",
        iterations: int = 200,
        damping: float = 0.35,
        tolerance: float = 1e-4,
        inputs: str = "whiten",
        random_state: Any = None,
    ) -> None:
        self.link = link
        self.noise = noise
        self.n_directions = n_directions
        self.start = start
        self.iterations = iterations
        self.damping = damping
        self.tolerance = tolerance
        self.inputs = inputs
        self.random_state = random_state

    def _found(self, inputs: Floats, y: Floats, draw: np.random.RandomState) -> tuple[Floats, Floats]:
        link = as_target(self.link, noise=self.noise) if isinstance(self.link, str) else self.link
        if self.n_directions not in ("auto", link.rank):
            raise InvalidParameter("n_directions", self.n_directions, f"'auto' or {link.rank}, those of the link")
        if self.start == "informed":
            raise InvalidParameter("start", self.start, "'random' or 'spectral': nothing is known of these data")
        self.n_significant_ = self.p_values_ = None
        learner = BayesAmp(self.iterations, self.damping, self.start, tolerance=self.tolerance)
        ended = estimated(learner, link, inputs, y, int(draw.randint(2**31)))
        self.outcome_, self.n_iter_ = Outcome(ended.outcome), ended.iterations
        if not np.all(np.isfinite(ended.weights)) or not ended.weights.any(axis=1).all():
            expected = f"labels that {link.text!r} can have, on its scale: the iteration broke off"
            raise InvalidParameter("y", f"labels from {y.min():.3g} to {y.max():.3g}", expected)
        return np.sum(ended.weights**2, axis=1), ended.weights
