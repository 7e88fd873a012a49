"""Who waits is told how long, once it can be known."""

from __future__ import annotations

import pytest

from featlab import telling


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(telling, "monotonic", lambda: now[0])
    return now


def test_the_rest_is_told_once_if_it_is_long(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    waiting = telling.Waiting("the work")
    clock[0] = 4.0
    waiting.reached(0.01)  # too early to be measured
    clock[0] = 10.0
    waiting.reached(0.0)
    waiting.reached(0.5)  # ten seconds more are no matter
    assert capsys.readouterr().err == ""
    clock[0] = 20.0
    waiting.reached(0.1)
    waiting.reached(0.11)
    assert capsys.readouterr().err == "featlab: the work takes about 3 minutes more\n"


def test_a_first_piece_tells_the_least(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    waiting = telling.Waiting("the work")
    clock[0] = 1.0
    waiting.begun(0.1)
    assert capsys.readouterr().err == ""
    clock[0] = 12.0
    waiting.begun(0.1)
    assert capsys.readouterr().err == "featlab: the work takes at least 108 seconds more\n"


def test_what_hardly_advances_is_given_no_time(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """Equations that become steep: 5,468,981,741,722,712,968,003,584 years are no estimate."""
    waiting = telling.Waiting("the work")
    clock[0] = 6.0
    waiting.reached(1e-20)
    waiting.reached(0.01)
    assert capsys.readouterr().err == "featlab: the work hardly advances, and may end without a result\n"
