"""Points that are simulations and predictions: the numbers of `featlab.simulate` and `featlab.predict`, on a grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from docs.refresh import ROOT, blocks

import featlab
import featlab.simulation
from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text
from featlab.learners import Extragradient, OnlineSgd, Readout, ReusedBatch, StepLaw
from featlab.learners.fields import read_step
from featlab.results import QUANTITIES
from featlab.runners import PREDICT, SIMULATE, find_runner, load_study
from featlab.runners.questions import AXES, attributes_of, experiment_of
from featlab.study import InvalidStudy, Pool, Study, run
from featlab.study import open as open_study
from featlab.study.identity import runs_of

FIXED = {"target": "tanh(h1)", "learner": "online-sgd", "step_size": "0.5/d", "times": [0, 1, 2]}
GRID = Study({**FIXED, "seeds": 3}, {"dim": [30]}, repeats=2, key=4, observe=["overlap", "risk"])


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    path = tmp_path_factory.mktemp("simulated") / "a.sqlite"
    assert run(GRID, SIMULATE, path).complete
    return open_study(path)


def test_a_point_is_a_call_of_simulate(simulated: xr.Dataset) -> None:
    for one in runs_of(GRID, SIMULATE):
        direct = featlab.simulate(
            "tanh(h1)",
            OnlineSgd(StepLaw(0.5, 1)),
            dim=30,
            times=[0, 1, 2],
            seeds=3,
            key=one.key,
            observe=["overlap", "risk"],
        )
        found = simulated.sel(dim=30, repeat=one.repeat)
        for name in ("overlap", "risk", "risk_error"):
            assert found[name].dims == direct[name].dims
            np.testing.assert_array_equal(found[name].values.astype(np.float32), direct[name].values)
        np.testing.assert_array_equal(found["step"].isel(seed=0), [0, 30, 60])
        assert set(found["outcome"].values.ravel()) == {"ok"}


def test_repeats_are_independent(simulated: xr.Dataset) -> None:
    one, other = (simulated["overlap"].sel(repeat=repeat) for repeat in (0, 1))
    assert not np.any(one.values == other.values)


def test_a_pool_gives_the_same_bits(simulated: xr.Dataset, tmp_path: Path) -> None:
    assert run(GRID, SIMULATE, tmp_path / "a.sqlite", engine=Pool(1)).complete
    found = open_study(tmp_path / "a.sqlite")
    xr.testing.assert_identical(found, simulated)
    assert found["overlap"].values.tobytes() == simulated["overlap"].values.tobytes()


def test_a_point_is_a_call_of_predict(tmp_path: Path) -> None:
    fixed = {**FIXED, "constraint": "spherical", "start": "planted", "planted": [[0.5]], "activation": "tanh"}
    study = Study(fixed, {"dim": [30, 60]})
    assert run(study, PREDICT, tmp_path / "a.sqlite").complete
    found = open_study(tmp_path / "a.sqlite")
    student = featlab.TwoLayer(activation="tanh", start="planted", planted=((0.5,),))
    learner = OnlineSgd(StepLaw(0.5, 1), constraint="spherical")
    direct = featlab.theory.predict("tanh(h1)", learner, dim=60, times=[0, 1, 2], student=student)
    np.testing.assert_array_equal(found["overlap"].sel(dim=60), direct["overlap"])
    assert found["overlap"].dims == ("dim", *direct["overlap"].dims)


def test_an_interrupt_within_a_simulation_is_meant_for_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = xr.Dataset({"outcome": ("seed", ["ok", "interrupted"])}, {"seed": [0, 1], "time": [0]})
    monkeypatch.setattr(featlab.simulation, "simulate", lambda *args, **options: stopped)
    with pytest.raises(KeyboardInterrupt):
        SIMULATE.run_point(next(GRID.points()), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "tanh(h1"}, "target|got 'tanh"),
        ({"dim": 0}, "dim: got 0"),
        ({"target": "h1*h2*h3", "dim": 2}, "at least 3, the number of the target's directions"),
        ({"learner": "online-sdg"}, "learner: got 'online-sdg', .*did you mean 'online-sgd'"),
        ({"step_size": "0.5/e"}, "step_size: got '0.5/e'"),
        ({"step_size": -1}, "step_size: got -1"),
        ({"inner_step": 0.1}, "inner_step: got 0.1, expected nothing of that name for online-sgd"),
        ({"width": 0}, "width: got 0"),
        ({"times": [-1]}, r"times: got \(-1,\)"),
        ({"ridge": 0.1}, "ridge: got 0.1, expected a readout beside it"),
    ],
)
def test_bad_points_are_refused_before_anything_runs(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    good = {**FIXED, "dim": 30}
    with pytest.raises(InvalidStudy, match=rf"the point target = .* cannot be run: .*({message})"):
        run(Study({**good, **changes}), SIMULATE, tmp_path / "a.sqlite")
    assert not (tmp_path / "a.sqlite").exists()


def test_a_prediction_is_checked_before_anything_runs() -> None:
    point = {**FIXED, "dim": 30, "start": "orthogonal"}
    PREDICT.check_point(point)
    for changes, message in (
        ({"observe": ["cosines"]}, "observe: got 'cosines'"),
        ({"second_layer": "gaussian"}, "drawn at random"),
        ({"learner": "adam", "step_size": 0.1}, "no theory known"),
    ):
        with pytest.raises(InvalidStudy, match=message):
            PREDICT.check_point({**point, **changes})


def test_the_plural_of_a_parameter_is_no_typo() -> None:
    with pytest.raises(InvalidStudy, match="unknown parameter 'seed' of simulate; it has"):
        runs_of(Study({**FIXED, "dim": 30, "seed": 3}), SIMULATE)


def test_names_are_checked() -> None:
    with pytest.raises(InvalidStudy, match="unknown parameter 'sedes' of simulate; did you mean 'seeds'"):
        runs_of(Study({**FIXED, "dim": 30, "sedes": 3}), SIMULATE)
    with pytest.raises(InvalidStudy, match="unknown parameter 'seeds' of predict"):
        runs_of(Study({**FIXED, "dim": 30, "seeds": 3}), PREDICT)
    with pytest.raises(InvalidStudy, match="dim: every experiment needs it: the dimension"):
        runs_of(Study(FIXED), SIMULATE)


def test_axes_are_those_of_the_simulation() -> None:
    assert {name: axes for name, (axes, _) in QUANTITIES.items() if axes} == {
        name: axes for name, axes in AXES.items() if name in QUANTITIES
    }


def test_a_simulation_says_how_long_it_takes_before_it_is_run() -> None:
    assert SIMULATE.seconds is not None
    fit = {"target": "h1", "learner": "random-features", "dim": 30, "seeds": 1}
    short, hours, days = (SIMULATE.seconds({**fit, "readout": 10**power}) for power in (2, 10, 12))
    assert short < 1
    assert days == pytest.approx(100 * hours, rel=0.01)
    assert days > 3600


def test_shapes_are_what_is_compiled() -> None:
    shape = SIMULATE.shape
    assert shape is not None
    point = next(GRID.points())
    assert shape(point) == shape({**point, "times": [0, 5]}) == shape({**point, "alpha": 3})
    assert shape(point) != shape({**point, "dim": 31})
    assert shape(point) != shape({**point, "step_size": "0.6/d"})


def test_learners_in_words() -> None:
    assert learner_from_text("extragradient", {"step_size": "0.1/d", "inner_step": 0.2})[0] == Extragradient(
        StepLaw(0.1, 1), 0.2
    )
    reused = {"steps": 2, "step_size": 0.2}
    assert learner_from_text("reused-batch", {**reused, "readout": "same", "ridge": 0.1})[0] == Readout(
        ReusedBatch(2, 0.2), ridge=0.1, data="same"
    )
    assert learner_from_text("random-features", {"readout": 100})[0] == Readout(None, 100)
    with pytest.raises(InvalidParameter, match="readout: random-features needs it"):
        learner_from_text("random-features", {})
    with pytest.raises(InvalidParameter, match="steps: reused-batch needs it: number of steps"):
        learner_from_text("reused-batch", {"step_size": 0.2})
    assert read_step("s", "2*d^-0.5") == StepLaw(2.0, 0.5)
    assert read_step("s", "0.1/d^1.5") == StepLaw(0.1, 1.5)
    assert read_step("s", "1e-3") == 1e-3


def test_a_name_of_both_is_the_learners() -> None:
    what = experiment_of({"target": "He2(h1)", "learner": "bayes-amp", "dim": 50, "start": "informed", "samples": 100})
    assert what.learner.start == "informed"
    assert what.student is None


def test_the_documented_study_can_be_run(tmp_path: Path) -> None:
    (block,) = blocks((ROOT / "docs" / "studies.md").read_text(encoding="utf-8"), "toml")
    (tmp_path / "sweep.toml").write_text(block, encoding="utf-8")
    study, runner = load_study(tmp_path / "sweep.toml")
    runs = runs_of(study, runner)
    assert len(runs) == 3 * 2 * 4
    assert runs[-1].point["samples"] == 40000


def test_kinds(tmp_path: Path) -> None:
    assert find_runner("simulate", ".") is SIMULATE
    assert find_runner("predict", ".") is PREDICT
    (tmp_path / "my_points.py").write_text("def mine(point, key):\n    return [{'y': 2 * point['x']}]\n")
    (tmp_path / "a.toml").write_text('kind = "my_points:mine"\n[axes]\nx = [1, 2]\n')
    study, runner = load_study(tmp_path / "a.toml")
    assert run(study, runner, tmp_path / "a.sqlite", engine=Pool(1)).complete
    assert open_study(tmp_path / "a.sqlite")["y"].values.tolist() == [2, 4]
    assert open_study(tmp_path / "a.toml")["y"].values.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("fixed", "axes", "units"),
    [
        (FIXED, {"dim": [30]}, "d steps"),
        ({"target": "h1", "dim": 30, "samples": 60}, {"learner": ["giant-steps", "bayes-amp"]}, "steps"),
    ],
)
def test_time_has_the_unit_that_the_learners_of_a_study_share(
    fixed: dict[str, Any], axes: dict[str, Any], units: str
) -> None:
    assert attributes_of(Study(fixed, axes))["time"]["units"] == units


def test_a_stored_study_knows_the_unit_of_time(simulated: xr.Dataset) -> None:
    assert simulated["time"].attrs["units"] == "d steps"
