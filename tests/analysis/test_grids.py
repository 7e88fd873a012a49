"""Rules that are as symmetric as their target."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.analysis.grids import build_grids, exchangeable
from featlab.targets import target


@pytest.mark.parametrize(
    ("text", "symmetric"),
    [
        ("max(h1,h2,h3)", True),
        ("min(h1,h2,h3)**2 + h1*h2*h3", True),
        ("max(h1,h2,2*h3)", False),
        ("max(h1,h2) + h3", False),
        ("h1*h2*h3", False),
        ("max(h1,h2)", False),
    ],
)
def test_which_directions_may_be_exchanged(text: str, symmetric: bool) -> None:
    """With kinks between all of them; smooth links and two directions need no such rule."""
    assert exchangeable(target(text)) is symmetric


def test_a_symmetric_rule() -> None:
    """E max = 3 / (2 sqrt(pi)) for three; what vanishes by symmetry vanishes to rounding, on the coarse rule, too."""
    grids = build_grids(target("max(h1,h2,h3)"))
    assert grids.fine.mean == pytest.approx(1.5 / np.sqrt(np.pi), abs=1e-6)
    for grid in (grids.fine, grids.coarse):
        h, weight = grid.directions, grid.weights * np.cos(grid.labels)
        assert weight @ (h[:, 0] - h[:, 1]) == pytest.approx(0, abs=1e-13)
        assert abs(weight @ (h[:, 0] ** 2 - h[:, 1] * h[:, 2])) > 0.1, "negative control"
