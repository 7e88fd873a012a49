"""F(q) and H(q) of one direction on dense grids of omega and y, written down without any of the package's geometry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featlab.gaussian.hermite import Floats


def on_grids(
    density: Callable[[Floats, Floats, float], tuple[Floats, Floats]], y: Floats, q: float, points: int = 801
) -> tuple[float, float]:
    """F = E_omega int (Z')^2 / Z dy and H = E_omega int Z log Z dy, by the trapezoidal rule.

    Args:
        density: (y, omega, v) -> Z(y, omega, v) and its derivative in omega, on the grids' product.
    """
    s = np.linspace(-7, 7, points)
    weights = np.exp(-0.5 * s * s)
    weights /= weights.sum()
    information = entropy = 0.0
    for place, weight in zip(np.sqrt(q) * s, weights, strict=True):
        z, slope = density(y, np.array(place), 1 - q)
        safe = np.where(z > 1e-250, z, 1.0)
        information += weight * np.trapezoid(np.where(z > 1e-250, slope**2 / safe, 0.0), y)
        entropy += weight * np.trapezoid(z * np.log(safe), y)
    return float(information), float(entropy)


def normal(x: Floats, variance: float) -> Floats:
    return np.exp(-0.5 * x * x / variance) / np.sqrt(2 * np.pi * variance)


def of_absolute_value(y: Floats, omega: Floats, v: float) -> tuple[Floats, Floats]:
    """y = |z|."""
    up, down = normal(y - omega, v), normal(y + omega, v)
    return up + down, (up * (y - omega) - down * (y + omega)) / v


def of_square_with_random_sign(y: Floats, omega: Floats, v: float) -> tuple[Floats, Floats]:
    """y = z^2 + s with a fair sign s: what z1^2 + sign(z1 z2 z3) is while nothing is known of z2 and z3."""
    z, slope = np.zeros_like(y), np.zeros_like(y)
    for sign in (1, -1):
        root = np.sqrt(np.maximum(y - sign, 1e-300))
        weight = np.where(y > sign, 0.25 / root, 0.0)
        for side in (root, -root):
            z += weight * normal(side - omega, v)
            slope += weight * normal(side - omega, v) * (side - omega) / v
    return z, slope
