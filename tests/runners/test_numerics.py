"""The `numerics` version of a runner is raised when its numbers move: fixed seeds against the numbers that are kept.

The tolerance is for rounding: float32 sums of some hundred terms, on other processors and by other compilers. Other
draws differ by as much as the numbers themselves, which the last test holds.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from featlab.runners import find_runner
from featlab.runners.find import KINDS
from tests.runners.numerics import KEPT, POINTS, numbers

ROUNDING = 1e-3
KEPT_NUMBERS = json.loads(KEPT.read_text(encoding="utf-8"))
REMEDY = "raise NUMERICS of this kind's runner, then `python -m tests.runners.numerics`, and say it in the changelog"


def moved(kept: list[list[float]], now: list[list[float]]) -> bool:
    """Whether numbers differ by more than rounding, on the scale of each point."""
    if list(map(len, kept)) != list(map(len, now)):
        return True
    return any(
        np.max(np.abs(np.subtract(one, other)), initial=0.0) > ROUNDING * max(1e-12, np.max(np.abs(one), initial=0.0))
        for one, other in zip(map(np.nan_to_num, kept), map(np.nan_to_num, now), strict=True)
    )


def test_every_kind_is_kept() -> None:
    assert set(KINDS) == set(POINTS) == set(KEPT_NUMBERS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_version_is_that_of_the_numbers(kind: str) -> None:
    assert find_runner(kind, ".").numerics == KEPT_NUMBERS[kind]["numerics"], REMEDY
    assert not moved(KEPT_NUMBERS[kind]["points"], numbers(kind)), f"the numbers of {kind!r} have moved: {REMEDY}"


def test_other_draws_would_be_noticed() -> None:
    kept = KEPT_NUMBERS["simulate"]["points"]
    assert moved(kept, kept[::-1])
    assert moved(kept, [[1.01 * x for x in one] for one in kept])
    assert not moved(kept, [[(1 + 1e-5) * x for x in one] for one in kept])
