"""Ridge regression on random features at a finite d, for any numbers n of samples and p of neurons.

The feature sigma(<w, x> + b) of a random unit w is sum_j over degrees: its part of degree j has the energy
c_j = E[sigma(z + b) He_j(z)]^2 / j!, spread evenly over the N_j = (d + j - 1 over j) functions of x of that degree, so
that the covariance of the features has the eigenvalues xi_j = c_j / N_j, N_j times each, to leading order in 1/d. What
is of a degree with N_j >> n, p acts through its energy alone. The risk of ridge regression on p random features of a
given spectrum is `spectrum_risk` (Defilippis, Loureiro, Misiakiewicz 2024, arXiv:2405.15699). For p -> infinity it is
`isotropic_risk`, the kernel's. As d grows at min(n, p) = d^k it tends to ||P_{>k} f||^2 (Mei et al. 2022).
"""

from __future__ import annotations

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.checks import positive_integer
from featlab.theory.kernels.isotropic import DegreeEnergies, multiplicities
from featlab.theory.ridge import spectrum_risk

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
    """E[(y - f)^2] of `RandomFeatures` on unit rows with one bias for all, label noise included; ridge is lambda.

    Source: Defilippis, Loureiro, Misiakiewicz 2024, arXiv:2405.15699.

    Args:
        target: by degrees.
        width: p, the number of features.
        bias: of all features.

    Raises:
        InvalidParameter: samples or a width that are no positive whole numbers.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import random_features_risk
        >>> from featlab.theory.kernels.isotropic import DegreeEnergies
        >>> linear = DegreeEnergies(np.array([0.0, 1.0, 0.0, 0.0]), rest=0.0, noise=0.0)
        >>> sizes = {"dim": 100, "samples": 10_000, "ridge": 1e-3}
        >>> [round(random_features_risk(activation("relu"), linear, width=width, **sizes), 3) for width in (50, 400)]
        [0.69, 0.193]
    """
    samples, width = positive_integer("samples", samples), positive_integer("width", width)
    energies, beyond = feature_energies(activation, len(target.energies) - 1, bias)
    counts = multiplicities(dim, len(energies))
    parts = (energies / counts, counts, target.energies, target.rest)
    return spectrum_risk(parts, samples, ridge, width, beyond)[0]
