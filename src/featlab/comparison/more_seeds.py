"""How many seeds it takes to tell, where those that were run are too few.

Whether seeds are added, and how many, follows from the errors and not from the differences, unless it agrees already.
The standard error of what scatters as a Gaussian does not depend on its mean, so that the chance of a right prediction
to be rejected, at once or after more looks, stays what it was.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice

import numpy as np
import scipy.stats

from featlab.comparison.agreement import Agreement, Comparison
from featlab.comparison.quantity import ComparedQuantity
from featlab.comparison.sizes import ALL_SEEDS, affordable, ladder
from featlab.comparison.tested import TELLING, WRONG_BY
from featlab.experiments.experiment import Experiment

_FACTORS = (2, 4, 8, 16)
# The part of an error of a fifth that noise may be, for the difference itself, about a standard error, to fit in too.
_SHARE = 0.75


def further_seeds(experiment: Experiment, found: Comparison, limit: str, most: int) -> Experiment | None:
    """The experiment with the seeds to be added to those that were compared, at most `most` in all.

    None: the data tell, or more of them would not, or would be too much work.
    """
    seeds = len(experiment.seeds)
    if found.verdict is Agreement.AGREES or _tells(found, 1):
        return None
    factor = next((factor for factor in _FACTORS if factor * seeds <= most and _tells(found, factor)), None)
    if factor is None:
        return None
    run, numbers = set(experiment.seeds), (number % ALL_SEEDS for number in count(max(experiment.seeds) + 1))
    new = islice((number for number in numbers if number not in run), (factor - 1) * seeds)
    more = replace(experiment, seeds=tuple(new))
    rungs = ladder(experiment, limit, max(1, len(found.sizes)))[1:]
    grown = [replace(rung, seeds=more.seeds) for rung in (more, *rungs)]
    return more if all(affordable(rung) for rung in grown) else None


def _tells(found: Comparison, factor: int) -> bool:
    """Whether so many times the seeds tell: every quantity whose runs differ, at half of its points."""
    quantities = [one for one in found.quantities.values() if np.any(one.measured)]
    return all(_share_that_tells(one, factor) >= TELLING for one in quantities)


def _share_that_tells(quantity: ComparedQuantity, factor: int) -> float:
    """The share of points that so many times the seeds tell from a prediction that is wrong by a fifth."""
    points = quantity.measured & ~quantity.vanishing & ~quantity.waiting
    if not np.any(points):
        return 1.0
    error, freedom = (part[:, points] for part in (quantity.estimates.error, quantity.estimates.freedom))
    noise = scipy.stats.t.isf(quantity.chance / 2, factor * freedom) * error / np.sqrt(factor)
    widest = np.nanmax(noise, axis=0)  # of the laws by which it may tend to its limit
    return float(np.mean(widest + quantity.allowance[points] <= _SHARE * WRONG_BY * quantity.scale[points]))
