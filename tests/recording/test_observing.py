"""Order parameters of any weights: relations that hold for all, and labels of a simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import featlab
from featlab.errors import InvalidParameter
from featlab.recording.order_parameters import OF_WEIGHTS, aligned, order_parameters
from featlab.results import QUANTITIES

EXPERIMENT = featlab.Experiment.of(
    "h1",
    featlab.OnlineSgd(featlab.StepLaw(0.5, 1.0)),
    dim=12,
    times=(0, 1),
    student=featlab.TwoLayer(width=4, second_layer="alternating", paired=True, start="orthogonal", biases=0.5),
)


def drawn(seed: int, width: int, rank: int, dim: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((width, dim)), np.linalg.qr(rng.standard_normal((dim, rank)))[0].T


CASES = st.tuples(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3))


@given(CASES)
@settings(max_examples=25, deadline=None)
def test_nothing_depends_on_the_axes_of_the_inputs(case: tuple[int, int, int]) -> None:
    weights, directions = drawn(*case)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))[0]
    here, there = (featlab.observe(weights @ r, directions @ r) for r in (np.eye(12), turn))
    for name in OF_WEIGHTS:
        assert np.allclose(here[name], there[name], atol=1e-12), name


@given(CASES)
@settings(max_examples=25, deadline=None)
def test_relations_between_the_quantities(case: tuple[int, int, int]) -> None:
    weights, directions = drawn(*case)
    seen = featlab.observe(weights, directions)
    assert np.allclose(seen.spectrum**2, np.linalg.eigvalsh(seen.gram)[::-1])
    assert np.allclose(seen.norm**2, np.diagonal(seen.gram))
    assert np.allclose(seen.cosine * seen.norm, seen.overlap)
    assert np.isclose(float((seen.subspace**2).sum()), float((seen.cosine**2).sum()) / case[1])
    inside = featlab.observe(seen.overlap.values @ directions, directions)
    assert np.isclose(float((inside.subspace**2).sum()), 1.0)


@given(CASES)
@settings(max_examples=25, deadline=None)
def test_estimates_are_aligned_to_the_directions(case: tuple[int, int, int]) -> None:
    """Signs and an order that were lost are found again; and they are a choice of signs and order only."""
    _, directions = drawn(case[0], 1, case[2])
    rng = np.random.default_rng(case[0])
    lost = (directions * rng.choice([-1.0, 1.0], (case[2], 1)))[rng.permutation(case[2])]
    assert np.allclose(aligned(lost, directions), directions)


def test_axes_and_meanings_are_those_of_a_simulation() -> None:
    weights, directions = drawn(0, 2, 1)
    stack = np.stack([[weights, 2 * weights], [3 * weights, 4 * weights], [weights, weights]])
    seen = featlab.observe(stack, directions, times=(0.0, 2.0), seeds=(5, 6, 7), second_layer=[1.0, -1.0], risk=0.5)
    for name in (*OF_WEIGHTS, "second_layer", "risk"):
        assert seen[name].dims == ("seed", "time", *QUANTITIES[name][0])
        assert seen[name].attrs["meaning"] == QUANTITIES[name][1]
    assert np.allclose(seen.overlap.sel(seed=6, time=2.0), 4 * weights @ directions.T)
    assert seen.outcome.values.tolist() == ["ok"] * 3
    one = featlab.observe(weights, directions)
    assert one.overlap.dims == ("neuron", "direction")
    at = featlab.observe(weights, directions, times=2.0, seeds=3)
    assert at.overlap.dims == ("seed", "time", "neuron", "direction")
    assert at.attrs["dim"] == 12


def test_an_experiment_says_the_clock_the_layers_and_the_risk() -> None:
    weights, _ = drawn(0, 4, 1)
    directions = np.eye(1, 12)
    seen = featlab.observe(np.stack([weights, weights]), directions, steps=(0, 12), experiment=EXPERIMENT)
    assert seen.time.values.tolist() == [0.0, 1.0]
    assert seen.step.values.tolist() == [0, 12]
    assert seen.second_layer.values[0].tolist() == [1.0, -1.0, -1.0, 1.0]
    assert seen.biases.values[0].tolist() == [0.5] * 4
    rng = np.random.default_rng(3)
    inputs = rng.standard_normal((40_000, 12))
    output = np.maximum(inputs @ weights.T + 0.5, 0) @ np.array([1.0, -1.0, -1.0, 1.0]) / 4
    squares = (inputs[:, 0] - output) ** 2
    error = np.hypot(np.std(squares) / 200, float(seen.risk_error[0]))
    assert abs(float(seen.risk[0]) - np.mean(squares)) < 4.5 * error
    assert abs(1.2 * float(seen.risk[0]) - np.mean(squares)) > 4.5 * error
    assert featlab.observe(weights, directions, times=1.0, experiment=EXPERIMENT, names="norm").step.values == [12]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e7])
def test_a_network_that_diverged(value: float) -> None:
    weights, directions = drawn(0, 2, 1)
    seen = featlab.observe(
        np.stack([weights, weights * value]), directions, steps=(0, 5), names=("overlap", "subspace")
    )
    assert seen.outcome == "diverged"
    assert seen.diverged_step == 5
    assert np.all(np.isfinite(seen.overlap[0]))
    assert np.all(np.isnan(seen.overlap[1]) & np.isnan(seen.subspace[1]))


def test_a_row_of_zeros_has_no_direction() -> None:
    values = order_parameters(np.zeros((1, 3)), np.eye(1, 3), OF_WEIGHTS)
    assert np.isnan(values["cosine"]).all()
    assert np.isnan(values["subspace"]).all()
    assert values["overlap"].tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"directions": 2 * np.eye(1, 12)}, "directions: .* differ .* by 3', expected orthonormal rows"),
        ({"directions": np.eye(12, 1)}, r"directions: got 'shape \(12, 1\)'"),
        ({"weights": np.ones((12, 4)), "directions": np.eye(1, 4)}, r"shape \(12, 4\)', expected \(4, 12\)"),
        ({"weights": np.ones((2, 4, 12))}, r"weights: got 'shape \(2, 4, 12\)'"),
        ({"weights": np.ones(12)}, "weights: got"),
        ({"directions": np.eye(2, 12)}, "directions: got '2 rows', expected 1"),
        ({"names": "overlaps"}, "names: got 'overlaps'.*overlap"),
        ({"second_layer": np.ones(3)}, r"second_layer: got 'shape \(3,\)'"),
        ({"loss": 0.5}, "loss: got 0.5, expected a quantity"),
        ({"risk": np.ones(3)}, r"risk: got 'shape \(3,\)'"),
        ({"times": (0.0, 1.0), "steps": (0,)}, "steps: got"),
        ({"experiment": None, "names": "risk"}, "names: got 'risk', expected a risk of your own"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict, words: str) -> None:
    given = {"weights": np.ones((4, 12)), "directions": np.eye(1, 12), "experiment": EXPERIMENT} | change
    with pytest.raises(InvalidParameter, match=words):
        featlab.observe(given.pop("weights"), given.pop("directions"), **given)


def test_layers_that_chance_decides_are_asked_for() -> None:
    student = featlab.TwoLayer(width=4, second_layer="gaussian")
    experiment = featlab.Experiment.of("h1", EXPERIMENT.learner, dim=12, times=(0,), student=student)
    with pytest.raises(InvalidParameter, match="second_layer: got None, expected that of your network"):
        featlab.observe(np.ones((4, 12)), np.eye(1, 12), experiment=experiment)


def test_a_record_without_times_is_not_compared_with_a_path() -> None:
    seen = featlab.observe(np.ones((2, 4, 12)), np.eye(1, 12), seeds=(0, 1))
    with pytest.raises(InvalidParameter, match="overlap without times"):
        featlab.compare(featlab.predict(EXPERIMENT), seen, names=["overlap"])
