"""What follows from overlaps and Gram matrices, as in a simulation: norms, cosines, their spectra, and their errors.

A stated error of M or Q is carried on to first order and for the worst case: errors of several entries add. Singular
values and eigenvalues move by at most the Frobenius norm of what is added to the matrix (Weyl 1912).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from featlab.gaussian.hermite import Floats

Values = dict[str, Floats]


def with_derived(told: Mapping[str, Floats], errors: Mapping[str, Floats], spectrum: bool) -> Values:
    """What was predicted and what follows from it, each with `<name>_error` where it has one.

    Args:
        told: name -> value at every step.
        errors: name -> error of the value; a name that is missing has none worth stating.
        spectrum: whether the spectrum of W is wanted.
    """
    values, known = dict(told), dict(errors)
    if "gram" in values:
        _derive(values, known, "norm", *_norms(values["gram"], known.get("gram")))
        if spectrum:
            _derive(values, known, "spectrum", *_spectrum(values["gram"], known.get("gram")))
    if "overlap" in values and "norm" in values:
        _derive(values, known, "cosine", *_cosine(values, known))
        if "subspace" not in values:
            _derive(values, known, "subspace", *_subspace(values["cosine"], known.get("cosine")))
    return values | {f"{name}_error": error for name, error in known.items()}


def _derive(values: Values, errors: Values, name: str, value: Floats, error: Floats | None) -> None:
    """Add a value and its error, unless they were predicted."""
    if name not in values:
        values[name] = value
        errors |= {} if error is None else {name: error}


def _norms(gram: Floats, off: Floats | None) -> tuple[Floats, Floats | None]:
    squares = np.diagonal(gram, axis1=1, axis2=2)
    return np.sqrt(squares), None if off is None else _of_root(squares, np.diagonal(off, axis1=1, axis2=2))


def _spectrum(gram: Floats, off: Floats | None) -> tuple[Floats, Floats | None]:
    """The roots of the eigenvalues of Q = W W^T at each time, the largest first; NaN where it is not finite."""
    squares = np.full(gram.shape[:2], np.nan)
    sound = np.all(np.isfinite(gram), axis=(1, 2))
    # An eigenvalue that is zero may be -1e-17.
    squares[sound] = np.maximum(np.linalg.eigvalsh(gram[sound])[:, ::-1], 0.0)
    return np.sqrt(squares), None if off is None else _of_root(squares, _length(off))


def _subspace(cosine: Floats, off: Floats | None) -> tuple[Floats, Floats | None]:
    """The singular values of the matrix of cosines over sqrt(p), at each time; NaN where it is not finite."""
    steps, width, rank = cosine.shape
    values = np.full((steps, min(width, rank)), np.nan)
    sound = np.all(np.isfinite(cosine), axis=(1, 2))
    values[sound] = np.linalg.svd(cosine[sound] / np.sqrt(width), compute_uv=False)
    return values, None if off is None else np.broadcast_to(_length(off) / np.sqrt(width), values.shape)


def _cosine(values: Values, errors: Values) -> tuple[Floats, Floats | None]:
    """c = m / |w|, which is off by (dm + |c| d|w|) / |w|."""
    norm = values["norm"][:, :, None]
    cosine = values["overlap"] / norm
    if "overlap" not in errors and "norm" not in errors:
        return cosine, None
    of_norm = np.abs(cosine) * errors["norm"][:, :, None] if "norm" in errors else 0.0
    return cosine, np.asarray((errors.get("overlap", 0.0) + of_norm) / norm)


def _of_root(squares: Floats, off: Floats) -> Floats:
    """How far the root of a number is off, downwards, where it is farther."""
    return np.asarray(np.sqrt(squares) - np.sqrt(np.maximum(squares - off, 0.0)))


def _length(matrices: Floats) -> Floats:
    """The Frobenius norm at each time, on an axis of its own."""
    return np.asarray(np.sqrt(np.sum(matrices**2, axis=(1, 2)))[:, None])
