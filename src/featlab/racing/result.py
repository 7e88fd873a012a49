"""What came of a race: of each entrant its curves, and who gets there first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.racing.course import Course
from featlab.racing.crossing import Crossing, crossing
from featlab.racing.entrants import Entrant
from featlab.shown import Shown, written

LEVEL = 0.5


@dataclass(frozen=True)
class Curve:
    """What was measured or predicted at some ratios.

    Attributes:
        ratios: n/d, rising.
        found: (ratio, seed, direction) squared cosines of the principal angles between the estimated span and that of
            the target's directions, the largest first; None of an entrant that has no directions. A prediction is one
            seed.
        risk: (ratio, seed) over the variance of the label; None where none was asked for.
    """

    ratios: Floats
    found: Floats | None
    risk: Floats | None

    @property
    def score(self) -> Floats:
        """(ratio, seed): the share of the target's subspace, the mean of `found`; else the risk."""
        values = self.risk if self.found is None else self.found.mean(axis=2)
        return np.full((len(self.ratios), 1), np.nan) if values is None else values

    @property
    def best(self) -> float:
        """The mean score at the largest ratio that was reached; 0 if none was."""
        reached = self.score[np.isfinite(self.score).any(axis=1)]
        return float(np.nanmean(reached[-1])) if len(reached) else 0.0


@dataclass(frozen=True)
class Standing:
    """What became of one entrant.

    Attributes:
        measured, predicted: None where there is nothing, and then
        measured_reason, predicted_reason: say why; also why some ratios are missing.
        seconds: by the clock, of the runs that are shown.
    """

    entrant: Entrant
    measured: Curve | None
    predicted: Curve | None
    measured_reason: str = ""
    predicted_reason: str = ""
    seconds: float = 0.0

    def arrival(self, *, every: bool = True, theory: bool = False) -> Crossing | None:
        """From which ratio on more than half of a direction is found (squared cosine above 1/2): of every direction, or
        of the first one. None where there is no curve of directions."""
        curve = self.predicted if theory else self.measured
        if curve is None or curve.found is None:
            return None
        values = curve.found[:, :, -1 if every else 0]
        return crossing(curve.ratios, values, LEVEL, paired=self.entrant.counted == "times")


@dataclass(frozen=True)
class Race(Shown):
    """A race that was run, as far as its time went.

    Attributes:
        course: what all had in common.
        standings: of every entrant, in the order of arrival: every direction first, then the first direction.
        interrupted: whether Ctrl-C ended it.
        store: where its runs are kept; empty if nowhere.

    Examples:
        >>> import featlab
        >>> race = featlab.race("tanh(h1)", dim=20, ratios=[2, 4], seeds=2, entrants=["sir"], theory=False)
        >>> race.course.dim, race.interrupted
        (20, False)
    """

    _picture = "featlab.reports.race_pictures:race_figure"
    _page = "featlab.reports.race_pictures:race_page"

    course: Course
    standings: tuple[Standing, ...]
    interrupted: bool = False
    store: str = ""

    def __str__(self) -> str:
        return written("featlab.reports.race:race_words", self)

    def __repr__(self) -> str:
        return f"<featlab.Race {self.course.analysis.target.text!r} at d = {self.course.dim}>"

    def __getitem__(self, name: str) -> Standing:
        """The entrant of that name."""
        return {one.entrant.name: one for one in self.standings}[name]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON knows it: a missing number is null."""
        course = self.course
        return {
            "target": course.analysis.target.text,
            "noise": course.analysis.target.noise,
            "dim": course.dim,
            "ratios": list(course.ratios),
            "seeds": course.seeds,
            "key": course.key,
            "interrupted": self.interrupted,
            "store": self.store,
            "entrants": [_record(one, course.dim) for one in self.standings],
        }


def arranged(standings: list[Standing]) -> tuple[Standing, ...]:
    """In the order of arrival; those without directions last, by their risk."""

    def place(one: Standing) -> tuple[float, ...]:
        arrivals = [one.arrival(every=every) for every in (True, False)]
        group = 2.0 if one.measured is None else 0.0 if one.entrant.finds_directions else 1.0
        best = 0.0 if one.measured is None else one.measured.best
        ratios = [np.inf if arrival is None else arrival.at for arrival in arrivals]
        return (group, *ratios, best if group else -best)

    return tuple(sorted(standings, key=place))


def _record(one: Standing, dim: int) -> Mapping[str, Any]:
    return {
        "name": one.entrant.name,
        "label": one.entrant.label,
        "settings": one.entrant.how,
        "seconds": one.seconds,
        "simulation": _curve_record(one.measured) | _arrivals(one, dim, theory=False),
        "simulation_remark": one.measured_reason,
        "theory": _curve_record(one.predicted) | _arrivals(one, dim, theory=True),
        "theory_remark": one.predicted_reason,
    }


def _arrivals(one: Standing, dim: int, *, theory: bool) -> dict[str, Any]:
    found = {
        name: one.arrival(every=every, theory=theory) for name, every in (("first_direction", False), ("all", True))
    }
    return {
        name: None if at is None else {"ratio": _number(at.at), "low": _number(at.low), "high": _number(at.high)}
        for name, at in found.items()
    }


def _curve_record(curve: Curve | None) -> dict[str, Any]:
    if curve is None:
        return {}
    parts = {"found": curve.found, "risk_share": curve.risk}
    return {"ratios": curve.ratios.tolist()} | {
        name: _plain(values.tolist()) for name, values in parts.items() if values is not None
    }


def _plain(values: Any) -> Any:
    return [_plain(one) for one in values] if isinstance(values, list) else _number(values)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
