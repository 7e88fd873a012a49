"""Hermite energies and the leap in the given basis."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.analysis.energies import coordinate_leap, hermite_energies
from featlab.analysis.grids import build_grids
from featlab.targets import target


def monomial(*variables: int, of: int) -> tuple[int, ...]:
    return tuple(variables.count(i) for i in range(1, of + 1))


# Abbe et al. 2022, 2023: Boolean examples (multilinear, so the same count) and Gaussian ones.
BOOLEAN = [
    (4, [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], 1),
    (4, [(1,), (2,), (2, 3, 4)], 2),
    (7, [(1,), (1, 2, 3), (2, 3, 4, 5, 6, 7)], 4),
    (4, [(1, 2, 3), (2, 3, 4)], 3),
    (3, [(1,), (2,), (3,), (1, 2, 3)], 1),
    (4, [(1,), (2,), (1, 3), (2, 4)], 1),
    (4, [(1,), (1, 2), (3,), (3, 4)], 1),
    (4, [(1,), (1, 2), (3,), (1, 2, 3, 4)], 1),
    (4, [(1,), (1, 2), (2, 3), (3, 4), (1, 2, 3, 4)], 1),
    (3, [(1, 1), (2, 2), (3, 3), (1, 1, 1, *[3] * 8)], 2),
]


@pytest.mark.parametrize(("rank", "products", "leap"), BOOLEAN)
def test_leap_of_the_literature(rank: int, products: list[tuple[int, ...]], leap: int) -> None:
    assert coordinate_leap([monomial(*product, of=rank) for product in products], rank) == leap


@pytest.mark.parametrize("orders", [(2, 3, 4), (5, 1, 2), (1, 1, 1)])
def test_leap_of_a_hermite_ladder_is_its_largest_order(orders: tuple[int, int, int]) -> None:
    first, second, third = orders
    ladder = [(first, 0, 0), (first, second, 0), (first, second, third)]
    assert coordinate_leap(ladder, 3) == max(orders)


def test_an_axis_that_is_never_touched_has_no_leap() -> None:
    assert coordinate_leap([(1, 0)], 2) is None


def test_energies_add_up_to_the_variance() -> None:
    """Parseval, for a polynomial: every degree's energy is exact and nothing is left."""
    energies = hermite_energies(build_grids(target("h1+2*He2(h1)*h2+He3(h2)")), 8)
    assert energies.per_degree[1:5] == pytest.approx([1, 0, 4 * 2 + 6, 0], abs=1e-10)
    assert energies.variance == pytest.approx(15)
    assert energies.residual(3) == pytest.approx(0, abs=1e-9)
    assert energies.degree_explaining(0.99) == 3
    assert energies.monomials() == [(1, 0), (2, 1), (0, 3)]


def test_energies_of_a_parity() -> None:
    """sign(h1 h2 h3) has its first energy at degree 3: (2/pi)^3."""
    energies = hermite_energies(build_grids(target("sign(h1*h2*h3)")), 5)
    assert energies.per_degree == pytest.approx([0, 0, 0, (2 / np.pi) ** 3, 0, 3 * (2 / np.pi) ** 3 / 6], abs=1e-10)
    assert energies.degree_explaining(0.99) is None
