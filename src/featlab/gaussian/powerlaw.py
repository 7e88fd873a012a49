"""Power laws y = C x^a from measurements, with confidence intervals.

The fit is weighted least squares of log y on log x. With known errors the intervals come from the errors and the
normal law, and chi^2 tells whether the law holds at all; without, the scatter around the line is the error and the
intervals are Student's with n - 2 degrees of freedom. A law with a logarithm, y = C x^a log x, has as many parameters,
so that the two are compared by their likelihoods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats

# Odds of 20 to 1, the usual bar for "strong" evidence (Kass and Raftery 1995).
STRONG_ODDS = 20.0


@dataclass(frozen=True)
class PowerLaw:
    """A fitted y = C x^a, or y = C x^a log x.

    Attributes:
        exponent: a.
        exponent_error: its standard error.
        exponent_interval: its two-sided confidence interval.
        prefactor: C.
        prefactor_interval: its two-sided confidence interval.
        level: the probability that such an interval covers the truth.
        with_log: whether the law has the factor log x.
        degrees_of_freedom: number of points minus two.
        chi_squared: sum of squared residuals of log y over their errors; None if no errors were given.
        scatter: root mean square of the residuals of log y (per degree of freedom); None with two points.
        log_likelihood: the maximum over C, a (and the scatter, if no errors were given) of the log of the density.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import fit_power_law
        >>> x = np.array([1.0, 2.0, 4.0, 8.0])
        >>> round(fit_power_law(x, 3 * x**1.5).prefactor, 6)
        3.0
    """

    exponent: float
    exponent_error: float
    exponent_interval: tuple[float, float]
    prefactor: float
    prefactor_interval: tuple[float, float]
    level: float
    with_log: bool
    degrees_of_freedom: int
    chi_squared: float | None
    scatter: float | None
    log_likelihood: float

    def predict(self, x: ArrayLike) -> Floats:
        """C x^a (log x, if the law has it)."""
        x = _positive("x", x, above=1.0 if self.with_log else 0.0)
        return self.prefactor * x**self.exponent * (np.log(x) if self.with_log else 1.0)

    @property
    def fit_probability(self) -> float | None:
        """P(chi^2 at least as large) if the law and the errors are right; None without errors or spare points."""
        if self.chi_squared is None or self.degrees_of_freedom == 0:
            return None
        return float(scipy.stats.chi2.sf(self.chi_squared, self.degrees_of_freedom))


@dataclass(frozen=True)
class LogComparison:
    """The same data under y = C x^a (`plain`) and y = C x^a log x (`logarithmic`)."""

    plain: PowerLaw
    logarithmic: PowerLaw

    @property
    def log_odds(self) -> float:
        """Log of the likelihood ratio; positive in favour of the logarithm."""
        return self.logarithmic.log_likelihood - self.plain.log_likelihood

    @property
    def preferred(self) -> Literal["plain", "logarithmic", "undecided"]:
        """The likelier law if the odds are better than 20 to 1."""
        if abs(self.log_odds) < np.log(STRONG_ODDS):
            return "undecided"
        return "logarithmic" if self.log_odds > 0 else "plain"


@dataclass(frozen=True)
class LocalSlopes:
    """Exponents between neighbouring points: d log y / d log x at the geometric middle of each pair."""

    x: Floats
    slope: Floats
    error: Floats | None


def fit_power_law(
    x: ArrayLike, y: ArrayLike, errors: ArrayLike | None = None, *, level: float = 0.95, with_log: bool = False
) -> PowerLaw:
    """Fit y = C x^a (times log x, if `with_log`) by least squares in logarithms.

    Args:
        x: positive numbers, at least two of them distinct; above 1 if `with_log`.
        y: positive measurements.
        errors: standard errors of y. They act as errors/y on log y, which is right for relative errors well below one.
        level: confidence level of the intervals.

    Raises:
        InvalidParameter: for data that are not positive, finite and of one shape, or too few: two points with errors,
            three without.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import fit_power_law
        >>> x = np.array([1.0, 2.0, 4.0, 8.0])
        >>> round(fit_power_law(x, 3 * x**1.5).exponent, 6)
        1.5
    """
    x, y, sigma = _checked(x, y, errors, least=3 if errors is None else 2, above=1.0 if with_log else 0.0)
    if not 0 < level < 1:
        raise InvalidParameter("level", level, "a probability strictly between 0 and 1")
    response = np.log(y) - (np.log(np.log(x)) if with_log else 0.0)
    weights = np.ones_like(x) if sigma is None else sigma**-2
    slope, intercept, covariance = _line(np.log(x), response, weights)
    residuals = response - intercept - slope * np.log(x)
    freedom = x.size - 2
    scatter = float(np.sqrt(residuals @ residuals / freedom)) if freedom else None
    chi_squared = None if sigma is None else float(weights @ residuals**2)
    if sigma is None:
        covariance = covariance * (residuals @ residuals / freedom)
        quantile = scipy.stats.t.ppf(0.5 + level / 2, freedom)
    else:
        quantile = scipy.stats.norm.ppf(0.5 + level / 2)
    slope_error, intercept_error = np.sqrt(np.diag(covariance))
    reach, width = quantile * slope_error, quantile * intercept_error
    return PowerLaw(
        exponent=slope,
        exponent_error=float(slope_error),
        exponent_interval=(float(slope - reach), float(slope + reach)),
        prefactor=float(np.exp(intercept)),
        prefactor_interval=(float(np.exp(intercept - width)), float(np.exp(intercept + width))),
        level=level,
        with_log=with_log,
        degrees_of_freedom=freedom,
        chi_squared=chi_squared,
        scatter=scatter,
        log_likelihood=_log_likelihood(residuals, sigma),
    )


def compare_with_log(
    x: ArrayLike, y: ArrayLike, errors: ArrayLike | None = None, *, level: float = 0.95
) -> LogComparison:
    """Fit y = C x^a and y = C x^a log x to the same data (x > 1) and weigh them against each other.

    Args:
        x, y: as in `fit_power_law`.
        errors: standard errors of y; None, all the same and unknown.
        level: of the intervals.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import compare_with_log
        >>> x = np.array([10.0, 100.0, 1000.0, 10000.0])
        >>> round(compare_with_log(x, x * np.log(x), 0.01 * x).logarithmic.exponent, 6)
        1.0
    """
    plain, logarithmic = (fit_power_law(x, y, errors, level=level, with_log=with_log) for with_log in (False, True))
    return LogComparison(plain, logarithmic)


def local_slopes(x: ArrayLike, y: ArrayLike, errors: ArrayLike | None = None) -> LocalSlopes:
    """log(y_{i+1} / y_i) / log(x_{i+1} / x_i), in the order of x; the errors of neighbours are correlated.

    Args:
        x, y: above 0; x distinct.
        errors: standard errors of y.

    Raises:
        InvalidParameter: fewer than two points, or repeated ones.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import local_slopes
        >>> local_slopes(np.array([1.0, 2.0, 4.0]), np.array([1.0, 4.0, 16.0])).slope.round(6).tolist()
        [2.0, 2.0]
    """
    x, y, sigma = _checked(x, y, errors, least=2, above=0.0)
    order = np.argsort(x)
    x, y = x[order], y[order]
    if np.any(np.diff(x) == 0):
        raise InvalidParameter("x", x, "distinct numbers; average repeated measurements first")
    step = np.diff(np.log(x))
    error = None if sigma is None else np.hypot(sigma[order][1:], sigma[order][:-1]) / step
    return LocalSlopes(np.sqrt(x[1:] * x[:-1]), np.diff(np.log(y)) / step, error)


def _line(t: Floats, response: Floats, weights: Floats) -> tuple[float, float, Floats]:
    """Weighted least squares of a + b t: slope, intercept, and the covariance of both for weights 1/variance."""
    total = weights.sum()
    centre = weights @ t / total
    spread = weights @ (t - centre) ** 2
    slope = weights @ ((t - centre) * response) / spread
    intercept = weights @ response / total - slope * centre
    covariance = np.array([[1.0, -centre], [-centre, spread / total + centre**2]]) / spread
    return float(slope), float(intercept), covariance


def _log_likelihood(residuals: Floats, sigma: Floats | None) -> float:
    """Gaussian log-density of the residuals at their known errors, or at the likeliest common one.

    Up to the terms common to all laws for log y. A perfect fit without errors has an infinite likelihood.
    """
    if sigma is not None:
        return float(-0.5 * np.sum((residuals / sigma) ** 2))
    with np.errstate(divide="ignore"):
        return float(-0.5 * residuals.size * np.log(np.mean(residuals**2)))


def _positive(name: str, values: ArrayLike, above: float = 0.0) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    bad = array[~((array > above) & np.isfinite(array))]
    if bad.size:
        raise InvalidParameter(name, bad.flat[0].item(), f"finite numbers above {above:g}; leave other points out")
    return array


def _checked(
    x: ArrayLike, y: ArrayLike, errors: ArrayLike | None, *, least: int, above: float
) -> tuple[Floats, Floats, Floats | None]:
    """x, y and the errors of log y."""
    x, y = _positive("x", x, above), _positive("y", y)
    if x.ndim != 1 or x.shape != y.shape:
        raise InvalidParameter("y", y.shape, f"one measurement for each x, which has shape {x.shape}")
    if x.size < least or np.ptp(x) == 0:
        raise InvalidParameter("x", x.tolist(), f"at least {least} points, not all equal")
    if errors is None:
        return x, y, None
    sigma = _positive("errors", errors)
    if sigma.shape not in ((), y.shape):
        raise InvalidParameter("errors", sigma.shape, f"one error for each y, which has shape {y.shape}")
    return x, y, sigma / y
