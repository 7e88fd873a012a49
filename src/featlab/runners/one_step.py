"""`kind = "one-step-readout"`: a point is one gradient step and a fitted second layer, with nothing left to tune.

That is `featlab.theory.one_step_readout`, whose step size depends on the target and the sizes and so cannot be named in
a study file. A point has target, noise, spike, alignment, dim, samples (of the step, and as many of the fit) and width.
"""

from __future__ import annotations

from typing import Any

from featlab.errors import InvalidParameter
from featlab.runners.questions import AXES, asked, rows_of
from featlab.study.description import Point
from featlab.study.runner import Row, Runner

# Raised whenever a release changes the numbers of a simulation: stored points then count as not done.
NUMERICS = "1"
_NEEDED = ("target", "dim", "samples", "width")
_OWN = ("seeds", "design", "observe")
_PARAMETERS = frozenset([*_NEEDED, *_OWN, "noise", "spike", "alignment"])


def run_point(point: Point, key: int) -> list[Row]:
    """Simulate a point: one row for each seed, after the step."""
    from featlab.simulation import simulate
    from featlab.theory import one_step_readout

    what = _asked(point)
    learner = one_step_readout(what["target"], dim=what["dim"], samples=what["samples"], student=what["student"])
    options = {name: point[name] for name in _OWN if name in point}
    dataset = simulate(**{**what, "learner": learner}, **options, times=[1], key=key, progress=False)
    if "interrupted" in dataset["outcome"].values:  # by Ctrl-C, which is meant for the study
        raise KeyboardInterrupt
    return rows_of(dataset)


def check(point: Point) -> None:
    """Refuse what would be refused at run time, as far as that can be known without running it."""
    for name in _NEEDED:
        if name not in point:
            raise InvalidParameter(name, None, "a value: every point needs it")
    _asked(point)["target"].at(point["dim"])


def _asked(point: Point) -> dict[str, Any]:
    """Target, student, dim and samples; the student is the one that the theorem has."""
    student = {"activation": "relu", "biases": "gaussian"}
    return asked(
        {name: value for name, value in point.items() if name not in _OWN} | student | {"learner": "giant-steps"}
    )


ONE_STEP = Runner(run_point, "one-step-readout", NUMERICS, _PARAMETERS, check, None, ("seed", "time"), AXES)
