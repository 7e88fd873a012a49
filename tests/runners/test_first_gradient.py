"""One gradient step, looked at from all sides, as the points of a study."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.runners import find_runner
from featlab.runners.first_gradient import OBSERVED, experiment_of, run_point
from featlab.simulation.feature_maps import FreshSamples, network_features
from featlab.study import InvalidStudy, Study, run
from featlab.study import open as open_study

POINT = {"target": "tanh(h1)", "noise": 0.1, "activation": "erf", "dim": 12, "samples": 30, "width": 9}
EVERYTHING = {**POINT, "steps": [0.0, 2.0], "unit": 0.5, "readout": 25, "ridges": [0.1, 1.0], "observe": [*OBSERVED]}


def test_every_row_is_what_the_drawn_matrices_say():
    first, second = run_point(EVERYTHING, 2**64 - 1)
    of = experiment_of(EVERYTHING)
    assert first["number"] == second["number"] < 2**53, "it survives being stored as a float"
    batch = of.draw(second["number"])
    weights = batch.start + 1.0 * batch.gradient
    left, values, right = np.linalg.svd(weights)
    assert first["singular_values"] == pytest.approx(np.linalg.svd(batch.start, compute_uv=False))
    assert second["singular_values"] == pytest.approx(values)
    assert second["singular_value"] == pytest.approx(values[0])
    assert second["input_overlap"] == pytest.approx(right[0, 0] ** 2)
    unit = batch.second / np.linalg.norm(batch.second)
    assert second["neuron_overlap"] == pytest.approx((left[:, 0] @ unit) ** 2)
    assert second["common_norm"] == pytest.approx(np.linalg.norm(batch.common))
    assert second["second_norm"] == pytest.approx(np.linalg.norm(batch.second))
    fresh = FreshSamples.of(of, 25, second["number"], 1)
    features = network_features(of.activation, weights)
    assert second["excess"] == pytest.approx(fresh.excess_risks(features, np.array([0.1, 1.0]) / 9))
    assert second["spectrum"] == pytest.approx(fresh.spectrum(features))
    for name in ("excess", "spectrum"):
        others = [np.array(second[f"{kind}_{name}"]) for kind in ("plain", "conditional")]
        assert all(other.shape == np.shape(second[name]) for other in others)
        assert not np.allclose(*others)


def test_a_dataset_has_steps_by_label_and_ridges_by_place(tmp_path):
    study = Study(
        {**POINT, "steps": [0.0, 2.0]}, {"unit": [0.5, 1.0]}, {"ridges": "0.1*unit"}, observe=["excess", "spectrum"]
    )
    assert run(study, find_runner("one-step", "."), tmp_path / "a.sqlite").complete
    data = open_study(tmp_path / "a.sqlite")
    assert data["excess"].dims == ("unit", "step")
    assert data["spectrum"].dims == ("unit", "step", "eigenvalue")
    assert data["step"].values.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"width": None}, "width: got None"),
        ({"scale": 2.0}, "scale"),
        ({"ridges": None}, "p lambda"),
        ({"observe": ["risc"]}, "risc"),
        ({"second_layer": "ones"}, "'gaussian' or 'signs'"),
    ],
)
def test_a_point_that_says_too_little_or_too_much_is_refused(change, words, tmp_path):
    point = {name: value for name, value in {**EVERYTHING, **change}.items() if value is not None}
    with pytest.raises(InvalidStudy, match=words):
        run(Study(point), find_runner("one-step", "."), tmp_path / "a.sqlite")
