"""Kernel ridge regression on isotropic inputs at a finite d and any n: one eigenvalue for each degree.

g(<x, y>/d) = sum_j c_j (<x, y>/d)^j acts on the N_j = (d + j - 1 over j) Hermite polynomials of degree j by the
eigenvalue xi_j = j! c_j / d^j, to leading order in 1/d (for homogeneous kernels the same with J, since |x|^2/d -> 1).
Degrees with N_j >> n act as a constant on the diagonal. The risk of a ridge regression on features with a given
spectrum is known in the limit (Bordelon, Canatar, Pehlevan 2020; Hastie et al. 2022; for inner-product kernels and
n ~ d^k, Misiakiewicz 2022 and Xiao et al. 2022):

    kappa = R + (kappa/n) sum_j N_j xi_j/(xi_j + kappa),     R = lambda + (1/n) sum_{j > L} c_j,
    risk  = [sum_j (kappa/(xi_j + kappa))^2 E_j + sigma^2] / (1 - (1/n) sum_j N_j (xi_j/(xi_j + kappa))^2),

E_j the energy of the target in degree j, sigma^2 what no degree up to L explains. Neglected: corrections of relative
order 1/d to xi_j, and differences between seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.learners.kernel_functions import Kernel
from featlab.theory.question import NoPrediction
from featlab.theory.ridge import spectrum_risk

_LEAST_SIGNAL = 1e-12


@dataclass(frozen=True)
class KernelRisk:
    """What becomes of a fit.

    Attributes:
        risk: E[(y - f)^2], label noise included.
        captured: E[f* f] / E[f*^2].
        rare: the share of the risk that is due to inputs more than four standard deviations out along a spike, one in
            16,000: a finite test set does not see what they add.
        converged: whether the equations behind it were solved; the numbers are NaN if not.
    """

    risk: float
    captured: float
    rare: float = 0.0
    converged: bool = True


@dataclass(frozen=True)
class DegreeEnergies:
    """A target by degrees.

    Attributes:
        energies: E_0, E_1, ..., E_L: squared norms of the Hermite parts of these degrees.
        rest: the variance of the label beyond degree L, label noise included.
        noise: the part of it that is additive noise.
    """

    energies: Floats
    rest: float
    noise: float


def highest_degree(dim: int, samples: int) -> int:
    """L: two degrees above the last one that n samples can learn; N_j xi_j beyond it are spread over >> n functions."""
    return math.floor(math.log(samples) / math.log(max(dim, 2))) + 2


def multiplicities(dim: int, count: int) -> Floats:
    """N_j = (d + j - 1 over j), the number of Hermite polynomials of degree j, for j = 0, ..., count - 1."""
    return np.array([float(math.comb(dim + j - 1, j)) for j in range(count)])


def isotropic_risk(kernel: Kernel, target: DegreeEnergies, *, dim: int, samples: int, ridge: float) -> KernelRisk:
    """The risk of `KernelRidge` with this kernel and ridge lambda, (K + n lambda)^{-1} y, at n = `samples`."""
    count = len(target.energies)
    series = kernel.series(count)
    values = series * np.array([math.factorial(j) / float(dim) ** j for j in range(count)])
    beyond = max(0.0, float(kernel.shape(np, np.ones(()))) - float(series.sum()))
    parts = (values, multiplicities(dim, count), target.energies, target.rest)
    risk, learned = spectrum_risk(parts, samples, ridge, beyond=beyond)
    signal = float(target.energies.sum()) + target.rest - target.noise
    if signal <= _LEAST_SIGNAL * target.noise:
        raise NoPrediction(f"noise of variance {target.noise:.3g} leaves nothing of the signal in double precision")
    return KernelRisk(risk, float(np.sum(learned * target.energies)) / signal)
