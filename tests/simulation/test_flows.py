"""Flows of single neurons: step by step those of a plain loop, the same law on every design, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from featlab.errors import InvalidParameter
from featlab.learners import NormalisedFlow, Readout, SphericalFlow, TwoLayer
from featlab.simulation import simulate
from featlab.simulation.designs.dense import Dense
from featlab.simulation.random import fold, named, root_key
from featlab.targets import Hypercube, Spiked, target

from .reference import LEVEL, covariance, power
from .reference_flows import ReferenceFlow

SPIKE = Spiked(6.0, 0.6)
TARGET = target("tanh(2*h1) + h1**2/4", inputs=SPIKE)
STUDENT = TwoLayer(2, "tanh", "alternating", second_scale=1.5)
DIM, ROWS, STEPS = 12, 60, 14
AXIS = np.eye(1, DIM)[0] * 0.6 + np.eye(2, DIM)[1] * 0.8
SPREAD = np.eye(DIM) + SPIKE.strength * np.outer(AXIS, AXIS)


def the_inputs(key: int, seed: int) -> np.ndarray:
    """The X of a dense run in float64: the batch that its key gives, stretched along the spike."""
    from featlab.precision import double_precision

    with double_precision():
        batch = named(named(fold(root_key(key), seed), "start"), "batch")
        z = Dense(DIM, 2, 2, ROWS, np.float64).draw(batch)[0]
        return np.asarray(z) @ power(SPREAD, 0.5)


@pytest.mark.parametrize("learner", [SphericalFlow(STEPS, arc=0.3), NormalisedFlow(STEPS, arc=0.3)], ids=str)
def test_steps_are_those_of_a_plain_loop(learner: SphericalFlow) -> None:
    """In float64, every neuron after every step to 1e-9, and how it ends; the wrong covariance is refused."""
    run = simulate(TARGET, learner, dim=DIM, samples=ROWS, times=range(STEPS + 1), seeds=2, key=3, student=STUDENT,
                   design="dense", dtype="float64", observe=("weights", "train_loss"), progress=False)  # fmt: skip
    normalised = isinstance(learner, NormalisedFlow)
    for seed in range(2):
        x = the_inputs(3, seed)
        labels = TARGET.link(x[:, :1] / np.sqrt(1 + 6.0 * 0.36))
        spread = x.T @ x / ROWS if normalised else np.eye(DIM)
        ends = []
        for neuron, second in enumerate((1.5, -1.5)):
            weights = run.weights.values[seed, :, neuron]
            right = ReferenceFlow(x, labels, weights[0], spread, learner, STUDENT, second).run(STEPS)
            assert weights == pytest.approx(np.array(right.path), abs=1e-9)
            assert run.train_loss.values[seed, -1, neuron] == pytest.approx(right.losses[-1], abs=1e-10)
            ends.append(right.outcome)
            other = np.eye(DIM) if normalised else x.T @ x / ROWS
            wrong = ReferenceFlow(x, labels, weights[0], other, learner, STUDENT, second).run(STEPS)
            assert np.max(np.abs(weights[-1] / np.linalg.norm(weights[-1]) - _unit(wrong.path[-1]))) > 0.05
        worst = "not converged" if "not converged" in ends else "stalled" if "stalled" in ends else "ok"
        assert run.outcome.values[seed] == worst
        assert np.all(np.diff(run.train_loss.values[seed], axis=0) <= 0), "monotone"


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


LAW_DIM, LAW_ROWS, LAW_STEPS, LAW_SEEDS = 24, 40, 3, 600
LAW_STUDENT = TwoLayer(1, "tanh")


def law_of_a_plain_loop(kind: str) -> np.ndarray:
    """(seed, [overlap, correlation of the fields]) after three steps, with random directions and inputs."""
    goal, rng = target("He2(h1) + h1", inputs=SPIKE), np.random.default_rng(11)
    learner = LEARNERS[kind]
    found = np.empty((LAW_SEEDS, 2))
    for seed in range(LAW_SEEDS):
        direction = _unit(rng.standard_normal(LAW_DIM))
        spread = covariance(SPIKE, direction[None], rng)
        root = power(spread, 0.5)
        x = rng.standard_normal((LAW_ROWS, LAW_DIM)) @ root
        scale = np.sqrt(direction @ spread @ direction)
        labels = goal.link(x @ direction[:, None] / scale)
        metric = spread if isinstance(learner, NormalisedFlow) else np.eye(LAW_DIM)
        start = rng.standard_normal(LAW_DIM)
        last = ReferenceFlow(x, labels, start, metric, learner, LAW_STUDENT).run(LAW_STEPS).path[-1]
        field = direction @ spread @ last / (scale * np.linalg.norm(root @ last))
        found[seed] = direction @ last, field
    return found


LEARNERS = {
    "spherical": SphericalFlow(LAW_STEPS, arc=0.3),
    "normalised": NormalisedFlow(LAW_STEPS, arc=0.3, covariance="known"),
}


def test_law_is_that_of_a_plain_loop_on_a_design_without_an_x() -> None:
    """Dice has room for so many questions: one more than there are steps, and backtracking asks none."""
    run = simulate(target("He2(h1) + h1", inputs=SPIKE), LEARNERS["spherical"], dim=LAW_DIM, samples=LAW_ROWS,
                   times=[LAW_STEPS], seeds=LAW_SEEDS, key=8, student=LAW_STUDENT, design="dice",
                   observe=("overlap", "field_correlation"), progress=False)  # fmt: skip
    measured = np.column_stack([run.overlap.values.ravel(), run.field_correlation.values.ravel()])
    assert _smallest_level(measured, law_of_a_plain_loop("spherical")) > LEVEL
    assert _smallest_level(measured, law_of_a_plain_loop("normalised")) < LEVEL, "control: the other flow"


def _smallest_level(measured: np.ndarray, reference: np.ndarray) -> float:
    return min(ks_2samp(measured[:, k], reference[:, k]).pvalue for k in range(2))


def test_only_the_normalised_flow_learns_under_a_spike() -> None:
    """k = 3, theta = d^.8, <mu, beta> = d^-.2, d = 100, n = 64 d: all of 4 seeds against none."""
    dim = 100
    goal = target("He3(h1)/sqrt(6)", inputs=Spiked(dim**0.8, dim**-0.2))
    found = {}
    for learner in (SphericalFlow(40, positive_start=True), NormalisedFlow(60, positive_start=True)):
        run = simulate(goal, learner, dim=dim, samples=64 * dim, times=[0, learner.steps], seeds=4, progress=False,
                       student=TwoLayer(1, "He3", second_scale=6**-0.5),
                       observe=("cosine", "field_correlation", "risk"))  # fmt: skip
        assert run.attrs["design"] == "dense"
        assert np.all(run.field_correlation.values[:, 0] > 0), "positive start"
        found[type(learner)] = (run.cosine.values[:, -1].ravel(), run.field_correlation.values[:, -1].ravel(), run)
    cosine, correlation, run = found[NormalisedFlow]
    assert np.min(cosine) > 0.99
    assert np.min(correlation) > 0.99
    assert set(run.outcome.values) == {"ok"}
    assert np.max(run.iterations.values) < 60
    assert np.max(run.risk.values[:, -1]) < 0.02
    cosine, correlation, run = found[SphericalFlow]
    assert np.max(np.abs(cosine)) < 0.5
    assert np.max(np.abs(correlation)) < 0.5


def test_a_flow_then_a_second_layer_with_new_biases() -> None:
    """Algorithm 1 of Mousavi-Hosseini et al. 2023: copies of one neuron, then ridge on their features with random
    biases. Before the flow the same readout has nothing but one random direction; E[y^2] = 0.64."""
    goal = target("tanh(2*h1)", noise=0.01, inputs=Spiked(20.0, 0.3))
    learner = Readout(NormalisedFlow(40, positive_start=True, common=True), data="same", biases="gaussian")
    run = simulate(goal, learner, dim=30, samples=1500, times=[0, 40], seeds=2, student=TwoLayer(40), progress=False,
                   observe=("risk", "cosine"))  # fmt: skip
    before, after = run.risk.values.T
    assert np.ptp(run.cosine.values, axis=2).max() == 0, "copies"
    assert np.all(before > 0.4)
    assert np.all(after < 0.1)


@pytest.mark.parametrize(
    ("learner", "student", "goal", "options", "name"),
    [
        (NormalisedFlow(), TwoLayer(), "h1", {"samples": 30}, "samples"),
        (NormalisedFlow(), TwoLayer(), "h1", {"samples": 99, "design": "virtual"}, "design"),
        (SphericalFlow(), TwoLayer(), "h1", {}, "samples"),
        (SphericalFlow(positive_start=True), TwoLayer(), "h1*h2", {"samples": 99}, "positive_start"),
        (SphericalFlow(), TwoLayer(), target("h1*h2", inputs=Hypercube()), {"samples": 99}, "inputs"),
        (SphericalFlow(common=True), TwoLayer(2, biases="gaussian"), "h1", {"samples": 99}, "common"),
        (SphericalFlow(common=True), TwoLayer(2, second_layer="signs"), "h1", {"samples": 99}, "common"),
        (SphericalFlow(common=True), TwoLayer(2, paired=True), "h1", {"samples": 99}, "common"),
    ],
)
def test_what_cannot_run_is_refused(learner, student, goal, options, name) -> None:
    with pytest.raises(InvalidParameter) as caught:
        simulate(goal, learner, dim=30, student=student, **options)
    assert caught.value.name == name
