"""Functions of the signs of the directions: everything follows from their 2^r values.

Statement: let Y = F(s) with s_i = sign(h_i), and psi a function of the label. E[psi(Y) He_k(h)] is made of the Fourier
(Walsh) coefficients of psi(F): for a set S of axes, E[psi prod_{i in S} h_i] = sqrt(2/pi)^|S| E[psi prod_{i in S} s_i].
Given the known axes U, the lowest order that psi sees is the smallest |S minus U| > 0 with a coefficient that is not
zero: sizes |h_i| are independent of the signs, so that no other Hermite polynomial comes before. At order 2,
E[z z^T - I | y, s_U] has the entries (2/pi) E[s_i s_j | y, s_U] off the diagonal and 0 on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np
import sympy

from featlab.analysis.levels import ROUNDING, Level, lowest_level
from featlab.analysis.structured.expansion import Expansion, sign_coefficients
from featlab.analysis.structured.lattices import gram, top
from featlab.analysis.subspaces import aligned, complement
from featlab.gaussian.hermite import Floats, Integers, multi_indices
from featlab.targets import Target
from featlab.targets.functions import is_call

MOST_SIGNS = 16
_EXTRA_TESTS = 4
# Classes of patterns that a stage tells apart; terms listed of an expansion; degrees whose energy is computed.
_MOST_CLASSES, _MOST_TERMS, _DEGREES = 4096, 4000, 40


@dataclass(frozen=True)
class Patterns:
    """The values of a function of signs: pattern p has s_i = -1 where bit i of p is set."""

    rank: int
    values: Floats

    @cached_property
    def labels(self) -> Floats:
        """The different values, ascending."""
        labels: Floats = np.unique(np.round(self.values, 10))
        return labels

    @cached_property
    def label_of(self) -> Integers:
        """The number of each pattern's label."""
        return np.searchsorted(self.labels, np.round(self.values, 10))

    @cached_property
    def signs(self) -> Floats:
        """(patterns, rank)."""
        bits = (np.arange(2**self.rank)[:, None] >> np.arange(self.rank)) & 1
        return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def patterns_of(target: Target) -> Patterns | None:
    """The values of a link that holds its directions only inside signs; None for any other."""
    if target.tree is None or target.hidden or target.rank > MOST_SIGNS or not _of_signs(target.tree):
        return None
    empty = Patterns(target.rank, np.zeros(2**target.rank))
    return replace(empty, values=target.link(empty.signs))


def _of_signs(node: sympy.Expr) -> bool:
    """Whether every variable stands inside the sign or the step of a monomial."""
    if not node.free_symbols:
        return True
    if isinstance(node, sympy.Symbol):
        return False
    if is_call(node, "sign", "step", "heaviside") and _is_monomial(node.args[0]):
        return True
    return all(_of_signs(argument) for argument in node.args)


def _is_monomial(node: sympy.Expr) -> bool:
    factors = node.args if isinstance(node, sympy.Mul) else (node,)
    return all(
        not factor.free_symbols or isinstance(factor.base if isinstance(factor, sympy.Pow) else factor, sympy.Symbol)
        for factor in factors
    )


def walsh(values: Floats) -> Floats:
    """Fourier coefficients E[values prod_{i in S} s_i] along the last axis, S a bit mask (fast Walsh-Hadamard)."""
    found = np.array(values, dtype=float)
    size, half = found.shape[-1], 1
    while half < size:
        pairs = found.reshape(*found.shape[:-1], -1, 2, half)
        found = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
        found = found.reshape(*values.shape)
        half *= 2
    return found / size


