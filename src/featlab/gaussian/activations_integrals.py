"""Gaussian integrals of one function: its Hermite coefficients, the energy they miss, and E[s(u) s(v)].

All by composite Gauss-Legendre rules that are cut at the kinks and refined until two resolutions agree; what
does not converge has a kink that was not told and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats, hermite_normalised_all
from featlab.gaussian.quadrature import cut_edges, gaussian_panels, legendre

MAX_ORDER = 100
# The oscillations of h_k end at 2 sqrt(k); at 24, h_100 has died out under the density to 1e-15 of its norm.
_LINE_REACH = 24.0
# For E[s(u) s(v)]: beyond 14 lies less than 1e-15 of the energy of a polynomial of degree 12, or of exp(2 z).
_PLANE_REACH = 14.0
_NODES = 16
_WIDTH = 0.5
_HALVINGS = 7
# Far above rounding (1e-15), far below what an untold kink leaves behind at the finest width (1e-8 for a corner).
_AGREEMENT = 1e-11
_BLOCK = 2_000_000
# For moments of a field.
_FIELD_EDGES = np.linspace(-9.0, 9.0, 19)
_FIELD_LINES = 64  # at a time: what is computed of them then stays in the cache

Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Projection:
    """A function s in the orthonormal Hermite basis.

    Attributes:
        normalised: E[s h_k] for k = 0..100.
        second_moment: E[s^2].
        tail: the energy beyond degree 100.
        width: how long the pieces of a quadrature rule may be to resolve s.
    """

    normalised: Floats
    second_moment: float
    tail: float
    width: float


def line_rule(breaks: Iterable[float], width: float, reach: float) -> tuple[Floats, Floats]:
    """Points and weights for N(0, 1) on [-reach, reach], with 16 Gauss-Legendre points on each piece.

    The pieces are at most `width` long and end at every break. Both arrays are kept, and not to be written to.
    """
    return _line_rule(tuple(breaks), width, reach)


@lru_cache(maxsize=64)
def _line_rule(breaks: tuple[float, ...], width: float, reach: float) -> tuple[Floats, Floats]:
    grid = np.linspace(-reach, reach, 2 * int(np.ceil(reach / width)) + 1)
    edges = np.unique(np.concatenate([grid, [b for b in breaks if abs(b) < reach]]))
    t, w = legendre(_NODES)
    half = 0.5 * np.diff(edges)[:, None]
    x = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * t).ravel()
    weights = (half * w).ravel() * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    x.flags.writeable = weights.flags.writeable = False
    return x, weights


def hermite_projection(name: str, function: Function, kinks: tuple[float, ...]) -> Projection:
    """The Hermite coefficients and the energy of s, on pieces that are halved until two results agree.

    Raises:
        InvalidParameter: if s is not square-integrable, or if halving the pieces seven times does not bring two results
            into agreement, so that s has a kink that was not told.
    """
    _check_square_integrable(name, function)
    width = _WIDTH
    coarse = _moments(function, kinks, width)
    for _ in range(_HALVINGS):
        fine = _moments(function, kinks, width / 2)
        scale = np.array([*np.full(MAX_ORDER + 1, np.sqrt(fine[-1])), fine[-1]])
        if np.all(np.abs(fine - coarse) <= _AGREEMENT * scale):
            tail = residual_energy(function, kinks, fine[:-1], width)
            return Projection(fine[:-1], float(fine[-1]), tail, width)
        width, coarse = width / 2, fine
    raise InvalidParameter(
        "kinks",
        kinks,
        f"every point where {name} or its derivative jumps, because its Gaussian integrals do not converge "
        f"(E[s^2] = {coarse[-1]:.6g} at the finest resolution)",
    )


def _check_square_integrable(name: str, function: Function) -> None:
    """E[s^2] must be finite, and come from where the rules look."""
    x, weights = line_rule((), _WIDTH, _LINE_REACH)
    with np.errstate(over="ignore", invalid="ignore"):  # an infinity is refused below, with a reason
        energy = weights * function(x) ** 2
    outermost = energy[np.abs(x) > _LINE_REACH - 1].sum()
    if not outermost <= _AGREEMENT * energy.sum() < np.inf:
        raise InvalidParameter("activation", name, "a function that is square-integrable under the Gaussian")


def _moments(function: Function, kinks: tuple[float, ...], width: float) -> Floats:
    """E[s h_k], k = 0..100, and E[s^2] last, at one resolution."""
    x, weights = line_rule(kinks, width, _LINE_REACH)
    values = function(x)
    return np.append(hermite_normalised_all(MAX_ORDER, x) @ (weights * values), weights @ values**2)


def residual_energy(function: Function, kinks: tuple[float, ...], normalised: Floats, width: float) -> float:
    """||s - sum_k c_k h_k||^2, integrated as a square: never negative, and small where it is small."""
    x, weights = line_rule(kinks, width, _LINE_REACH)
    missed = function(x) - normalised @ hermite_normalised_all(normalised.size - 1, x)
    return float(weights @ missed**2)


def kernel(function: Function, kinks: tuple[float, ...], projection: Projection, rho: Floats) -> Floats:
    """E[s(u) s(v)] for standard normals of correlation rho.

    Mehler's formula, sum_k rho^k E[s h_k]^2, wherever what it leaves out, at most |rho|^101 times the tail, is below
    rounding; nested quadrature elsewhere.
    """
    means = np.array(np.polynomial.polynomial.polyval(rho, projection.normalised**2), dtype=np.float64)
    left_out = np.abs(rho) ** (MAX_ORDER + 1) * projection.tail
    for place in np.argwhere(left_out > np.finfo(float).eps * projection.second_moment):
        at = tuple(place)
        means[at] = correlated_mean(function, kinks, float(rho[at]), projection.width)
    return means[()]


def correlated_mean(function: Function, kinks: tuple[float, ...], rho: float, width: float) -> float:
    """E[s(u) s(v)] for standard normals of correlation rho, by nested quadrature.

    Statement: with v = rho u + tau w, tau = sqrt(1 - rho^2), this is E[s(u) (T s)(u)], T s(u) = E_w[s(rho u + tau w)].
    The inner integral is cut at the kinks of w -> s(rho u + tau w), the outer one at the kinks of s and, because T s
    varies on the scale tau around (kink / rho), on pieces that shrink towards that point down to tau.
    """
    if abs(rho) == 1:
        u, weights = line_rule((*kinks, *(rho * k for k in kinks)), width, _PLANE_REACH)
        return float(weights @ (function(u) * function(rho * u)))
    tau = np.sqrt((1 - rho) * (1 + rho))
    u, weights = line_rule((*kinks, *_graded(kinks, rho, tau)), width, _PLANE_REACH)
    grid = np.linspace(-_PLANE_REACH, _PLANE_REACH, 2 * int(np.ceil(_PLANE_REACH / width)) + 1)
    per_point = (grid.size - 1 + len(kinks)) * _NODES
    blocks = np.array_split(np.arange(u.size), -(-u.size * per_point // _BLOCK))
    smoothed = np.concatenate([_smoothed(function, kinks, rho, tau, u[block], grid) for block in blocks])
    return float(weights @ (function(u) * smoothed))


def _graded(kinks: tuple[float, ...], rho: float, tau: float) -> list[float]:
    if rho == 0:
        return []
    steps = 0.5 ** np.arange(1, int(np.ceil(-np.log2(tau))) + 3)
    offsets = np.concatenate([-steps, [0.0], steps])
    return [float(centre) for kink in kinks for centre in kink / rho + offsets]


def _smoothed(function: Function, kinks: tuple[float, ...], rho: float, tau: float, u: Floats, grid: Floats) -> Floats:
    """E_w[s(rho u + tau w)] at each u, the line of w cut where the argument meets a kink."""
    crossings = (np.asarray(kinks) - rho * u[:, None]) / tau
    inside = np.clip(crossings, -_PLANE_REACH, _PLANE_REACH)  # a cut beyond the reach becomes an empty piece
    edges = np.sort(np.concatenate([np.broadcast_to(grid, (u.size, grid.size)), inside], axis=1), axis=1)
    t, weights = legendre(_NODES)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]
    w = 0.5 * (edges[:, 1:] + edges[:, :-1])[:, :, None] + half * t
    density = half * weights * np.exp(-0.5 * w * w) / np.sqrt(2 * np.pi)
    return np.sum(function(rho * u[:, None, None] + tau * w) * density, axis=(1, 2))


def field_moments(function: Function, kinks: Sequence[float], shifts: Floats, scales: Floats) -> Floats:
    """E[s], E[s z], E[s (z^2 - 1)] and E[s^2] of a function s at shift + scale z, z ~ N(0, 1): (4, *shape)."""
    shifts, scales = np.broadcast_arrays(np.asarray(shifts, dtype=np.float64), np.asarray(scales, dtype=np.float64))
    found = np.empty((4, shifts.size))
    for begin in range(0, shifts.size, _FIELD_LINES):
        block = slice(begin, begin + _FIELD_LINES)
        z, weights, fields = field_rule(kinks, shifts.reshape(-1)[block], scales.reshape(-1)[block])
        values = function(fields)
        for row, moment in zip(found, (values, values * z, values * (z * z - 1), values**2), strict=True):
            row[block] = np.sum(weights * moment, axis=-1)
    return found.reshape(4, *shifts.shape)


def field_rule(kinks: Sequence[float], shifts: Floats, scales: Floats) -> tuple[Floats, Floats, Floats]:
    """Points z and weights for z ~ N(0, 1), and the fields shift + scale z, (*shape, points) each.

    Each line is cut where its field is at a kink, and where it is zero.
    """
    shifts, scales = np.broadcast_arrays(np.asarray(shifts, dtype=np.float64), np.asarray(scales, dtype=np.float64))
    places = np.array(sorted({0.0, *kinks}))
    edges = cut_edges(_FIELD_EDGES, (places - shifts[..., None]) / scales[..., None])
    z, weights = gaussian_panels(edges, _NODES)
    return z, weights, shifts[..., None] + scales[..., None] * z
