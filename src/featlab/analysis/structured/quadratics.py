"""Quadratic polynomials: after a rotation they are sums of functions of one direction each.

Statement: for f = h^T A h + b.h + c with A = Q diag(l) Q^T and u = Q^T h, f = sum_i (l_i u_i^2 + (Q^T b)_i u_i) + c.
Within an eigenspace of A the basis is chosen such that b has a component along one vector only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from featlab.analysis.structured.parts import Group, Parts
from featlab.gaussian.hermite import Floats
from featlab.targets.model import target as make_target

_EQUAL = 1e-10  # of eigenvalues and coefficients, relative to the largest


def as_a_sum(polynomial: Any) -> tuple[Parts, Floats] | None:
    """The terms in the new directions, and these as orthonormal columns; None if the polynomial is not quadratic."""
    rank = polynomial.ring.ngens
    if max(sum(powers) for powers in polynomial.monoms()) != 2:
        return None
    matrix, slope = np.zeros((rank, rank)), np.zeros(rank)
    for powers, coefficient in polynomial.terms():
        axes = [axis for axis, power in enumerate(powers) for _ in range(power)]
        if len(axes) == 1:
            slope[axes[0]] = float(coefficient)
        elif axes:
            i, j = axes
            matrix[i, j] += float(coefficient) / 2
            matrix[j, i] += float(coefficient) / 2
    values, turn = np.linalg.eigh(matrix)
    smallest = _EQUAL * max(np.abs(values).max(), np.abs(slope).max())
    groups: list[Group] = []
    for block in np.split(np.arange(rank), np.nonzero(np.diff(values) > smallest)[0] + 1):
        turn[:, block] = _along(turn[:, block], slope)
        value = float(values[block].mean())
        value = 0.0 if abs(value) <= smallest else value
        for axis in block:
            tilt = float(slope @ turn[:, axis])
            tilt = 0.0 if abs(tilt) <= smallest else tilt
            groups.append(Group((int(axis),), make_target(f"{value:.16g}*h1**2 + {tilt:.16g}*h1")))
    return Parts(rank, tuple(groups), product=False, offset=0.0, scale=1.0), turn


def _along(block: Floats, slope: Floats) -> Floats:
    """An orthonormal basis of the same space whose first vector is the slope's projection on it."""
    inside = block.T @ slope
    if block.shape[1] == 1 or np.linalg.norm(inside) <= _EQUAL * np.linalg.norm(slope):
        return block
    basis, triangle = np.linalg.qr(np.column_stack([inside, np.eye(len(inside))]))
    return block @ (basis * np.sign(triangle[0, 0]))
