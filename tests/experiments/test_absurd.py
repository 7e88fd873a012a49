"""Whatever a study file says of a name, the answer is an experiment or a refusal that names it; never a raw error.

Without the checks: `observe = 7` was a TypeError; numbers of hundreds of digits, `norm = 1e308`, `dim = 1e30` of a
prediction and `batch = 1e30` of a simulation were OverflowErrors: all of them a fault of featlab, by its exit code.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from benchmarks.attack_inputs import sound

from featlab.errors import FeatlabError, InvalidParameter
from featlab.experiments import experiment_from_text, known_names
from featlab.learners.checks import finite_number, positive_integer
from featlab.learners.registry import learner_names
from featlab.simulation.simulator import check_experiment
from featlab.theory import predict
from featlab.theory.prediction import check_prediction

VALUES: tuple[Any, ...] = (
    *(7, -1, True, 1e308, 5e-324, float("nan"), 10**30, 10**400, "x", "", date(2020, 1, 1)),
    *([], [1], ["a"], [[]], [10**400], {"a": 1}),
)


@pytest.mark.parametrize("learner", learner_names())
def test_every_value_is_taken_or_refused_by_name(learner: str) -> None:
    said, refused = sound(learner), 0
    for name in sorted(known_names(learner)):
        for value in VALUES:
            for check in (check_experiment, check_prediction):
                try:
                    check(experiment_from_text({**said, name: value}))
                except FeatlabError as fault:
                    refused += str(fault) != ""
    assert refused > len(known_names(learner)) * len(VALUES)


def test_numbers_that_no_float_holds_are_refused_without_writing_them() -> None:
    with pytest.raises(InvalidParameter, match=r"a number of 33,220 bits.*at most 1e300"):
        positive_integer("dim", 10**10_000)
    with pytest.raises(InvalidParameter, match=r"noise: got 'a number of 33,220 bits'"):
        finite_number("noise", -(10**10_000))


def test_what_a_simulation_cannot_count_to_is_refused_with_what_it_would_take() -> None:
    said = {"target": "h1", "learner": "giant-steps", "dim": 50, "samples": 10**30}
    with pytest.raises(InvalidParameter, match=r"samples: .*at most 4,611,686,018,427,387,904.*takes 3\.2e\+14 years"):
        check_experiment(experiment_from_text(said))


@pytest.mark.parametrize(
    ("learner", "name", "value"),
    [
        ("giant-steps", "leap", 1e20),  # OverflowError
        ("giant-steps", "scale", 1e160),  # OverflowError
        ("reused-batch", "step_size", "0.1*d^400"),  # OverflowError
        ("kernel-ridge", "noise", 1e20),  # ZeroDivisionError, of a signal lost in rounding
        ("inverse-regression", "slices", 1e20),  # ValueError of NumPy
        ("preprocessed-step", "biases", -1e20),  # ZeroDivisionError, of a gradient of zero
    ],
)
def test_what_no_prediction_can_be_computed_with_is_refused(learner: str, name: str, value: Any) -> None:
    start = {} if learner in ("kernel-ridge", "inverse-regression") else {"start": "orthogonal"}
    with pytest.raises(FeatlabError):
        predict(experiment_from_text({**sound(learner), **start, name: value}))


def test_a_neuron_of_which_nothing_is_left_has_no_flow() -> None:
    """relu(z - 10^6): its energy is 0, by which the share of high degrees was divided. Nothing drives it."""
    found = predict(experiment_from_text({**sound("spherical-flow"), "start": "orthogonal", "biases": -1e6}))
    assert not np.isfinite(found["overlap"].values[1:]).any()
    assert found.attrs["outcome"] == "stalled"
