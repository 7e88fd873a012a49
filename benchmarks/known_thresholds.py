"""Random targets whose threshold is known without featlab: functions of signs, quadratic forms, polynomials.

Each case has the largest eigenvalue of F(M) = E[G M G], G(y) = E[z z^T - I | y], by a formula of its own; a rotation of
the directions does not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np
from numpy.polynomial import polynomial
from scipy.integrate import quad, quad_vec
from scipy.special import ive

from featlab.gaussian.hermite import Floats

_REACH = 9.0
# Gauss-Legendre on an angle of a quarter turn, for convolutions whose integrands are analytic.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)
_ANGLES, _ANGLE_WEIGHTS = 0.25 * np.pi * (_NODES + 1), 0.25 * np.pi * _WEIGHTS


@dataclass(frozen=True)
class Case:
    """A target, its family, and the largest eigenvalue of F: one over its threshold."""

    family: str
    text: str
    eigenvalue: float


def _largest(operator: Floats) -> float:
    """The largest eigenvalue of E[kron(G, G)]; a positive map has it at a positive matrix, hence a symmetric one."""
    return float(np.linalg.eigvalsh(operator)[-1])


def _axes(rank: int, turn: Floats | None) -> list[str]:
    """The names h1..hr, or sums of them that are turned by an orthogonal matrix."""
    if turn is None:
        return [f"h{axis + 1}" for axis in range(rank)]
    return ["(" + " + ".join(f"({float(c)!r})*h{i + 1}" for i, c in enumerate(row)) + ")" for row in turn]


def _turn(rank: int, generator: np.random.Generator) -> Floats:
    return np.linalg.qr(generator.standard_normal((rank, rank)))[0]


def of_signs(rank: int, turned: bool, generator: np.random.Generator) -> Case:
    """A sum of small integers times products of signs, drawn until its second moments tell something.

    Given signs s, E[z_i z_j - [i = j] | s] = (2 / pi) s_i s_j off the diagonal and 0 on it; a label tells which
    patterns are possible, each of probability 2^-rank.
    """
    terms = [subset for size in range(1, rank + 1) for subset in combinations(range(rank), size)]
    weights = generator.choice([0, 0, 1, 1, 2, 3], len(terms))
    patterns = np.array(list(product((1.0, -1.0), repeat=rank)))
    labels = sum(w * np.prod(patterns[:, list(term)], axis=1) for w, term in zip(weights, terms, strict=True))
    outer = (2 / np.pi) * np.einsum("ni,nj->nij", patterns, patterns) * (1 - np.eye(rank))
    operator = np.zeros((rank**2, rank**2))
    for value in np.unique(labels):
        told = labels == value
        mean = outer[told].mean(axis=0)
        operator += np.mean(told) * np.kron(mean, mean)
    seen = {axis for w, term in zip(weights, terms, strict=True) if w for axis in term}
    if _largest(operator) < 1e-6 or len(seen) < rank:
        return of_signs(rank, turned, generator)
    names = _axes(rank, _turn(rank, generator) if turned else None)
    text = " + ".join(
        f"{w}*" + "*".join(f"sign({names[axis]})" for axis in term) for w, term in zip(weights, terms, strict=True) if w
    )
    return Case(f"{rank} signs" + ", turned" * turned, text, _largest(operator))


def _pair(y: Floats, first: float, second: float) -> tuple[Floats, Floats, Floats]:
    """Density of first z1^2 + second z2^2 at y > 0, and that times E[z1^2 | y] and E[z2^2 | y].

    On the ellipse the weight is exp(-c y - d y cos(2 t)), whose averages are Bessel functions.
    """
    c, d = 0.25 * (1 / first + 1 / second), 0.25 * (1 / first - 1 / second)
    scale = np.exp((abs(d) - c) * y) / (2 * np.sqrt(first * second))
    density, tilt = scale * ive(0, d * y), scale * ive(1, d * y)
    return density, 0.5 * y / first * (density - tilt), 0.5 * y / second * (density + tilt)


def _ellipsoid(y: float, sizes: Sequence[float]) -> Floats:
    """Density of sum of sizes times squares at y > 0, and that times E[z_i^2 | y]: (1 + r,)."""
    if len(sizes) == 2:
        return np.array(_pair(np.array(y), *sizes))
    first = np.array(_pair(y * np.cos(_ANGLES) ** 2, *sizes[:2]))
    if len(sizes) == 3:
        s = np.sqrt(y / sizes[2]) * np.sin(_ANGLES)
        weight = (
            _ANGLE_WEIGHTS * np.sqrt(y / sizes[2]) * np.cos(_ANGLES) * 2 * np.exp(-0.5 * s * s) / np.sqrt(2 * np.pi)
        )
        return np.append(first @ weight, np.sum(first[0] * s * s * weight))
    weight = _ANGLE_WEIGHTS * 2 * y * np.cos(_ANGLES) * np.sin(_ANGLES)
    second = np.array(_pair(y * np.sin(_ANGLES) ** 2, *sizes[2:]))
    return np.concatenate([first @ (weight * second[0]), second[1:] @ (weight * first[0])])


def _adaptive(table: Callable[[float], Floats], highest: float) -> float:
    """The largest eigenvalue from densities (1 + r,) at y = t^2, integrated adaptively."""

    def integrand(t: float) -> Floats:
        density, *moments = table(t * t)
        told = np.diag(np.array(moments) - density)
        return 2 * t * np.kron(told, told) / density if density > 0 else np.zeros((told.size, told.size))

    return _largest(quad_vec(integrand, 0, np.sqrt(highest), epsrel=1e-9, epsabs=1e-11)[0])


def of_sizes(sizes: Sequence[float]) -> float:
    """The largest eigenvalue for the sum of these sizes times squares."""
    return _adaptive(lambda y: _ellipsoid(y, sizes), _REACH**2 * max(sizes))


def of_squares(rank: int, turned: bool, generator: np.random.Generator) -> Case:
    """A positive quadratic form, by convolution of the laws of two and of the other squares."""
    sizes = np.round(generator.uniform(0.3, 2.0, rank), 3).tolist()
    top = of_sizes(sizes)
    names = _axes(rank, _turn(rank, generator) if turned else None)
    text = " + ".join(f"{size}*{name}**2" for size, name in zip(sizes, names, strict=True))
    return Case(f"{rank} squares" + ", turned" * turned, text, top)


def of_two_pairs(turned: bool, generator: np.random.Generator) -> Case:
    """a (z1^2 + z2^2) - b (z3^2 + z4^2): two exponential laws.

    At y > 0 the second half-sum of squares is exponential of rate 1 + b / a, the first is (y + 2 b times it) / (2 a).
    """
    a, b = np.round(generator.uniform(0.3, 2.0, 2), 3).tolist()

    def side(up: float, down: float) -> Callable[[float], Floats]:
        def table(y: float) -> Floats:
            low = 1 / (1 + down / up)
            high = (y + 2 * down * low) / (2 * up)
            return np.exp(-0.5 * y / up) / (2 * (up + down)) * np.array([1, high, high, low, low])

        return table

    def integrand(t: float) -> Floats:
        total = np.zeros((16, 16))
        for table, order in ((side(a, b), [0, 1, 2, 3]), (side(b, a), [2, 3, 0, 1])):
            density, *moments = table(t * t)
            told = np.diag((np.array(moments) - density)[order])
            total += 2 * t * np.kron(told, told) / density
        return total

    top = _largest(quad_vec(integrand, 0, _REACH * np.sqrt(max(a, b)), epsrel=1e-9, epsabs=1e-11)[0])
    one, two, three, four = _axes(4, _turn(4, generator) if turned else None)
    text = f"{a}*{one}**2 + {a}*{two}**2 - {b}*{three}**2 - {b}*{four}**2"
    return Case("4 squares of both signs" + ", turned" * turned, text, top)


def of_polynomial(degree: int, generator: np.random.Generator) -> Case:
    """A polynomial of one direction: E[(E[z^2 | y] - 1)^2] as an integral over z, the roots of p(x) = p(z) by algebra.

    The integrand has a corner wherever a label has a double root, and the integral is cut there.
    """
    even = generator.random() < 0.5
    coefficients = np.round(generator.standard_normal(degree + 1), 3)
    coefficients[0], coefficients[-1] = 0.0, np.round(generator.uniform(0.2, 1.0), 3)
    if even:
        coefficients[1::2] = 0.0
    slope = polynomial.polyder(coefficients)

    def told(z: float) -> float:
        roots = _real(polynomial.polysub(coefficients, [polynomial.polyval(z, coefficients)]))
        weights = np.exp(-0.5 * roots**2) / np.maximum(np.abs(polynomial.polyval(roots, slope)), 1e-300)
        return float(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * (weights @ (roots**2 - 1) / weights.sum()) ** 2)

    turns = _real(slope)
    cuts = [_real(polynomial.polysub(coefficients, [value])) for value in polynomial.polyval(turns, coefficients)]
    marks = np.unique(np.round(np.concatenate([*cuts, turns, [-_REACH, 0.0, _REACH]]), 9))
    marks = marks[np.abs(marks) <= _REACH]

    def piece(a: float, b: float) -> float:
        # z = a + (b - a) s^2 (3 - 2 s) makes square roots at the ends smooth.
        return quad(lambda s: told(a + (b - a) * s * s * (3 - 2 * s)) * (b - a) * 6 * s * (1 - s), 0, 1, limit=200)[0]

    text = " + ".join(f"({float(c)!r})*h1**{power}" for power, c in enumerate(coefficients) if c)
    return Case("polynomial of one direction", text, sum(piece(a, b) for a, b in pairwise(marks.tolist())))


def _real(coefficients: Floats) -> Floats:
    roots = polynomial.polyroots(np.trim_zeros(coefficients, "b"))
    return roots.real[np.abs(roots.imag) < 1e-7 * (1 + np.abs(roots))]


def known_cases(scale: int, seed: int = 1) -> Iterator[Case]:
    """Targets of every family, `scale` times seventeen; the same for the same arguments."""
    generator = np.random.default_rng(seed)
    for _ in range(scale):
        for turned in (False, True):
            yield from (of_signs(rank, turned, generator) for rank in (2, 3))
            yield from (of_squares(rank, turned, generator) for rank in (2, 3, 4))
            yield of_two_pairs(turned, generator)
        yield from (of_polynomial(degree, generator) for degree in (2, 3, 4, 5, 6))
