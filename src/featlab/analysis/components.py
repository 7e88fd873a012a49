"""Which directions a threshold belongs to: the smallest subspaces that all conditional second moments leave alone.

Statement: let the symmetric matrices G(y) act on R^q. A subspace reduces them if it and its complement are mapped into
themselves by all of them; F(M) = E[G M G] then acts separately on each block, and a block's own threshold is one over
the largest eigenvalue of F there. The irreducible blocks are the eigenspaces of a generic element of the commutant
{A : A G(y) = G(y) A for all y}. The commutant of the G(y) is that of the matrices B_l = E[psi_l(Y, x) (z z^T - I)],
which are known far more accurately than any G(y).
"""

from __future__ import annotations

import numpy as np

from featlab.analysis.thresholds import symmetric_basis
from featlab.gaussian.hermite import Floats

_GAP = 1e-6


def reducing_subspaces(matrices: Floats, error: float) -> tuple[list[Floats], float]:
    """Orthonormal columns of each irreducible block of the symmetric matrices (count, q, q), known up to `error`.

    Also how far the blocks may be off, as an angle: the error over the smallest commutator that is not zero.
    """
    size = matrices.shape[1]
    basis = symmetric_basis(size)
    commutators = np.einsum("aij,bjk->abik", basis, matrices) - np.einsum("bij,ajk->abik", matrices, basis)
    _, values, right = np.linalg.svd(commutators.reshape(len(basis), -1).T, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(basis) - values.size)])
    scale = np.sqrt(len(matrices))
    vanishing = values <= max(10 * error, _GAP) * scale
    commuting = right[vanishing]
    tilt = 0.0 if vanishing.all() else float(error * scale / values[~vanishing].min())
    generic = np.random.default_rng(3).standard_normal(len(commuting)) @ commuting
    eigenvalues, vectors = np.linalg.eigh(np.tensordot(generic, basis, axes=1))
    breaks = np.nonzero(np.diff(eigenvalues) > 1e-4 * max(1e-12, np.ptp(eigenvalues)))[0] + 1
    return [vectors[:, block] for block in np.split(np.arange(size), breaks)], tilt
