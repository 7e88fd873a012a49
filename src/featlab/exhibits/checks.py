"""The tests that verdicts are made of: agreement, exponents, orders, contrasts, bounds, identities.

Each takes its numbers and returns a `Check` with its negative control. The level is 1%, shared among the points of a
check (Bonferroni), as in `featlab.compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.stats
import xarray as xr
from numpy.typing import ArrayLike

from featlab.comparison import Agreement, Comparison, FiniteSize, Trend, compare
from featlab.comparison.agreement import LEVEL
from featlab.comparison.allowance import finite_size
from featlab.comparison.tested import WRONG_BY
from featlab.exhibits.evidence import evident
from featlab.exhibits.verdict import LEAST_EFFECT, Check, CheckResult
from featlab.gaussian.powerlaw import fit_power_law, local_slopes

_RESULTS = {
    Agreement.AGREES: CheckResult.HOLDS,
    Agreement.DISAGREES: CheckResult.FAILS,
    Agreement.CANNOT_TELL: CheckResult.CANNOT_TELL,
}

_ROUNDING = 1e-12


@evident
def agrees(statement: str, prediction: xr.Dataset, measurement: xr.Dataset, **options: Any) -> Check:
    """Theory and simulation agree, by `featlab.compare`; `options` are its options.

    The points of a check are judged together, at one size, and its allowance is a share of the largest value: its
    sentence says which part of the bound that was.

    Args:
        statement: what must hold, in words.
        prediction, measurement: as in `featlab.compare`.
        options: its other arguments.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from featlab.exhibits import agrees
        >>> runs = 0.8 + 0.01 * np.random.default_rng(0).standard_normal((40, 1))
        >>> measured = xr.Dataset({"overlap": (("seed", "time"), runs)}, attrs={"dim": 10**6, "dtype": "float64"})
        >>> predicted = xr.Dataset({"overlap": (("time",), [0.8])})
        >>> check = agrees("the overlap is .8", predicted, measured, names=["overlap"])
        >>> check.result.value, check.refused
        ('holds', True)
    """
    allowed = finite_size(options.pop("allowance", None))
    options["allowance"] = replace(allowed, of="largest")
    return from_comparison(statement, compare(prediction, measurement, telling=0.0, **options))


def from_comparison(statement: str, found: Comparison) -> Check:
    """A comparison as a check. Its control is built in: the same prediction made 20% larger, or smaller, is refused."""
    detail = f"{found.reason} Allowance: {found.allowance}."
    control = f"the same prediction {WRONG_BY:.0%} larger, and {WRONG_BY:.0%} smaller"
    return Check(statement, _RESULTS[found.verdict], detail, control, found.resolution <= WRONG_BY)


def from_trend(statement: str, trend: Trend) -> Check:
    """An extrapolation in the dimension as a check; a limit that is 20% off must lie outside of its interval."""
    low, high = trend.interval
    refused = all(not low <= trend.predicted * (1 + sign * WRONG_BY) <= high for sign in (1, -1))
    control = f"limits {WRONG_BY:.0%} larger and smaller"
    return Check(statement, _RESULTS[trend.verdict], trend.reason, control, refused)


@evident
def close(
    statement: str, samples: ArrayLike, predicted: ArrayLike, *, allowance: float | FiniteSize = 0.0, dim: int = 0
) -> Check:
    """Means over seeds are the predicted numbers, up to their standard errors and a stated allowance.

    Args:
        statement: what must hold, in words.
        samples: seeds along the first axis, at least two; the numbers of one seed along the others.
        predicted: the numbers; the control multiplies them by 1.2 and .8.
        allowance: a fraction of the largest predicted number, or a law in `dim`.

    Examples:
        >>> import numpy as np
        >>> from featlab.exhibits import close
        >>> runs = 0.8 + 0.01 * np.random.default_rng(0).standard_normal(40)
        >>> close("the overlap is .8", runs, 0.8).result.value
        'holds'
        >>> close("the overlap is .9", runs, 0.9).result.value
        'fails'
    """
    values = np.asarray(samples, np.float64)
    values = values.reshape(len(values), -1)
    expected = np.broadcast_to(np.asarray(predicted, np.float64).ravel(), values.shape[1:])
    measurement = xr.Dataset({"value": (("seed", "point"), values)}, attrs={"dim": dim, "dtype": "float64"})
    prediction = xr.Dataset({"value": (("point",), expected)})
    return agrees(statement, prediction, measurement, names=["value"], allowance=allowance)


@evident
def exponent(
    statement: str, x: ArrayLike, y: ArrayLike, errors: ArrayLike | None, claimed: float, *, wrong: float
) -> Check:
    """The fitted exponent of y = C x^a has the claimed one in its 99% interval, and not the wrong one.

    If it has not: local slopes that come nearer with x say that the claim may hold for larger x; if they do not, it
    fails.
    """
    fit = fit_power_law(x, y, errors, level=1 - LEVEL)
    low, high = fit.exponent_interval
    detail = f"fitted exponent {fit.exponent:.3f}, between {low:.3f} and {high:.3f} at 99%; claimed {claimed:.3g}."
    refused = not low <= wrong <= high
    control = f"the exponent {wrong:.3g}"
    if low <= claimed <= high:
        return Check(statement, CheckResult.HOLDS, detail, control, refused)
    slopes = local_slopes(x, y, errors).slope
    first, last = slopes[0], slopes[-1]
    detail += f" Local slopes go from {first:.3f} to {last:.3f}."
    nearer = len(slopes) > 1 and abs(last - claimed) < abs(first - claimed)
    needs = "larger sizes: the local slope still moves towards the claimed exponent" if nearer else None
    return Check(
        statement, CheckResult.CONVERGES if nearer else CheckResult.FAILS, detail, control, refused, needs=needs
    )


@evident
def exponent_at_most(
    statement: str, x: ArrayLike, y: ArrayLike, errors: ArrayLike | None, bound: float, *, wrong: float
) -> Check:
    """The exponent of y = C x^a is not above a bound: it fails if the whole 99% interval of the fitted one is.

    For theorems that say what suffices; they may be sharp, so an interval around the bound is no objection. The control
    is a bound that is too low, which the same data must refuse.
    """
    fit = fit_power_law(x, y, errors, level=1 - LEVEL)
    low, high = fit.exponent_interval
    detail = f"fitted exponent {fit.exponent:.3f}, between {low:.3f} and {high:.3f} at 99%; bound {bound:.3g}."
    result = CheckResult.FAILS if low > bound else CheckResult.HOLDS
    return Check(statement, result, detail, f"the bound {wrong:.3g}", low > wrong)


@evident
def straight(statement: str, x: ArrayLike, samples: ArrayLike, slope: float) -> Check:
    """Means over seeds lie on a line y = A x + B of a claimed slope A, whatever B: it is in the 99% interval.

    The fit is by weighted least squares with the errors of the means. The control is a slope 20% off, on either side.

    Args:
        statement: what must hold, in words.
        samples: seeds along the first axis, points along the second.
    """
    values = np.asarray(samples, np.float64)
    weights = 1 / standard_error(values)
    fit, covariance = np.polyfit(np.asarray(x, np.float64), values.mean(axis=0), 1, w=weights, cov="unscaled")
    reach = float(scipy.stats.norm.isf(LEVEL / 2) * np.sqrt(covariance[0, 0]))
    detail = (
        f"fitted slope {fit[0]:.4g} +- {np.sqrt(covariance[0, 0]):.2g}; claimed {slope:.4g}; constant {fit[1]:.3g}."
    )
    result = CheckResult.HOLDS if abs(fit[0] - slope) <= reach else CheckResult.FAILS
    refused = all(abs(fit[0] - slope * (1 + sign * WRONG_BY)) > reach for sign in (1, -1))
    return Check(statement, result, detail, f"slopes {WRONG_BY:.0%} larger and smaller", refused)


@evident
def ordered(
    statement: str, samples: Mapping[str, ArrayLike], *, least: float = LEAST_EFFECT, paired: bool = False
) -> Check:
    """Means over seeds increase in the order given: each is above the one before it (Welch's test, one-sided).

    It fails if some pair is the other way round beyond doubt, or surely less than `least` apart. The control is the
    reversed order, which guards only the direction of the test: what guards against chance is that every step must be
    significant for the check to hold, and against effects too small to speak of, `least`.

    Args:
        statement: what must hold, in words.
        samples: name -> one number for each seed, in the order claimed.
        least: each mean is larger than the one before it by this share of that one's size at least; 1%, if not given.
        paired: seeds have the same luck under every name: the test is that of the ratios of a seed's numbers, by their
            logarithms.

    Examples:
        >>> import numpy as np
        >>> from featlab.exhibits import ordered
        >>> draw = np.random.default_rng(0)
        >>> ordered("b beats a", {"a": draw.normal(0.5, 0.1, 40), "b": draw.normal(0.7, 0.1, 40)}).result.value
        'holds'
    """
    values = {name: np.asarray(sample, np.float64) for name, sample in samples.items()}
    level = LEVEL / max(len(values) - 1, 1)
    chance = _chance_of_smaller_ratio if paired else _chance_of_less
    chances = [chance(_raised(low, least), high) for low, high in pairwise(values.values())]
    doubts = [chance(high, _raised(low, least)) for low, high in pairwise(values.values())]
    reversed_chances = [chance(_raised(high, least), low) for low, high in pairwise(values.values())]
    means = " < ".join(f"{name} {_mean_words(value)}" for name, value in values.items())
    worst = max(chances)
    steps = f"step of at least {least:.0%}" if least else "step"
    detail = f"{means}; the least certain {steps} has p = {worst:.1e} (allowed {level:.1e})."
    result = CheckResult.HOLDS if worst <= level else CheckResult.CANNOT_TELL
    if min(doubts) <= level:
        result = CheckResult.FAILS
    return Check(statement, result, detail, "the reversed order", max(reversed_chances) > level)


@evident
def contrast(statement: str, recovered: ArrayLike, control: ArrayLike, *, name: str, control_name: str) -> Check:
    """One recovers in most runs and the other in few: at 99%, its share is above one half and the other's below.

    Args:
        recovered: for each seed, whether the claimed learner succeeded.
        control: for each seed, whether the control did.
    """
    shares = {name: np.asarray(recovered, bool).ravel(), control_name: np.asarray(control, bool).ravel()}
    intervals = {who: _share_interval(runs) for who, runs in shares.items()}
    detail = (
        "; ".join(
            f"{who} recovered in {runs.sum()} of {runs.size} runs (share between {low:.2f} and {high:.2f} at 99%)"
            for (who, runs), (low, high) in zip(shares.items(), intervals.values(), strict=True)
        )
        + "."
    )
    (low, high), (_, control_high) = intervals[name], intervals[control_name]
    result = CheckResult.HOLDS if low > 0.5 else CheckResult.FAILS if high < 0.5 else CheckResult.CANNOT_TELL
    return Check(statement, result, detail, f"{control_name} must not recover", control_high < 0.5)


@evident
def above(statement: str, samples: ArrayLike, bound: ArrayLike, *, control: str, control_samples: ArrayLike) -> Check:
    """Means over seeds are nowhere below the bound beyond their errors; the control's are, somewhere.

    Args:
        statement: what must hold, in words.
        samples: seeds along the first axis.
        bound: one number, or one for each of a seed's numbers.
        control: in words, what must go below the bound.
        control_samples: its numbers, seeds along the first axis.

    Examples:
        >>> import numpy as np
        >>> from featlab.exhibits import above
        >>> draw = np.random.default_rng(0)
        >>> risks, trained = draw.normal(0.6, 0.05, 40), draw.normal(0.2, 0.05, 40)
        >>> check = above("a kernel's risk is above .5", risks, 0.5, control="a network", control_samples=trained)
        >>> check.result.value, check.refused
        ('holds', True)
    """
    margins = np.asarray(samples, np.float64) - np.asarray(bound, np.float64)
    below = np.asarray(control_samples, np.float64) - np.asarray(bound, np.float64)
    chance, other = _least_chance(margins), _least_chance(below)
    worst = float(np.min(np.mean(margins, axis=0)))
    detail = f"lowest mean margin {worst:.3g}; chance of being below by luck p = {chance:.1e} (allowed {LEVEL:.0e})."
    result = CheckResult.FAILS if chance < LEVEL else CheckResult.HOLDS
    return Check(statement, result, detail, control, other < LEVEL)


@evident
def identity(statement: str, difference: float, tolerance: float, *, control: str, control_difference: float) -> Check:
    """Two ways to one number differ by no more than the tolerance; the control differs by more.

    Args:
        statement: what must hold, in words.
        difference: of the two ways.
        tolerance: what it may be, in the same unit.
        control, control_difference: what differs by more, in words and as a number.

    Examples:
        >>> import math
        >>> from featlab.exhibits import identity
        >>> check = identity("E[He2^2] = 2", math.factorial(2) - 2, 1e-9, control="E[He3^2]", control_difference=6 - 2)
        >>> check.detail
        'difference 0, tolerance 1e-09; control 4.'
    """
    detail = f"difference {abs(difference):.2g}, tolerance {tolerance:.2g}; control {abs(control_difference):.2g}."
    result = CheckResult.HOLDS if abs(difference) <= tolerance else CheckResult.FAILS
    return Check(statement, result, detail, control, abs(control_difference) > tolerance)


def _raised(values: np.ndarray, share: float) -> np.ndarray:
    """Numbers whose mean is larger by this share of its size."""
    return values * (1 + share * np.sign(np.mean(values)))


def _chance_of_less(low: np.ndarray, high: np.ndarray) -> float:
    """The p-value of the hypothesis that the mean of `high` is not above that of `low`."""
    if np.ptp(low) == 0 and np.ptp(high) == 0:
        return 0.0 if low[0] < high[0] else 1.0
    return float(scipy.stats.ttest_ind(high, low, equal_var=False, alternative="greater").pvalue)


def _chance_of_smaller_ratio(low: np.ndarray, high: np.ndarray) -> float:
    """The p-value of the hypothesis that seed by seed log(high/low) is not above zero in the mean."""
    return float(scipy.stats.ttest_1samp(np.log(high / low), 0.0, alternative="greater").pvalue)


def _least_chance(margins: np.ndarray) -> float:
    """The smallest p-value, times the number of points, of the hypothesis that a mean is not below zero."""
    flat = margins.reshape(len(margins), -1)
    mean = flat.mean(axis=0)
    scatters = np.ptp(flat, axis=0) > _ROUNDING * np.abs(mean)
    found = np.where(mean < 0, 0.0, 1.0)  # where there is no scatter there is no doubt
    if scatters.any():
        found[scatters] = scipy.stats.ttest_1samp(flat[:, scatters], 0.0, alternative="less").pvalue
    return float(min(1.0, np.min(found) * flat.shape[1]))


def _share_interval(runs: np.ndarray) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share, at 99%."""
    found = scipy.stats.binomtest(int(runs.sum()), runs.size).proportion_ci(1 - LEVEL, method="exact")
    return float(found.low), float(found.high)


def _mean_words(values: np.ndarray) -> str:
    error = f" ({np.std(values, ddof=1) / np.sqrt(values.size):.2g})" if values.size > 1 else ""
    return f"{np.mean(values):.4g}{error}"


def standard_error(samples: ArrayLike, axis: int = 0) -> np.ndarray:
    """Of the mean over seeds.

    Args:
        samples: seeds along `axis`, at least two.

    Examples:
        >>> from featlab.exhibits import standard_error
        >>> float(standard_error([0.0, 1.0, 2.0, 3.0]).round(4))  # sqrt((5/3)/4)
        0.6455
    """
    values = np.asarray(samples, np.float64)
    return np.std(values, axis=axis, ddof=1) / np.sqrt(values.shape[axis])


def mean_and_error(samples: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Mean over seeds and its standard error.

    Args:
        samples: one number for each seed, at least two.

    Examples:
        >>> from featlab.exhibits import mean_and_error
        >>> mean_and_error([1.0, 2.0, 3.0])
        (2.0, 0.5773502691896258)
    """
    return float(np.mean(samples)), float(standard_error(samples))


def exponent_and_error(x: ArrayLike, y: ArrayLike, errors: ArrayLike | None) -> tuple[float, float]:
    """Of the power law y = C x^a through points.

    Args:
        x, y: above 0.
        errors: standard errors of y; None, all the same and unknown.

    Examples:
        >>> import numpy as np
        >>> from featlab.exhibits import exponent_and_error
        >>> x = np.array([100.0, 200.0, 400.0, 800.0])
        >>> a, error = exponent_and_error(x, 3 * x**-0.5, 0.01 * x**-0.5)
        >>> round(a, 3), round(error, 4)
        (-0.5, 0.0022)
    """
    law = fit_power_law(x, y, errors, level=1 - LEVEL)
    return law.exponent, law.exponent_error
