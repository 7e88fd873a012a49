"""Searches as points of a study."""

import numpy as np

from featlab.gaussian.crossings import hitting_times
from featlab.runners.searches import run_point
from featlab.simulation import simulate

POINT = {
    "target": "h1", "learner": "online-sgd", "loss": "correlation", "constraint": "spherical", "activation": "relu",
    "step_size": "0.5/d", "dim": 200, "seeds": 4, "level": 0.5, "looks": 21, "design": "virtual",
}  # fmt: skip


def test_a_search_ends_where_the_overlap_reaches_the_level():
    from featlab.runners.questions import experiment_of

    rows = run_point({**POINT, "last": 6.0}, 7)
    times = np.linspace(0, 6, 21).tolist()
    runs = simulate(experiment_of({**POINT, "times": times}, observe=["overlap"], key=7), progress=False)
    expected = hitting_times(runs["time"].values, np.abs(runs["overlap"].values.reshape(4, -1)), 0.5)
    assert [row["search"] for row in rows] == expected.tolist()
    assert [row["reached"] for row in rows] == [1] * 4


def test_a_search_that_is_not_over_counts_as_long_as_it_was_watched():
    rows = run_point({**POINT, "last": 0.1}, 7)
    assert [(row["search"], row["reached"]) for row in rows] == [(0.1, 0)] * 4


def test_a_planted_overlap_above_the_level_needs_no_search():
    rows = run_point({**POINT, "last": 1.0, "cosine": 0.6}, 7)
    assert [(row["search"], row["reached"]) for row in rows] == [(0.0, 1)] * 4


def test_of_several_directions_the_first_that_is_found_ends_it():
    parity = {**POINT, "target": "sign(h1*h2)", "activation": "He2", "last": 2.0}
    assert [row["search"] for row in run_point({**parity, "cosine": 0.6}, 7)] == [0.0] * 4
    assert all(row["search"] > 0 for row in run_point({**parity, "cosine": 0.4}, 7))
