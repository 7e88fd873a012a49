"""log Z and its gradient for many omega at once, where Z is a sum over points of level sets."""

from __future__ import annotations

import numpy as np

from featlab.analysis.level_sets import Fibres, log_partition
from featlab.gaussian.hermite import Floats


def scores(fibres: Fibres, omega: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """log Z (n, T) and g_out (n, T, r) for omega (n, T, r), row i with the label of row i of the fibres.

    Statement: Z = sum_k w_k N(z_k; omega, V) is a softmax in omega, with exponents z_k^T V^{-1} omega and constants,
    and g_out = V^{-1} (sum_k p_k z_k - omega) with the softmax's probabilities p.
    """
    simple = np.all(fibres.is_point, axis=1)
    log_z, gradient = np.empty(omega.shape[:2]), np.empty(omega.shape)
    log_z[simple], gradient[simple] = _softmax(fibres.rows(simple), omega[simple], covariance)
    rest = fibres.rows(~simple)
    for place in range(omega.shape[1] if len(rest.base) else 0):
        at = omega[~simple, place]
        log_z[~simple, place], gradient[~simple, place] = log_partition(rest, at, covariance)
    return log_z, gradient


def _softmax(fibres: Fibres, omega: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    precision = np.linalg.inv(covariance)
    rank = len(covariance)
    tilted = fibres.base @ precision
    constant = fibres.log_weights - 0.5 * np.sum(tilted * fibres.base, axis=2)
    logits = omega @ np.swapaxes(tilted, 1, 2)
    logits += constant[:, None, :]
    top = logits.max(axis=2, keepdims=True)
    logits -= top
    np.exp(logits, out=logits)
    total = logits.sum(axis=2, keepdims=True)
    mean = (logits @ fibres.base) / total
    log_normal = 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * rank * np.log(2 * np.pi)
    log_z = (top + np.log(total))[..., 0] + log_normal - 0.5 * np.sum((omega @ precision) * omega, axis=2)
    return log_z, (mean - omega) @ precision
