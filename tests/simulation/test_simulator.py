"""The door: the dataset, reproducibility, failures that are values, misuse that is an exception."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import featlab.simulation.run as run_module
from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.learners import Extragradient, GiantSteps, OnlineSgd, ReusedBatch, StepLaw, TwoLayer
from featlab.simulation import DoesNotFit, simulate
from featlab.targets import target

HE2 = target("He2(h1)")
SGD = OnlineSgd(StepLaw(0.3, 1.0), loss="correlation", constraint="spherical")
QUICK = {"student": TwoLayer(activation="He2"), "observe": ("overlap",), "progress": False}


def test_the_dataset_is_labelled_and_says_where_it_came_from():
    data = simulate(
        "h1 + h2*h3", OnlineSgd(0.01), dim=50, samples=100, seeds=[4, 9], student=TwoLayer(5, "tanh"), progress=False
    )
    assert data.overlap.dims == data.cosine.dims == ("seed", "time", "neuron", "direction")
    assert data.overlap.shape == (2, data.sizes["time"], 5, 3)
    assert data.seed.values.tolist() == [4, 9]
    assert (data.step.values[0], data.step.values[-1]) == (0, 100)
    np.testing.assert_allclose(data.time.values, data.step.values / 50)
    np.testing.assert_allclose(data.cosine, data.overlap / data.norm, rtol=1e-5)
    singular = np.linalg.svd(data.cosine.values / np.sqrt(5), compute_uv=False)
    np.testing.assert_allclose(data.subspace, singular, atol=1e-5)
    assert data.outcome.values.tolist() == ["ok", "ok"]
    assert data.attrs["target"] == "h1 + h2*h3"
    assert data.attrs["design"] == "virtual"
    assert data.attrs["design_bytes_per_seed"] > 0


def test_risk_is_the_mean_squared_error_of_a_fresh_sample():
    """Linear student and target: E[(y - f)^2] = 1 - 2 M + Q + noise, exactly; 5 standard errors, and a control."""
    data = simulate(
        target("h1", noise=0.5),
        OnlineSgd(0.05),
        dim=30,
        times=[0, 1],
        seeds=20,
        student=TwoLayer(1, "identity"),
        observe=("overlap", "gram", "risk"),
        progress=False,
    )
    exact = 1 - 2 * data.overlap[:, :, 0, 0] + data.gram[:, :, 0, 0] + 0.5
    assert np.all(np.abs(data.risk - exact) < 5 * data.risk_error)
    assert np.all(np.abs(data.risk - (exact - 0.5)) > 5 * data.risk_error)


def test_a_seed_does_not_depend_on_its_company_nor_on_when_it_is_looked_at():
    alone = simulate(HE2, SGD, dim=100, times=[1, 3], seeds=[6], **QUICK)
    crowd = simulate(HE2, SGD, dim=100, times=[0.5, 1, 1.77, 3], seeds=9, **QUICK)
    grouped = simulate(HE2, SGD, dim=100, times=[1, 3], seeds=9, memory=3 * 6000, **QUICK)
    np.testing.assert_allclose(alone.overlap[0], crowd.overlap.sel(seed=6, time=[1, 3]), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(grouped.overlap, crowd.overlap.sel(time=[1, 3]), rtol=1e-4, atol=1e-6)
    assert np.ptp(crowd.overlap.values[:, -1]) > 0.01


def test_compiled_once_per_shape():
    """A second run of the same shape, with another key and other times, traces nothing."""
    traced = []

    def counting(x):
        traced.append(1)
        return x**2 - 1

    student = TwoLayer(activation=activation(counting))
    words = {"dim": 100, "seeds": 4, "student": student, "observe": ("overlap", "risk"), "progress": False}
    simulate(HE2, SGD, times=[0, 1, 3], key=1, **words)
    before = len(traced)
    simulate(HE2, SGD, times=[0.5, 2, 4, 9], key=2, **words)
    assert len(traced) == before > 0
    simulate(HE2, SGD, times=[1], key=2, **(words | {"seeds": 5, "observe": ("overlap",)}))
    assert len(traced) > before


def test_a_diverging_seed_is_noted_and_harms_no_other():
    """Cubic fields with a bold step: some seeds blow up. The others are as if alone."""
    words = {"dim": 40, "times": [0.1, 2, 6], "student": TwoLayer(activation="He3"), "progress": False}
    learner = OnlineSgd(0.0012)
    data = simulate("He3(h1)", learner, seeds=40, **words)
    lost = data.outcome.values == "diverged"
    assert 0 < lost.sum() < 40
    assert np.all((data.diverged_step.values > 0) == lost)
    assert np.all(np.isfinite(data.overlap.values[~lost]))
    late = data.isel(seed=np.flatnonzero(lost)[0])
    after = late.step.values >= int(late.diverged_step)
    assert np.all(np.isnan(late.overlap.values[after]))
    assert np.all(np.isfinite(late.overlap.values[~after]))
    sound = int(data.seed.values[~lost][0])
    alone = simulate("He3(h1)", learner, seeds=[sound], **words)
    np.testing.assert_allclose(alone.overlap[0], data.overlap.sel(seed=sound), rtol=1e-3, atol=1e-5)


def test_an_interrupted_run_returns_what_is_done(monkeypatch):
    advance, calls = run_module.advance, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return advance(*args)

    monkeypatch.setattr(run_module, "advance", interrupted)
    data = simulate(HE2, ReusedBatch(4, 0.1), dim=50, samples=60, seeds=3, **QUICK)
    assert set(data.outcome.values) == {"interrupted"}
    assert np.all(np.isfinite(data.overlap.values[:, :3]))
    assert np.all(np.isnan(data.overlap.values[:, 3:]))


def test_calls_of_slow_steps_are_short(monkeypatch):
    """By the clock of the second call, the first one that is not compiled: no call is meant to last over a second."""
    clock, longest = [0.0], {}
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: clock[0])
    for step in (3.0, 0.1, 1e-3, 1e-6):
        pace, lasted = run_module._Pace(), []
        for number in range(40):
            steps = pace.steps
            with pace.timing(steps):
                clock[0] += steps * step + (20.0 if number == 0 else 1e-3)
            lasted.append(steps * step)
        longest[step] = max(lasted)
    assert longest.pop(3.0) == 3.0, "one step cannot be divided"
    assert all(0.2 < seconds < 1 for seconds in longest.values())


def test_any_dimension_is_only_a_number():
    """The noise of one step is gamma sqrt(d): the same relative motion at a prime near 10^9 and at d = 10^12."""
    norms = []
    for dim in (10**9 + 7, 10**12):
        learner = OnlineSgd(StepLaw(1.0, 0.5), loss="correlation")
        student = TwoLayer(activation="identity", start="orthogonal")
        data = simulate("h1", learner, dim=dim, times=[10 / dim], seeds=2000, student=student, progress=False)
        norms.append(float((data.norm**2).mean()))
    # E|w|^2 = 1 + 10 (gamma^2 (d + 2) E[y^2]) plus O(1/d).
    assert norms == pytest.approx([11.0] * 2, rel=0.06)


def test_double_precision_on_request():
    data = simulate(HE2, SGD, dim=100, times=[1], seeds=2, dtype="float64", **QUICK)
    assert data.overlap.dtype == np.float64
    assert not jax.config.jax_enable_x64


def test_gradient_of_a_giant_step_can_be_looked_at():
    data = simulate(
        "h1", GiantSteps(1), dim=200, samples=400, seeds=2, observe=("gradient_cosine", "gram"), progress=False
    )
    assert np.all(np.isnan(data.gradient_cosine.values[:, 0]))
    assert np.all(np.abs(data.gradient_cosine.values[:, 1]) > 0.5)
    assert data.gram.dims[-1] == "other_neuron"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"dim": 0}, "dim"),
        ({"dim": 2.5}, "dim"),
        ({"goal": "h1*h2*h3", "dim": 2}, "dim"),
        ({"samples": 0}, "samples"),
        ({"samples": None}, "samples"),
        ({"learner": OnlineSgd(0.1, batch=50), "samples": 49}, "samples"),
        ({"learner": GiantSteps(), "samples": None}, "samples"),
        ({"learner": GiantSteps(2), "times": [3]}, "times"),
        ({"times": [-1.0]}, "times"),
        ({"times": [float("nan")]}, "times"),
        ({"times": []}, "times"),
        ({"times": [11.0]}, "times"),
        ({"samples": 10**10}, "samples"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": []}, "seeds"),
        ({"seeds": [-1]}, "seeds"),
        ({"learner": "sgd"}, "learner"),
        ({"observe": ("overlaps",)}, "observe"),
        ({"observe": ("gradient_cosine",)}, "observe"),
        ({"dtype": "float16"}, "dtype"),
        ({"design": "sparse"}, "design"),
        ({"learner": Extragradient(0.1, 0.1), "design": "dice"}, "design"),
    ],
)
def test_misuse_is_refused_by_name(words, name):
    given = {"goal": "h1", "learner": OnlineSgd(0.1), "dim": 10, "samples": 100} | words
    with pytest.raises(InvalidParameter) as caught:
        simulate(given.pop("goal"), given.pop("learner"), **given)
    assert caught.value.name == name


def test_what_does_not_fit_is_refused_before_it_starts():
    with pytest.raises(DoesNotFit, match="bytes"):
        simulate("h1", ReusedBatch(10, 0.1), dim=10**6, samples=10**6, design="dense", memory=10**9)
