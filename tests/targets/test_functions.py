"""Every row of the table of functions: NumPy, JAX, derivative, SymPy form, symmetries, exact values and kinks agree."""

from __future__ import annotations

import jax
import jax.scipy.special
import numpy as np
import pytest
import sympy

from featlab.precision import double_precision
from featlab.targets.functions import FUNCTIONS, LanguageFunction, hermite_coefficients, typed_names

ROWS = pytest.mark.parametrize("row", FUNCTIONS.values(), ids=FUNCTIONS.keys())
RNG_POINTS = np.random.default_rng(5).normal(scale=1.5, size=(3, 200))


def arguments_of(row: LanguageFunction) -> tuple[list[object], list[int]]:
    """Arguments inside the domain, and the positions of those that vary."""
    x, y, z = RNG_POINTS
    if row.name == "He":
        return [7, x], [1]
    if row.name == "power":
        return [np.abs(x) + 0.1, y], [0, 1]
    if row.name == "log":
        return [np.abs(x) + 0.1], [0]
    if row.name == "clip":
        return [x, -np.abs(y), np.abs(z)], [0, 1, 2]
    return [x, y, z][: min(3, row.arity[1])], list(range(min(3, row.arity[1])))


@ROWS
def test_numpy_and_jax_agree(row: LanguageFunction) -> None:
    arguments, _ = arguments_of(row)
    expected = row.value(*arguments)
    with double_precision():
        exact = row.jax(jax, *[a if isinstance(a, int) else jax.numpy.asarray(a) for a in arguments])
        np.testing.assert_allclose(np.asarray(exact), expected, rtol=1e-12, atol=1e-12)
    single = [a if isinstance(a, int) else jax.numpy.asarray(a, dtype=jax.numpy.float32) for a in arguments]
    value = row.jax(jax, *single)
    assert value.dtype == jax.numpy.float32
    np.testing.assert_allclose(np.asarray(value), expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max())


@ROWS
def test_partials_are_the_derivatives(row: LanguageFunction) -> None:
    arguments, varying = arguments_of(row)
    partials = row.partials(*arguments)
    with double_precision():
        for position in varying:

            def alone(x: object, position: int = position) -> object:
                full = [jax.numpy.asarray(a) if not isinstance(a, int) else a for a in arguments]
                full[position] = x
                return row.jax(jax, *full).sum()

            slope = np.asarray(jax.grad(alone)(jax.numpy.asarray(arguments[position])))
            np.testing.assert_allclose(slope, partials[position] + np.zeros_like(slope), rtol=1e-10, atol=1e-12)


@ROWS
def test_native_form_has_the_same_values(row: LanguageFunction) -> None:
    arguments, _ = arguments_of(row)
    for index in range(5):
        numbers = [a if isinstance(a, int) else float(np.asarray(a)[index]) for a in arguments]
        native = row.native(*[sympy.Integer(a) if isinstance(a, int) else sympy.Float(a, 30) for a in numbers])
        assert float(native) == pytest.approx(float(row.value(*numbers)), rel=1e-12, abs=1e-12)


@ROWS
def test_declared_symmetries_hold(row: LanguageFunction) -> None:
    x = np.abs(RNG_POINTS[0]) if row.outside is not None else RNG_POINTS[0]
    if row.parity:
        np.testing.assert_allclose(row.value(-x), row.parity * row.value(x), rtol=1e-14)
    if row.scaling is not None:
        np.testing.assert_allclose(row.value(2.5 * x), 2.5**row.scaling * row.value(x), rtol=1e-14)
    if row.sign_of_value is not None and row.arity == (1, 1):
        assert row.value(x).min() >= 0
        assert row.sign_of_value == 0 or row.value(x).min() > 0


@pytest.mark.parametrize("row", [row for row in FUNCTIONS.values() if row.fold is not None], ids=lambda row: row.name)
def test_exact_values_fold_to_the_same_number(row: LanguageFunction) -> None:
    assert row.fold is not None
    for numbers in ([-2, 1, 3], [sympy.Rational(1, 3), 0, 1], [5, -1, 2]):
        exact = [sympy.sympify(n) for n in numbers[: min(3, row.arity[1])]]
        if row.name == "He":
            exact = [sympy.Integer(6), exact[0]]
        floats = [int(n) if row.name == "He" and i == 0 else float(n) for i, n in enumerate(exact)]
        assert float(row.fold(*exact)) == pytest.approx(float(row.value(*floats)), rel=1e-14)


@pytest.mark.parametrize("name", [n for n, row in FUNCTIONS.items() if row.arity == (1, 1) and n not in ("exp", "log")])
def test_kinks_cover_every_jump_of_value_and_slope(name: str) -> None:
    """On a fine grid, values or slopes that jump between neighbours do so next to a declared surface, only there."""
    row = FUNCTIONS[name]
    x = sympy.Symbol("x", real=True)
    places = [float(sympy.solve(surface, x)[0]) for _, surface in row.surfaces(x)]
    grid = np.linspace(-3, 3, 6001) + 1e-4
    rough = (np.abs(np.diff(row.value(grid))) > 0.1) | (np.abs(np.diff(row.partials(grid)[0])) > 0.1)
    found = grid[:-1][rough]
    assert all(min(abs(p - place) for place in places) < 2e-3 for p in found) if len(found) else not places
    assert len(found) >= len(places)


def test_hermite_coefficients() -> None:
    assert hermite_coefficients(6) == [1, -15, 45, -15]
    assert hermite_coefficients(1) == [1]


def test_typed_names_are_those_of_the_language() -> None:
    expected = "He abs clip cos erf exp log max min relu sigmoid sign sin sqrt step tanh"
    assert typed_names() == expected.split()
