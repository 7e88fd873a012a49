"""How long a prediction will take: by a count of what is to be done, corrected by what was measured on this machine.

The counts are rough: seconds of one core as the examples of the documentation took them, and how these grow with the
rank of the target, neurons and iterations. Each prediction that is made tells how fast this machine is, with what else
it does; of the next of the same learner the estimate is corrected by that, on a logarithmic scale.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_FIELDS = re.compile(r"(?<![A-Za-z0-9_])h(\d{1,3})(?![A-Za-z0-9_])")
_OTHER_SECONDS = 0.2
_NEWEST = 0.5  # the weight of the last measurement
_LARGEST = 12.0  # of a rank, in a count: what is above takes as long as anybody would wait


class Estimates:
    """The counts, and by learner how they were wrong so far."""

    def __init__(self) -> None:
        self._logs: dict[str, float] = {}

    def seconds(self, experiment: Mapping[str, Any]) -> float:
        """About how long a prediction takes."""
        return counted(experiment) * math.exp(self._logs.get(_learner(experiment), self._speed()))

    def learn(self, experiment: Mapping[str, Any], seconds: float) -> None:
        """A prediction took so long."""
        learner = _learner(experiment)
        wrong = math.log(max(seconds, 1e-3) / counted(experiment))
        known = self._logs.get(learner)
        self._logs[learner] = wrong if known is None else known + _NEWEST * (wrong - known)

    def _speed(self) -> float:
        """Of a learner that was not measured yet, how those were wrong that were, on average."""
        return sum(self._logs.values()) / len(self._logs) if self._logs else 0.0


def counted(experiment: Mapping[str, Any]) -> float:
    """Seconds of a prediction before anything is measured."""
    learner = _learner(experiment)
    found = _FIELDS.findall(str(experiment.get("target", "")))
    rank = min(max(1, len({int(number) for number in found})), _LARGEST)
    width = _number(experiment.get("width"), 1.0)
    if learner == "bayes-amp":
        return 0.02 * _number(experiment.get("iterations"), 20.0) * 8.0 ** (rank - 1)
    if learner == "giant-steps":
        return 0.002 * (_number(experiment.get("steps"), 1.0) ** 1.5) * width * 2.0 ** (rank - 1)
    if learner in ("online-sgd", "extragradient"):
        return 0.1 if rank == 1 and width == 1 else 1.2 + 0.5 * width
    return _OTHER_SECONDS


def _learner(experiment: Mapping[str, Any]) -> str:
    return str(experiment.get("learner", ""))


def _number(said: Any, usual: float) -> float:
    """A field as a number of at least 1; what is no number is refused elsewhere."""
    try:
        value = float(said)
    except (TypeError, ValueError):
        return usual
    return min(max(1.0, value), 1e6) if math.isfinite(value) else usual
