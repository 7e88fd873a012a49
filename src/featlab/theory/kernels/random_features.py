"""Ridge regression on random features at a finite d, for any numbers n of samples and p of neurons.

The feature sigma(<w, x> + b) of a random unit w is sum_j over degrees: its part of degree j has the energy
c_j = E[sigma(z + b) He_j(z)]^2 / j!, spread evenly over the N_j = (d + j - 1 over j) functions of x of that degree, so
that the covariance of the features has the eigenvalues xi_j = c_j / N_j, N_j times each, to leading order in 1/d. What
is of a degree with N_j >> n, p acts through its energy alone. The risk of ridge regression on p random features of a
given spectrum is known without any assumption on how n, p and d grow (Defilippis, Loureiro, Misiakiewicz 2024,
arXiv:2405.15699): with F1 = sum_j N_j xi_j/(xi_j + nu), F2 = sum_j N_j (xi_j/(xi_j + nu))^2 and nu > 0 from

    (n - F1) (1 - F1/p) nu = n lambda,
    V = (p/n) [(F1/p)^2 + (1 - F1/p)^2 F2/(p - F2)],    chi = sum_j N_j xi_j/(xi_j + nu)^2 / (p - F2),
    risk = [sum_j E_j nu^2 (1 + chi xi_j)/(xi_j + nu)^2 + sigma^2] / (1 - V),

E_j the energy of the target in degree j and sigma^2 what no degree up to the last explains. For p -> infinity it is
`isotropic_risk`, the kernel's. As d grows at min(n, p) = d^k it tends to ||P_{>k} f||^2 (Mei et al. 2022).
"""

from __future__ import annotations

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.checks import positive_integer
from featlab.theory.kernels.isotropic import DegreeEnergies, multiplicities
from featlab.theory.ridge import effective_ridge

_NODES = 64


def feature_energies(activation: Activation, degree: int, bias: float = 0.0) -> tuple[Floats, float]:
    """c_0, ..., c_degree of sigma(z + bias), and the energy beyond."""
    z, weights = gauss_pieces([0.0, -bias, *(kink - bias for kink in activation.kinks)], _NODES)
    values = activation.value(z + bias)
    energies: Floats = (hermite_normalised_all(degree, z) @ (weights * values)) ** 2
    return energies, max(0.0, float(weights @ values**2 - energies.sum()))


def random_features_risk(
    activation: Activation,
    target: DegreeEnergies,
    *,
    dim: int,
    samples: int,
    width: int,
    ridge: float,
    bias: float = 0.0,
) -> float:
    """E[(y - f)^2] of `RandomFeatures` on unit rows with one bias for all, label noise included; ridge is lambda."""
    samples, width = positive_integer("samples", samples), positive_integer("width", width)
    energies, beyond = feature_energies(activation, len(target.energies) - 1, bias)
    counts = multiplicities(dim, len(energies))
    values = energies / counts

    def freedom(nu: float) -> float:
        return float(np.sum(counts * values / (values + nu)) + beyond / nu)

    nu = effective_ridge(freedom, float(energies.sum()) + beyond, samples, ridge, width)
    kept = values / (values + nu)
    first, second = freedom(nu), float(np.sum(counts * kept**2))
    spare = width - second
    spread = width / samples * ((first / width) ** 2 + (1 - first / width) ** 2 * second / spare)
    chi = (float(np.sum(counts * kept / (values + nu))) + beyond / nu**2) / spare
    left = float(np.sum(target.energies * (1 - kept) ** 2 * (1 + chi * values))) + target.rest
    return left / (1 - spread)
