"""Kernel ridge regression under a spike, at a finite d: a one-dimensional kernel operator on the spiked coordinate.

Inputs x = sqrt(1 + theta) z mu + p with z ~ N(0, 1) and p standard Gaussian across mu, n of order d. With
u = sqrt((1 + theta)/d) z the kernel k(t), t = <x, x'>/d = u u' + <p, p'>/d, is expanded in the second term, which is of
order 1/sqrt d between two samples and 1 on the diagonal:

    K ~ A(z, z') + B(z, z') <p, p'>/d + delta nu(z),   A = k(u u'),  B = k'(u u'),  nu = k(u^2 + 1) - A - B,

so that learning is a weighted ridge regression on functions of z (kernel A) and, for each of the d - 1 directions
across, on functions of z times that coordinate (kernel B/d), with the ridge r(z) = n lambda + nu(z) of a sample at z:
all that is of higher degree in p is a nugget, which depends on z. Its deterministic equivalent, by leave-one-out: let
V(z) be the variance of a Gaussian process at z given the samples, and D = n w(z)/(r + V) weights of z ~ w. Then

    V = diag A_D + ((d - 1)/d) diag B_D,   A_D = A - A (D^-1 + A)^-1 A,   B_D the same with D/d,
    mean of the fit   f0^ = A_D D f0,  f_k^ = B_D (D/d) f_k,
    N(z) = E[(y - f)^2 | z] = Var(y | z, parts) + (f0 - f0^)^2 + sum_k (f_k - f_k^)^2
           + integral of n w(z')/(r + V)^2 (A_D(z, z')^2 + (d - 1)/d^2 B_D(z, z')^2) N(z'),

f0 = E[y | z] and f_k = E[y p_k | z] being all that can be learned of the target; risk = E[N], from a linear equation.

Neglected: terms of relative order 1/d (fluctuations of |p|^2/d among them), degree 2 in p, which counts when n >~ d^2,
and differences between seeds. On Gauss nodes in z, with A = Phi Phi^T from the power series of the kernel: A_D comes
from a QR factor of the graded columns, which keeps its digits where eigenvalues (theta/d)^j differ by 10^30.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import REACH, gauss_pieces
from featlab.learners.kernel_functions import Kernel
from featlab.theory.giant.labels import LabelsGivenSpike
from featlab.theory.kernels.isotropic import KernelRisk

_NODES = 40  # on each side of 0
_MOST_ITERATIONS = 3000
_TOLERANCE = 1e-12
_SMALL = 1e-12
_RARE = 4.0
_MOST_FEATURES = 400


def spike_nodes() -> tuple[Floats, Floats]:
    """Nodes and weights for z ~ N(0, 1), cut at 0 and within nine standard deviations."""
    nodes, weights = gauss_pieces((0.0,), _NODES)
    inside = np.abs(nodes) < REACH
    return nodes[inside], weights[inside] / weights[inside].sum()


def spiked_risk(
    kernel: Kernel, labels: LabelsGivenSpike, *, strength: float, dim: int, samples: int, ridge: float
) -> KernelRisk:
    """The risk of `KernelRidge` with this kernel and ridge lambda at theta = `strength`; labels on `spike_nodes`."""
    nodes, weights = spike_nodes()
    along, across = np.sqrt((1 + strength) / dim) * nodes, (dim - 1) / dim
    functions, slopes = map(_compressed, kernel_features(kernel, along, across))
    square = along**2 + across
    nugget = (
        kernel.value(np, square, square, square) - np.sum(functions**2, axis=1) - across * np.sum(slopes**2, axis=1)
    )
    # What is left of a polynomial kernel of low degree is rounding.
    ridges = samples * ridge + np.maximum(nugget, 0)
    found = _fixed_point(functions, slopes, ridges, samples * weights, dim)
    if found is None:
        return KernelRisk(np.nan, np.nan, converged=False)
    function_part, slope_part, total = found
    seen = samples * weights / total
    fitted = function_part @ (seen * labels.mean)
    fitted_linear = slope_part @ ((seen / dim)[:, None] * labels.linear)
    rest = labels.square - labels.mean**2 - np.sum(labels.linear**2, axis=1)
    missed = rest + (labels.mean - fitted) ** 2 + np.sum((labels.linear - fitted_linear) ** 2, axis=1)
    spread = seen / total * (function_part**2 + (dim - 1) / dim**2 * slope_part**2)
    risks = np.linalg.solve(np.eye(len(weights)) - spread, missed)  # N on the nodes
    explained = float(weights @ (labels.mean * fitted + np.sum(labels.linear * fitted_linear, axis=1)))  # E[f* f]
    risk, signal = float(weights @ risks), float(weights @ labels.square) - labels.noise
    rare = float((weights * risks)[np.abs(nodes) > _RARE].sum()) / risk
    return KernelRisk(risk, explained / signal, rare)


def kernel_features(kernel: Kernel, along: Floats, across: float) -> tuple[Floats, Floats]:
    """Phi (K, J) with Phi Phi^T = k and Psi (K, J) with Psi Psi^T = dk/dt, at t = u u' and |x|^2/d = u^2 + across.

    Inner-product kernels: phi_j = sqrt(c_j) u^j and psi_j = sqrt((j + 1) c_{j+1}) u^j. Homogeneous ones of degree a:
    the same in v = u/|x|, times |x|^a and |x|^(a - 1), |x| = sqrt(u^2 + across). As many j as the largest u needs.
    """
    size: Floats = np.ones_like(along) if kernel.homogeneity is None else np.sqrt(along**2 + across)
    powers = along / size
    count = _feature_count(kernel, float(np.max(powers**2)))
    series, order = kernel.series(count + 1), kernel.homogeneity or 0
    functions = size[:, None] ** order * _weighted_powers(series[:-1], powers)
    slopes = size[:, None] ** (order - 1) * _weighted_powers(np.arange(1, count + 1) * series[1:], powers)
    return functions, slopes


def _weighted_powers(squares: Floats, at: Floats) -> Floats:
    """sqrt(s_j) u^j (K, J), by logarithms: u^j alone may overflow. No u is 0."""
    degrees = np.arange(len(squares))
    with np.errstate(divide="ignore"):
        logarithms = 0.5 * np.log(squares) + degrees * np.log(np.abs(at))[:, None]
    return np.asarray(np.sign(at)[:, None] ** degrees * np.exp(logarithms), dtype=np.float64)


def _compressed(features: Floats) -> Floats:
    """At most as many features as nodes, of the same kernel: more there are only for large u, without tiny columns."""
    nodes, count = features.shape
    return features if count <= nodes else np.asarray(np.linalg.qr(features.T, mode="r")).T


def _feature_count(kernel: Kernel, largest: float) -> int:
    """How many powers dk/dt needs at t = `largest`: those after them add less than 1e-12 of it, or there are 400."""
    slopes = np.arange(1, _MOST_FEATURES + 1) * kernel.series(_MOST_FEATURES + 1)[1:]
    terms = _weighted_powers(slopes, np.array([largest**0.5]))[0] ** 2
    tails = np.cumsum(terms[::-1])[::-1]
    return max(2, int(np.sum(tails > _SMALL * tails[0])) + 1)


def _fixed_point(
    functions: Floats, slopes: Floats, ridges: Floats, samples: Floats, dim: int
) -> tuple[Floats, Floats, Floats] | None:
    """A_D, B_D (K, K) and r + V (K,); None if the iteration did not settle.

    V falls from the variance before any sample: the map is monotone, so this is its largest fixed point.
    """
    across = (dim - 1) / dim
    total = ridges + np.sum(functions**2, axis=1) + across * np.sum(slopes**2, axis=1)
    for _ in range(_MOST_ITERATIONS):
        first, second = _left_over(functions, samples / total), _left_over(slopes, samples / total / dim)
        new = ridges + np.sum(first**2, axis=0) + across * np.sum(second**2, axis=0)
        if np.max(np.abs(new - total) / total) < _TOLERANCE:
            return first.T @ first, second.T @ second, new
        total = new
    return None


def _left_over(features: Floats, weights: Floats) -> Floats:
    """H (J, K) with H^T H = Phi (I + Phi^T D Phi)^-1 Phi^T: the prior covariance less what weights D have told."""
    stacked = np.vstack([np.sqrt(weights)[:, None] * features, np.eye(features.shape[1])])
    return solve_triangular(np.linalg.qr(stacked, mode="r"), features.T, trans="T")
