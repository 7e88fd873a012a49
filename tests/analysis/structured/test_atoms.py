"""Sums and products of functions that take few values: no lattice may join two labels, or tear one apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from featlab.analysis import analyse
from featlab.analysis.staircase import Kind
from featlab.analysis.structured import atoms, lattices, patterns
from featlab.analysis.structured.structure import structure_of
from featlab.analysis.subspaces import nothing
from featlab.gaussian.quadrature import gaussian_density
from featlab.targets import target

_SIGNS = ["sign(h{}*h{})", "sign(h{})*sign(h{})", "step(h{}*h{})", "sign(h{}*h{}) + sign(h{})*sign(h{})*0.5"]
weights = st.sampled_from([1, 2, 3, 4, 0.5])


def by_both_ways(text: str) -> tuple[float, float, float]:
    """The strongest group of the parts and its error, and the same by going over the patterns of all signs."""
    structure = structure_of(target(text))
    assert structure is not None
    assert structure.parts is not None
    assert structure.patterns is not None
    unknown = nothing(structure.target.rank)
    found, counted = lattices.strengths(structure.parts, unknown, 0.0), patterns.strength(structure.patterns, unknown)
    assert counted is not None
    return float(found.values.max()), found.error, counted[0]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(_SIGNS), weights), min_size=3, max_size=3), st.booleans())
def test_sums_and_products_of_signs_are_those_of_their_patterns(chosen: list[tuple[str, float]], product: bool) -> None:
    pieces = []
    for place, (form, weight) in enumerate(chosen):
        one, two = f"{2 * place + 1}", f"{2 * place + 2}"
        piece = form.format(*[one, two] * (form.count("{}") // 2))
        pieces.append(f"(5 + {weight}*({piece}))" if product else f"{weight}*({piece})")
    found, error, expected = by_both_ways((" * " if product else " + ").join(pieces))
    assert found == pytest.approx(expected, rel=1e-9)
    assert error < 1e-9


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        # -2 and 2 are one period of a lattice apart, 3 and -3 of another: pi^2/2, and pi^2/4 where all signs are told.
        ("sign(h1*h2*h3) + sign(h4*h5)", np.pi**2 / 2),
        ("sign(h1*h2) + 2*sign(h3*h4) + 4*sign(h5*h6)", np.pi**2 / 4),
        # 2*2*1 = 1*1*4 is one label, of one in four: 1 - 1/4 of what it would be if all were told.
        ("(1 + step(h1*h2))*(1 + step(h3*h4))*(1 + 3*step(h5*h6))", np.pi**2 / 3),
    ],
)
def test_labels_that_a_lattice_got_wrong(text: str, ratio: float) -> None:
    found, _, expected = by_both_ways(text)
    assert 1 / found == pytest.approx(ratio, rel=1e-9)
    assert expected == pytest.approx(found, rel=1e-9)


def test_a_sum_of_whole_numbers() -> None:
    """floor|h1| + .. + floor|h5|, by going over all of them."""
    values = np.arange(7)
    mass = 2 * (ndtr(values + 1.0) - ndtr(values))
    excess = 2 * (values * gaussian_density(values) - (values + 1) * gaussian_density(values + 1.0))
    total, told = np.zeros(31), np.zeros(31)
    for places in product(range(7), repeat=5):
        others = np.prod(mass[list(places[1:])])
        total[sum(places)] += mass[places[0]] * others
        told[sum(places)] += excess[places[0]] * others
    parts = structure_of(target("sum(floor(abs(h[i])) for i in 1..5)")).parts  # type: ignore[union-attr]
    assert parts is not None
    found = lattices.strengths(parts, nothing(5), 0.0)
    assert found.values.max() == pytest.approx(float(np.sum(told**2 / total)), rel=1e-7)
    assert found.error < 1e-7


def test_a_committee_of_whole_numbers() -> None:
    """The part of h behind the point is uniform and tells nothing of h but for exp(-2 pi^2), so that alpha is huge."""
    found = analyse(target("sum(floor(h[i]) for i in 1..5)"))
    assert [stage.kind for stage in found.grand_staircase] == [Kind.TRIVIAL, Kind.EASY]
    assert found.grand_staircase[1].alpha is None
    bound = found.grand_staircase[1].alpha_bound
    assert bound is not None
    assert bound > 1e6
    assert "too large to be resolved" in found.doubts[0]


def test_too_many_values_are_left_to_a_lattice() -> None:
    wide = (np.random.default_rng(0).standard_normal(100), np.full((100, 2), 0.01))
    assert atoms.combined([wide], [2], product=False) is not None
    assert atoms.combined([wide], [3], product=False) is None
