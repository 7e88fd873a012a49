"""Ridge regression on sigma(W x) after a small gradient step, through its Gaussian equivalent.

While the spike of W is of the size of its bulk (gamma ~ 1/sqrt(p) per neuron, eta = O(1) of Ba et al. 2022), the
features behave like mu1 W x + mu_* xi with independent noise xi, and the fitted network learns nothing of the target
beyond its linear part (Ba et al. 2022, arXiv:2205.01445, Theorem 5; Mei, Montanari 2019 for random features; Hastie et
al. 2022 and Cheng, Montanari 2022 for the deterministic equivalent of ridge regression).

The fit is that of `featlab.learners.Readout`: min (1/n) |y - Phi a|^2 + lambda |a|^2, Phi = sigma(X W^T)/sqrt(p), on
samples that the first layer has not seen. Risks are E[(y - f)^2], label noise included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.learners.checks import positive_number
from featlab.theory.spikes import LabelMoments


@dataclass(frozen=True)
class LinearPart:
    """An activation as a Gaussian equivalent sees it: sigma(z) ~ mu0 + mu1 z + mu_* xi, xi an independent N(0, 1)."""

    mean: float
    slope: float
    residual: float  # mu_*^2 = E[sigma^2] - mu0^2 - mu1^2


def linear_part(activation: Activation) -> LinearPart:
    """The Gaussian equivalent of sigma on rows of norm one, without biases."""
    mean, slope = activation.hermite_coefficients(1)
    # A mean that is rounding must not count as an intercept.
    mean = 0.0 if abs(mean) < 1e-12 * np.sqrt(activation.second_moment) else float(mean)
    return LinearPart(mean, float(slope), activation.residual(1))


def given_weights_risk(
    weights: Floats, overlap: Floats, part: LinearPart, labels: LabelMoments, samples: int, ridge: float
) -> float:
    """The risk for one given W.

    Statement: Omega = (mu0^2 1 1^T + mu1^2 W W^T + mu_*^2 I)/p, b = (mu0 E[y] 1 + mu1 W E[y x])/sqrt(p). With kappa the
    solution of lambda = kappa (1 - tr[Omega (Omega + kappa)^{-1}]/n) and df2 = tr[Omega^2 (Omega + kappa)^{-2}],
    risk = (kappa^2 theta^T Omega (Omega + kappa)^{-2} theta + E[y^2] - b^T theta)/(1 - df2/n), theta = Omega^{-1} b.

    Args:
        weights: W (p, d).
        overlap: M = W W*^T (p, r).
    """
    width = len(weights)
    omega = (part.slope**2 * weights @ weights.T + part.mean**2 + part.residual * np.eye(width)) / width
    moment = (part.mean * labels.mean + part.slope * overlap @ labels.linear) / np.sqrt(width)
    values, vectors = np.linalg.eigh(omega)
    along = (vectors.T @ moment) ** 2
    rest = labels.second - float(np.sum(along / values))
    return spectrum_risk((values, np.ones(width), along / values, rest), samples, ridge)[0]


def spectrum_risk(
    parts: tuple[Floats, Floats, Floats, float], samples: int, ridge: float, width: float = np.inf, beyond: float = 0.0
) -> tuple[float, Floats]:
    """The risk of ridge regression on p random features whose covariance has the eigenvalues xi_j, N_j times each, and
    the shares xi_j/(xi_j + nu) of the target that are learned; for p = infinity, that of its kernel.

    Statement (Defilippis, Loureiro, Misiakiewicz 2024, arXiv:2405.15699), however n, p and d grow: with
    F1 = sum_j N_j xi_j/(xi_j + nu), F2 = sum_j N_j (xi_j/(xi_j + nu))^2 and nu > 0 from

        (n - F1) (1 - F1/p) nu = n lambda,
        V = (p/n) [(F1/p)^2 + (1 - F1/p)^2 F2/(p - F2)],    chi = sum_j N_j xi_j/(xi_j + nu)^2 / (p - F2),
        risk = [sum_j E_j nu^2 (1 + chi xi_j)/(xi_j + nu)^2 + sigma^2] / (1 - V).

    Args:
        parts: xi_j, N_j, the energies E_j of the target, and sigma^2, what of the label no feature explains.
        beyond: the sum of eigenvalues so small and so many that they act through it alone.
    """
    values, counts, energies, rest = parts

    def freedom(nu: float) -> float:
        return float(np.sum(counts * values / (values + nu))) + beyond / nu

    nu = effective_ridge(freedom, float(np.sum(counts * values)) + beyond, samples, ridge, width)
    kept = values / (values + nu)
    first, second = freedom(nu), float(np.sum(counts * kept**2))
    spread = (first**2 / width + (1 - first / width) ** 2 * second / (1 - second / width)) / samples
    chi = (float(np.sum(counts * kept / (values + nu))) + beyond / nu**2) / (width - second)
    left = float(np.sum(energies * (1 - kept) ** 2 * (1 + chi * values))) + rest
    return left / (1 - spread), kept


def effective_ridge(
    freedom: Callable[[float], float], energy: float, samples: float, ridge: float, width: float = np.inf
) -> float:
    """kappa > 0 with (n - F)(1 - F/p) kappa = n lambda and F < min(n, p), where the left side increases; without a
    width p, lambda = kappa (1 - F/n).

    At kappa = lambda the left side is n lambda at most; at the upper end F <= energy/kappa makes it at least
    n kappa - energy (1 + n/p) = n lambda.

    Args:
        freedom: F(kappa) = sum omega/(omega + kappa), omega the eigenvalues of the features' covariance.
        energy: the sum of the omega.
    """

    def excess(kappa: float) -> float:
        degrees = freedom(kappa)
        return (samples - degrees) * (1 - degrees / width) * kappa - samples * ridge

    lowest, full = positive_number("ridge", ridge), min(samples, width)
    highest = (ridge + energy * (1 / samples + 1 / width)) * (1 + 1e-9)
    if freedom(lowest) > full:
        lowest = float(brentq(lambda kappa: freedom(kappa) - full, lowest, highest, xtol=1e-300, rtol=1e-14))
        if excess(lowest) >= 0:  # the ridge is below rounding: this is the fit without one
            return lowest
    return float(brentq(excess, lowest, highest, xtol=1e-300, rtol=1e-14))


def gaussian_risk(
    part: LinearPart,
    labels: LabelMoments,
    *,
    sample_ratio: float,
    width_ratio: float,
    ridge: float,
    strength: float = 0.0,
    cosine: float = 0.0,
) -> float:
    """The risk as n/d -> psi1, p/d -> psi2, p lambda -> `ridge`, for W = W0 + t q v^T; t = 0: random features.

    Statement: with m = 1/(s + psi2/(1 + m)), the trace of (W^T W + s)^{-1}/d, and along the spike
    m_v = m/(1 + t^2 m (1 - (1 - s m)/psi2)): kappa solves ridge = kappa (1 - df1/n),
    s = (mu_*^2 + kappa)/mu1^2, q(s) = c^2 (1 - s m_v) + (1 - c^2)(1 - s m), c the cosine of v with E[y x], and
    risk = (E[y^2] - mu1*^2 (q - (kappa/mu1^2) q'))/(1 - df2/n), df_k/n = (1/n) sum (omega/(omega + kappa))^k over the
    eigenvalues omega = mu1^2 eig(W W^T) + mu_*^2. An activation of nonzero mean fits the mean of the labels freely
    (it is an intercept): E[y^2] is then Var y.

    Derivation: theta = Omega^{-1} b in `given_weights_risk`, with Sherman-Morrison for the spike.

    Source: Ba et al. 2022, arXiv:2205.01445, Theorem 5; Mei, Montanari 2019 for random features.

    Examples:
        >>> from featlab import target
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import gaussian_risk
        >>> from featlab.theory.ridge import linear_part
        >>> from featlab.theory.spikes import label_moments
        >>> part, labels = linear_part(activation("tanh")), label_moments(target("tanh(h1)"))
        >>> sizes = {"sample_ratio": 4.0, "width_ratio": 2.0, "ridge": 0.1}
        >>> round(gaussian_risk(part, labels, **sizes), 4)
        0.0855
        >>> round(gaussian_risk(part, labels, **sizes, strength=2.0, cosine=0.8), 4)  # after a step
        0.0622
    """
    slope2, second = part.slope**2, labels.second - (labels.mean**2 if part.mean != 0 else 0.0)

    def freedom(kappa: float) -> tuple[float, float]:
        """(1/n) sum omega/(omega + kappa) and its square's, from the trace of the resolvent and its derivative."""
        s = (part.residual + kappa) / slope2
        trace, derivative = _with_derivative(lambda z: _trace(z, width_ratio), s)
        inverse = (trace + (width_ratio - 1) / s) / slope2
        inverse_square = -(derivative - (width_ratio - 1) / s**2) / slope2**2
        first = width_ratio - kappa * inverse
        return first / sample_ratio, (first - kappa * (inverse - kappa * inverse_square)) / sample_ratio

    energy = width_ratio * (slope2 + part.residual) / sample_ratio
    kappa = effective_ridge(lambda k: freedom(k)[0], energy, 1.0, ridge)
    s = (part.residual + kappa) / slope2

    def explained(z: complex) -> complex:
        """q(s), the share of the linear part's energy that ridge at s keeps."""
        trace = _trace(z, width_ratio)
        along = trace / (1 + strength**2 * trace * (1 - (1 - z * trace) / width_ratio))
        return cosine**2 * (1 - z * along) + (1 - cosine**2) * (1 - z * trace)

    fitted, change = _with_derivative(explained, s)
    left = second - labels.linear_norm**2 * (fitted - kappa / slope2 * change)
    return float(left / (1 - freedom(kappa)[1]))


def _trace(s: complex, width_ratio: float) -> complex:
    """m(s) = (1/d) tr (W0^T W0 + s)^{-1}: the positive root of s m^2 + (s + psi2 - 1) m = 1."""
    half = s + width_ratio - 1
    root = np.sqrt(half * half + 4 * s)
    # The form without cancellation, whichever the sign.
    return 2 / (half + root) if np.real(half) > 0 else (root - half) / (2 * s)


def _with_derivative(function: Callable[[complex], complex], s: float) -> tuple[float, float]:
    """The value of a function that is analytic and real at s > 0, and its derivative by a complex step."""
    found = function(complex(s, 1e-30 * s))
    return float(found.real), float(found.imag / (1e-30 * s))
