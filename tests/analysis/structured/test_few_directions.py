"""With few directions the structured analysis and the one by quadrature must say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.staircase import Kind, Stage, giant_staircase, grand_staircase, leap_staircase
from featlab.analysis.structured.findings import Findings, findings
from featlab.analysis.structured.structure import structure_of
from featlab.gaussian.quadrature import gaussian_density, gaussian_panels
from featlab.targets import Target, target
from featlab.targets.relabelling import informative

_ONE = ["relu(h1)", "abs(h1)", "He3(h1)", "h1**2", "tanh(2*h1)", "cos(h1)", "sign(h1)", "He2(h1) + h1"]


def same_stages(found: tuple[Stage, ...], expected: tuple[Stage, ...]) -> None:
    assert [stage.exponent for stage in found] == [stage.exponent for stage in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.directions @ one.directions.T, other.directions @ other.directions.T, atol=1e-4)


def by_structure(of: Target) -> Findings:
    structure = structure_of(of)
    assert structure is not None
    return findings(structure)


def agree(of: Target, other: Target) -> None:
    """The structured analysis of the one against the quadrature of the other."""
    found, grids, told = by_structure(of), build_grids(other), informative(other)
    same_stages(found.giant.stages, giant_staircase(grids).stages)
    same_stages(found.leap.stages, leap_staircase(grids, 12).stages)
    expected = grand_staircase(told, build_grids(told), 12).stages
    same_stages(found.grand.stages, expected)
    energies = hermite_energies(grids, 4)
    shares = [one.per_degree[:5] / one.variance for one in (found.energies, energies)]
    common = min(len(share) for share in shares)
    np.testing.assert_allclose(shares[0][:common], shares[1][:common], atol=1e-4)
    first, again = found.grand.stages[0], expected[0]
    if first.alpha:
        assert again.alpha is not None
        assert abs(first.alpha - again.alpha) <= 2 * ((first.alpha_error or 0) + (again.alpha_error or 0)) + 1e-9


@settings(max_examples=3, deadline=None)
@given(st.sampled_from(_ONE), st.sampled_from(_ONE), st.sampled_from(["1", "-2", "0.7"]), st.booleans())
def test_sums_and_products_of_two(first: str, second: str, scale: str, multiplied: bool) -> None:
    other = second.replace("h1", "h2")
    of = target(f"({first})*({scale})*({other})" if multiplied else f"({first}) + ({scale})*({other})")
    if of.rank == 2:  # not, say, the sign of the sum of two signs
        agree(of, of)


@pytest.mark.parametrize("text", ["h1*h2*h3", "h1 + h1*h2 + h1*h2*h3"])
def test_three_directions(text: str) -> None:
    of = target(text)
    agree(of, of)


def test_label_noise() -> None:
    of = target("abs(h1) + h2**2", noise=0.5)
    agree(of, of)


def test_the_comparison_can_fail() -> None:
    """A negative control: the same orders, another weight of a term."""
    with pytest.raises(AssertionError):
        agree(target("h1**2 + abs(h2)"), target("h1**2 + 2*abs(h2)"))


def test_a_ratio_of_a_product_against_the_literature() -> None:
    """h1 h2 h3: alpha = 2.56518 (see the catalogue)."""
    (stage,) = by_structure(target("h1*h2*h3")).grand.stages
    assert stage.kind is Kind.EASY
    assert stage.alpha == pytest.approx(2.56518, abs=1e-5 + stage.alpha_error)


def test_two_relus_of_which_the_sum_of_directions_is_known() -> None:
    """Of relu(h1) + relu(h2), given x = (h1 + h2)/sqrt(2), the label tells z = (h1 - h2)/sqrt(2) where |z| > |x|, and

    that |z| < |x| elsewhere: E[c^2] = E[(z^2 - 1)^2; |z| > |x|] + E[m(x)^2; |z| < |x|], m = E[z^2 | |z| < |x|] - 1.
    """
    x, weights = gaussian_panels(np.linspace(1e-6, 9, 200), 10)
    inside = 2 * ndtr(x) - 1
    m = -2 * x * gaussian_density(x) / inside
    beyond = 2 * (2 * ndtr(-x) + (x**3 + x) * gaussian_density(x))
    _, second = by_structure(target("relu(h1) + relu(h2)")).grand.stages
    assert second.alpha == pytest.approx(1 / (2 * weights @ (beyond + inside * m**2)), abs=second.alpha_error or 0)
