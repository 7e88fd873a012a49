"""Coordinates along directions that SIR has found, of the rows that found them and of others, at n/d fixed.

Statement, derived here for inputs N(0, I) and labels without atoms, as n, d -> infinity with kappa = d/n, S slices: let
M be the (S, r) matrix of the means E[h | s] over sqrt(S), M = U diag(rho) V^T, and phi_j(s) = sqrt(S) U_sj: functions
of the label of mean 0, variance 1 and no correlation, and phi_j = rho_j v_j + e_j with v_j = <V_j, h>. rho_j^2 are the
eigenvalues of SIR's matrix at n/d -> infinity, V_j its directions.

Inputs whitened by their own covariance: sum_s p m_s m_s^T on them is the Gram matrix of the projections P phi_j onto
the span of the columns of X (SIR is canonical correlation with the slices). Off the target's directions X is
independent of the e_j, so <P phi_j, P phi_k> / n -> (rho_j^2 + (1 - rho_j^2) kappa) delta_jk: the leading eigenvectors
are those of the largest rho_j, and along them, up to a scale,

    a row that was used has     t_j = rho_j v_j + kappa e_j + sqrt(kappa (1 - kappa) (1 - rho_j^2)) g_j,
    another one                 t_j = rho_j v_j + sqrt((1 - rho_j^2) kappa / (1 - kappa)) g_j,

g_j ~ N(0, 1): P has kappa on its diagonal, and sum_{k != i} P_ik^2 = kappa - kappa^2; the error of least squares has
the squared norm (1 - rho_j^2) kappa / (1 - kappa). Inputs as they are: X^T phi_j / n in its place has

    a row that was used         t_j = rho_j v_j + kappa phi_j + sqrt(kappa) g_j,
    another one                 t_j = rho_j v_j + sqrt(kappa) g_j,

whose cos^2 is that of `sir_cosine`. Rows that were used know their own noise, e_j: whoever fits a link along the
directions with the same rows, fits some of it. At a finite d the S - 2 other contrasts of slices mix in, with a share
of about (S - 2) kappa^2 / (d rho_j^4) of the variance; that off the target's r directions there are d - r others, and
that the mean takes a row, is kept: kappa = (d - r) / (n - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert

from featlab.gaussian.hermite import Floats
from featlab.theory.inverse_regression import Labelled, labelled_points, slice_moments

_SCRAMBLES = 4


@dataclass(frozen=True, eq=False)
class InverseModes:
    """What SIR sees of a target.

    Attributes:
        correlations: rho_j (S - 1,), largest first; zero beyond the target's rank.
        axes: V_j (min(r, S - 1), r).
        functions: phi_j(s) (S, S - 1).
        edges: of the slices (S - 1,), in labels.
    """

    correlations: Floats
    axes: Floats
    functions: Floats
    edges: Floats


def inverse_modes(target: Labelled, slices: int) -> InverseModes:
    """Of a target whose labels have no atoms, by Sobol's points."""
    means = np.mean([slice_moments(target, slices, key)[0] for key in range(_SCRAMBLES)], axis=0)
    contrasts = helmert(slices)  # (S - 1, S): means over all slices are zero
    left, values, axes = np.linalg.svd(contrasts @ means / np.sqrt(slices))
    correlations = np.zeros(slices - 1)
    correlations[: len(values)] = np.minimum(values, 1)
    labels = labelled_points(target, 0)[1]
    edges = np.quantile(labels, np.arange(1, slices) / slices)
    return InverseModes(correlations, axes[: len(values)], np.sqrt(slices) * contrasts.T @ left, edges)


def used_coordinates(
    modes: InverseModes, fields: Floats, labels: Floats, load: float, whitened: bool, noise: Floats
) -> Floats:
    """t (n, k) of rows that found the k leading directions, with fields h (n, r), labels (n,) and g (n, k).

    Args:
        load: kappa, below 1 for inputs that are whitened.
    """
    rho, signal = _signal(modes, fields, noise.shape[1])
    phi = modes.functions[np.searchsorted(modes.edges, labels, side="right"), : noise.shape[1]]
    if whitened:
        return signal + load * (phi - signal) + np.sqrt(load * (1 - load) * (1 - rho**2)) * noise
    return signal + load * phi + np.sqrt(load) * noise


def other_coordinates(modes: InverseModes, fields: Floats, load: float, whitened: bool, noise: Floats) -> Floats:
    """t (n, k) of other rows, with fields h (n, r) and g (n, k), in the same scale."""
    rho, signal = _signal(modes, fields, noise.shape[1])
    return signal + np.sqrt((1 - rho**2) * load / (1 - load) if whitened else load) * noise


def _signal(modes: InverseModes, fields: Floats, count: int) -> tuple[Floats, Floats]:
    """rho_j (k,) and rho_j v_j (n, k)."""
    along = np.zeros((len(fields), max(count, len(modes.axes))))
    along[:, : len(modes.axes)] = fields @ modes.axes.T
    rho = modes.correlations[:count]
    return rho, rho * along[:, :count]
