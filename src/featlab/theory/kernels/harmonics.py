"""Ridge regression on random features of Gaussian inputs at a small d: exact eigenvalues, by degrees of harmonics.

With x = r u and a unit w, t = <w, u>, the feature is sigma(r t + b) = sum_l a_l(r) p_l(t), p_l the orthonormal
polynomials of the law of t (Gegenbauer's). By the addition theorem p_l(<w, u>) = N_l^(-1/2) sum_m Y_lm(w) Y_lm(u), so
that the kernel E_w[sigma sigma'] has for each l one radial function, a_l(r), and

    the eigenvalue xi_l = E[a_l(r)^2] / N_l,  N_l times,  N_l = dim of the harmonics of degree l.

All other radial functions have the eigenvalue 0. Of a target g(h), whose part of degree l is g_l(r) p_l, the features
can have E[a_l g_l]^2 / E[a_l^2], and never the rest: of He_3(h) / sqrt 6, for instance, the share 3 / (d + 2) is of
degree 1 and along another radial function than that of the feature. As d grows, r concentrates at sqrt d, and
eigenvalues and energies become those of `random_features`, with harmonics for Hermite polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import comb

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.learners.checks import positive_integer
from featlab.theory.ridge import spectrum_risk

_RADII, _ANGLES, _REACH, _ROUNDING = 160, 4000, 9.0, 1e-20


@dataclass(frozen=True)
class HarmonicSpectrum:
    """Of the features, and what they can have of a target.

    Attributes:
        eigenvalues: xi_l, one for each degree.
        counts: N_l.
        energies: of the target, along the features' radial functions.
        rest: of the target, along no feature.
        beyond: the features' energy in higher degrees.
    """

    eigenvalues: Floats
    counts: Floats
    energies: Floats
    rest: float
    beyond: float


def harmonic_spectrum(
    activation: Activation, target: Callable[[Floats], Floats], dim: int, degree: int, bias: float = 0.0
) -> HarmonicSpectrum:
    """The spectrum of sigma(<w, x> + bias), w uniform on the sphere, and a target g(h1), up to a degree; d >= 3."""
    radii, radial = _radii(positive_integer("dim", dim))
    angles, weights, basis = _angles(dim, degree)
    fields = radii[:, None] * angles
    features, wanted = activation.value(fields + bias), target(fields)
    feature_parts, target_parts = (values * weights @ basis.T for values in (features, wanted))
    own = radial @ feature_parts**2
    shared = radial @ (feature_parts * target_parts)
    energies = np.divide(shared**2, own, out=np.zeros_like(own), where=own > _ROUNDING * own.max())
    totals = [float(radial @ (values**2 @ weights)) for values in (features, wanted)]
    counts = harmonic_counts(dim, degree)
    return HarmonicSpectrum(
        own / counts, counts, energies, max(0.0, totals[1] - energies.sum()), max(0.0, totals[0] - own.sum())
    )


def harmonic_features_risk(spectrum: HarmonicSpectrum, *, samples: int, width: int, ridge: float) -> float:
    """E[(y - f)^2] of ridge regression on p random features with that spectrum; what they cannot have is noise."""
    samples, width = positive_integer("samples", samples), positive_integer("width", width)
    parts = (spectrum.eigenvalues, spectrum.counts, spectrum.energies, spectrum.rest)
    return spectrum_risk(parts, samples, ridge, width, spectrum.beyond)[0]


def harmonic_counts(dim: int, degree: int) -> Floats:
    """N_l = (d + l - 1 over l) - (d + l - 3 over l - 2), l = 0, ..., degree."""
    monomials = [float(comb(dim + order - 1, order)) for order in range(degree + 1)]
    return np.array([all_of - (monomials[order - 2] if order > 1 else 0.0) for order, all_of in enumerate(monomials)])


def _radii(dim: int) -> tuple[Floats, Floats]:
    """Nodes and weights for E over r = |x|, of density r^(d-1) exp(-r^2/2), which is smooth and narrow."""
    nodes = _middles(max(0.0, dim**0.5 - _REACH), dim**0.5 + _REACH, _RADII)
    exponent = (dim - 1) * np.log(nodes) - nodes**2 / 2
    weights = np.exp(exponent - exponent.max())
    return nodes, weights / weights.sum()


def _angles(dim: int, degree: int) -> tuple[Floats, Floats, Floats]:
    """Nodes and weights for the law of t, of density (1 - t^2)^((d-3)/2), and p_0, ..., p_degree there.

    Equidistant nodes: the law is smooth and vanishes at the ends, and a kink of the activation moves with r.
    """
    reach = min(1.0, _REACH / dim**0.5)
    nodes = _middles(-reach, reach, _ANGLES)
    density = np.exp(0.5 * (dim - 3) * np.log1p(-(nodes**2)))
    weights = density / density.sum()
    basis = [np.ones_like(nodes)]
    for k in range(1, degree + 1):
        before = _step(dim, k - 1) * basis[-2] if k > 1 else 0.0
        basis.append((nodes * basis[-1] - before) / _step(dim, k))
    return nodes, weights, np.array(basis)


def _middles(low: float, high: float, count: int) -> Floats:
    """Of equal cells."""
    return low + (high - low) * (np.arange(count) + 0.5) / count


def _step(dim: int, k: int) -> float:
    """beta_k of t p_{k-1} = beta_k p_k + beta_{k-1} p_{k-2}."""
    return float(np.sqrt(k * (k + dim - 3) / ((2 * k + dim - 2) * (2 * k + dim - 4))))
