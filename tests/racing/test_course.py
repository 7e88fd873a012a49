"""The numbers of samples of a race, from text."""

from __future__ import annotations

import pytest

from featlab.errors import InvalidParameter
from featlab.racing.course import between, read_ratios


def test_ratios_double_unless_counted() -> None:
    assert read_ratios("0.5:16") == (0.5, 1, 2, 4, 8, 16)
    assert read_ratios("1:4:5") == pytest.approx((1, 1.414, 2, 2.828, 4), rel=1e-3)
    assert read_ratios("4, 1,2") == read_ratios([2, 1, 4]) == (1, 2, 4)
    assert between((1.0, 4.0, 16.0)) == (2.0, 8.0)


@pytest.mark.parametrize(
    "text", ["", "1", "16:0.5", "0:4", "1:2:3:4", "1:4:1", "1:4:1000", "a:b", "1,1", "1,-2", "1:inf"]
)
def test_what_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidParameter, match="ratios: got"):
        read_ratios(text)
