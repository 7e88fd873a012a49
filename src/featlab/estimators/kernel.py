"""Kernel ridge regression on data, with the kernels of the theory and exact leave-one-out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from featlab.estimators.frames import frame_of
from featlab.estimators.linear import fit_kernel_matrix
from featlab.gaussian.hermite import Floats
from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.learners.kernel_functions import Kernel, kernel_function

_BLOCK = 2048


class KernelRidge(RegressorMixin, BaseEstimator):
    """f(x) = c + sum_i a_i k(z, z_i), z the standardised inputs, that minimises (1/n) |y - f|^2 + lambda |f - c|^2 in
    the norm of the kernel. The matrix of n x n numbers is stored.

    Parameters:
        kernel: as of `featlab.KernelRidge`: "exponential", "polynomial-3", "arc-cosine-1", "relu-ntk", ..., or the
            coefficients (c_0, c_1, ...) of a function of <x, y>/d.
        ridge: lambda; "leave-one-out", that with the smallest exact error among n lambda = 1e-6 .. 1e5 mean k(z, z).
        inputs: "standardise", "whiten" or "isotropic", see docs/estimators.md.

    Attributes after `fit`: `coefficients_` (n,), `intercept_`, `ridge_`, and the samples `points_` in the coordinates
    of `frame_`.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import KernelRidge
        >>> X = np.random.default_rng(0).standard_normal((100, 3))
        >>> KernelRidge().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
        True
    """

    def __init__(
        self,
        kernel: Kernel | str | tuple[float, ...] = "exponential",
        *,
        ridge: float | str = LEAVE_ONE_OUT,
        inputs: str = "standardise",
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.inputs = inputs

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to inputs X (n, d) and labels y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self.frame_ = frame_of(X, self.inputs)
        self.points_ = self.frame_.apply(X)
        fitted = fit_kernel_matrix(self._kernel(self.points_), np.asarray(y, np.float64), self.ridge)
        self.coefficients_, self.intercept_, self.ridge_ = fitted
        return self

    def predict(self, X: Any) -> Floats:
        """f at inputs X (n, d)."""
        check_is_fitted(self)
        inputs = self.frame_.apply(validate_data(self, X, dtype=np.float64, reset=False))
        parts = [inputs[begin : begin + _BLOCK] for begin in range(0, len(inputs), _BLOCK)]
        return np.concatenate([self._kernel(part) @ self.coefficients_ for part in parts]) + self.intercept_

    def _kernel(self, inputs: Floats) -> Floats:
        """k between these samples (m, q) and those of the fit, (m, n)."""
        points, dim = self.points_, inputs.shape[1]
        left, right = (np.sum(part**2, axis=1) / dim for part in (inputs, points))
        return kernel_function(self.kernel).value(np, inputs @ points.T / dim, left[:, None], right)
