"""One gradient step and a fitted second layer as the points of a study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import featlab
from featlab.learners import GiantSteps, Readout
from featlab.runners import find_runner
from featlab.study import InvalidStudy, Study, run
from featlab.study import open as open_study
from featlab.study.identity import runs_of
from featlab.theory import one_step_readout

FIXED = {"target": "h1 + He2(h1)", "samples": 60, "width": 6, "seeds": 2, "design": "dense", "observe": ["risk"]}


def test_a_point_is_the_learner_of_the_theorem_on_its_target(tmp_path: Path) -> None:
    study, runner = Study({**FIXED, "spike": 0.5}, {"dim": [30]}, key=5), find_runner("one-step-readout", ".")
    assert run(study, runner, tmp_path / "a.sqlite").complete
    (one,) = runs_of(study, runner)
    law, student = featlab.target("h1 + He2(h1)", inputs=featlab.SpikeLaw(0.5)), featlab.TwoLayer(6, biases="gaussian")
    sizes = {"dim": 30, "samples": 60}
    learner = Readout(GiantSteps(1, 1000.0, loss="correlation"), 60, biases="gaussian", bias_scale="fields")
    direct = featlab.simulate(
        law, learner, **sizes, times=[1], seeds=2, key=one.key, student=student, design="dense", observe=["risk"]
    )
    found = open_study(tmp_path / "a.sqlite")["risk"].sel(dim=30)
    assert np.all(np.isfinite(found.values))
    np.testing.assert_array_equal(found.values, direct["risk"].values)


def test_measured_width_does_what_that_of_theory_does(tmp_path: Path) -> None:
    """The same draws with the step of `one_step_readout`: most risks differ by little; with biases ten times as
    wide, by much."""
    fixed = {**FIXED, "dim": 40, "width": 20, "samples": 400, "seeds": 12}
    study, runner = Study({**fixed, "spike": 0.5}, key=6), find_runner("one-step-readout", ".")
    assert run(study, runner, tmp_path / "a.sqlite").complete
    measured = open_study(tmp_path / "a.sqlite")["risk"].values.ravel()
    (one,) = runs_of(study, runner)
    law, student = featlab.target("h1 + He2(h1)", inputs=featlab.SpikeLaw(0.5)), featlab.TwoLayer(20, biases="gaussian")
    learner = one_step_readout(law, dim=40, samples=400, student=student)
    said = {"dim": 40, "samples": 400, "times": [1], "seeds": 12, "key": one.key, "student": student}
    said |= {"design": "dense", "observe": ["risk"], "progress": False}
    theirs = featlab.simulate(law, learner, **said)["risk"].values.ravel()
    wide = featlab.simulate(law, replace(learner, bias_scale=10 * learner.bias_scale), **said)["risk"].values.ravel()
    assert np.median(np.abs(measured / theirs - 1)) < 0.1
    assert np.median(np.abs(wide / theirs - 1)) > 0.3


@pytest.mark.parametrize(("change", "words"), [({"width": None}, "width: got None"), ({"scale": 2.0}, "scale")])
def test_a_point_that_says_too_little_or_too_much_is_refused(change: dict, words: str, tmp_path: Path) -> None:
    point = {name: value for name, value in {**FIXED, "dim": 30, **change}.items() if value is not None}
    with pytest.raises(InvalidStudy, match=words):
        run(Study(point), find_runner("one-step-readout", "."), tmp_path / "a.sqlite")
