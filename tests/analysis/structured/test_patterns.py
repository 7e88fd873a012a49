"""Functions of signs: against enumeration, and against quadrature of their Hermite coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.structured.certificates import flips
from featlab.analysis.structured.patterns import Patterns, expansion_of, level_of, patterns_of, strength, walsh
from featlab.analysis.subspaces import nothing
from featlab.gaussian.hermite import Floats, multi_indices
from featlab.targets import target

values = st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(lambda found: len(set(found)) > 1)


@settings(max_examples=40, deadline=None)
@given(values)
def test_the_level_and_its_strength_are_those_of_enumeration(found: list[int]) -> None:
    patterns = Patterns(3, np.array(found, dtype=float))
    order, top = _enumerated(patterns)
    level = level_of(patterns, nothing(3), 0.0)
    assert level.order == order
    if order == 2:
        assert strength(patterns, nothing(3))[0] == pytest.approx(top, rel=1e-9)


def _enumerated(patterns: Patterns) -> tuple[int, float]:
    """The smallest |S| with E[prod_{i in S} s_i | y] not zero, and the top eigenvalue of M -> E[G M G] by iteration."""
    signs, moments, masses = patterns.signs, [], []
    lowest = 3
    for label in patterns.labels:
        here = signs[np.abs(patterns.values - label) < 1e-9]
        masses.append(len(here) / len(signs))
        moments.append(2 / np.pi * (here.T @ here / len(here) - np.eye(3)))
        for mask in range(1, 8):
            chosen = [axis for axis in range(3) if mask >> axis & 1]
            if abs(here[:, chosen].prod(axis=1).mean()) > 1e-9:
                lowest = min(lowest, len(chosen))
    matrix, size = np.eye(3), 0.0
    for _ in range(2000):
        matrix = sum(p * g @ matrix @ g for p, g in zip(masses, moments, strict=True))
        size = float(np.linalg.norm(matrix))
        matrix = matrix / size if size > 1e-12 else np.eye(3)
    return lowest, size


def test_walsh_coefficients_of_a_parity_are_those_of_its_set() -> None:
    patterns = patterns_of(target("sign(h1*h2*h4) + 0.5*sign(h3)"))
    expected = np.zeros(16)
    expected[0b1011], expected[0b0100] = 1.0, 0.5
    np.testing.assert_allclose(walsh(patterns.values), expected, atol=1e-15)


def test_hermite_coefficients_are_those_of_quadrature() -> None:
    of = target("sign(h1*h2) + 2*sign(h2)")
    found = expansion_of(patterns_of(of))
    listed: dict[tuple[int, ...], float] = dict(
        zip(map(tuple, found.indices.tolist()), found.coefficients.tolist(), strict=True)
    )
    energies = hermite_energies(build_grids(of), 6)
    for degree, coefficients in enumerate(energies.coefficients):
        expected: Floats = np.array([listed.get(tuple(index), 0.0) for index in multi_indices(2, degree).tolist()])
        np.testing.assert_allclose(coefficients, expected, atol=1e-10)
    np.testing.assert_allclose(found.per_degree[:7], energies.per_degree, atol=1e-10)


@pytest.mark.parametrize("text", ["sign(h1)*h2", "sign(h1 + h2) + sign(h1)", "relu(h1)"])
def test_what_is_no_function_of_signs_is_none(text: str) -> None:
    assert patterns_of(target(text)) is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=1, max_size=6))
def test_flips_are_all_sets_that_meet_every_row_evenly(rows: list[list[int]]) -> None:
    matrix = np.array(rows)
    basis = flips(matrix).astype(int)
    assert np.all(matrix @ basis.T % 2 == 0)
    every = (np.arange(32)[:, None] >> np.arange(5)) & 1
    assert 2 ** len(basis) == np.sum(np.all(every @ matrix.T % 2 == 0, axis=1))
