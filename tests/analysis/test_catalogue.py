"""The analysis against what the literature says of its targets (rank 1 and 2; the reference table has the others)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from featlab.analysis import analyse
from featlab.targets import CatalogueEntry, catalogue, target

SMALL = [entry for entry in catalogue.values() if target(entry.text).rank <= 2]


@pytest.mark.parametrize("entry", SMALL, ids=lambda entry: entry.name)
def test_entry(entry: CatalogueEntry) -> None:
    assert_agrees(entry)


def assert_agrees(entry: CatalogueEntry) -> None:
    """Whatever the entry states must come out; what it leaves open (None) is not looked at."""
    analysis = analyse(target(entry.text, noise=entry.noise))
    stated = ("rank", "information_exponent", "leap", "coordinate_leap", "generative_exponent", "verdict")
    found = {
        "rank": analysis.target.rank,
        "information_exponent": analysis.information_exponent,
        "leap": analysis.leap,
        "coordinate_leap": analysis.coordinate_leap,
        "generative_exponent": analysis.generative_exponent,
        "verdict": analysis.verdict.value,
    }
    expected = {name: getattr(entry, name) for name in stated if getattr(entry, name) is not None}
    assert {name: found[name] for name in expected} == expected
    if entry.alpha_c is not None:
        assert analysis.alpha_c == pytest.approx(entry.alpha_c, rel=1e-3, abs=1e-12)
    if entry.giant_steps is not None:
        dimensions = [stage.directions.shape[1] for stage in analysis.giant_steps]
        assert [sum(dimensions[: i + 1]) for i in range(len(dimensions))] == list(entry.giant_steps)


def test_the_comparison_can_fail() -> None:
    """Negative control: an entry that states a wrong exponent, or a threshold 20% off, is rejected."""
    entry = next(e for e in SMALL if e.text == "He4(h1)")
    with pytest.raises(AssertionError):
        assert_agrees(replace(entry, leap=3))
    with pytest.raises(AssertionError):
        assert_agrees(replace(entry, alpha_c=1.2 * 0.64485))
