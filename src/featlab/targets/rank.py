"""The true rank: the directions along which a target really changes, and the target written in them.

The distributional gradient of f spans them: its smooth part at Gaussian points, and the normals of the surfaces
where f really jumps (tested by values on both sides). A direction v outside that span is a candidate for removal;
it is removed only if f(x + t v) = f(x) at random points, so a wrong candidate can never change the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from featlab.targets.evaluate import Floats, Jet
from featlab.targets.surfaces import Function, crossings, gaussian_points, unit_vectors

_ZERO = 1e-10  # relative size of a singular value that is rounding error


@dataclass(frozen=True)
class Probe:
    """What the rank test needs to know of a target of m variables.

    Attributes:
        value: points (..., m) -> values (...).
        jet: points (n, m) -> values, gradients and their sizes without cancellation.
        kinks: (K, grad K) for every surface where the target may jump.
        inner: gradients of everything inside a function: a superset of the directions, for targets too steep to sample.
        tolerance: relative error of values and gradients.
    """

    value: Function
    jet: Callable[[Floats], Jet]
    kinks: Sequence[tuple[Function, Function]]
    inner: Sequence[Function]
    tolerance: float = 1e-12


class Rows(NamedTuple):
    """Rows that lie in the wanted space, each entry with the size that it would have without cancellation."""

    entries: Floats
    sizes: Floats

    def joined(self, *others: Rows) -> Rows:
        return Rows(*[np.concatenate(parts) for parts in zip(self, *others, strict=True)])


def relevant_subspace(probe: Probe, variables: int, group: Sequence[int]) -> Floats:
    """An orthonormal basis (k, len(group)) of the directions that matter among the variables in `group`.

    Three proposals, the first that holds: the space found by derivatives and jumps; that of everything inside a
    function (for targets too steep to sample); the axes along which values change (for targets that seldom vary).
    """
    if not len(group):
        return np.zeros((0, 0))
    found = _smooth_rows(probe, variables).joined(_jump_rows(probe, variables))
    wider = found.joined(*[_unit_rows(inner(_probe_points(variables))) for inner in probe.inner])
    for rows in (found, wider):
        among = Rows(rows.entries[:, list(group)], rows.sizes[:, list(group)])
        basis, null = _split_space(among, len(group), max(_ZERO, 100 * probe.tolerance))
        if _invariant(probe, variables, group, null):
            return basis
    axes = np.eye(len(group))
    return axes[[not _invariant(probe, variables, group, axis[None]) for axis in axes]]


def _probe_points(variables: int) -> Floats:
    scales = np.repeat([1.0, 2.0, 0.3, 4.0], 80)[:, None]
    return scales * gaussian_points(320, variables, 13)


def _smooth_rows(probe: Probe, variables: int) -> Rows:
    """Gradients at Gaussian points, each divided by the largest of its sizes."""
    jet = probe.jet(_probe_points(variables))
    rows, sizes = jet.gradient.T, jet.magnitude.T
    keep = np.isfinite(rows).all(axis=1) & np.isfinite(sizes).all(axis=1) & (sizes.max(axis=1, initial=0.0) > 1e-200)
    rows, sizes = rows[keep], sizes[keep]
    largest = sizes.max(axis=1, keepdims=True, initial=1e-200)
    return Rows(rows / largest, sizes / largest)


def _unit_rows(rows: Floats) -> Rows:
    largest = np.abs(rows).max(axis=1, initial=0.0)
    keep = np.isfinite(largest) & (largest > 0)
    unit = unit_vectors(rows[keep] / largest[keep][:, None])
    return Rows(unit, np.abs(unit))


def _jump_rows(probe: Probe, variables: int) -> Rows:
    """Unit normals of the kinks at points where the target jumps."""
    rows = [_unit_rows(np.zeros((0, variables)))]
    for surface, gradient in probe.kinks:
        at = crossings(surface, variables, key=70)
        if not len(at.points):
            continue
        wide, narrow = (
            np.abs(probe.value(at.points + d * at.directions) - probe.value(at.points - d * at.directions))
            for d in (1e-5, 1e-8)
        )
        size = np.maximum(np.abs(probe.value(at.points + 1e-5 * at.directions)), 1e-300)
        jumps = (narrow > 0.5 * wide) & (narrow > 1e-9 * size)
        rows.append(_unit_rows(gradient(at.points[jumps])))
    return rows[0].joined(*rows[1:])


def _split_space(rows: Rows, variables: int, zero: float) -> tuple[Floats, Floats]:
    """The row space and its complement.

    A column counts if it rises above the rounding error of its own size, and the columns that count are put on equal
    footing, so that a small coefficient is a direction like any other.
    """
    if not len(rows.entries):
        return np.zeros((0, variables)), np.eye(variables)
    scale, size = (np.sqrt(np.mean(part**2, axis=0)) for part in rows)
    live = scale > 1e-3 * zero * size
    if not live.any():
        return np.zeros((0, variables)), np.eye(variables)
    _, strength, right = np.linalg.svd(rows.entries[:, live] / scale[live], full_matrices=False)
    count = int(np.sum(strength > zero * strength[0]))
    basis = np.zeros((count, variables))
    basis[:, live] = right[:count] * scale[live]
    basis = np.linalg.qr((basis / np.linalg.norm(basis, axis=1, keepdims=True)).T)[0].T
    return basis, np.linalg.svd(basis, full_matrices=True)[2][count:]


def _invariant(probe: Probe, variables: int, group: Sequence[int], null: Floats) -> bool:
    """True if moving along the null directions changes no value beyond rounding."""
    if not len(null):
        return True
    scales = np.repeat([1.0, 2.0, 4.0], 200)[:, None]
    points = scales * gaussian_points(600, variables, 17)
    moved = points.copy()
    moved[:, list(group)] += scales * gaussian_points(600, len(null), 19) @ null
    before, after = probe.value(points), probe.value(moved)
    finite = np.isfinite(before) & np.isfinite(after)
    size = np.maximum(np.abs(before), np.abs(after)) + np.nanmedian(np.abs(before[finite])) if finite.any() else 1.0
    # A jump surface may lie within rounding error of a point; one such point in six hundred proves nothing.
    changed = finite & (np.abs(before - after) > max(1e-9, 1e3 * probe.tolerance) * size)
    return bool(changed.sum() <= 1)
