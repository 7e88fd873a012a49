"""Hermite coefficients by algebra against quadrature and against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featlab.analysis import analyse
from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.structured.algebra import expansion_of, mean_of, polynomial_of, powers_of
from featlab.analysis.structured.expansion import energies_of
from featlab.gaussian.hermite import multi_indices
from featlab.targets import target

monomial = st.tuples(st.integers(-4, 4).filter(bool), st.integers(0, 4), st.integers(0, 3))


@settings(max_examples=15, deadline=None)
@given(st.lists(monomial, min_size=1, max_size=5))
def test_coefficients_are_those_of_quadrature(terms: list[tuple[int, int, int]]) -> None:
    text = " + ".join(f"({c})*h1**{a}*h2**{b}" for c, a, b in terms) + " + h1*h2**4 + 9*h1**5"
    of = target(text)
    polynomial = polynomial_of(of)
    assert polynomial is not None
    found = expansion_of(polynomial)
    listed = dict(zip(map(tuple, found.indices.tolist()), found.coefficients, strict=True))
    energies = hermite_energies(build_grids(of), 7)
    for degree, coefficients in enumerate(energies.coefficients):
        expected = [listed.get(tuple(index), 0.0) for index in multi_indices(2, degree).tolist()]
        np.testing.assert_allclose(coefficients, expected, atol=1e-9 * np.sqrt(energies.variance))
    assert found.variance == pytest.approx(energies.variance, rel=1e-9)


def test_a_cancelled_coefficient_is_exactly_zero() -> None:
    found = expansion_of(polynomial_of(target("h1**3 - 3*h1 + h2*h3*h4*h5*h6")))
    assert found.monomials() == energies_of(found).monomials() == [(0, 1, 1, 1, 1, 1), (3, 0, 0, 0, 0, 0)]
    np.testing.assert_allclose(energies_of(found).per_degree, [0, 0, 0, 6, 0, 1], atol=1e-14)
    kept = expansion_of(polynomial_of(target("h1**3 - 2.999999999999*h1 + h2*h3*h4*h5*h6")))
    assert (1, 0, 0, 0, 0, 0) in kept.monomials()


def test_powers_have_the_moments_of_the_label() -> None:
    """E[(h1 h2)^4] = 9, E[(h1^2 - 1)^3] = 8."""
    of_product, of_square = (polynomial_of(target(text)) for text in ("h1*h2", "h1**2 - 1"))
    assert mean_of(list(powers_of(of_product, 4))[-1]) == 9
    assert mean_of(list(powers_of(of_square, 3))[-1]) == 8


def test_constants_may_be_irrational() -> None:
    found = expansion_of(polynomial_of(target("sqrt(2)*He2(h1) + cos(1)*h2*h3*h4*h5*h6")))
    np.testing.assert_allclose(found.per_degree, [0, 0, 4, 0, 0, np.cos(1) ** 2], atol=1e-14)


@pytest.mark.parametrize("text", ["relu(h1)", "h1 + xi1", "tanh(h1)*h2"])
def test_what_is_no_polynomial_of_the_directions_is_none(text: str) -> None:
    assert polynomial_of(target(text)) is None


def test_a_high_power_of_a_sum_is_multiplied_out() -> None:
    """(h1 + h2)^20 is even: all of degree 1 is h1, 1e-12 of the label's root mean square, which no integral would see.

    Like powers are put together, so that it has 21 terms and not 2^20.
    """
    polynomial = polynomial_of(target("(h1 + h2)**20 + h1"))
    assert polynomial is not None
    assert len(polynomial) == 22
    found = analyse(target("(h1 + h2)**20 + h1"))
    assert (found.information_exponent, found.leap) == (1, 1)
    assert analyse(target("(h1 + h2)**20 + 3")).information_exponent == 2, "negative control"
    assert polynomial_of(target("(h1*h2 + h1 + h2 + h3 + h4 + h5 + h6)**20")) is None, "C(26, 6) = 230230 terms"
