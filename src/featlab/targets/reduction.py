"""Writing a target in the directions that matter: readable orthonormal directions, substitution, and the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy

from featlab.errors import InvalidTarget
from featlab.targets.canonical import canonical, free_names
from featlab.targets.evaluate import Floats, gradient_at, gradients, value_at, values
from featlab.targets.functions import row_of
from featlab.targets.kinks import surfaces
from featlab.targets.polynomials import expanded_hermite, expanded_terms, polynomial_degree
from featlab.targets.printing import text_of
from featlab.targets.rank import Probe, relevant_subspace
from featlab.targets.surfaces import gaussian_points

_OFFSETS = (sympy.Integer(0), sympy.Integer(1), sympy.Rational(-3, 7), sympy.Rational(11, 5))


@dataclass(frozen=True)
class Reduced:
    """A tree in h1..hr, xi1..xim; `directions` (r, typed) says how h1..hr read in the variables that were typed."""

    tree: sympy.Expr
    rank: int
    hidden: int
    directions: Floats
    remarks: tuple[str, ...]


def probe_of(tree: sympy.Expr, names: Sequence[str]) -> Probe:
    """The rank test's view of a tree."""
    inner = {argument for node in sympy.preorder_traversal(tree) if row_of(node) for argument in node.args}
    jumps = [surface for surface, kind in surfaces(tree).items() if kind != "corner"]
    return Probe(
        value=value_at(tree, names),
        jet=lambda points: gradients(tree, names, points),
        kinks=[(value_at(surface, names), gradient_at(surface, names)) for surface in jumps],
        inner=[gradient_at(argument, names) for argument in sorted(inner, key=text_of) if argument.free_symbols],
    )


def reduce(tree: sympy.Expr, typed: Sequence[str], typed_noise: Sequence[str]) -> Reduced:
    """The tree in its true directions; `typed` and `typed_noise` are the variables that the user wrote."""
    directions = free_names(tree, "h")
    noises = free_names(tree, "xi")
    names = [*directions, *noises]
    probe = probe_of(tree, names)
    basis = relevant_subspace(probe, len(names), range(len(directions)))
    noise_basis = relevant_subspace(probe, len(names), range(len(directions), len(names)))
    if not len(basis):
        what = "the target depends on its noise xi only" if noises else "the target is constant, up to rounding"
        raise InvalidTarget(f"{what}: there is nothing to learn", suggestion="let it depend on h1")
    rows, noise_rows = readable_basis(basis), readable_basis(noise_basis)
    reduced = _substituted(tree, probe, names, rows, noise_rows)
    if reduced is None:
        rows, noise_rows = sympy.eye(len(directions)), sympy.eye(len(noises))
        reduced = _substituted(tree, probe, names, rows, noise_rows)
        assert reduced is not None
    matrix = np.zeros((rows.rows, len(typed)))
    for column, name in enumerate(directions):
        matrix[:, list(typed).index(name)] = [float(values(rows[k, column], {})) for k in range(rows.rows)]
    remarks = basis_remarks(rows, directions, typed, "h", "directions") + basis_remarks(
        noise_rows, noises, typed_noise, "xi", "noise variables"
    )
    return Reduced(reduced, rows.rows, noise_rows.rows, matrix, tuple(remarks))


def readable_basis(basis: Floats) -> sympy.Matrix:
    """Exact orthonormal rows for the span of the rows of `basis`, where its numbers allow it.

    Coordinate axes stay coordinate axes. Otherwise the reduced row echelon form is read as rational numbers (or a
    single direction as square roots of rational numbers) and orthonormalised exactly; failing that, in 17 digits.
    """
    count, variables = basis.shape
    if count == variables:
        return sympy.eye(variables)
    if not count:
        return sympy.zeros(0, variables)
    if count == 1:
        unit = basis[0] * np.sign(basis[0][np.argmax(np.abs(basis[0]) > 1e-9)])
        squares = [_rational(x * x) for x in unit]
        if all(square is not None for square in squares) and sum(squares) == 1:  # type: ignore[arg-type]
            return sympy.Matrix([[_signed_root(x, s) for x, s in zip(unit, squares, strict=True)]])
    echelon = _echelon(basis)
    fractions = [[_rational(x) for x in row] for row in echelon]
    if all(x is not None for row in fractions for x in row):
        return _orthonormal_rows(
            [[sympy.Rational(x.numerator, x.denominator) for x in row if x is not None] for row in fractions]
        )
    return sympy.Matrix(
        count, variables, [sympy.Rational(repr(float(x))) for x in np.linalg.qr(echelon.T)[0].T.ravel()]
    )


def _rational(x: float) -> Fraction | None:
    close = Fraction(float(x)).limit_denominator(20000)
    return close if abs(float(close) - x) < 1e-9 * max(1.0, abs(x)) else None


