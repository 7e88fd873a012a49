"""Power-law fits: exact recovery, coverage of the intervals, detection of a logarithm, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from featlab.errors import InvalidParameter
from featlab.gaussian import compare_with_log, fit_power_law, local_slopes
from featlab.gaussian.powerlaw import PowerLaw

SIZES = np.array([100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0])
REPEATS = 2000
# The share of 2000 intervals that cover has a standard error of 0.5%; four of them around 95%.
COVERAGE = pytest.approx(0.95, abs=0.02)


def covers(interval: tuple[float, float], truth: float) -> bool:
    return interval[0] <= truth <= interval[1]


def noisy_fits(exponent: float, noise: float, *, known: bool, claimed: float = 1.0) -> list[PowerLaw]:
    """2000 fits of 3 x^exponent with log-normal noise; known errors are told `claimed` times their size."""
    rng = np.random.default_rng(20240501)
    fits = []
    for _ in range(REPEATS):
        y = 3.0 * SIZES**exponent * np.exp(noise * rng.standard_normal(SIZES.size))
        fits.append(fit_power_law(SIZES, y, claimed * noise * y if known else None))
    return fits


@given(exponent=st.floats(-4, 4), prefactor=st.floats(1e-3, 1e3), with_log=st.booleans(), with_errors=st.booleans())
def test_exact_data_give_the_exact_law(exponent: float, prefactor: float, with_log: bool, with_errors: bool) -> None:
    y = prefactor * SIZES**exponent * (np.log(SIZES) if with_log else 1.0)
    fit = fit_power_law(SIZES, y, 0.1 * y if with_errors else None, with_log=with_log)
    assert fit.exponent == pytest.approx(exponent, abs=1e-12)
    assert fit.prefactor == pytest.approx(prefactor, rel=1e-11)
    np.testing.assert_allclose(
        fit.predict([50.0, 1e4]), prefactor * _law(np.array([50.0, 1e4]), exponent, with_log), rtol=1e-10
    )


def _law(x: np.ndarray, exponent: float, with_log: bool) -> np.ndarray:
    return x**exponent * (np.log(x) if with_log else 1.0)


@given(scale_x=st.floats(0.01, 100), scale_y=st.floats(0.01, 100))
def test_units_change_the_prefactor_only(scale_x: float, scale_y: float) -> None:
    rng = np.random.default_rng(1)
    y = SIZES**1.5 * np.exp(0.1 * rng.standard_normal(SIZES.size))
    plain, scaled = fit_power_law(SIZES, y), fit_power_law(scale_x * SIZES, scale_y * y)
    assert scaled.exponent == pytest.approx(plain.exponent, rel=1e-10)
    assert scaled.exponent_interval == pytest.approx(plain.exponent_interval, rel=1e-10)
    assert scaled.prefactor == pytest.approx(scale_y * plain.prefactor * scale_x**-plain.exponent, rel=1e-9)


def test_interval_covers_with_known_errors_and_not_if_they_are_understated() -> None:
    fits = noisy_fits(1.5, 0.1, known=True)
    assert np.mean([covers(fit.exponent_interval, 1.5) for fit in fits]) == COVERAGE
    assert np.mean([covers(fit.prefactor_interval, 3.0) for fit in fits]) == COVERAGE
    bold = noisy_fits(1.5, 0.1, known=True, claimed=0.6)
    assert np.mean([covers(fit.exponent_interval, 1.5) for fit in bold]) != COVERAGE


def test_interval_covers_with_unknown_errors_where_a_normal_one_would_not() -> None:
    fits = noisy_fits(-0.5, 0.3, known=False)
    assert np.mean([covers(fit.exponent_interval, -0.5) for fit in fits]) == COVERAGE
    assert np.mean([covers(fit.prefactor_interval, 3.0) for fit in fits]) == COVERAGE
    normal = [abs(fit.exponent + 0.5) < 1.96 * fit.exponent_error for fit in fits]
    assert np.mean(normal) != COVERAGE
    assert np.mean([covers(fit.exponent_interval, -0.4) for fit in fits]) != COVERAGE


def test_fit_probability_is_uniform_for_a_true_law_and_tiny_for_a_false_one() -> None:
    fits = noisy_fits(2.0, 0.05, known=True)
    probabilities = [fit.fit_probability for fit in fits]
    assert kstest(probabilities, "uniform").pvalue > 1e-3
    bent = SIZES**2 + 1e5
    assert fit_power_law(SIZES, bent, 0.05 * bent).fit_probability < 1e-6


def test_weights_are_those_of_least_squares() -> None:
    """Against an explicit minimum of sum ((log y - c - a log x) / error)^2 by linear algebra."""
    rng = np.random.default_rng(2)
    y = SIZES * np.exp(0.2 * rng.standard_normal(SIZES.size))
    errors = y * rng.uniform(0.05, 0.5, SIZES.size)
    rows = np.column_stack([np.log(SIZES), np.ones(SIZES.size)]) * (y / errors)[:, None]
    expected, cost, *_ = np.linalg.lstsq(rows, np.log(y) * y / errors, rcond=None)
    fit = fit_power_law(SIZES, y, errors)
    assert (fit.exponent, np.log(fit.prefactor)) == pytest.approx(tuple(expected))
    assert fit.chi_squared == pytest.approx(cost[0])
    slope_error, intercept_error = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    assert fit.exponent_error == pytest.approx(slope_error)
    half_width = 0.5 * np.log(fit.prefactor_interval[1] / fit.prefactor_interval[0])
    assert half_width == pytest.approx(norm.ppf(0.975) * intercept_error)
    assert fit_power_law(SIZES, y).exponent != pytest.approx(fit.exponent, abs=1e-3)


def test_level_sets_the_width() -> None:
    y = SIZES * np.array([1.0, 1.1, 0.9, 1.05, 1.0, 0.95])
    widths = [np.ptp(fit_power_law(SIZES, y, 0.1 * y, level=level).exponent_interval) for level in (0.6827, 0.9545)]
    assert widths[1] / widths[0] == pytest.approx(2.0, rel=1e-3)
    assert widths[0] == pytest.approx(2 * fit_power_law(SIZES, y, 0.1 * y).exponent_error, rel=1e-3)


def test_two_points_with_errors_are_enough() -> None:
    fit = fit_power_law([10.0, 1000.0], [1.0, 100.0], [0.1, 10.0])
    assert fit.exponent == pytest.approx(1.0)
    assert fit.exponent_error == pytest.approx(0.1 * np.sqrt(2) / np.log(100))
    assert (fit.degrees_of_freedom, fit.fit_probability, fit.scatter) == (0, None, None)


@pytest.mark.parametrize("known", [True, False])
def test_a_logarithm_is_seen_and_not_imagined(known: bool) -> None:
    x = np.geomspace(10, 1e5, 15)
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(x.size))
    for y, answer in [(2 * x * np.log(x) * noise, "logarithmic"), (2 * x**1.2 * noise, "plain")]:
        comparison = compare_with_log(x, y, 0.01 * y if known else None)
        assert comparison.preferred == answer
        assert (comparison.log_odds > 0) == (answer == "logarithmic")
    logarithmic = compare_with_log(x, 2 * x * np.log(x) * noise)
    assert covers(logarithmic.logarithmic.exponent_interval, 1.0)
    assert not covers(logarithmic.plain.exponent_interval, 1.0)


def test_a_logarithm_under_the_noise_is_undecided() -> None:
    x = np.geomspace(100, 1000, 5)
    y = x * np.log(x) * np.exp(0.1 * np.random.default_rng(4).standard_normal(x.size))
    assert compare_with_log(x, y, 0.1 * y).preferred == "undecided"


def test_local_slopes_of_a_logarithm_fall_towards_its_exponent() -> None:
    """d log(x log x) / d log x = 1 + 1 / log x; a step of ratio q errs by (log q)^2 / (12 log(x)^3) <= 5e-4."""
    x = np.geomspace(10, 1e6, 40)
    shuffled = np.random.default_rng(5).permutation(x.size)
    slopes = local_slopes(x[shuffled], (x * np.log(x))[shuffled])
    np.testing.assert_allclose(slopes.slope, 1 + 1 / np.log(slopes.x), atol=6e-4)
    assert np.all(np.diff(slopes.slope) < 0)
    assert slopes.error is None


def test_local_slopes_have_the_errors_of_their_two_points() -> None:
    slopes = local_slopes([1.0, 10.0, 100.0], [1.0, 10.0, 1000.0], [0.03, 0.4, 0.0001])
    np.testing.assert_allclose(slopes.slope, [1.0, 2.0])
    np.testing.assert_allclose(slopes.error, [0.05 / np.log(10), 0.04 / np.log(10)], rtol=1e-4)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_what_has_no_logarithm_is_refused(bad: float) -> None:
    good = SIZES.copy()
    spoiled = SIZES.copy()
    spoiled[2] = bad
    for name, arguments in [("x", (spoiled, good)), ("y", (good, spoiled)), ("errors", (good, good, spoiled))]:
        with pytest.raises(InvalidParameter, match=f"^{name}: got {bad}"):
            fit_power_law(*arguments)
    with pytest.raises(InvalidParameter, match="y"):
        local_slopes(good, spoiled)


def test_misuse_is_refused_with_its_reason() -> None:
    with pytest.raises(InvalidParameter, match="at least 3"):
        fit_power_law([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InvalidParameter, match="not all equal"):
        fit_power_law([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameter, match="shape"):
        fit_power_law([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(InvalidParameter, match="errors"):
        fit_power_law([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(InvalidParameter, match="level"):
        fit_power_law(SIZES, SIZES, level=95)
    with pytest.raises(InvalidParameter, match="above 1"):
        compare_with_log([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameter, match="above 1"):
        fit_power_law(SIZES, SIZES, with_log=True).predict(0.5)
    with pytest.raises(InvalidParameter, match="distinct"):
        local_slopes([1.0, 1.0, 2.0], [1.0, 2.0, 3.0])
