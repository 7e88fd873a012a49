"""The stated error of a threshold holds its actual one: a small sample of benchmarks/calibration.py."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration import measure
from benchmarks.known_thresholds import Case, of_polynomial, of_signs, of_sizes, of_squares

GENERATOR = np.random.default_rng(20)
CASES = [
    of_signs(2, False, GENERATOR),
    of_signs(2, True, GENERATOR),
    of_signs(3, False, GENERATOR),
    of_squares(2, False, GENERATOR),
    of_squares(2, True, GENERATOR),
    of_squares(3, False, GENERATOR),
    of_squares(3, True, GENERATOR),
    *(of_polynomial(degree, GENERATOR) for degree in (2, 3, 4, 5, 6)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text[:60])
def test_the_stated_error_holds_the_actual_one(case: Case) -> None:
    found = measure(case)
    assert found.ratio < 1.5
    assert found.stated < 1e-3
    assert found.actual < 1e-4


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_the_reference_for_equal_squares(rank: int) -> None:
    """|z|^2 tells E[z_i^2 | y] = y / r: the eigenvalue is E[(y / r - 1)^2] r / r = 2 / r (Defilippis et al. 2025)."""
    assert of_sizes([0.7] * rank) == pytest.approx(2 / rank, rel=1e-8)
    assert of_sizes([0.7, *[0.8] * (rank - 1)]) != pytest.approx(2 / rank, rel=1e-4), "negative control"
