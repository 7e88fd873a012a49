"""Every row of the table of functions: NumPy, JAX, derivative, SymPy form, symmetries, exact values and kinks agree."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import numpy as np
import pytest
import sympy

from featlab.gaussian import FUNCTIONS, activation, activation_names
from featlab.gaussian.functions import jax_ops
from featlab.precision import double_precision
from featlab.targets import target
from featlab.targets.definitions import DEFINITIONS, SPELLINGS
from featlab.targets.functions import LanguageFunction, function, typed_names


def row_named(name: str) -> LanguageFunction:
    found = function(name)
    assert found is not None
    return found


LANGUAGE = [row_named(name) for name in (*typed_names(), "power") if name != "sqrt"]
ROWS = pytest.mark.parametrize("row", LANGUAGE, ids=lambda row: row.name)
OF_ONE = [name for name, scalar in FUNCTIONS.items() if scalar.typed]
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
    if row.name == "mod":
        return [x, np.full_like(x, 0.75)], [0]
    if row.name == "where":
        return [(x > 0).astype(float), y, z], [1, 2]
    return [x, y, z][: min(3, row.arity[1])], list(range(min(3, row.arity[1])))


@ROWS
def test_numpy_and_jax_agree(row: LanguageFunction) -> None:
    arguments, _ = arguments_of(row)
    expected = row.value(*arguments)
    with double_precision():
        exact = row.formula(jax_ops(), *[a if isinstance(a, int) else jax.numpy.asarray(a) for a in arguments])
        np.testing.assert_allclose(np.asarray(exact), expected, rtol=1e-12, atol=1e-12)
    single = [a if isinstance(a, int) else jax.numpy.asarray(a, dtype=jax.numpy.float32) for a in arguments]
    value = row.formula(jax_ops(), *single)
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
                return row.formula(jax_ops(), *full).sum()

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
    scalar = row.scalar
    if scalar is not None and scalar.parity:
        np.testing.assert_allclose(row.value(-x), scalar.parity * row.value(x), rtol=1e-14)
    if scalar is not None and scalar.scaling is not None:
        np.testing.assert_allclose(row.value(2.5 * x), 2.5**scalar.scaling * row.value(x), rtol=1e-14)
    if scalar is not None and scalar.log_slope is not None:
        assert not scalar.kinks
        np.testing.assert_allclose(np.exp(scalar.log_slope(x)), row.partials(x)[0], rtol=1e-13)
    if scalar is not None and scalar.zero_at_zero:
        assert (row.value(np.abs(x)) > 0).all()
        assert float(row.value(np.array(0.0))) in (0.0, 1.0)
    if row.sign_of_value is not None and row.arity == (1, 1):
        assert row.value(x).min() >= 0
        assert row.sign_of_value == 0 or row.value(x).min() > 0


@pytest.mark.parametrize("row", [row for row in LANGUAGE if row.rational], ids=lambda row: row.name)
def test_exact_values_fold_to_the_same_number(row: LanguageFunction) -> None:
    for numbers in ([-2, 1, 3], [sympy.Rational(1, 3), 0, 1], [5, -1, 2]):
        exact = [sympy.sympify(n) for n in numbers[: min(3, row.arity[1])]]
        if row.name == "mod":
            exact = [exact[0], sympy.Rational(3, 4)]
        if row.name == "He":
            exact = [sympy.Integer(6), exact[0]]
        floats = [int(n) if row.name == "He" and i == 0 else float(n) for i, n in enumerate(exact)]
        assert isinstance(row.native(*exact), sympy.Rational)
        assert float(row.native(*exact)) == pytest.approx(float(row.value(*floats)), rel=1e-14)


@pytest.mark.parametrize("name", [name for name in OF_ONE if name != "exp"])
def test_kinks_cover_every_jump_of_value_and_slope(name: str) -> None:
    """On a fine grid, values or slopes that jump between neighbours do so next to a declared surface, only there."""
    row = row_named(name)
    x = sympy.Symbol("x", real=True)
    places = [float(sympy.solve(surface, x)[0]) for _, surface in row.surfaces(x)]
    grid = np.linspace(-3, 3, 6001) + 1e-4
    rough = (np.abs(np.diff(row.value(grid))) > 0.1) | (np.abs(np.diff(row.partials(grid)[0])) > 0.1)
    found = grid[:-1][rough]
    assert all(min(abs(p - place) for place in places) < 2e-3 for p in found) if len(found) else not places
    assert len(found) >= len(places)


def test_typed_names_are_those_of_the_language() -> None:
    expected = """
    He abs arcsinh arctan clip cos cosh erf exp floor gelu identity leaky_relu log max min mod relu round sigmoid sign
    sin sinh softplus sqrt square step swish tanh where"""
    assert typed_names() == expected.split()


def test_the_documented_table_has_every_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
    known = {*typed_names(), *DEFINITIONS, *SPELLINGS, "sum", "prod"}
    spelled = {name for code in re.findall(r"`([^`]*)`", page) for name in re.findall(r"[A-Za-z_]\w*", code)}
    assert not known - spelled
    assert "tan" not in spelled


@pytest.mark.parametrize("name", [name for name in activation_names() if name.isidentifier()])
def test_a_name_means_the_same_in_a_target_and_in_a_student(name: str) -> None:
    """Values at random points and at zero, NumPy against NumPy bit for bit and JAX against NumPy; and the kinks."""
    made, student = target(f"{name}(h1)"), activation(name)
    points = np.append(RNG_POINTS.ravel(), 0.0)
    np.testing.assert_array_equal(made.link(points[:, None]), student.value(points))
    with double_precision():
        at = jax.numpy.asarray(points)
        found = np.asarray(made.link_jax(at[:, None]))
        np.testing.assert_allclose(found, student.value(points), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(found, np.asarray(student.jax_value(at)))
    places = [float(sympy.solve(kink.text, sympy.Symbol("h1"))[0]) for kink in made.kinks]
    assert tuple(sorted(places)) == student.kinks
    jumps = abs(float(student.value(1e-9) - student.value(-1e-9))) > 0.5
    assert [kink.kind for kink in made.kinks] == ["jump" if jumps else "corner"] * len(places)


def test_conventions_at_a_jump() -> None:
    assert activation("step").value([-1e-300, 0.0, 1e-300]).tolist() == [0.0, 1.0, 1.0]
    assert activation("sign").value([-1e-300, 0.0, 1e-300]).tolist() == [-1.0, 0.0, 1.0]
    assert target("h1*step(0) + sign(0)").text == "h1"
    assert target("leaky_relu(h1)").latex == r"\operatorname{leaky\_relu}\left(h_{1}\right)"
    assert target("step(h1)").latex == r"\mathbf{1}\left\{h_{1} \geq 0\right\}"


def test_an_alias_is_the_function_it_stands_for() -> None:
    assert target("silu(h1)") == target("swish(h1)")
    assert activation("silu") == activation("swish")


def test_polynomials_by_name_are_written_out() -> None:
    made = target("square(h1 + h2) + identity(h3)")
    assert made.text == target("(h1 + h2)**2 + h3").text
    assert made.degree == 2