def expansion_of(patterns: Patterns) -> Expansion:
    """c_a = F^(S) prod_{i in S} E[sign h_{a_i}] where the a_i are odd on a set S and 0 elsewhere; all others vanish."""
    coefficients = walsh(patterns.values)
    present = np.flatnonzero(np.abs(coefficients) > ROUNDING * np.abs(coefficients).max())
    sizes = np.array([int(mask).bit_count() for mask in present])
    of_sign = sign_coefficients(_DEGREES)
    searched = _listed_degree(sizes)
    indices, found = [np.zeros((1, patterns.rank), dtype=np.intp)], [coefficients[:1]]
    for mask, size in zip(present[sizes > 0], sizes[sizes > 0], strict=True):
        axes = [axis for axis in range(patterns.rank) if mask >> axis & 1]
        for extra in range((searched - size) // 2 + 1):
            raised = 1 + 2 * multi_indices(int(size), extra)
            placed = np.zeros((len(raised), patterns.rank), dtype=np.intp)
            placed[:, axes] = raised
            indices.append(placed)
            found.append(coefficients[mask] * np.prod(of_sign[raised], axis=1))
    listed = np.concatenate(found)
    errors = ROUNDING * np.abs(listed)
    per_degree = _energies(coefficients[present] ** 2, sizes, of_sign)
    variance = float(np.var(patterns.values))
    return Expansion(np.vstack(indices), listed, errors, searched, variance, per_degree)


def _listed_degree(sizes: Integers) -> int:
    """The highest degree up to which the terms can be listed; at least the lowest that there is."""
    lowest = int(sizes[sizes > 0].min())
    count, degree = 0, lowest - 1
    while degree < _DEGREES:
        # A set of m axes has one term of degree m + 2j for each way to share j among them.
        count += sum(comb(int(m) - 1 + (degree + 1 - int(m)) // 2, int(m) - 1) for m in sizes
                     if 0 < m <= degree + 1 and (degree + 1 - m) % 2 == 0)  # fmt: skip
        if count > _MOST_TERMS and degree >= lowest:
            break
        degree += 1
    return degree


def _energies(squares: Floats, sizes: Integers, of_sign: Floats) -> Floats:
    """The energy of each degree: sum over sets of F^(S)^2 times that of a product of |S| signs."""
    total, of_parity = np.zeros(_DEGREES + 1), np.eye(1, _DEGREES + 1)[0]
    for size in range(int(sizes.max()) + 1):
        total += squares[sizes == size].sum() * of_parity
        of_parity = np.convolve(of_parity, of_sign**2)[: _DEGREES + 1]
    return total


def level_of(patterns: Patterns, known: Floats, tilt: float) -> Level:
    """The lowest order at which functions of the label and of the known signs see the other directions."""
    if not aligned(known):
        doubt = "the next stage was not computed, because a known direction mixes axes of a function of signs"
        empty = known[:, :0]
        return Level(None, empty, empty, 0.0, 0.0, 0.0, 0.0, 0, doubt)
    axes = _axes(complement(known))
    spectra = walsh(_label_tests(patterns))
    inside = sum(1 << int(axis) for axis in axes)
    order_of = np.array([int(mask).bit_count() for mask in np.arange(2**patterns.rank) & inside])

    def unfolded(order: int) -> tuple[Floats, Floats]:
        return _sketched(np.where(order_of == order, spectra, 0.0), axes, order), np.full(len(spectra), ROUNDING)

    return lowest_level(unfolded, known, len(axes), tilt)


def _axes(subspace: Floats) -> Integers:
    return np.abs(subspace).argmax(axis=0)


def _label_tests(patterns: Patterns) -> Floats:
    """(tests, patterns): functions of the label with random values, of unit variance.

    A coefficient that is not zero for some function of the label is not zero for a random one, with probability one.
    """
    tests = min(len(patterns.labels), patterns.rank + _EXTRA_TESTS)
    of_label = np.random.default_rng(20_240_919).standard_normal((tests, len(patterns.labels)))
    values = of_label[:, patterns.label_of]
    values -= values.mean(axis=1, keepdims=True)
    deviations = values.std(axis=1, keepdims=True)
    return values / np.where(deviations > 0, deviations, 1.0)


def _sketched(spectra: Floats, axes: Integers, order: int) -> Floats:
    """The unfolding of the coefficients on sets of one order, its columns (sets without one axis) randomly combined."""
    columns = len(axes) + _EXTRA_TESTS
    signs = np.random.default_rng(20_240_920).choice([-1.0, 1.0], size=(spectra.shape[1], columns))
    masks = np.arange(spectra.shape[1])
    rows = []
    for axis in axes:
        holding = masks[(masks >> int(axis)) & 1 == 1]
        rows.append(spectra[:, holding] @ signs[holding ^ (1 << int(axis))])
    scale = (2 / np.pi) ** (order / 2) / np.sqrt(columns * order)
    return np.array(rows) * scale


def strength(patterns: Patterns, known: Floats) -> tuple[float, Floats] | None:
    """The top eigenvalue of F(M) = E[G M G] at the known axes and the range of its eigenmatrices, in the axes unknown.

    None if there are too many classes of patterns with the same label and the same known signs.
    """
    axes, seen = _axes(complement(known)), _axes(known)
    known_bits = (np.arange(len(patterns.values))[:, None] >> seen) & 1
    of_known = known_bits @ (1 << np.arange(len(seen)))
    classes, number = np.unique(patterns.label_of * 2 ** len(seen) + of_known, return_inverse=True)
    if len(classes) > _MOST_CLASSES:
        return None
    signs = patterns.signs[:, axes]
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(len(classes)))
    products = (signs[:, :, None] * signs[:, None, :] - np.eye(len(axes)))[order]
    moment = np.add.reduceat(products, starts, axis=0) * (2 / np.pi) / len(patterns.values)
    mass = np.bincount(number) / len(patterns.values)
    return top(gram(mass, moment))
