"""How much of the target's directions a student has found, on a scale on which 1 is all of it, for any width.

The cosines of single neurons do not tell that: two neurons that have found one direction each have a root mean square
cosine of 0.71 with both. What is told instead, of W with unit rows:

- of one neuron, |cosine| with each direction;
- of several whose products are known, the *share* of each direction: |P w*_k|, with P the projection on the r leading
  principal directions of the rows (of all of them, if they are fewer than r). It is 1 if the direction lies in that
  span. With the unit Gram matrix G = sum_j lambda_j v_j v_j^T and the cosines C (p x r), it is
  |P w*_k|^2 = sum_{j <= r} (v_j . C_k)^2 / lambda_j. The principal directions know nothing of the target: a random
  student has a share of about sqrt(min(p, r)/d), however wide it is;
- else the share of the weights that lies in the span of the directions, sqrt(mean_i sum_k C_ik^2), one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from featlab.gaussian.hermite import Floats

if TYPE_CHECKING:
    import xarray as xr

_ONE = "|cosine| of the neuron with each direction; 1: found"
_SHARES = "share of each direction that lies in the span of the neurons' principal directions; 1: found"
_SUBSPACE = "share of the weights that lies in the span of the directions, rms over neurons; 1: all"
_ANGLES = "cosines of the principal angles between the estimated span and that of the directions; 1: found"
_DEPENDENT = 1e-5  # of the largest eigenvalue: what is smaller may be rounding, and carries no direction


@dataclass(frozen=True)
class Recovery:
    """What a student has found.

    Attributes:
        values: (seed, time, place), from 0 to 1.
        names: of the places: directions, or the subspace.
        column: what stands before a name in a table, "|cos|" or "share".
        words: what it is.
        chance: what a random student has, times sqrt(d).
    """

    values: Floats
    names: tuple[str, ...]
    column: str
    words: str
    chance: float


def recovery(dataset: xr.Dataset) -> Recovery:
    """Of a simulation, or of a prediction with an axis `seed`; with no places for a learner that has no directions."""
    count = dataset.sizes["seed"], dataset.sizes["time"]
    if "cosine" not in dataset:
        if "subspace" not in dataset:
            return Recovery(np.zeros((*count, 0)), (), "", "", 1.0)
        found = dataset["subspace"].transpose("seed", "time", "component").values.astype(np.float64)
        rank = found.shape[2]
        if (scale := shown_scale("subspace", dataset)) > 1:
            names = tuple(str(place + 1) for place in range(rank))
            return Recovery(found * scale, names, "cos angle", _ANGLES, 1.0)
        return Recovery(np.linalg.norm(found, axis=2)[:, :, None], ("subspace",), "in", _SUBSPACE, rank**0.5)
    cosines = dataset["cosine"].transpose("seed", "time", "neuron", "direction").values.astype(np.float64)
    width, rank = cosines.shape[2:]
    names = tuple(f"h{place + 1}" for place in range(rank))
    if width == 1:
        return Recovery(np.abs(cosines[:, :, 0]), names, "|cos|", _ONE, 1.0)
    if "gram" in dataset:
        grams = dataset["gram"].transpose("seed", "time", "neuron", "other_neuron").values.astype(np.float64)
        return Recovery(shares(cosines, grams), names, "share", _SHARES, min(width, rank) ** 0.5)
    inside = np.sqrt(np.mean(np.sum(cosines**2, axis=3), axis=2))
    return Recovery(inside[:, :, None], ("subspace",), "in", _SUBSPACE, rank**0.5)


def shown_scale(name: str, dataset: xr.Dataset) -> float:
    """What a quantity is multiplied by where it is shown, so that 1 is perfect: the singular values of cosines over
    sqrt(p), of an estimate of all r directions by r orthonormal rows, are cosines of angles over sqrt(r)."""
    estimate = name == "subspace" and dataset.attrs.get("student") == "none"
    return float(dataset.sizes["component"]) ** 0.5 if estimate else 1.0


def shares(cosines: Floats, grams: Floats) -> Floats:
    """(..., r) from cosines (..., p, r) and Gram matrices (..., p, p); NaN where these are."""
    found = np.linalg.norm(_projected(cosines, grams), axis=-2)
    return np.minimum(found, 1.0)  # a projection is at most 1; beyond it is rounding


def principal_cosines(cosines: Floats, grams: Floats) -> Floats:
    """The cosines of the r principal angles between the span that `shares` projects on and that of the directions, the
    largest first; 0 for those that a span of fewer than r dimensions does not have. Shapes as there."""
    projected = _projected(cosines, grams)
    sound = np.all(np.isfinite(projected), axis=(-2, -1))
    found = np.full((*projected.shape[:-2], projected.shape[-1]), np.nan)
    few = np.linalg.svd(projected[sound], compute_uv=False)
    found[sound] = np.pad(np.minimum(few, 1.0), [(0, 0), (0, found.shape[-1] - few.shape[-1])])
    return found


def _projected(cosines: Floats, grams: Floats) -> Floats:
    """The directions in the orthonormal principal directions v_j of the rows, (v_j . C_k) / sqrt(lambda_j): (..., q, r)
    with q = min(p, r); zero where a lambda_j may be rounding."""
    width, rank = cosines.shape[-2:]
    found = np.full((*cosines.shape[:-2], min(width, rank), rank), np.nan)
    norms = np.sqrt(np.diagonal(grams, axis1=-2, axis2=-1))
    sound = np.all(np.isfinite(cosines), axis=(-2, -1)) & np.all(np.isfinite(grams), axis=(-2, -1)) & np.all(norms, -1)
    unit = grams[sound] / (norms[sound][:, :, None] * norms[sound][:, None, :])
    values, vectors = (part[..., -min(width, rank) :] for part in np.linalg.eigh(unit))
    kept = values > _DEPENDENT * values[:, -1:]
    along = np.einsum("sij,sik->sjk", vectors, cosines[sound])
    found[sound] = np.where(kept[:, :, None], along / np.sqrt(np.where(kept, values, 1.0))[:, :, None], 0.0)
    return found
