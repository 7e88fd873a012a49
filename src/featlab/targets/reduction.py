"""Writing a target in the directions that matter: readable orthonormal directions, substitution, and the sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy

from featlab.errors import InvalidTarget
from featlab.gaussian.matrices import reduced_rows
from featlab.targets.canonical import canonical, free_names
from featlab.targets.evaluate import Floats, gradient_at, gradients, number, value_at, values
from featlab.targets.functions import row_of
from featlab.targets.polynomials import expanded_hermite, expanded_terms, polynomial_degree
from featlab.targets.printing import text_of
from featlab.targets.rank import Probe, relevant_subspace
from featlab.targets.surfaces import Function, gaussian_points

_OFFSETS = (sympy.Integer(0), sympy.Integer(1), sympy.Rational(-3, 7), sympy.Rational(11, 5))


@dataclass(frozen=True)
class Reduced:
    """A tree in h1..hr, xi1..xim; `directions` (r, typed) says how h1..hr read in the variables that were typed."""

    tree: sympy.Expr
    rank: int
    hidden: int
    directions: Floats
    remarks: tuple[str, ...]


def _probe_of(tree: sympy.Expr, names: Sequence[str], rough: Mapping[sympy.Expr, str]) -> Probe:
    """The rank test's view of a tree."""
    inner = {argument for node in sympy.preorder_traversal(tree) if row_of(node) for argument in node.args}
    jumps = [surface for surface, kind in rough.items() if kind != "corner"]
    return Probe(
        value=value_at(tree, names),
        jet=lambda points: gradients(tree, names, points),
        kinks=[(value_at(surface, names), gradient_at(surface, names)) for surface in jumps],
        inner=[gradient_at(argument, names) for argument in sorted(inner, key=text_of) if argument.free_symbols],
    )


def reduce(
    tree: sympy.Expr, rough: Mapping[sympy.Expr, str], typed: Sequence[str], typed_noise: Sequence[str]
) -> Reduced:
    """The tree in its true directions.

    Args:
        tree: canonical; rough: its `surfaces`.
        typed, typed_noise: the variables that the user wrote.
    """
    directions = free_names(tree, "h")
    noises = free_names(tree, "xi")
    names = [*directions, *noises]
    probe = _probe_of(tree, names, rough)
    basis = relevant_subspace(probe, len(names), range(len(directions)))
    noise_basis = relevant_subspace(probe, len(names), range(len(directions), len(names)))
    if not len(basis):
        what = "the target depends on its noise xi only" if noises else "the target is constant, up to rounding"
        raise InvalidTarget(f"{what}: there is nothing to learn", suggestion="let it depend on h1")
    rows, noise_rows = exact_basis(basis), exact_basis(noise_basis)
    reduced = _substituted(tree, probe, names, rows, noise_rows)
    if reduced is None:
        rows, noise_rows = sympy.eye(len(directions)), sympy.eye(len(noises))
        reduced = _substituted(tree, probe, names, rows, noise_rows)
        assert reduced is not None
    matrix = np.zeros((rows.rows, len(typed)))
    matrix[:, [list(typed).index(name) for name in directions]] = in_floats(rows)
    matrix.setflags(write=False)  # a target is shared by all who typed its text
    remarks = basis_remarks(rows, directions, typed, "h", "directions") + basis_remarks(
        noise_rows, noises, typed_noise, "xi", "noise variables"
    )
    return Reduced(reduced, rows.rows, noise_rows.rows, matrix, tuple(remarks))


def exact_basis(basis: Floats, error: float = 1e-12) -> sympy.Matrix:
    """Exact orthonormal rows for the span of the rows of `basis`, where its numbers allow it.

    Coordinate axes stay coordinate axes. Otherwise the reduced row echelon form is read as rational numbers (or a
    single direction as square roots of rational numbers) and orthonormalised exactly; failing that, in 17 digits.
    Denominators are bounded such that hardly one number in a thousand is within `error` of such a fraction by chance.
    """
    count, variables = basis.shape
    if count == variables:
        return sympy.eye(variables)
    if not count:
        return sympy.zeros(0, variables)
    if count == 1:
        unit = basis[0] * np.sign(basis[0][np.argmax(np.abs(basis[0]) > 1e-9)])
        squares = _rationals(unit**2, error)
        if squares is not None and sum(squares) == 1:
            return sympy.Matrix([[(1 if x >= 0 else -1) * sympy.sqrt(s) for x, s in zip(unit, squares, strict=True)]])
    echelon = reduced_rows(basis, least_pivot=1e-9)
    echelon[np.abs(echelon) < 1e-10] = 0.0
    entries = _rationals(echelon.ravel(), error)
    if entries is not None:
        exact = sympy.Matrix(count, variables, entries)
        return sympy.Matrix.vstack(*sympy.GramSchmidt([exact.row(k) for k in range(count)], orthonormal=True))
    rows = np.linalg.qr(echelon.T)[0].T
    rows *= np.sign(rows[np.arange(count), np.argmax(np.abs(rows) > 1e-9, axis=1)])[:, None]
    return sympy.Matrix(count, variables, [sympy.Rational(repr(float(x))) for x in rows.ravel()])


