"""A point as a question: what is to be learned, by whom, how. The same for a simulation and a prediction.

A point's parameters are the options of `featlab simulate`, with underscores: target, noise, spike, alignment,
hypercube, learner, dim, samples, times, the fields of the learner and of the student. A name that both have (`start` of
bayes-amp) is the learner's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from featlab.errors import InvalidParameter
from featlab.learners.checks import positive_integer
from featlab.learners.schedule import schedule
from featlab.learners.words import (
    LEARNER_OPTIONS,
    READOUT_OPTIONS,
    STUDENT_OPTIONS,
    learner_in_words,
    options_of,
    student_in_words,
)
from featlab.results import QUANTITIES
from featlab.study.description import Point
from featlab.study.runner import Row

if TYPE_CHECKING:
    import xarray as xr

    from featlab.targets import Target

_NEEDED = ("target", "learner", "dim")
_OTHERS = ("noise", "spike", "alignment", "hypercube", "samples", "times")
_OF_ALL = frozenset([*_NEEDED, *_OTHERS])
PARAMETERS = frozenset([*_OF_ALL, *LEARNER_OPTIONS, *READOUT_OPTIONS, *STUDENT_OPTIONS])
AXES = {name + part: axes for name, (axes, _) in QUANTITIES.items() if axes for part in ("", "_error")}


def asked(point: Point) -> dict[str, Any]:
    """The arguments that `featlab.simulate` and `featlab.predict` have in common."""
    own = options_of(point["learner"])
    of_students = frozenset(STUDENT_OPTIONS) - own - _OF_ALL
    of_learners = (own | (frozenset([*LEARNER_OPTIONS, *READOUT_OPTIONS]) - of_students)) - _OF_ALL
    student = {name: value for name, value in point.items() if name in of_students}
    learner = {name: value for name, value in point.items() if name in of_learners}
    alignment = point.get("alignment")
    overlaps = tuple(alignment) if isinstance(alignment, list) else alignment
    sizes: dict[str, Any] = {name: point[name] for name in ("dim", "samples", "times") if name in point}
    return {
        "target": _parsed(
            point["target"], point.get("noise", 0.0), point.get("spike"), overlaps, point.get("hypercube")
        ),
        "learner": learner_in_words(point["learner"], learner),
        "student": student_in_words(point["learner"], student) if student else None,
        **sizes,
    }


def check(point: Point) -> None:
    """Refuse what would be refused at run time, as far as that can be known without running it."""
    for name in _NEEDED:
        if name not in point:
            raise InvalidParameter(name, None, "a value: every point needs it")
    what = asked(point)
    if positive_integer("dim", point["dim"]) < what["target"].rank:
        raise InvalidParameter("dim", point["dim"], f"at least {what['target'].rank}, the target's directions")
    what["target"].at(point["dim"])
    schedule(what["learner"], point["dim"], point.get("samples"), point.get("times"))


def rows_of(dataset: xr.Dataset) -> list[Row]:
    """A dataset as rows, one for each time (of each seed, if it has seeds); what has no time is repeated."""
    if "seed" not in dataset.dims:
        return _timed_rows(dataset, {})
    seeds = dataset["seed"].values.tolist()
    return [
        row for place, seed in enumerate(seeds) for row in _timed_rows(dataset.isel(seed=place), {"seed": int(seed)})
    ]


def _timed_rows(dataset: xr.Dataset, label: dict[str, Any]) -> list[Row]:
    """The rows of a dataset whose first axis, where it has one, is time."""
    columns = {str(name): variable.values.tolist() for name, variable in dataset.data_vars.items()}
    timed = {name for name, variable in dataset.data_vars.items() if "time" in variable.dims}
    steps = dataset["step"].values.tolist()
    return [
        {**label, "time": time, "step": steps[at]}
        | {name: column[at] if name in timed else column for name, column in columns.items()}
        for at, time in enumerate(dataset["time"].values.tolist())
    ]


@lru_cache(maxsize=256)
def _parsed(text: str, noise: float, spike: float | None, alignment: Any, hypercube: float | None) -> Target:
    from featlab.targets import target
    from featlab.targets.inputs import inputs_in_words

    return target(text, noise=noise, inputs=inputs_in_words(spike, alignment, hypercube))
