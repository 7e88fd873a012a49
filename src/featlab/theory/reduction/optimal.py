"""The optimal spectral method at n = alpha d samples: its eigenvalue and what its vector knows of each direction.

Statement: where E[z | y] = 0, the iteration omega -> (X X^T / d - I) G omega, G(y) = E[z z^T - I | y], is message
passing linearised (Defilippis et al. 2025, arXiv:2502.02545), so state evolution follows it. Its rows are M W* plus
noise of covariance N, both r x r, and one iteration makes of them

    M' = alpha F(M),   F(M) = E[G M G],
    N' = alpha (F(N) + F(M M^T) + E[G M G M^T G]),

because given y a sample's fields are M z + noise, of second moment M (I + G) M^T + N. The leading eigenvector has
F(M) = M / alpha_c, the largest eigenvalue there is, and grows by lambda = alpha / alpha_c. Above lambda = 1 its noise:

    lambda^2 N = alpha (F(N) + F(M M^T) + E[G M G M^T G]),

and the cosines of the principal angles are the singular values of (M M^T + N)^(-1/2) M. For one direction that is
cos^2 = (lambda - 1) / (lambda + E[G^3] / E[G^2]), `featlab.theory.spectral_cosine`.

Where several M share the largest eigenvalue (for sign(h1*h2) two do, for h1^2 + h2^2 four), which one is found is left
to the start. The angles may be the same for all of them, as for these two; else they are not told. Nor are they if M
has less than r directions: the other rows, ever smaller, are then later modes, and know of the same directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.conditional import LabelTable
from featlab.gaussian.hermite import Floats

# Eigenvalues of F within this share of the largest are the largest: bins of the label leave errors of 1e-4.
_SAME = 2e-3
_DRAWS, _ALIKE = 4, 5e-3
_RANK = 1e-2


@dataclass(frozen=True)
class LeadingMode:
    """What power iteration ends in.

    Attributes:
        growth: lambda = alpha / alpha_c.
        cosines: of the principal angles, (r,), descending; all zero up to lambda = 1; None, this mode alone does not
            tell them.
    """

    growth: float
    cosines: Floats | None


def leading_mode(table: LabelTable, alpha: float) -> LeadingMode:
    """The leading eigenvector for the law of G(y) that a table holds."""
    rank, mean = table.moment.shape[1], np.einsum("b,bij,bkl->ijkl", 1 / table.mass, table.moment, table.moment)
    operator = np.einsum("ijkl->iljk", mean).reshape(rank**2, rank**2)  # (G M G)_il = sum_jk G_ij M_jk G_kl
    values, vectors = np.linalg.eigh(operator)
    growth = float(alpha * values[-1])
    if growth <= 1:
        return LeadingMode(growth, np.zeros(rank))
    modes = vectors[:, values > (1 - _SAME) * values[-1]]
    weights = np.random.default_rng(0).standard_normal((_DRAWS if modes.shape[1] > 1 else 1, modes.shape[1]))
    found = [_cosines(table, operator, alpha, growth, (modes @ one).reshape(rank, rank)) for one in weights]
    if any(one[-1] < _RANK * one[0] or not np.allclose(one, found[0], atol=_ALIKE) for one in found):
        return LeadingMode(growth, None)
    return LeadingMode(growth, np.mean(found, axis=0))


def _cosines(table: LabelTable, operator: Floats, alpha: float, growth: float, mode: Floats) -> Floats:
    """Singular values of (M M^T + N)^(-1/2) M; zero along rows that are zero."""
    rank, response = len(mode), table.moment / table.mass[:, None, None]
    square = mode @ mode.T
    third = np.einsum("b,bij,bjk,bkl->il", table.mass, response @ mode, response @ mode.T, response)
    source = alpha * (operator @ square.ravel() + third.ravel())
    noise = np.linalg.solve(growth**2 * np.eye(rank**2) - alpha * operator, source).reshape(rank, rank)
    values, vectors = np.linalg.eigh(square + (noise + noise.T) / 2)
    inverse = np.where(values > _RANK**2 * values[-1], values, np.inf) ** -0.5
    return np.asarray(np.linalg.svd((vectors * inverse).T @ mode, compute_uv=False), dtype=np.float64)
