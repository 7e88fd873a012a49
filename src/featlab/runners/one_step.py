"""`kind = "one-step-readout"`: a point is one gradient step and a fitted second layer, with nothing left to tune.

The step is so large that the start is forgotten; then relu neurons get new biases, as wide as their fields are, and a
second layer that is fitted by ridge regression: features relu(<x, G_i>/s + b_i), b_i ~ N(0, 1), with s the root mean
square width of the features <x, G_i>, measured in each run. (`featlab.theory.one_step_readout` is the same learner with
the s of theory, which the measurement does not ask.) A point has target, noise, spike, alignment, dim, samples (of the
step, and as many of the fit) and width.
"""

from __future__ import annotations

from dataclasses import replace

from featlab.errors import InvalidParameter
from featlab.experiments import Experiment
from featlab.outcome import Outcome
from featlab.runners.questions import AXES, WORDS, experiment_of, rows_of
from featlab.study.description import Point
from featlab.study.runner import Row, Runner

# Raised whenever a release changes the numbers of a simulation: stored points then count as not done.
NUMERICS = "2"
_LARGE = 1000.0
_NEEDED = ("target", "dim", "samples", "width")
_OWN = ("seeds", "design", "observe")
_PARAMETERS = frozenset([*_NEEDED, *_OWN, "noise", "spike", "alignment"])


def run_point(point: Point, key: int) -> list[Row]:
    """Simulate a point: one row for each seed, after the step."""
    from featlab.learners import GiantSteps, Readout
    from featlab.simulation import simulate

    step = GiantSteps(1, scale=_LARGE, loss="correlation")
    learner = Readout(step, point["samples"], biases="gaussian", bias_scale="fields")
    dataset = simulate(replace(_experiment(point, key), learner=learner), progress=False)
    if Outcome.INTERRUPTED in dataset["outcome"].values:  # by Ctrl-C, which is meant for the study
        raise KeyboardInterrupt
    return rows_of(dataset)


def check(point: Point) -> None:
    """Refuse what would be refused at run time, as far as that can be known without running it."""
    for name in _NEEDED:
        if name not in point:
            raise InvalidParameter(name, None, "a value: every point needs it")
    _experiment(point, 0)


def _experiment(point: Point, key: int) -> Experiment:
    """The experiment with the student that the theorem has; its learner is still to be given."""
    said = {"learner": "giant-steps", "activation": "relu", "biases": "gaussian", "times": [1]}
    return experiment_of({**point, **said}, key=key)


ONE_STEP = Runner(run_point, "one-step-readout", NUMERICS, _PARAMETERS, check, None, ("seed", "time"), AXES, *WORDS)
