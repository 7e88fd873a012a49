"""A function of a few directions: find the directions, then fit a smooth function of the coordinates along them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from featlab.estimators.gradient_span import GradientSpan
from featlab.estimators.networks import RandomFeatures
from featlab.gaussian.hermite import Floats


class MultiIndexRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """f(x) = g(U x): directions U first, then g by another regressor on the coordinates along them.

    Parameters:
        directions: an estimator of directions; None, `GradientSpan(step="giant")`, which sees linear and quadratic
            parts.
        regressor: of the coordinates; None, `RandomFeatures`: with biases, few coordinates and its ridge by
            leave-one-out it is smooth where the data are few.
        random_state: of these two where they are None.

    Attributes after `fit`: `directions_` (k, d), `regressor_` and `estimator_`, those that were fitted.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import MultiIndexRegressor
        >>> X = np.random.default_rng(0).standard_normal((400, 5))
        >>> y = np.tanh(X[:, 0])
        >>> MultiIndexRegressor(random_state=0).fit(X, y).score(X, y) > 0.9
        True
    """

    def __init__(self, directions: Any = None, regressor: Any = None, *, random_state: Any = None) -> None:
        self.directions = directions
        self.regressor = regressor
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to inputs X (n, d) and labels y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        draw = check_random_state(self.random_state)
        seeds = draw.randint(2**31, size=2)
        default = GradientSpan(step="giant", random_state=int(seeds[0]))
        self.estimator_ = (default if self.directions is None else clone(self.directions)).fit(X, y)
        smooth = RandomFeatures(random_state=int(seeds[1]))
        self.regressor_ = smooth if self.regressor is None else clone(self.regressor)
        self.regressor_.fit(self.estimator_.transform(X), y)
        self.directions_ = self.estimator_.directions_
        return self

    def predict(self, X: Any) -> Floats:
        """f at inputs X (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.regressor_.predict(self.estimator_.transform(X))
