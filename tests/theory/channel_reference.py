"""F and H by other integrals: grids of omega and y, the law of a radius, convolutions of logarithms.

Written down without any of the package's geometry: one direction, squared norms, products of directions.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ive

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_panels


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


def of_radius(rank: int, q: float) -> float:
    """F(q I) = f I of y = |z|, by its law: y^{r/2} exp(-(y^2 + w^2) / 2v) I_{r/2-1}(y w / v) at |omega| = w."""
    v, order = 1 - q, 0.5 * rank - 1
    y, w = np.linspace(1e-6, 10, 1500), np.linspace(1e-3, 8, 400)[:, None] * np.sqrt(q)
    log_law = order * np.log(y / w) + np.log(y * ive(order, y * w / v)) - 0.5 * (y - w) ** 2 / v
    law = np.exp(log_law)
    law /= np.trapezoid(law, y, axis=1)[:, None]
    mean = y * ive(order + 1, y * w / v) / ive(order, y * w / v)  # of z along omega
    prior = (w / np.sqrt(q)) ** (rank - 1) * np.exp(-0.5 * w * w / q)
    told = np.trapezoid(law * (mean - w) ** 2, y, axis=1) / v**2
    return float(np.sum(prior[:, 0] * told) / np.sum(prior)) / rank


def of_product(overlaps: tuple[float, ...], nodes: int = 3) -> Floats:
    """The diagonal of F at Q = diag(overlaps) of y = z1 .. zr: given omega, log|y| and the sign of y are sums.

    The law of (log|z_i|, sign z_i) is put on a grid; with the Fourier transform in log|z_i| and both characters of the
    sign, Z is the product of the transforms, and d_i Z that with the derivative in omega_i in the place of one of them.
    With r = 1 it gives 1 / (1 - q) to 1e-7.

    Args:
        nodes: on each of seven panels of a positive omega_i, graded in units of its own V.
    """
    step = min(0.02, np.sqrt(1 - max(overlaps)) / 12)
    logs = np.arange(-13, 2.5, step)
    size = next_fast_len(len(overlaps) * logs.size, real=True)
    axes = [_factor(q, nodes, np.exp(logs), size) for q in overlaps]
    information = np.zeros(len(overlaps))
    for places in product(*(range(len(weights)) for weights, _, _ in axes)):
        weight = np.prod([weights[place] for (weights, _, _), place in zip(axes, places, strict=True)])
        if weight < 1e-8:
            continue
        laws = [law[place] for (_, law, _), place in zip(axes, places, strict=True)]
        slopes = [slope[place] for (_, _, slope), place in zip(axes, places, strict=True)]
        rows = [np.prod(laws, axis=0)]
        rows += [np.prod([*laws[:axis], slopes[axis], *laws[axis + 1 :]], axis=0) for axis in range(len(laws))]
        even, odd = np.moveaxis(irfft(np.array(rows), size, axis=2) * step ** (len(laws) - 1), 1, 0)
        for z, *gradient in (0.5 * (even + odd), 0.5 * (even - odd)):
            seen = z > 1e-13
            information += weight * step * np.sum(np.array(gradient)[:, seen] ** 2 / z[seen], axis=1)
    return information


def _factor(q: float, nodes: int, size: Floats, length: int) -> tuple[Floats, Floats, Floats]:
    """Weights of omega > 0, and of each the transforms (2, ..) of the law of (log|z|, sign z) and of its slope."""
    v, scale = 1 - q, np.sqrt((1 - q) / q)
    edges = np.unique(np.clip([0, 0.5 * scale, 1.5 * scale, 3.5 * scale, 8 * scale, 1.2, 2.6, 6], 0, 6))
    omega, weights = gaussian_panels(edges[np.append(True, np.diff(edges) > 0.1 * scale)], nodes)
    omega = np.sqrt(q) * omega[:, None]
    up, down = size * normal(size - omega, v), size * normal(size + omega, v)
    rise, fall = up * (size - omega) / v, -down * (size + omega) / v
    law, slope = (np.stack([one + other, one - other], axis=1) for one, other in ((up, down), (rise, fall)))
    return weights / weights.sum(), rfft(law, length), rfft(slope, length)
