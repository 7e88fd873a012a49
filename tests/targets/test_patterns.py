"""Links of a known form are recognised, whatever direction they are written in, and others are not."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.targets import target
from featlab.targets.patterns import PolynomialAndParity, polynomial_and_parity, wrapped


@pytest.mark.parametrize(
    ("text", "coefficients", "size", "axis"),
    [
        ("h1**2 + sign(h1*h2*h3)", (0, 0, 1), 1, 0),
        ("He4(h1) + sign(h1*h2*h3)", (3, 0, -6, 0, 1), 1, 0),
        ("2*h2 - 0.5*sign(h1*h2*h3)", (0, 2), -0.5, 1),
        ("sign(h1*h2*h3) + He3(h3)/6", (0, -0.5, 0, 1 / 6), 1, 2),
    ],
)
def test_a_polynomial_and_a_parity(text: str, coefficients: tuple[float, ...], size: float, axis: int) -> None:
    found = polynomial_and_parity(target(text))
    assert found is not None
    assert found == PolynomialAndParity(found.coefficients, size, axis)
    assert found.coefficients == pytest.approx(coefficients)
    points = np.random.default_rng(0).standard_normal((50, 3))
    value = np.polynomial.polynomial.polyval(points[:, axis], found.coefficients) + size * np.sign(
        np.prod(points, axis=1)
    )
    assert target(text).link(points) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "sign(h1*h2*h3)",
        "h1*h2*h3",
        "h1**2 + sign(h1*h2)",
        "h1*h2 + sign(h1*h2*h3)",
        "tanh(h1) + sign(h1*h2*h3)",
        "h1*sign(h1*h2*h3) + h1",
        "h1**2 + sign(h1*h2*h3) + sign(h2)",
        "h1**2 + sign(h1*h2*xi1)",
    ],
)
def test_other_links_are_not_of_that_form(text: str) -> None:
    assert polynomial_and_parity(target(text)) is None
    assert polynomial_and_parity(target("h1**2 + sign(h1*h2*h3)", noise=0.1)) is None


@pytest.mark.parametrize(
    ("text", "inner"),
    [("tanh(h1*h2)", "h1*h2"), ("3 - 2*exp(tanh(h1**2))", "tanh(h1**2)"), ("erf(h1 + abs(h2))", "h1 + abs(h2)")],
)
def test_an_increasing_function_is_taken_off(text: str, inner: str) -> None:
    """The slope is that of the outer function, by finite differences along the inner value."""
    found = wrapped(target(text))
    assert found is not None
    assert found.inner == target(inner)
    points = np.random.default_rng(1).standard_normal((40, target(text).rank))
    turn = np.arange(1, points.shape[1] + 1) / 7
    low, high = (target(text).link(points + sign * 1e-5 * turn) for sign in (-1, 1))
    inside = [target(inner).link(points + sign * 1e-5 * turn) for sign in (-1, 1)]
    slope = (high - low) / (inside[1] - inside[0])
    assert np.exp(found.log_slope(target(inner).link(points))) == pytest.approx(np.abs(slope), rel=1e-4)


@pytest.mark.parametrize("text", ["sin(h1)", "tanh(h1) + h2", "tanh(h1)*h2", "sign(h1)", "He3(h1)"])
def test_what_is_not_increasing_stays(text: str) -> None:
    assert wrapped(target(text)) is None
    assert wrapped(target("tanh(h1)", noise=0.1)) is None