def in_floats(matrix: sympy.Matrix) -> Floats:
    """A matrix of exact numbers in float64."""
    return np.array([float(values(x, {})) for x in matrix]).reshape(matrix.shape)


def _rationals(numbers: Floats, error: float) -> list[sympy.Rational] | None:
    """Fractions of bounded denominator within the error of the numbers; None unless all have one."""
    close = [Fraction(float(x)).limit_denominator(int(0.02 / error**0.5)) for x in numbers]
    if any(abs(float(found) - x) >= error * max(1.0, abs(x)) for found, x in zip(close, numbers, strict=True)):
        return None
    return [sympy.Rational(found.numerator, found.denominator) for found in close]


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
    aligned = all(x in (0, 1) for x in transform)
    exact = not any(_has_many_digits(x) for x in transform)
    for offset in _OFFSETS:
        at = {sympy.Symbol(name, real=True): kept[i] + offset * removed[i] for i, name in enumerate(names)}
        try:
            candidate = canonical(tree, at)
            candidate = candidate if aligned else _shortest_form(_with_linear_forms(candidate, exact))
        except InvalidTarget:  # this value of the removed directions hits a pole, such as 1/h1 at 0
            continue
        if len(new) == len(names) or _same_function(probe, value_at(candidate, new), transform):
            return candidate
    return None


def _same_function(probe: Probe, candidate: Function, transform: sympy.Matrix) -> bool:
    """True if the candidate at projected points has the target's values; a point or two may sit on a jump."""
    points = gaussian_points(200, transform.cols, 23)
    expected, found = probe.value(points), candidate(points @ in_floats(transform).T)
    finite = np.isfinite(expected)
    close = np.isclose(found, expected, rtol=1e-7, atol=1e-9 * _median_size(expected))
    return bool(np.mean(close[finite]) > 0.99)


def _median_size(value: Floats) -> float:
    finite = np.abs(value[np.isfinite(value)])
    return float(np.median(finite)) if len(finite) else 0.0


def _with_linear_forms(tree: sympy.Expr, exact: bool) -> sympy.Expr:
    """The tree with its linear parts collected; if its directions are decimals, with numbers of 16 digits.

    A coefficient below 1e-14 of the largest of its form is then the rounding error of a direction, and is dropped.
    """
    collected = canonical(_collected(tree, exact))
    return collected if exact else canonical(_collected(collected, exact))  # powers of decimals are long again


def _collected(tree: sympy.Expr, exact: bool) -> sympy.Expr:
    if polynomial_degree(tree) == 1:
        form = sympy.expand(expanded_hermite(tree))
        return form if exact else _rounded_form(form)
    if isinstance(tree, sympy.Rational) and not exact and _has_many_digits(tree):
        return _decimal(number(tree))
    if not tree.args or not tree.free_symbols:
        return tree
    return tree.func(*[_collected(argument, exact) for argument in tree.args])


def _rounded_form(form: sympy.Expr) -> sympy.Expr:
    symbols = sorted(form.free_symbols, key=lambda symbol: symbol.name)
    sizes = {symbol: float(values(form.coeff(symbol), {})) for symbol in symbols}
    largest = max(abs(size) for size in sizes.values())
    kept = [_decimal(size) * symbol for symbol, size in sizes.items() if abs(size) > 1e-14 * largest]
    return sympy.Add(_decimal(float(values(form.subs(dict.fromkeys(symbols, 0)), {}))), *kept)


def _decimal(x: float) -> sympy.Rational:
    return sympy.Rational(f"{x:.15e}")


def _has_many_digits(x: sympy.Expr) -> bool:
    return isinstance(x, sympy.Rational) and len(str(x.q)) > 12


def _shortest_form(tree: sympy.Expr) -> sympy.Expr:
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
    for k, row in enumerate(in_floats(rows)):
        name = f"{prefix}{k + 1}"
        meaning = linear_text(row, names)
        if meaning != name:
            remarks.append(f"{name} here stands for {meaning}")
    return remarks


def linear_text(coefficients: Floats, names: Sequence[str]) -> str:
    """A linear form in words, its coefficients to four digits."""
    text = ""
    for coefficient, name in zip(coefficients, names, strict=True):
        if abs(coefficient) < 1e-12:
            continue
        size = name if abs(abs(coefficient) - 1) < 1e-12 else f"{abs(coefficient):.4g}*{name}"
        sign = "-" if coefficient < 0 else "+"
        text += (f" {sign} " if text else ("-" if sign == "-" else "")) + size
    return text
