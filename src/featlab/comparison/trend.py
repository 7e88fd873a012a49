"""The trend in the dimension: measured(d) = limit + c d^(-e), and whether its limit is the predicted one.

For a given exponent e this is a line in d^(-e), fitted by weighted least squares with the standard errors of the
measurements. The exponent is profiled over a stated range: the interval of the limit holds every limit for which some e
of the range and some c fit nearly as well as the best do (chi^2 larger by at most the quantile of its law with one
degree of freedom), so that not knowing e widens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
import xarray as xr

from featlab.comparison.agreement import Agreement
from featlab.comparison.tested import WRONG_BY
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats

_EXPONENTS = (0.5, 2.0)
_GRID = 151
_FEWEST = 3
_LEVEL = 0.99


@dataclass(frozen=True)
class Trend:
    """How a quantity tends to its limit.

    Attributes:
        limit, interval: the extrapolated limit, and its confidence interval at `level`.
        coefficient, exponent: c and e of the best fit.
        predicted: what theory says the limit is.
        dims, values, errors: what was fitted.
        chi_squared, degrees_of_freedom: of the best fit.
        verdict, reason: whether the predicted limit lies in the interval, and whether that means anything.
    """

    limit: float
    interval: tuple[float, float]
    level: float
    coefficient: float
    exponent: float
    predicted: float
    dims: Floats
    values: Floats
    errors: Floats
    chi_squared: float
    degrees_of_freedom: int
    verdict: Agreement
    reason: str

    @property
    def fit_probability(self) -> float | None:
        """P(chi^2 at least as large) if the trend and the errors are right; None without spare points."""
        if self.degrees_of_freedom == 0:
            return None
        return float(scipy.stats.chi2.sf(self.chi_squared, self.degrees_of_freedom))


def finite_size_trend(
    measurements: Sequence[xr.Dataset],
    prediction: xr.Dataset,
    name: str,
    *,
    exponent: float | None = None,
    signless: bool = False,
    level: float = _LEVEL,
    **place: Any,
) -> Trend:
    """Extrapolate one number of simulations at several dimensions to d = infinity and compare it with its prediction.

    Args:
        measurements: simulations at three or more dimensions, with seeds.
        prediction: of the limit.
        name: the quantity, such as "overlap".
        exponent: e, if it is known; otherwise it is profiled from 1/2 to 2.
        signless: take absolute values first.
        level: of the interval.
        place: which of its numbers, such as time=2.0 (the nearest is taken), neuron=0, direction=0 (numbers from 0).
    """
    dims = np.array([float(one.attrs["dim"]) for one in measurements])
    if len(np.unique(dims)) < _FEWEST:
        raise InvalidParameter("measurements", sorted(dims.tolist()), f"at least {_FEWEST} different dimensions")
    measured = [_mean_and_error(_at(one, name, place, signless)) for one in measurements]
    values, errors = (np.array(part) for part in zip(*measured, strict=True))
    predicted = float(_at(prediction, name, place, signless).mean())
    exponents = np.linspace(*_EXPONENTS, _GRID) if exponent is None else np.array([exponent])
    limits, coefficients, variances, misfits = _lines(dims ** -exponents[:, None], values, errors)
    best = int(np.argmin(misfits))
    # All limits at which some exponent fits nearly as well as the best: the union of an interval for each.
    room = scipy.stats.chi2.ppf(level, 1) - (misfits - misfits[best])
    reach = np.sqrt(variances * np.maximum(room, 0.0))
    interval = float(np.min((limits - reach)[room >= 0])), float(np.max((limits + reach)[room >= 0]))
    verdict, reason = _judge(predicted, limits[best], interval, level)
    return Trend(
        limit=float(limits[best]),
        interval=interval,
        level=level,
        coefficient=float(coefficients[best]),
        exponent=float(exponents[best]),
        predicted=predicted,
        dims=dims,
        values=values,
        errors=errors,
        chi_squared=float(misfits[best]),
        degrees_of_freedom=max(0, len(dims) - (3 if exponent is None else 2)),
        verdict=verdict,
        reason=reason,
    )


def _lines(x: Floats, values: Floats, errors: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """For each row of x, limit + coefficient x by weighted least squares: both, the variance of the limit, chi^2."""
    weights = errors**-2 / np.sum(errors**-2)
    centre = x @ weights
    spread = (x - centre[:, None]) ** 2 @ weights
    coefficients = (x - centre[:, None]) @ (weights * values) / spread
    limits = values @ weights - coefficients * centre
    variances = (1 + centre**2 / spread) / np.sum(errors**-2)
    residuals = (values - limits[:, None] - coefficients[:, None] * x) / errors
    return limits, coefficients, variances, np.sum(residuals**2, axis=1)


def _judge(predicted: float, limit: float, interval: tuple[float, float], level: float) -> tuple[Agreement, str]:
    low, high = interval
    said = f"the extrapolated limit is {limit:.4g}, between {low:.4g} and {high:.4g} at the level {level:.0%}"
    if not low <= predicted <= high:
        return Agreement.DISAGREES, f"{said}; the predicted {predicted:.4g} is outside."
    wrong = [predicted * (1 + sign * WRONG_BY) for sign in (1, -1)]
    if any(low <= value <= high for value in wrong):
        return Agreement.CANNOT_TELL, f"{said}: wide enough for predictions {WRONG_BY:.0%} off {predicted:.4g}, too."
    return Agreement.AGREES, f"{said}, as is the predicted {predicted:.4g}; values {WRONG_BY:.0%} off it are outside."


def _at(dataset: xr.Dataset, name: str, place: dict[str, Any], signless: bool) -> xr.DataArray:
    """One number, for each seed if there are seeds."""
    if name not in dataset:
        raise InvalidParameter("name", name, f"one of {', '.join(map(str, dataset.data_vars))}")
    values = dataset[name].astype(np.float64)
    for axis, where in place.items():
        if axis not in values.dims:
            raise InvalidParameter(axis, where, f"an axis of {name}, one of {', '.join(map(str, values.dims))}")
        values = values.sel({axis: where}, method="nearest") if axis == "time" else values.isel({axis: where})
    others = [str(axis) for axis in values.dims if axis != "seed"]
    if others:
        raise InvalidParameter("place", place, f"one number of {name}: say also which {' and '.join(others)}")
    return abs(values) if signless else values


def _mean_and_error(values: xr.DataArray) -> tuple[float, float]:
    present = values.values[np.isfinite(values.values)]
    if present.size < 2 or present.size < values.size:
        raise InvalidParameter("measurements", values.values, "at least two seeds, all of them with a value")
    error = float(np.std(present, ddof=1) / np.sqrt(present.size))
    if error == 0:
        raise InvalidParameter("measurements", values.values, "seeds that differ, so that their mean has an error")
    return float(np.mean(present)), error
