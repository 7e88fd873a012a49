"""Admissibility: constant, undefined and not square-integrable targets are refused with reasons; neighbours are not."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidTarget
from featlab.targets import target

ADMISSIBLE = [
    "exp(0.2*h1**2)", "exp(0.4*h1*h2)", "exp(h1)", "2**h1", "abs(h1)**-0.25", "abs(h1 - 1)**-0.4", "log(abs(h1))",
    "(h1**2 + h2**2)**-0.4", "((h1 - h2)**2 + h3**2)**-0.4", "abs(h1)**-0.3*abs(h1 - h2)**-0.3*abs(h1 + h2)**-0.3",
    "1/(1 + h1**2)", "tanh(1/h1)", "exp(-1/h1**2)", "sin(h1)/h1", "sqrt(abs(h1))", "sqrt(relu(h1))", "log(1 + exp(h1))",
    "(h1**2)**0.3", "He(40, h1)", "exp(h1**2)*exp(-h1**2)*h1", "step(h1 - 5)", "h1 + 1e-9*h2", "sqrt((h1 - h2)**2)",
    "log(h1**2 + h2**2)", "1/sqrt(sqrt(abs(h1*h2)))", "log(h1 + 30)", "sqrt(1 - tanh(h1)**2)", "abs(h1)**0.5*sign(h1)",
    "max(h1, -1)**3 + log(2 + max(h1, -1))", "exp(0.24*h1**2)", "step(h1 - 0.3)*h2", "where(h1 > 0, log(h1), 0)",
    "where(abs(h1) > 0.1, 1/h1, 0)", "where(h1 > 0, sqrt(h1), where(h1 < -1, log(-h1), 0))",
    "(h1 > 0.3)*exp(0.2*h2**2)", "where(1 > 0, log(abs(h1)), 0) + where(h1 > 0, log(abs(h1)), 0)",
]  # fmt: skip

NOT_SQUARE_INTEGRABLE = [
    "exp(h1**2/4)", "exp(0.3*h1**2)", "exp(exp(h1))", "exp(0.5*h1*h2)", "exp(h1**3)", "exp(0.1*(h1 + h2 + h3)**2)",
    "1/h1", "1/sqrt(abs(h1))", "1/(h1 - 1)", "1/(h1*h2)", "1/(h1 + h2)**2", "1/(h1**2 - 2*h1 + 1)", "1/(h1**2 + h2**2)",
    "1/(h1**2 + h2**2 + h3**2)", "(h1**2 + h2**2)**-0.5", "((h1 - h2)**2 + h3**2)**-0.6", "exp(1/h1)", "1/sin(h1)",
    "1/tanh(h1 - h2)", "1/log(abs(h1))", "abs(h1)**-0.4*abs(h1 - h2)**-0.4*abs(h1 + h2)**-0.4", "max(h1, 1/h2)",
    "where(h1 < 0.1, 1/h1, 0)", "(h1 > 0.3)*exp(0.3*h2**2)", "where(h1 > 3, exp(h2**2), 0)",
    "1/(h1**2 + h2**2 - 1)", "1/(h1**4 - 2*h1**2 + 1)", "abs(h1)**h2", "1/relu(h1)",
]  # fmt: skip

UNDEFINED = [
    "log(h1)", "sqrt(h1)", "h1**0.5", "h1**h2", "(-2)**0.5*h1", "log(h1 + 5)", "sqrt(h1)**2",
    "sqrt(h1) - sqrt(h1) + h2",
    "0*log(h1) + h2", "sqrt(h1**2 - 0.001)", "log(h1*h2)", "sqrt(h1 + h2 + h3 + 6)", "(h1**3)**(1/3)", "log(sin(h1))",
    "sqrt(10 - h1**2 - h2**2)", "where(h1 > 0, log(h1), sqrt(h1))", "where(h1 < 0.1, log(h1 + 0.1), 0)",
    "where(h1 > 0, 1, log(h2)) + where(h1 > 0, log(h1), 1)",
]  # fmt: skip


@pytest.mark.parametrize("text", ADMISSIBLE)
def test_admissible(text: str) -> None:
    made = target(text)
    fields = np.random.default_rng(0).standard_normal((1000, made.rank))
    assert np.isfinite(made.link(fields)).all()


@pytest.mark.parametrize("text", NOT_SQUARE_INTEGRABLE)
def test_not_square_integrable(text: str) -> None:
    with pytest.raises(InvalidTarget, match="square-integrable"):
        target(text)


@pytest.mark.parametrize("text", UNDEFINED)
def test_undefined_on_positive_measure(text: str) -> None:
    with pytest.raises(InvalidTarget, match="undefined on a set of positive measure"):
        target(text)


def test_the_point_of_failure_is_named() -> None:
    with pytest.raises(InvalidTarget, match=r"h1 = (-5\.\d+|-[6-9]|-1\d|-2\d)"):
        target("log(h1 + 5)")
    with pytest.raises(InvalidTarget, match=r"zeros of h1 - 1, for example at h1 = 1"):
        target("1/(h1 - 1)")


@pytest.mark.parametrize("exponent", [0.1, 0.2, 0.3, 0.4, 0.45])
def test_pole_strength_separates(exponent: float) -> None:
    """|h1|^-s passes for s < 1/2 and fails for s >= 1/2; (h1^2 + h2^2)^(-s) passes for s < 1/2 and fails beyond."""
    assert target(f"abs(h1)**-{exponent}").rank == 1
    assert target(f"(h1**2 + h2**2)**-{exponent}").rank == 2
    for text in (f"abs(h1)**-{0.95 - exponent + 0.05 + 0.0}", f"(h1**2 + h2**2)**-{1 - exponent}"):
        with pytest.raises(InvalidTarget, match="square-integrable"):
            target(text)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.15, 0.2, 0.22])
def test_gaussian_growth_separates(rate: float) -> None:
    """E exp(2 a h^2) is finite iff a < 1/4, in every direction."""
    assert target(f"exp({rate}*h1**2)").rank == 1
    assert target(f"exp({rate}*(h1 + h2)**2/2)").rank == 1
    for text in (f"exp({0.5 - rate}*h1**2)", f"exp({0.5 - rate}*(h1 - 2*h2)**2/5)"):
        with pytest.raises(InvalidTarget, match="square-integrable"):
            target(text)


def test_a_borderline_case_is_refused_in_words() -> None:
    with pytest.raises(InvalidTarget, match="too close to not being square-integrable"):
        target("exp(0.2475*h1**2)")


@pytest.mark.parametrize("text", ["3", "pi", "h1 - h1", "0*h1 + 2", "sign(h1)**2", "sign(h1 - h1) + 1", "h1/h1",
                                  "sin(h1)**2 + cos(h1)**2", "step(exp(h1))", "relu(-abs(h1))"])  # fmt: skip
def test_constants_are_refused(text: str) -> None:
    with pytest.raises(InvalidTarget, match="constant"):
        target(text)


def test_pure_noise_is_refused() -> None:
    with pytest.raises(InvalidTarget, match="noise"):
        target("xi1**2 + 0*h1")


def test_values_beyond_float64_are_refused_in_words() -> None:
    with pytest.raises(InvalidTarget, match="degree 144"):
        target("He12(He12(h1))")
    with pytest.raises(InvalidTarget, match="too large for float64"):
        target("exp(200)*tanh(h1)")
    with pytest.raises(InvalidTarget, match="lost to rounding"):
        target("sqrt(h1**2 + h2**2 - 2*h1*h2)")
