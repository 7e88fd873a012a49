"""What all estimators of directions have in common: scikit-learn's contract around a spectrum of isotropic inputs."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from featlab.errors import InvalidParameter
from featlab.estimators.counting import Spectrum, count_directions
from featlab.estimators.frames import frame_of
from featlab.gaussian.hermite import Floats


class NoDirection(UserWarning):
    """No direction is more than noise would show; the leading one is kept all the same.

    Examples:
        >>> import warnings
        >>> import numpy as np
        >>> from featlab.estimators import NoDirection, SlicedInverseRegression
        >>> draw = np.random.default_rng(0)
        >>> inputs, noise = draw.standard_normal((100, 4)), draw.standard_normal(100)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", NoDirection)
        ...     SlicedInverseRegression().fit(inputs, noise)
        Traceback (most recent call last):
            ...
        featlab.estimators.directions.NoDirection: no direction is more than noise ...
    """


class Directions(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Directions of the inputs that the label depends on; `transform` gives the coordinates along them.

    Attributes after `fit`:
        directions_: unit rows (k, d), in the coordinates of X: the label depends on X through X @ directions_.T.
        components_: (k, d), `transform(X)` being (X - mean_) @ components_.T, of variance 1 each if inputs="whiten".
        eigenvalues_: what the directions were chosen by, largest in size first.
        n_significant_: with n_directions="auto", how many are more than noise would show; else None.
        p_values_: of these and of the first that was not found; else None.
    """

    n_directions: int | str
    inputs: str
    random_state: Any
    permutations: int = 99
    level: float = 0.05

    def fit(self, X: Any, y: Any) -> Self:
        """Find the directions along which inputs X (n, d) matter for labels y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, np.float64)
        frame = frame_of(X, self.inputs)
        inputs, draw = frame.apply(X), check_random_state(self.random_state)
        self.eigenvalues_, rows = self._found(inputs, y, draw)
        components = rows @ frame.matrix
        largest = components[np.arange(len(rows)), np.argmax(np.abs(components), axis=1)]
        self.mean_ = frame.mean
        self.components_ = np.where(largest < 0, -1, 1)[:, None] * components
        self.directions_ = self.components_ / np.linalg.norm(self.components_, axis=1, keepdims=True)
        return self

    def transform(self, X: Any) -> Floats:
        """The coordinates (n, k) of inputs X (n, d) along the directions."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.components_.T

    @abstractmethod
    def _found(self, inputs: Floats, y: Floats, draw: np.random.RandomState) -> tuple[Floats, Floats]:
        """What the directions were chosen by, and the directions as rows, of isotropic inputs."""

    def _count(self, spectrum: Spectrum, inputs: Floats, y: Floats, draw: np.random.RandomState) -> int:
        """How many directions of a spectrum to keep."""
        self.n_significant_ = self.p_values_ = None
        if self.n_directions != "auto":
            most = inputs.shape[1]
            if not isinstance(self.n_directions, Integral) or not 1 <= self.n_directions <= most:
                expected = f"'auto', or an integer from 1 to {most}, as many as the inputs have"
                raise InvalidParameter("n_directions", self.n_directions, expected)
            return int(self.n_directions)
        count = count_directions(
            spectrum, inputs, y, permutations=self.permutations, level=self.level, random_state=draw
        )
        self.n_significant_, self.p_values_ = count.number, count.p_values
        if count.number == 0:
            words = f"no direction is more than noise would show (p = {count.p_values[0]:.2g} or more)"
            warnings.warn(f"{words}; the leading one is kept", NoDirection, stacklevel=4)
        return max(1, count.number)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class SpectrumDirections(Directions):
    """Directions that are the first of a spectrum, whose eigenvalues also say how many there are."""

    @abstractmethod
    def _spectrum(self, inputs: Floats, outcome: Floats, seed: int) -> tuple[Floats, Floats]:
        """Eigenvalues, largest in size first, and directions as orthonormal rows, of isotropic inputs."""

    def _found(self, inputs: Floats, y: Floats, draw: np.random.RandomState) -> tuple[Floats, Floats]:
        spectrum = partial(self._spectrum, seed=int(draw.randint(2**31)))
        values, rows = spectrum(inputs, y)
        count = self._count(spectrum, inputs, y, draw)
        if count > len(rows):
            expected = f"at most {len(rows)}, all that can be told apart here"
            raise InvalidParameter("n_directions", self.n_directions, expected)
        return values, rows[:count]
