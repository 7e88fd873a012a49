"""Trends in the dimension: limits of synthetic data of known truth, and intervals that cover as often as stated."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from featlab.comparison import Agreement, Trend, finite_size_trend
from featlab.errors import InvalidParameter
from tests.comparison.synthetic import measurement, prediction

DIMS = (500, 1000, 2000, 4000, 8000)
LIMIT = 0.5


def runs(
    *, key: int = 0, noise: float = 0.01, seeds: int = 20, bias: float = 3.0, exponent: float = 0.7
) -> list[xr.Dataset]:
    """limit + bias d^-exponent at each dimension."""
    return [
        measurement(
            np.full((2, 1, 1), LIMIT + bias * d**-exponent), noise=noise, seeds=seeds, dim=d, key=1000 * key + n
        )
        for n, d in enumerate(DIMS)
    ]


def limit(value: float = LIMIT) -> xr.Dataset:
    return prediction(np.full((2, 1, 1), value))


def trend(given: list[xr.Dataset], value: float = LIMIT, **options: object) -> Trend:
    return finite_size_trend(given, limit(value), "overlap", time=1.0, neuron=0, direction=0, **options)  # type: ignore[arg-type]


def test_the_limit_of_a_known_law() -> None:
    found = trend(runs(noise=0.002))
    assert found.verdict is Agreement.AGREES
    assert found.interval[0] <= LIMIT <= found.interval[1]
    assert found.limit == pytest.approx(LIMIT, abs=0.02)
    assert found.fit_probability is not None
    assert found.fit_probability > 1e-3
    # Taken at face value, the largest dimension is off by more than ten standard errors: the trend is what saves it.
    assert found.values[-1] - LIMIT > 10 * found.errors[-1]


def test_twenty_percent_wrong_is_rejected() -> None:
    for wrong in (0.8, 1.2):
        assert trend(runs(noise=0.002), wrong * LIMIT).verdict is Agreement.DISAGREES


def test_noise_cannot_tell() -> None:
    found = trend(runs(noise=1.0, seeds=5))
    assert found.verdict is Agreement.CANNOT_TELL
    assert "wide enough for predictions 20% off" in found.reason


def test_intervals_cover_as_often_as_stated() -> None:
    """Known exponent: a normal interval with errors from 40 seeds. Profiled: at least as often, as e adds freedom."""
    repeats, level = 200, 0.9
    spread = 3 * np.sqrt(level * (1 - level) / repeats)
    for exponent in (0.7, None):
        found = [trend(runs(key=key, seeds=40), exponent=exponent, level=level) for key in range(repeats)]
        covered = np.mean([one.interval[0] <= LIMIT <= one.interval[1] for one in found])
        assert covered >= level - spread - 0.01  # a standard error from 40 seeds costs Student's law about 0.004
        if exponent is not None:
            assert covered <= level + spread


def test_a_wrong_exponent_is_seen_in_the_fit() -> None:
    data = runs(noise=0.001)
    right, wrong = (trend(data, exponent=e).fit_probability for e in (0.7, 2.0))
    assert right is not None
    assert wrong is not None
    assert right > 1e-3 > wrong


@pytest.mark.parametrize(
    ("given", "options", "name"),
    [
        (runs()[:2], {"time": 1.0, "neuron": 0, "direction": 0}, "measurements"),
        (runs(), {"time": 1.0}, "place"),
        (runs(), {"time": 1.0, "neuron": 0, "direction": 0, "component": 0}, "component"),
        (runs(seeds=1), {"time": 1.0, "neuron": 0, "direction": 0}, "measurements"),
        (runs(noise=0.0), {"time": 1.0, "neuron": 0, "direction": 0}, "measurements"),
    ],
)
def test_misuse(given: list[xr.Dataset], options: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name}: got"):
        finite_size_trend(given, limit(), "overlap", **options)  # type: ignore[arg-type]
