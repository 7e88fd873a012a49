"""F of links of several directions whose law given omega is known, by integrals that share nothing with featlab's.

Squared norms, by Bessel functions, and products of directions, by convolutions of logarithms: what state evolution of
three and four directions is held to, in tests and in `benchmarks.theory`.
"""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ive

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_panels


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


def of_product(overlaps: tuple[float, ...], nodes: int = 4) -> Floats:
    """The diagonal of F at Q = diag(overlaps) of y = z1 .. zr: given omega, log|y| and the sign of y are sums.

    The law of (log|z_i|, sign z_i) is put on a grid; with the Fourier transform in log|z_i| and both characters of the
    sign, Z is the product of the transforms, and d_i Z that with the derivative in omega_i in the place of one of them.
    With r = 1 it gives 1 / (1 - q) to 1e-6; with three nodes F of r = 3 is within 2e-4, with four 3e-5.

    Args:
        nodes: on each of seven panels of a positive omega_i, graded in units of its own V.
    """
    step = min(0.02, np.sqrt(1 - max(overlaps)) / 12)
    logs = np.arange(-13, 2.5, step)
    size = next_fast_len(len(overlaps) * logs.size, real=True)
    axes = [_factor(q, nodes, np.exp(logs), size) for q in overlaps]
    information, alike = np.zeros(len(overlaps)), len(set(overlaps)) == 1
    for places in product(*(range(len(weights)) for weights, _, _ in axes)):
        weight = np.prod([weights[place] for (weights, _, _), place in zip(axes, places, strict=True)])
        if weight < 1e-8 or (alike and sorted(places) != list(places)):
            continue
        if alike:  # one order of the directions stands for all
            weight *= factorial(len(places)) / np.prod([factorial(places.count(place)) for place in set(places)])
        laws = [law[place] for (_, law, _), place in zip(axes, places, strict=True)]
        slopes = [slope[place] for (_, _, slope), place in zip(axes, places, strict=True)]
        rows = [np.prod(laws, axis=0)]
        rows += [np.prod([*laws[:axis], slopes[axis], *laws[axis + 1 :]], axis=0) for axis in range(len(laws))]
        even, odd = np.moveaxis(irfft(np.array(rows), size, axis=2) * step ** (len(laws) - 1), 1, 0)
        for z, *gradient in (0.5 * (even + odd), 0.5 * (even - odd)):
            seen = z > 1e-13
            information += weight * step * np.sum(np.array(gradient)[:, seen] ** 2 / z[seen], axis=1)
    return np.full(len(overlaps), information.mean()) if alike else information


def _factor(q: float, nodes: int, size: Floats, length: int) -> tuple[Floats, Floats, Floats]:
    """Weights of omega > 0, and of each the transforms (2, ..) of the law of (log|z|, sign z) and of its slope."""
    v, scale = 1 - q, np.sqrt((1 - q) / q)
    edges = np.unique(np.clip([0, 0.5 * scale, 1.5 * scale, 3.5 * scale, 8 * scale, 1.2, 2.6, 6], 0, 6))
    omega, weights = gaussian_panels(edges[np.append(True, np.diff(edges) > 0.1 * scale)], nodes)
    omega = np.sqrt(q) * omega[:, None]
    up, down = size * _normal(size - omega, v), size * _normal(size + omega, v)
    rise, fall = up * (size - omega) / v, -down * (size + omega) / v
    law, slope = (np.stack([one + other, one - other], axis=1) for one, other in ((up, down), (rise, fall)))
    return weights / weights.sum(), rfft(law, length), rfft(slope, length)


def _normal(x: Floats, variance: float) -> Floats:
    return np.exp(-0.5 * x * x / variance) / np.sqrt(2 * np.pi * variance)
