"""Links: NumPy equals JAX, gradients are right, and the canonical tree is the function that was typed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from featlab.errors import InvalidParameter, InvalidTarget
from featlab.precision import double_precision
from featlab.targets import Target, target
from featlab.targets.evaluate import gradients, values
from featlab.targets.language import parse

VARIABLES = st.sampled_from(["h1", "h2", "h3", "xi1"])
NUMBERS = st.sampled_from(["0.5", "2", "3", "0.1", "pi", "7/3"])
UNARY = st.sampled_from(
    ["sign", "abs", "relu", "step", "tanh", "erf", "sigmoid", "sin", "cos", "He2", "He3", "He5", "-"]
)


def _combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(parts, parts)
    return st.one_of(
        st.tuples(UNARY, parts).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(pair, st.sampled_from("+-*")).map(lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"),
        pair.map(lambda t: f"({t[0]})/(2 + sin({t[1]}))"),
        parts.map(lambda t: f"({t})**2"),
        pair.map(lambda t: f"max({t[0]}, {t[1]})"),
        parts.map(lambda t: f"exp(-abs({t}))"),
        parts.map(lambda t: f"sqrt(1 + ({t})**2)"),
        parts.map(lambda t: f"log(1 + abs({t}))"),
        parts.map(lambda t: f"clip({t}, -1, 2)"),
    )


EXPRESSIONS = st.recursive(VARIABLES | NUMBERS, _combined, max_leaves=7)
PROPERTY = settings(
    deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.filter_too_much]
)


def made(text: str) -> Target:
    try:
        return target(text)
    except InvalidTarget:
        reject()


def away_from_jumps(text: str, points: np.ndarray) -> np.ndarray:
    """Points where the typed function does not change under a relative change of 1e-7: no jump is next to them."""
    tree = parse(text)
    here = values(tree, fields_of(points)) + np.zeros(len(points))
    quiet = np.isfinite(here)
    for factor in (1 - 1e-7, 1 + 1e-7):
        there = values(tree, fields_of(points * factor)) + np.zeros(len(points))
        quiet &= np.abs(there - here) <= 1e-4 * (1 + np.abs(here))
    return quiet


def fields_of(points: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(["h1", "h2", "h3", "xi1"], points.T, strict=True))


@PROPERTY
@given(EXPRESSIONS)
def test_the_text_is_canonical(text: str) -> None:
    first = made(text)
    again = target(first.text)
    assert again.text == first.text
    assert (again.rank, again.hidden, again.degree) == (first.rank, first.hidden, first.degree)
    assert not again.remarks
    assert np.array_equal(again.directions, np.eye(first.rank))


@PROPERTY
@given(EXPRESSIONS)
def test_the_link_is_the_function_that_was_typed(text: str) -> None:
    """link(directions h, xi) equals the typed text at h, xi, evaluated as typed."""
    first = made(text)
    points = np.random.default_rng(1).standard_normal((200, 4))
    quiet = away_from_jumps(text, points)
    expected = values(parse(text), fields_of(points)) + np.zeros(len(points))
    typed = [int(name[1:]) - 1 for name in first.typed_variables]
    reduced = np.concatenate([points[:, typed] @ first.directions.T, points[:, 3 : 3 + first.hidden]], axis=1)
    np.testing.assert_allclose(first.link(reduced)[quiet], expected[quiet], rtol=1e-8, atol=1e-8)


@PROPERTY
@given(EXPRESSIONS)
def test_numpy_and_jax_links_agree(text: str) -> None:
    first = made(text)
    points = np.random.default_rng(2).standard_normal((100, first.rank + first.hidden))
    with double_precision():
        exact = np.asarray(first.link_jax(jnp.asarray(points)))
    expected = first.link(points)
    same = np.isclose(exact, expected, rtol=1e-9, atol=1e-9)
    # A value within rounding error of a jump may fall on either side of it.
    assert same.mean() >= 0.99
    single = first.link_jax(jnp.asarray(points, dtype=jnp.float32))
    assert single.dtype == jnp.float32
    assert single.shape == expected.shape


@pytest.mark.parametrize(
    "text",
    ["He4(h1) + sign(h1*h2*h3)", "tanh(h1 + He3(h2))", "h1*h2/(1 + h3**2)", "max(h1, h2, h3*h1)", "exp(-h1**2)*h2**3",
     "abs(h1)**0.7 + log(1 + h2**2)", "clip(h1*h2, -1, h3)", "2**h1 + sigmoid(h2)*erf(h3)", "(1 + abs(h1))**h2"],
)  # fmt: skip
def test_gradients_and_jit(text: str) -> None:
    made_target = target(text)
    names, points = made_target.names, np.random.default_rng(3).standard_normal((40, made_target.rank))
    assert made_target.tree is not None
    jet = gradients(made_target.tree, names, points)
    with double_precision():
        slopes = jax.jit(jax.vmap(jax.grad(made_target.link_jax)))(jnp.asarray(points))
        np.testing.assert_allclose(jet.gradient.T, np.asarray(slopes), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(jet.value, made_target.link(points), rtol=1e-14)
    assert (jet.magnitude >= np.abs(jet.gradient) * (1 - 1e-12)).all()


def test_shapes_and_types_of_links() -> None:
    made_target = target("h1*h2 + xi1")
    assert made_target.link(np.ones((2, 5, 3))).shape == (2, 5)
    assert made_target.link([1.0, 2.0, 3.0]) == 5.0
    assert made_target.link(np.ones((4, 3), dtype=np.float32)).dtype == np.float64
    assert made_target.link_jax(np.ones((4, 3), dtype=int)).dtype == jnp.float32
    with pytest.raises(InvalidParameter, match="h1, h2, xi1"):
        made_target.link(np.ones((4, 2)))
    with pytest.raises(InvalidParameter):
        made_target.link_jax(np.float32(1.0))


def test_large_orders_do_not_overflow() -> None:
    """He40(x)/sqrt(40!) has unit variance; its values come out of the recurrence in range."""
    from math import factorial, sqrt

    x = np.linspace(-8, 8, 4001)
    value = target("He(40, h1)").link(x[:, None]) / sqrt(factorial(40))
    weight = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    assert np.isfinite(value).all()
    # The oscillating part lies within 2 sqrt(40) = 12.6; [-8, 8] still holds most of the variance.
    assert 0.3 < float((weight * value**2).sum()) < 1.0


def test_importing_and_parsing_does_not_import_jax() -> None:
    import subprocess
    import sys

    code = "import sys; from featlab.targets import target; target('sign(h1)'); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_choice_between_numbers_keeps_the_precision_of_the_fields() -> None:
    made = target("where(h1 > 0, 1, 2)")
    with double_precision():
        for precision in (jnp.float32, jnp.float64):
            assert made.link_jax(jnp.ones((3, 1), dtype=precision)).dtype == precision


def test_derivatives_are_those_of_the_chosen_branch() -> None:
    """In JAX and in NumPy's jets; also where the other branch is undefined, in forward mode and in jets."""
    made = target("where(h1 > 0, log(h1)*h2, h1**2) + floor(h2) + mod(h1, 3)")
    fields = np.array([[0.5, 2.2], [-0.7, 1.3]])
    expected = [[4.4 + 1, np.log(0.5)], [-1.4 + 1, 0.0]]
    np.testing.assert_allclose(gradients(made.tree, made.names, fields).gradient.T, expected, rtol=1e-12)
    with double_precision():
        slopes = [jax.jacfwd(made.link_jax)(jnp.asarray(point)) for point in fields]
    np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-12)
