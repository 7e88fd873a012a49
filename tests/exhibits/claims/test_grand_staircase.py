import pytest

from featlab.exhibits import ClaimVerdict


def test_the_first_direction_opens_the_others(shown):
    report = shown("grand-staircase")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    first, others = (numbers[f"{name}, He4 + 5 sign, inner step"] for name in ("|m1|", "|m23|"))
    assert first.measured == pytest.approx(0.683, abs=0.02)  # measured independently at d = 2000, here at 250
    assert others.measured == pytest.approx(0.636, abs=0.02)
    assert numbers["|m23|, He4 + 5 sign, plain"].measured < 0.2
    assert "gif" in report.pictures
