"""Committees: sums of one and the same function of each direction, after the sum of the directions is known.

Statement: let Y = sum_i f(h_i), i = 1..r, and x = sum_i h_i / sqrt(r) be known. Permutations of the directions leave
both as they are, and the directions z orthogonal to x are an irreducible representation of them. So E[z | y, x] = 0 and
E[z z^T - I | y, x] = c(y, x) I with c = E[h_1^2 - h_1 h_2 | y, x] - 1: all r - 1 directions open at once, at

    1 / alpha = E[c(Y, x)^2].

The law of (Y, x) is a convolution of r laws of (f(h), h), which are put on a lattice of two dimensions.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import fftfreq, irfft2, rfft2
from scipy.special import ndtr

from featlab.analysis.structured.lattices import extent_of, spread
from featlab.analysis.structured.parts import Parts
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_density
from featlab.targets import Target

_SIZES = (512, 1024, 2048)
_REACH = 8.5
_SUM_REACH = 9.0  # deviations of the sum of the directions that the lattice covers
_CUTS = 16  # of each bin of h, when the neuron's value is put into bins
_MOST_VALUES = 64  # of a neuron, on a lattice of its own
_SMALLEST = 1e-12  # mass of a bin that is rounding of a Fourier transform


def neuron_of(parts: Parts, known: Floats) -> Target | None:
    """The function f of a committee of which the sum of the directions, and nothing else, is known; else None."""
    neuron = parts.groups[0].part
    if parts.product or neuron.rank + neuron.hidden > 1 or known.shape[1] != 1:
        return None
    equal = all(group.part.text == neuron.text for group in parts.groups)
    return neuron if equal and np.allclose(known[:, 0], known[0, 0], rtol=0, atol=1e-7) else None


def strength(neuron: Target, count: int, noise: float) -> tuple[float, float]:
    """E[c^2] of a committee of so many neurons, and its error.

    A lattice blurs the label and the sum of the directions. Three lattices tell the rate at which the blur goes away;
    the value is extrapolated, and its error is the last change.
    """
    coarse, middle, fine = (_strength(neuron, count, noise, size) for size in _SIZES)
    before, last = middle - coarse, fine - middle
    # Changes that shrink by less than this are no rate to extrapolate with.
    rest = last / (before / last - 1) if last and before / last > 1.5 else 0.0
    return fine + rest, abs(last) + abs(rest)


def _strength(neuron: Target, count: int, noise: float, size: int) -> float:
    width = 2 * _SUM_REACH * np.sqrt(count) / size
    bins = 2 * int(np.ceil(_REACH / width)) + 1
    edges = 0.5 * bins * width * np.linspace(-1, 1, bins * _CUTS + 1)
    values = neuron.link(0.5 * (edges[:-1] + edges[1:])[:, None])
    moments = _moments(edges)
    low, high, variance = spread(values, values, moments[0])
    step = _spacing(values) if noise == 0 else None
    if step is None or count * (high - low) > (size - 1) * step:
        step = extent_of([(low, high, variance)], [count], noise) / (size - 1 - count)
    place = np.round((values - low) / step).astype(int) % size, np.repeat(np.arange(bins), _CUTS) % size
    mass, first, second = (_transform(moment, place, size) for moment in moments)
    damping = np.exp(-0.5 * noise * (2 * np.pi * fftfreq(size, step)) ** 2)[:, None]
    others = damping * mass ** (count - 2)
    law = irfft2(others * mass**2, (size, size))
    excess = irfft2(others * (second * mass - first**2 - mass**2), (size, size))
    there = law > _SMALLEST
    return float(np.sum(excess[there] ** 2 / law[there]))


def _spacing(values: Floats) -> float | None:
    """Of a neuron of few values, the least distance of two if all are whole multiples of it apart; else None.

    On a lattice of this width sums that are equal fall into one bin, and others do not.
    """
    gaps = np.diff(np.unique(values))
    if not 0 < gaps.size < _MOST_VALUES:
        return None
    multiples = gaps / gaps.min()
    return float(gaps.min()) if np.allclose(multiples, np.round(multiples), rtol=0, atol=1e-9) else None


def _moments(edges: Floats) -> tuple[Floats, Floats, Floats]:
    """P(cell), E[h; cell] and E[h^2; cell] of the cells between the edges."""
    low, high, density = edges[:-1], edges[1:], gaussian_density(edges)
    mass = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return mass, density[:-1] - density[1:], mass + low * density[:-1] - high * density[1:]


def _transform(weight: Floats, place: tuple[np.ndarray, np.ndarray], size: int) -> np.ndarray:
    lattice = np.bincount(place[0] * size + place[1], weight, size * size).reshape(size, size)
    return np.asarray(rfft2(lattice))
