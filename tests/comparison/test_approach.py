"""The limit of several sizes: exact on exact laws, no more false alarms than stated, and gaps are seen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from featlab.comparison import Agreement, compare
from featlab.comparison.approach import Differences, in_the_limit
from featlab.errors import InvalidParameter
from tests.comparison.synthetic import measurement, prediction, truth

TRUTH = truth()
DIMS = (500, 2000, 8000)


def runs(shift: float, bias: float, exponent: float, *, noise: float = 0.5, seeds: int = 8, key: int = 0, dims=DIMS):
    """Measurements whose mean is TRUTH + shift + bias (d / 500)^-e and whose scatter falls as 1/sqrt(d)."""
    return [
        measurement(
            TRUTH + shift + bias * (dim / 500) ** -exponent,
            noise=noise / dim**0.5,
            seeds=seeds,
            dim=dim,
            key=1000 * key + place,
        )
        for place, dim in enumerate(dims)
    ]


def differences(values: list[float], errors: list[float], sizes: tuple[float, ...] = DIMS) -> Differences:
    column = np.array(values)[:, None]
    return Differences(
        np.array(sizes, float),
        np.full(len(values), 8.0),
        column,
        np.array(errors)[:, None],
        0 * column,
        np.full(column.shape, 7.0),
    )


@settings(max_examples=60, deadline=None)
@given(
    limit=st.floats(-1, 1),
    coefficient=st.floats(-1, 1),
    smooth=st.booleans(),
    sizes=st.lists(st.floats(50, 1e6), min_size=2, max_size=3, unique_by=lambda size: round(np.log(size), 1)),
)
def test_a_law_that_holds_is_extrapolated_exactly(limit, coefficient, smooth, sizes) -> None:
    law = 1.0 if smooth else 0.5
    values = [limit + coefficient * size**-law for size in sizes]
    found = in_the_limit(differences(values, [1e-3] * len(sizes), tuple(sizes)), smooth, 1e-3)
    assert found.value[0, 0] == pytest.approx(limit, abs=1e-9)
    assert found.exponent[0] == law


def test_the_error_is_that_of_the_combination() -> None:
    """Two sizes by 1/d: (4 D2 - D1) / 3, as errors and degrees of freedom follow."""
    found = in_the_limit(differences([0.3, 0.1], [0.02, 0.01], (100.0, 400.0)), True, 1e-3)
    assert found.value[0, 0] == pytest.approx((4 * 0.1 - 0.3) / 3)
    parts = np.array([0.02 / 3, 4 * 0.01 / 3]) ** 2
    assert found.error[0, 0] == pytest.approx(np.sqrt(parts.sum()))
    assert found.freedom[0, 0] == pytest.approx(parts.sum() ** 2 / (parts**2 / 7).sum())
    assert found.value[1, 0] == pytest.approx(2 * 0.1 - 0.3)  # by 1/sqrt(d), which two sizes cannot exclude


def test_a_law_that_the_sizes_reject_is_left() -> None:
    sharp = [1e-5] * 3
    kinked = in_the_limit(differences([dim**-0.5 for dim in DIMS], sharp), True, 1e-3)
    assert (kinked.exponent[0], np.sum(np.isfinite(kinked.value))) == (0.5, 1)
    assert abs(kinked.value[0, 0]) < 1e-9
    neither = in_the_limit(differences([0.04, 0.03, 0.005], sharp), True, 1e-3)
    assert np.isnan(neither.exponent[0])
    assert np.nanmin(neither.value) < 0 < np.nanmax(neither.value)  # finite size, by no law: nothing is excluded
    gap = in_the_limit(differences([0.30, 0.28, 0.25], sharp), True, 1e-3)
    assert np.nanmin(gap.value) > 0.2  # however it is extrapolated


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("exponent", [0.5, 1.0])
@pytest.mark.parametrize("bias", [0.0, 1.0, 5.0, 20.0, 100.0])
def test_a_right_limit_is_rejected_no_more_often_than_stated(bias: float, exponent: float, smooth: bool) -> None:
    """Six seeds at each size, a bias of so many standard errors of the smallest, whichever law is expected: at most the
    chance of rejecting it as a limit plus that of rejecting the law, and the count's own three standard errors. Without
    a bias the test is not asleep: two laws cost at most a factor of a few."""
    repeats, seeds, chance = 4000, 6, 0.05
    rng, sizes = np.random.default_rng(1), np.array(DIMS, float)
    deviation = (sizes / sizes[0]) ** -0.5
    samples = rng.normal(size=(seeds, 3, repeats)) * deviation[:, None] * seeds**0.5
    value = samples.mean(axis=0) + bias * ((sizes / sizes[0]) ** -exponent)[:, None]
    scatter, freedom = samples.std(axis=0, ddof=1) / seeds**0.5, np.full(value.shape, seeds - 1.0)
    found = in_the_limit(Differences(sizes, np.full(3, 6.0), value, scatter, 0 * value, freedom), smooth, chance)
    reach = scipy.stats.t.isf(chance / 2, found.freedom) * found.error
    low, high = np.nanmin(found.value - reach, axis=0), np.nanmax(found.value + reach, axis=0)
    rate = float(np.mean((low > 0) | (high < 0)))
    assert rate <= 2 * chance + 3 * np.sqrt(2 * chance / repeats)
    if bias == 0:
        assert rate > 0.2 * chance


def test_finite_size_is_no_disagreement_and_a_gap_is() -> None:
    """A bias of 0.03 at d = 500 is 13 standard errors there; one of 0.03 in the limit is a wrong prediction."""
    finite = compare(prediction(TRUTH), runs(0.0, 0.03, 1.0, noise=0.2))
    assert finite.verdict is Agreement.AGREES
    assert finite.allowance == "none"
    assert finite.sizes == DIMS
    assert "in the limit of large d" in finite.reason
    assert "That is the limit: at d = 500 itself overlap" in finite.reason
    assert compare(prediction(TRUTH), runs(0.0, 0.03, 1.0, noise=0.2)[0], allowance=0.0).verdict is Agreement.DISAGREES
    gap = compare(prediction(TRUTH), runs(0.03, 0.0, 1.0, noise=0.2))
    assert gap.verdict is Agreement.DISAGREES
    assert "which tends as d^-1 to" in gap.reason


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_twenty_percent_wrong_is_rejected_in_the_limit(factor: float) -> None:
    given_runs = runs(0.0, 0.02, 1.0, noise=0.2)
    assert compare(prediction(TRUTH), given_runs).verdict is Agreement.AGREES
    assert compare(prediction(factor * TRUTH), given_runs).verdict is Agreement.DISAGREES


def test_predictions_that_shrink_with_the_size_are_compared_relative_to_it() -> None:
    """Overlaps of a random start fall as 1/sqrt(d): a fifth too much is a fifth at every size, not less and less."""

    def shrunk(factor: float) -> tuple[list[xr.Dataset], list[xr.Dataset]]:
        sizes = [(dim / 500) ** -0.5 for dim in DIMS]
        data = [measurement(size * TRUTH, noise=0.01 * size, dim=dim) for size, dim in zip(sizes, DIMS, strict=True)]
        return [prediction(factor * size * TRUTH) for size in sizes], data

    assert compare(*shrunk(1.0)).verdict is Agreement.AGREES
    assert compare(*shrunk(1.2)).verdict is Agreement.DISAGREES
    assert compare(*shrunk(0.8)).verdict is Agreement.DISAGREES


def test_samples_may_grow_at_one_dimension() -> None:
    data = [one.assign_attrs(dim=100, samples=dim) for one, dim in zip(runs(0.0, 0.02, 1.0), DIMS, strict=True)]
    found = compare(prediction(TRUTH), data)
    assert found.sizes == DIMS
    assert "in the limit of large n" in found.reason


def test_misuse_of_sizes() -> None:
    data = runs(0.0, 0.0, 1.0)
    with pytest.raises(InvalidParameter, match=r"^allowance: got"):
        compare(prediction(TRUTH), data, allowance=0.1)
    with pytest.raises(InvalidParameter, match=r"^prediction: got"):
        compare([prediction(TRUTH)] * 2, data)
    with pytest.raises(InvalidParameter, match="different dimensions"):
        compare(prediction(TRUTH), [data[0], data[0]])


def test_a_curve_that_saturates_is_no_law() -> None:
    """.30, .77, .99 on the way to 1 lie on 1.22 - .92 (n/n0)^-1/2 by accident, and 1.22 is no overlap."""
    given = differences([-0.70, -0.24, -0.01], [0.02, 0.02, 0.003])
    by_accident = in_the_limit(given, False, 1e-3)
    assert by_accident.exponent[0] == 0.5
    assert by_accident.value[0, 0] == pytest.approx(0.22, abs=0.01)
    guarded = in_the_limit(given, False, 1e-3, scale=1.0)
    assert np.isnan(guarded.exponent[0])
    assert guarded.value[0, 0] == -0.01
    near = in_the_limit(differences([-0.070, -0.024, -0.001], [0.002, 0.002, 0.0003]), False, 1e-3, scale=1.0)
    assert near.exponent[0] == 0.5


def test_the_next_term_of_a_large_correction_is_part_of_the_error() -> None:
    """1 - .45 x - .2 x^2 with x = 1, 1/4, 1/16 and almost no scatter: three seeds do not see the curvature, and a law
    of one term misses the limit by more than its statistical error."""
    sizes = np.array([100.0, 400.0, 1600.0])
    x = sizes[:, None] / sizes[0]
    value = -0.45 / x - 0.02 / x**2
    small = np.full((3, 1), 1e-3)
    given = Differences(sizes, np.full(3, 8.0), value, small, 0 * small, np.full((3, 1), 7.0))
    with_scale = in_the_limit(given, True, 1e-3, scale=1.0)
    without = in_the_limit(given, True, 1e-3)
    assert with_scale.value[0, 0] == without.value[0, 0]
    assert with_scale.error[0, 0] > 5 * without.error[0, 0] > 0
    assert abs(with_scale.value[0, 0]) < 2 * with_scale.error[0, 0]


def test_what_is_zero_at_every_size_has_no_next_term() -> None:
    zero = np.zeros((3, 1))
    found = in_the_limit(
        Differences(np.array([1.0, 4.0, 16.0]), np.full(3, 8.0), *[zero] * 3, zero + 7), True, 1e-3, scale=0.0
    )
    assert found.value[0, 0] == found.error[0, 0] == 0


def test_a_slow_power_is_no_disagreement_where_no_law_fits() -> None:
    """-.26 s^-.3 with s = 1, 4, 16 tends to 0 by neither law, and its limit is told by the power that fits."""
    x = np.array([1.0, 4.0, 16.0]) ** -0.3
    given = differences((-0.26 * x).tolist(), [0.0025, 0.001, 0.0007])
    found = in_the_limit(given, False, 1e-3, scale=0.94)
    assert np.isnan(found.exponent[0])
    assert found.value[-1, 0] == pytest.approx(0, abs=1e-12)
    assert np.nanmin(np.abs(found.value[:-1, 0]) / found.error[:-1, 0]) > 3.5, "the pairs alone would not do"
    gap = in_the_limit(differences((0.2 - 0.26 * x).tolist(), [0.0025, 0.001, 0.0007]), False, 1e-3, scale=0.94)
    assert np.nanmin(np.abs(gap.value[:, 0]) / gap.error[:, 0]) > 3.5, "negative control"
