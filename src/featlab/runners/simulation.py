"""`kind = "simulate"`: a point is a call of `featlab.simulate`, its rows are order parameters of a seed at a time."""

from __future__ import annotations

from featlab.outcome import Outcome
from featlab.results import BESIDES
from featlab.runners.questions import (
    AXES,
    WORDS,
    experiment_of,
    known_parameters,
    parameters_of_simulations,
    rows_of,
)
from featlab.study.canonical import canonical_text
from featlab.study.description import Point
from featlab.study.runner import Row, Runner

# Raised whenever a release changes the numbers of a simulation: stored points then count as not done.
NUMERICS = "1"


def run_point(point: Point, key: int) -> list[Row]:
    """Simulate a point: one row for each seed and time."""
    from featlab.simulation import simulate

    dataset = simulate(experiment_of(point, key=key), progress=False)
    if Outcome.INTERRUPTED in dataset["outcome"].values:  # by Ctrl-C, which is meant for the study
        raise KeyboardInterrupt
    # What is there for a prediction to start from would only fill a study's store.
    return rows_of(dataset if "observe" in point else dataset.drop_vars(BESIDES, errors="ignore"))


def check(point: Point) -> None:
    """Refuse what a run would refuse: values, and what this learner cannot do, observe or hold in `memory`."""
    from featlab.simulation.simulator import check_experiment

    check_experiment(experiment_of(point))


def seconds(point: Point) -> float:
    """By a count of what is to be done; no device is asked for anything."""
    from featlab.simulation.simulator import counted_seconds

    return counted_seconds(experiment_of(point))


def shape(point: Point) -> str:
    """What a simulation is compiled for: everything but the times at which it is looked at."""
    compiled = known_parameters(point.get("learner")) - {"times"}
    return canonical_text({name: value for name, value in point.items() if name in compiled})


SIMULATE = Runner(
    run_point,
    "simulate",
    NUMERICS,
    parameters_of_simulations,
    check,
    shape,
    ("seed", "time"),
    AXES,
    *WORDS,
    seconds=seconds,
)
