"""Ridge regression with an intercept on features or kernels that are stored, with exact leave-one-out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.learners.fields import LEAVE_ONE_OUT, RIDGE
from featlab.learners.kernels import KERNEL_RIDGES
from featlab.simulation.ridge import Columns, Rows, fit_dual, fit_kernel, fit_primal


class Linear(NamedTuple):
    """features @ coefficients + intercept, and the ridge lambda that was used."""

    coefficients: Floats
    intercept: float
    ridge: float


def fit_features(features: Floats, labels: Floats, ridge: float | str, intercept: bool) -> Linear:
    """min (1/n) |y - Phi a - c|^2 + lambda |a|^2, by the smaller of the two Gram matrices; c = 0 if not asked for."""
    RIDGE.check("ridge", ridge)
    count, width = features.shape
    centre = features.mean(axis=0) if intercept else np.zeros(width)
    level = labels.mean() if intercept else 0.0
    centred, outcome = features - centre, labels - level
    if count > width:
        fitted = fit_primal(Rows(lambda index: (centred, outcome), 1, count), ridge, intercept)
    else:
        fitted = fit_dual(Columns(lambda index: centred, 1, width, outcome), ridge, intercept)
    return Linear(fitted.coefficients, float(level - centre @ fitted.coefficients), float(fitted.ridge))


def fit_kernel_matrix(kernel: Floats, labels: Floats, ridge: float | str) -> Linear:
    """f(x) = sum_i a_i k(x, x_i) + c, c not penalised: the same for a kernel matrix K (n, n)."""
    RIDGE.check("ridge", ridge)
    count, level = len(labels), labels.mean()
    centred = kernel - kernel.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    ridges: Any = np.array(KERNEL_RIDGES) * np.trace(kernel) / count**2 if ridge == LEAVE_ONE_OUT else ridge
    solved, used = fit_kernel(centred / count, labels - level, ridges, intercept=True)
    # They sum to zero, as the labels do: k centred at a new point differs from k by what does not depend on i.
    coefficients = solved / count
    return Linear(coefficients, float(level - (kernel @ coefficients).mean()), float(used))
