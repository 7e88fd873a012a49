"""Theory in the words of one-step studies: the critical step's formula, limits, and what was realised."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.exhibits.one_step import (
    CRITICAL,
    SIZES,
    gaussian_risks,
    given_weights,
    limit_excess,
    linear_floor,
    moments_of,
    realised_neurons,
    realised_spike,
)
from featlab.gaussian.activations import activation
from featlab.runners import find_runner
from featlab.runners.first_gradient import experiment_of
from featlab.simulation.feature_maps import FreshSamples, network_features
from featlab.simulation.first_gradient import OneStep
from featlab.study import Study, run
from featlab.study import open as open_study
from featlab.targets import target
from featlab.theory.spikes import critical_step, gradient_spike, label_moments, slope_moments

TANH = activation("tanh")


@pytest.mark.parametrize(("student", "teacher", "noise"), [("tanh", "relu(h1)", 0.0), ("erf", "tanh(h1)", 0.3)])
def test_the_formula_of_studies_is_the_critical_step(student, teacher, noise):
    facts = moments_of(student, teacher, noise)
    (point,) = Study({**facts, "psi1": 2.5, "psi2": 0.5, "dim": 400}, {}, {**SIZES, **CRITICAL}).points()
    of = target(teacher, noise=noise)
    spike, slope = gradient_spike(label_moments(of), 2.5), slope_moments(activation(student)).slope
    assert (point["samples"], point["width"]) == (1000, 200)
    assert point["unit"] == pytest.approx(critical_step(200**0.5, slope, spike, 0.5), rel=1e-6)
    assert linear_floor(teacher) == pytest.approx(label_moments(of).floor - noise)


def test_measured_risk_is_near_the_limit():
    """d = 120, 12 seeds, a giant step: within four standard errors and 1/sqrt(d); 1.3 times the limit is refused."""
    of, size, ridges = OneStep(target("tanh(h1)", noise=0.01), TANH, 120, 480, 120), 1.0, np.array([0.1 / 120])
    found = []
    for seed in range(12):
        moved = of.draw(seed).after(size)
        found.append(FreshSamples.of(of, of.samples, seed).excess_risks(network_features(TANH, moved), ridges)[0])
    limit = limit_excess(of, size, ridges)[0]
    allowed = 4 * np.std(found, ddof=1) / np.sqrt(12) + limit / np.sqrt(120)
    assert abs(np.mean(found) - limit) < allowed < 0.3 * limit


def test_theory_draws_the_weights_of_a_run_again(tmp_path):
    """Given the weights of each run, and the step in its unit; the weights of another run give other risks."""
    fixed = {"target": "tanh(h1)", "noise": 0.1, "activation": "tanh", "steps": [0.0, 2.0], "unit": 0.5}
    study = Study(
        {**fixed, "samples": 60, "width": 30, "ridges": [0.1, 1.0]}, {"dim": [30]}, repeats=2, observe=["excess"]
    )
    assert run(study, find_runner("one-step", "."), tmp_path / "a.sqlite").complete
    data = open_study(tmp_path / "a.sqlite")
    found = given_weights(data, gaussian_risks)["excess"]
    assert found.dims == data["excess"].dims
    of = experiment_of(next(iter(study.points())))
    batch = of.draw(int(data["number"][0, 1, 0]))
    direct = gaussian_risks(of, batch.after(1.0), batch, np.array([0.1, 1.0]) / 30) - 0.1
    assert found[0, 1, 1].values == pytest.approx(direct)
    assert found[0, 0, 1].values != pytest.approx(direct, rel=1e-3)


def test_what_was_realised_tends_to_the_limit():
    """Strength, cosine and noise of the common gradient of 20,000 samples in d = 500, p = 500."""
    of = OneStep(target("tanh(h1)", noise=0.1), TANH, 500, 20_000, 500)
    found, limit = realised_spike(of.draw(1)), gradient_spike(label_moments(of.target), 40.0)
    assert found.strength == pytest.approx(limit.strength, rel=0.03)
    assert found.cosine == pytest.approx(limit.cosine, rel=0.03)
    assert found.noise == pytest.approx(limit.noise, rel=0.03)
    assert found.noise != pytest.approx(gradient_spike(label_moments(of.target), 20.0).noise, rel=0.03)


def test_neurons_in_groups_keep_their_mean_square():
    second = np.random.default_rng(4).standard_normal(203)
    found = realised_neurons(second)
    assert np.sum(found.weights) == pytest.approx(1)
    assert found.weights @ found.second**2 == pytest.approx(np.mean(second**2))
    assert np.all(np.diff(found.second) > 0)
