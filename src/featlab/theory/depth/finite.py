"""What is left of a tree target with a finite number D of directions in a block: exact; `limits` has D -> infinity.

h* = a . P(z)/sqrt(D) is a sum of independent terms, so that every average over z that a Hermite expansion of y needs
is a product in Fourier space. With phi_k(t) = E[He_k(z) exp(i t P(z)/sqrt(D))], the function q whose transform is

    prod_i phi_(k_i)(a_i t)    over the directions i = 1, ..., D

gives E[g(h*) He_(k_1)(z_1) ... He_(k_D)(z_D)] = int g(h) q(h) dh; with all k_i = 0 it is the density of h*. Blocks are
independent and y is a sum over them, so that each degree of y has the same share of the variance for every r. Derived
here; sums over a grid in h are as exact as g is smooth (1e-6 for tanh(3h); a jump costs its step, .02). The density of
few directions has singularities, and rings on the grid: what is made of quotients of densities is known to 1e-4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import comb, factorial, prod

import numpy as np
from numpy.typing import NDArray

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats, hermite_all
from featlab.targets import Target
from featlab.targets import target as make_target
from featlab.targets.tree import Tree
from featlab.theory.depth.first_layer import Signal
from featlab.theory.depth.limits import checked_tree, ridge_on_quadratics

Transforms = NDArray[np.complex128]
# h on [-40, 40): of P = He2/2 + He3/6 and D = 3 what lies beyond has probability 1e-9. Points z of a normal law.
_REACH, _GRID = 40.0, 4096
_NORMALS = np.linspace(-9.0, 9.0, 4001)
_WEIGHTS = np.exp(-(_NORMALS**2) / 2) / np.exp(-(_NORMALS**2) / 2).sum()
_LEAST_DENSITY = 1e-9  # of the largest: below it a quotient of densities is rounding


@dataclass(frozen=True)
class FiniteTree:
    """A tree target with its D, exactly.

    Attributes:
        by_degree: variance of y in the polynomials of total degree 1, 2, ... in the directions, at places 1, 2, ...;
            the squared mean of g(h*) at place 0.
        second_moment: E[g(h*)^2].
        strength: root mean square over the directions of E[y He2(z_i)].
        from_sum: the least risk of a function of the sum of all hidden fields.
        noise: variance of the label's noise.
    """

    by_degree: tuple[float, ...]
    second_moment: float
    strength: float
    from_sum: float
    noise: float

    @property
    def variance(self) -> float:
        """Var y without noise: the risk of a guess."""
        return self.second_moment - self.by_degree[0]

    def of_degree(self, degree: int) -> float:
        """The risk of the best polynomial of this degree in the inputs."""
        if not 0 <= degree < len(self.by_degree):
            raise InvalidParameter("degree", degree, f"from 0 to {len(self.by_degree) - 1}, the degrees computed")
        return self.variance - sum(self.by_degree[1 : degree + 1])

    def signal(self) -> Signal:
        """What the first layer sees of it; for targets of mean zero."""
        return Signal(self.strength, self.variance + self.noise)

    def quadratics(self, dim: int, samples: int) -> float:
        """The risk of ridge regression on all quadratics, as `quadratic_ridge`, with the shares of this D; what is
        linear counts as known."""
        return ridge_on_quadratics(self.by_degree[2], self.of_degree(2) + self.noise, dim, samples)


def finite_tree(tree: Target | str, degrees: int = 3) -> FiniteTree:
    """The moments of a tree target with a given D, up to this degree in its directions.

    Args:
        tree: the target, or its text "tree(g, P, D)".
        degrees: the highest total degree; the time grows like the number of pairs of partitions.

    Raises:
        InvalidParameter: a tree whose D is a law in d.

    Examples:
        >>> from featlab.theory.depth.finite import finite_tree
        >>> found = finite_tree("tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, 8)")
        >>> [round(found.of_degree(q) / found.variance, 3) for q in (1, 2, 3)]
        [0.979, 0.366, 0.266]
    """
    found = checked_tree(tree)
    shape = found.shape
    if shape.effective is None:
        raise InvalidParameter(
            "tree", shape.text, "a tree with a number of directions: tree(g, P, D); or take .at(dim)"
        )
    link = make_target(shape.link).link(_fields()[:, None])
    transforms = _transforms(shape, degrees)
    density = _back(_product(shape, transforms, (), ()))
    step = 2 * _REACH / _GRID
    by_degree, seconds = np.zeros(degrees + 1), 0.0
    for up, down in _pairs(degrees):
        ways = _ways(up, _count(shape, 1)) * _ways(down, _count(shape, -1))
        if ways:
            value = step * link @ _back(_product(shape, transforms, up, down))
            by_degree[sum(up) + sum(down)] += ways * value**2 / prod(map(factorial, up + down))
            seconds += float(ways * value**2) if sorted(up + down) == [2] else 0.0
    second_moment = float(step * link**2 @ density)
    return FiniteTree(
        tuple(by_degree.tolist()),
        second_moment,
        float(np.sqrt(seconds / shape.effective / shape.blocks)),
        float(second_moment - by_degree[0] - _told_by_sum(shape, link, density)),
        found.noise,
    )


def _fields() -> Floats:
    """The grid in h, from 0 up and then the negative half, as transforms have it."""
    return np.fft.fftfreq(_GRID, 1 / (2 * _REACH)).astype(np.float64)


def _transforms(shape: Tree, most: int) -> Transforms:
    """phi_0, ..., phi_most (most + 1, t) for t >= 0."""
    assert shape.effective is not None
    inner = make_target(shape.polynomial).link(_NORMALS[:, None]) / shape.effective**0.5
    times = np.pi / _REACH * np.arange(_GRID // 2 + 1)
    weighted = hermite_all(most, _NORMALS) * _WEIGHTS
    return np.concatenate([weighted @ np.exp(1j * np.outer(inner, part)) for part in np.array_split(times, 16)], axis=1)


def _back(transform: Transforms) -> Floats:
    """q on the grid from its transform E[exp(i t h)]."""
    return np.fft.irfft(transform.conj(), _GRID) * _GRID / (2 * _REACH)


def _count(shape: Tree, sign: int) -> int:
    """How many directions of a block have this sign a_i."""
    assert shape.effective is not None
    if shape.signs == "ones":
        return shape.effective if sign > 0 else 0
    return (shape.effective + (sign > 0)) // 2


def _product(shape: Tree, transforms: Transforms, up: tuple[int, ...], down: tuple[int, ...]) -> Transforms:
    """The transform with these degrees on directions of positive and of negative sign, where phi(-t) = conj phi(t)."""
    rest = [_count(shape, 1) - len(up), _count(shape, -1) - len(down)]
    found: Transforms = transforms[0] ** rest[0] * transforms[0].conj() ** rest[1]
    for degree in up:
        found = found * transforms[degree]
    for degree in down:
        found = found * transforms[degree].conj()
    return found


def _told_by_sum(shape: Tree, link: Floats, density: Floats) -> float:
    """Var E[y | s], s = h_1* + ... + h_r*: with p the density of a field and * the convolution of functions,
    E[y | s] = sqrt(r) ((g p) * p^(*(r-1)))(s) / p^(*r)(s)."""
    step = 2 * _REACH / _GRID
    one, weighted = np.fft.rfft(density) * step, np.fft.rfft(link * density) * step
    others = one ** (shape.blocks - 1)
    numerator, law = (np.fft.irfft(part * others, _GRID) / step for part in (weighted, one))
    seen = law > _LEAST_DENSITY * law.max()
    mean = step * link @ density
    return float(shape.blocks * (step * np.sum(numerator[seen] ** 2 / law[seen]) - mean**2))


def _pairs(most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Degrees above 0 of directions of either sign, in total at most so many."""
    for total in range(most + 1):
        for above in range(total + 1):
            yield from ((up, down) for up in _partitions(above) for down in _partitions(total - above))


def _partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Of a number, parts falling."""
    if total == 0:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        yield from ((first, *rest) for rest in _partitions(total - first, first))


def _ways(degrees: tuple[int, ...], directions: int) -> int:
    """How many ways there are to give these degrees to different directions."""
    found, left = 1, directions
    for _, same in groupby(degrees):
        size = len(list(same))
        found, left = found * comb(left, size) if left >= 0 else 0, left - size
    return found
