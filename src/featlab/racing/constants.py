"""Constants of sample costs from a race: the number of samples at which an entrant was there, over its power of d."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from featlab.analysis.sample_cost import Constant, SampleCost
from featlab.racing.result import Race

# Entrant -> the cost that its curve measures, and whether that is to find every direction.
_TELLS = {
    "bayes-amp": ("amp", True),
    "online-sgd": ("one_pass_sgd", True),
    "reused-batch": ("batch_reuse", True),
    "extragradient": ("batch_reuse", True),
    "giant-step": ("one_giant_step", False),
}


def costs_with_constants(costs: Mapping[str, SampleCost], race: Race) -> dict[str, SampleCost]:
    """The costs, those that the race measured with c in n = c d^k (log d)^l, from the n of more than half of the
    directions at its d. Of two entrants with one cost the faster one tells. Where one was not there, or from the
    smallest n on, its cost stays as it was."""
    found, dim = dict(costs), race.course.dim
    for one in reversed(race.standings):  # the first to arrive has the last word
        name, every = _TELLS.get(one.entrant.name, ("", True))
        arrival, cost = one.arrival(every=every), found.get(name)
        power = None if cost is None else cost.samples(dim)
        if arrival is None or cost is None or power is None or not 0 < arrival.at < np.inf:
            continue
        value, low, high = (ratio * dim / power for ratio in (arrival.at, arrival.low, arrival.high))
        found[name] = replace(cost, constant=Constant(value, low, high, f"{one.entrant.label}, measured at d = {dim}"))
    return found
