"""Estimates of predictions: a count to begin with, corrected by what was measured."""

from __future__ import annotations

import pytest

from featlab.explorer.estimates import Estimates, counted
from tests.explorer.standing_in import opened

AMP = {"target": "sign(h1*h2)", "learner": "bayes-amp", "iterations": "20"}
SGD = {"target": "tanh(h1)", "learner": "online-sgd"}


def test_a_count_grows_with_what_is_to_be_done() -> None:
    assert counted({**AMP, "iterations": 40}) == 2 * counted(AMP)
    assert counted({**AMP, "target": "sign(h1*h2*h3)"}) > 4 * counted(AMP)
    assert counted({**SGD, "width": "64"}) > 10 * counted(SGD)
    assert counted({"target": "h1", "learner": "kernel-ridge"}) < 1
    for hostile in ({}, {"target": ["h1"], "width": "inf", "learner": 3}, {**AMP, "iterations": "many"}):
        assert 0 < counted(hostile) < 1e12


def test_what_was_measured_corrects_it() -> None:
    estimates = Estimates()
    before = estimates.seconds(AMP)
    assert before == counted(AMP)
    estimates.learn(AMP, 3 * before)
    assert estimates.seconds(AMP) == pytest.approx(3 * before)
    # A slow machine is slow for the others, too, as long as nothing better is known of them.
    assert estimates.seconds(SGD) == pytest.approx(3 * counted(SGD))
    estimates.learn(AMP, 9 * before)
    assert 3 * before < estimates.seconds(AMP) < 9 * before


def test_the_server_learns_of_what_it_computes_and_of_nothing_else() -> None:
    asked = {"target": "h1", "learner": "kernel-ridge", "dim": 50, "samples": 500}
    with opened() as client:
        estimates = client.app.state.estimates

        def seconds() -> float:
            found: float = client.post("/api/v1/estimate", {"experiment": asked}).json()["seconds"]
            return found

        before = seconds()
        assert client.post("/api/v1/predict", {"experiment": asked, "draft": True}).status_code == 200
        assert seconds() == before
        assert client.post("/api/v1/predict", {"experiment": asked}).status_code == 200
        measured = seconds()
        assert measured != before
        estimates.learn(asked, 7.0)
        known = seconds()
        assert client.post("/api/v1/predict", {"experiment": asked}).status_code == 200  # kept: nothing is measured
        assert seconds() == known
