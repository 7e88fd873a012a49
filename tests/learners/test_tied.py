"""Descriptions of networks with one shared direction: what they refuse, and what they count."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text, schedule
from featlab.learners import TiedFlow, TiedNetwork


@pytest.mark.parametrize(
    ("field", "value"),
    [("width", 0), ("width", 2.5), ("bias_scale", 0.0), ("bias_scale", np.inf), ("signs", 1), ("start", "planted")],
)
def test_networks_refuse(field, value):
    with pytest.raises(InvalidParameter, match=f"{field}: got"):
        TiedNetwork(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time", 0.0),
        ("time", 12.0),  # no multiple of the interval of 5
        ("frozen_time", -5.0),
        ("frozen_time", 205.0),
        ("frozen_time", 1.0),
        ("penalty", 0.0),
        ("restarts", 0),
        ("interval", -1.0),
        ("tolerance", 0.0),
        ("max_steps", 0),
        ("step_size", 0.0),
        ("direction_speed", 0.0),
        ("tuning_samples", 1),
        ("tuning_samples", 10.5),
        ("tuning_ridge", 0.0),
        ("tuning_ridge", "cross-validation"),
        ("tuning_width", 10),  # without tuning_samples
    ],
)
def test_flows_refuse(field, value):
    with pytest.raises(InvalidParameter, match=f"{field}: got"):
        TiedFlow(**{field: value})


def test_an_interval_holds_whole_steps():
    with pytest.raises(InvalidParameter, match=r"interval: got 5\.0, expected a multiple of 3\.0"):
        TiedFlow(step_size=3.0)


def test_what_is_counted():
    flow = TiedFlow(time=20.0, frozen_time=5.0, interval=2.5, max_steps=30)
    assert (flow.steps, flow.frozen_steps, flow.descents, flow.uses) == (8, 2, 0, 61)
    descent = TiedFlow(time=1.0, frozen_time=0.3, interval=0.1, step_size=0.02)
    assert (descent.steps, descent.frozen_steps, descent.descents, descent.uses) == (10, 3, 5, 51)


def test_time_is_that_of_the_flow():
    flow = TiedFlow(time=20.0, frozen_time=5.0, interval=2.5)
    assert schedule(flow, 10, 100, None).steps == tuple(range(9))
    plan = schedule(flow, 10, 100, [0, 10, 20])
    assert (plan.steps, plan.unit) == ((0, 4, 8), 0.4)
    with pytest.raises(InvalidParameter, match="from 0 to 20"):
        schedule(flow, 10, 100, [25])


def test_in_words():
    assert learner_from_text("tied-flow", {"time": 50, "tuning_samples": 9})[0] == TiedFlow(time=50, tuning_samples=9)
    assert learner_from_text("tied-flow", {"width": 7, "signs": False})[1] == TiedNetwork(7, signs=False)
    with pytest.raises(InvalidParameter, match="nothing of that name"):
        learner_from_text("tied-flow", {"paired": True})