def _signed_root(x: float, square: Fraction | None) -> sympy.Expr:
    assert square is not None
    root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator))
    return root if x >= 0 else -root


def _echelon(basis: Floats) -> Floats:
    """Reduced row echelon form with rows swapped for stability."""
    rows = basis.copy()
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) < 1e-9:
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        for other in range(len(rows)):
            if other != done:
                rows[other] -= rows[other, column] * rows[done]
        done += 1
    return np.where(np.abs(rows) < 1e-10, 0.0, rows)


def _orthonormal_rows(rows: list[list[sympy.Rational]]) -> sympy.Matrix:
    """Gram-Schmidt in exact arithmetic; only the norms are square roots."""
    orthogonal: list[list[sympy.Rational]] = []
    for row in rows:
        for done in orthogonal:
            share = sum(a * b for a, b in zip(row, done, strict=True)) / sum(b * b for b in done)
            row = [a - share * b for a, b in zip(row, done, strict=True)]
        orthogonal.append(row)
    norms = [sympy.sqrt(sum(a * a for a in row)) for row in orthogonal]
    return sympy.Matrix([[a / norm for a in row] for row, norm in zip(orthogonal, norms, strict=True)])


def _substituted(
    tree: sympy.Expr, probe: Probe, names: Sequence[str], rows: sympy.Matrix, noise_rows: sympy.Matrix
) -> sympy.Expr | None:
    """The tree in the new variables, or None if no value of the removed directions gives the same function.

    Along removed directions the target is constant almost everywhere, but not at its kinks: sign(h1)**2*h2 must not
    be read at h1 = 0. So several values are tried and each is checked.
    """
    transform = sympy.diag(rows, noise_rows)
    new = [f"h{k + 1}" for k in range(rows.rows)] + [f"xi{k + 1}" for k in range(noise_rows.rows)]
    symbols = sympy.Matrix([sympy.Symbol(name, real=True) for name in new])
    kept = transform.T * symbols if new else sympy.zeros(len(names), 1)
    generic = sympy.Matrix(range(1, len(names) + 1))
    removed = generic - transform.T * (transform * generic)
    points = gaussian_points(200, len(names), 23)
    projected = points @ np.array([[float(values(x, {})) for x in transform.row(k)] for k in range(len(new))]).T
    expected = probe.value(points)
    aligned = all(x in (0, 1) for x in transform)
    for offset in _OFFSETS:
        at = {sympy.Symbol(name, real=True): kept[i] + offset * removed[i] for i, name in enumerate(names)}
        candidate = canonical(tree, at) if aligned else shortest_form(canonical(tree, at))
        close = np.isclose(
            value_at(candidate, new)(projected), expected, rtol=1e-7, atol=1e-9 * np.nanmedian(np.abs(expected))
        )
        if close.mean() > 0.99:
            return candidate
    return None


def shortest_form(tree: sympy.Expr) -> sympy.Expr:
    """The tree, or its expansion if it is a small polynomial and the expansion is shorter to write."""
    degree = polynomial_degree(tree)
    if degree is None or degree > 12 or expanded_terms(tree) > 400:
        return tree
    expanded = canonical(sympy.expand(expanded_hermite(tree)))
    return expanded if len(text_of(expanded)) < len(text_of(tree)) else tree


def basis_remarks(
    rows: sympy.Matrix, names: Sequence[str], typed: Sequence[str], prefix: str, plural: str
) -> list[str]:
    """Sentences on what was removed and what the new variables stand for."""
    remarks = []
    gone = [name for name in typed if name not in names or not any(rows[:, list(names).index(name)])]
    if gone:
        verb, pronoun = ("does", "it") if len(gone) == 1 else ("do", "them")
        remarks.append(f"{' and '.join(gone)} {verb} not matter: the target does not depend on {pronoun}")
    if rows.rows + len(gone) < len(typed):
        remarks.append(f"the target varies along {rows.rows} of the {len(typed)} {plural} that were typed")
    for k in range(rows.rows):
        name = f"{prefix}{k + 1}"
        meaning = _linear_text([float(values(x, {})) for x in rows.row(k)], names)
        if meaning != name:
            remarks.append(f"{name} here stands for {meaning}")
    return remarks


def _linear_text(coefficients: Sequence[float], names: Sequence[str]) -> str:
    text = ""
    for coefficient, name in zip(coefficients, names, strict=True):
        if abs(coefficient) < 1e-12:
            continue
        size = name if abs(abs(coefficient) - 1) < 1e-12 else f"{abs(coefficient):.4g}*{name}"
        sign = "-" if coefficient < 0 else "+"
        text += (f" {sign} " if text else ("-" if sign == "-" else "")) + size
    return text
