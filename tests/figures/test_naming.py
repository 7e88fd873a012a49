"""How directions and ratios are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from featlab.analysis.staircase import GrandStage, Kind
from featlab.figures.naming import direction_text, direction_texts, directions_text, ratio_relation, ratio_text


@pytest.mark.parametrize(
    ("direction", "text"),
    [
        ([0, 1, 0], "h2"),
        ([-1, 0], "-h1"),
        (np.array([1, 1]) / np.sqrt(2), "(h1 + h2)/sqrt(2)"),
        (np.array([1, 0, -2]) / np.sqrt(5), "(h1 - 2 h3)/sqrt(5)"),
        (np.array([-2, 1, 2]) / 3, "(-2 h1 + h2 + 2 h3)/sqrt(9)"),
        ([0.6004, -np.sqrt(1 - 0.6004**2)], "0.600 h1 - 0.800 h2"),
    ],
)
def test_direction_text(direction: list[float], text: str) -> None:
    assert direction_text(np.array(direction, dtype=float)) == text


def test_columns_are_directions() -> None:
    assert direction_texts(np.eye(3)[:, 1:]) == ["h2", "h3"]


@pytest.mark.parametrize(("error", "text"), [(0.0, "0.64485"), (1e-3 * 0.644850, "0.645"), (0.1, "0.64")])
def test_ratio_has_the_digits_of_its_error(error: float, text: str) -> None:
    stage = GrandStage(2, np.eye(1), 1.0, 0.0, tilt=0.0, kind=Kind.EASY, alpha=0.64485, alpha_error=error)
    assert ratio_text(stage) == text


def test_a_ratio_that_was_not_computed_is_told_by_its_bound() -> None:
    stage = GrandStage(2, np.eye(1), 1.0, 0.0, tilt=0.0, kind=Kind.EASY, alpha_bound=994.2)
    assert (ratio_text(stage), ratio_relation(stage, ">=")) == ("> 990", "> 990")
    resolved = replace(stage, alpha=0.5, alpha_error=1e-3)
    assert ratio_relation(resolved, ">=") == ">= 0.5"


def test_many_directions_are_named_together() -> None:
    axes = np.eye(12)
    assert directions_text(axes[:, 1:9]) == "h2, ..., h9"
    assert directions_text(axes[:, :3]) == "h1, h2, h3"
    assert direction_text(np.full(10, 10**-0.5)) == "(h1 + ... + h10)/sqrt(10)"
    others = np.linalg.qr(np.column_stack([np.ones(8), np.eye(8)]))[0][:, 1:8]
    words = "the 7 directions in the span of h1, ..., h8 that are orthogonal to (h1 + ... + h8)/sqrt(8)"
    assert directions_text(others) == words
