"""The Hermite expansion of a target of many directions: only the coefficients that are not zero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from featlab.analysis.energies import Energies, hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.levels import ROUNDING, SURE
from featlab.analysis.residuals import learnable_variance
from featlab.analysis.structured.parts import Group, Parts
from featlab.gaussian.hermite import Floats, Integers, hermite_all, multi_indices
from featlab.targets import Target

# Degrees of a group's own expansion, by its rank; terms of a whole expansion, by which a product's degree is bounded.
_DEGREES = {1: 40, 2: 12, 3: 8, 4: 8}
MOST_TERMS = 1500


@dataclass(frozen=True)
class Expansion:
    """f = sum_a c_a h_a over the multi-indices a that are listed, which are all of degree up to `searched`.

    Attributes:
        indices: (terms, rank); coefficients, errors: (terms,).
        searched: the degree up to which no coefficient is missing.
        variance: Var f, of all degrees.
        per_degree: sum of c_a^2 for each degree, possibly for more degrees than `searched`.
        exact: whether a coefficient that is not listed is zero, and the others are known to their own last digit; else
            the rounding of f itself stands in all of them.
    """

    indices: Integers
    coefficients: Floats
    errors: Floats
    searched: int
    variance: float
    per_degree: Floats
    exact: bool = False

    @property
    def rank(self) -> int:
        return self.indices.shape[1]

    @property
    def degrees(self) -> Integers:
        return np.asarray(self.indices.sum(axis=1), dtype=np.intp)

    def monomials(self) -> list[tuple[int, ...]]:
        """The multi-indices |a| >= 1 whose coefficient is certainly not zero."""
        sure = (np.abs(self.coefficients) > SURE * self.errors) & (self.degrees > 0)
        return [tuple(index) for index in self.indices[sure].tolist()]


@dataclass(frozen=True)
class ListedEnergies(Energies):
    """Energies of which the coefficients of each degree are only those that are listed: their squares sum to it.

    Beyond the degrees with listed coefficients a degree has one number, the root of its energy.
    """

    listed: tuple[tuple[int, ...], ...] = ()

    def monomials(self) -> list[tuple[int, ...]]:
        """The multi-indices |a| >= 1 whose coefficient is certainly not zero."""
        return list(self.listed)


def energies_of(expansion: Expansion) -> ListedEnergies:
    """How the variance is spread over the degrees, in the form that reports read."""
    coefficients, errors = [], []
    for degree, energy in enumerate(expansion.per_degree):
        here = expansion.degrees == degree
        known = degree <= expansion.searched
        found = expansion.coefficients[here] if known and here.any() else np.array([np.sqrt(energy)])
        coefficients.append(found)
        errors.append(float(np.max(expansion.errors[here], initial=ROUNDING * np.sqrt(expansion.variance))))
    listed = tuple(expansion.monomials())
    return ListedEnergies(expansion.rank, tuple(coefficients), tuple(errors), expansion.variance, listed=listed)


def dense_energies(expansion: Expansion, max_degree: int) -> Energies:
    """The same with every coefficient up to max_degree, zero or not."""
    coefficients, errors = [], []
    listed = {tuple(index): place for place, index in enumerate(expansion.indices.tolist())}
    for degree in range(max_degree + 1):
        places = np.array([listed.get(tuple(index), -1) for index in multi_indices(expansion.rank, degree).tolist()])
        coefficients.append(np.where(places >= 0, expansion.coefficients[places], 0.0))
        errors.append(float(np.max(expansion.errors[places[places >= 0]], initial=0.0)))
    return Energies(expansion.rank, tuple(coefficients), tuple(errors), expansion.variance)


def of_parts(parts: Parts) -> Expansion:
    """The expansion of a sum or a product, from those of the groups.

    Statement: with f_g = sum_b c^g_b h_b, a sum has c_a = c^g_b where a is b in one group and 0 elsewhere, a product
    c_a = prod_g c^g_{a_g}; by independence variances add, and E[f^2] and the energies by degree multiply (the latter as
    polynomials in a variable that counts the degree).
    """
    of_groups = [_of_group(group, parts.rank) for group in parts.groups]
    found = _product(of_groups) if parts.product else _sum(of_groups)
    scaled = Expansion(
        found.indices,
        parts.scale * found.coefficients,
        abs(parts.scale) * found.errors,
        found.searched,
        parts.scale**2 * found.variance,
        parts.scale**2 * found.per_degree,
    )
    return shifted(scaled, parts.offset)


def shifted(expansion: Expansion, offset: float) -> Expansion:
    """The expansion of f + offset."""
    constant = expansion.degrees == 0
    mean = float(expansion.coefficients[constant].sum()) + offset
    per_degree = expansion.per_degree.copy()
    per_degree[0] = mean**2
    return Expansion(
        np.vstack([np.zeros((1, expansion.rank), dtype=np.intp), expansion.indices[~constant]]),
        np.append(mean, expansion.coefficients[~constant]),
        np.append(float(expansion.errors[constant].sum()), expansion.errors[~constant]),
        expansion.searched,
        expansion.variance,
        per_degree,
    )


def _of_group(group: Group, rank: int) -> Expansion:
    """The expansion of a group's function, in the directions of the whole target."""
    degree = _DEGREES[group.part.rank]
    energies = _energies(group.part, degree)
    indices: Integers = np.zeros((0, rank), dtype=np.intp)
    for k in range(degree + 1):
        own = multi_indices(group.part.rank, k)
        placed: Integers = np.zeros((len(own), rank), dtype=np.intp)
        placed[:, list(group.axes)] = own
        indices = np.vstack([indices, placed])
    coefficients = np.concatenate(energies.coefficients)
    sizes = [len(found) for found in energies.coefficients]
    errors = np.repeat(energies.errors, sizes)
    return Expansion(indices, coefficients, errors, degree, energies.variance, energies.per_degree)


@lru_cache(maxsize=128)
def _energies(part: Target, degree: int) -> Energies:
    """Of E[f | h], without what noise variables inside the link add."""
    energies = hermite_energies(build_grids(part), degree)
    return energies.without_noise(learnable_variance(part, energies))


def _sum(terms: list[Expansion]) -> Expansion:
    searched = min(term.searched for term in terms)
    kept = [_without_zeros(term) for term in terms]
    low = [term.degrees <= searched for term in kept]
    indices = np.vstack([term.indices[keep] for term, keep in zip(kept, low, strict=True)])
    coefficients, errors = (
        np.concatenate([getattr(term, name)[keep] for term, keep in zip(kept, low, strict=True)])
        for name in ("coefficients", "errors")
    )
    per_degree = np.sum([term.per_degree[: searched + 1] for term in terms], axis=0)
    return Expansion(indices, coefficients, errors, searched, sum(term.variance for term in terms), per_degree)


def _product(factors: list[Expansion]) -> Expansion:
    """Products of coefficients, up to the highest degree at which there are not too many of them."""
    total, second = factors[0], _second_moment(factors[0])
    for factor in factors[1:]:
        total = _times(total, factor)
        second *= _second_moment(factor)
    return replace(total, variance=second - float(total.per_degree[0]))


def _second_moment(expansion: Expansion) -> float:
    return expansion.variance + float(expansion.per_degree[0])


def _times(left: Expansion, right: Expansion) -> Expansion:
    """The product of two functions of different directions (its variance is left to the caller)."""
    one, other = (_without_zeros(factor) for factor in (left, right))
    lowest = (int(one.degrees.min()), int(other.degrees.min()))
    # What one factor has beyond the degrees searched meets at least the lowest degree of the other.
    reach = min(one.searched + lowest[1], other.searched + lowest[0])
    sums = one.degrees[:, None] + other.degrees[None, :]
    terms = np.cumsum(np.bincount(sums.ravel(), minlength=reach + 1)[: reach + 1])
    # As many degrees as the number of terms allows, but never none: the lowest degree tells the exponent.
    reach = max(sum(lowest), int(np.searchsorted(terms, MOST_TERMS, side="right")) - 1)
    first, second = np.nonzero(sums <= reach)
    (c, e), (c2, e2) = ((factor.coefficients, factor.errors) for factor in (one, other))
    known = min(len(left.per_degree) + lowest[1], len(right.per_degree) + lowest[0])
    return Expansion(
        one.indices[first] + other.indices[second],
        c[first] * c2[second],
        np.abs(c[first]) * e2[second] + np.abs(c2[second]) * e[first],
        reach,
        np.nan,
        np.convolve(left.per_degree, right.per_degree)[:known],
    )


def _without_zeros(expansion: Expansion) -> Expansion:
    """Without the coefficients that are zero up to their errors: half of those of an even or an odd function."""
    kept = np.abs(expansion.coefficients) > expansion.errors
    return replace(
        expansion,
        indices=expansion.indices[kept],
        coefficients=expansion.coefficients[kept],
        errors=expansion.errors[kept],
    )


def sign_coefficients(degree: int) -> Floats:
    """E[sign(z) h_k(z)] for k = 0..degree: 2 phi(0) He_{k-1}(0) / sqrt(k!) for odd k, 0 for even ones."""
    at_zero = hermite_all(max(degree - 1, 0), 0.0)
    found = np.zeros(degree + 1)
    for k in range(1, degree + 1, 2):
        size = np.exp(-0.5 * np.sum(np.log(np.arange(1, k + 1))))
        found[k] = 2 / np.sqrt(2 * np.pi) * at_zero[k - 1] * size
    return found
