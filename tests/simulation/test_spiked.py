"""Spiked inputs: the same law as a plain loop on X = Z S^{1/2}, on every design, for every learner."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.learners import Extragradient, GiantSteps, OnlineSgd, RandomFeatures, ReusedBatch, TwoLayer
from featlab.simulation import simulate
from featlab.simulation.designs import choose
from featlab.simulation.designs.spiked import SpikedDesign
from featlab.targets import Isotropic, Spiked, target

from .reference import LEVEL, SEEDS, Reference, covariance, power, smallest_level

SPIKE = Spiked(4.0, (0.6, -0.3))
TARGET = target("h1 + h1*h2", noise=0.25, inputs=SPIKE)
TANH2 = TwoLayer(2, "tanh", "alternating", second_scale=2.0)
CASES = {
    "sgd": (TARGET, OnlineSgd(0.05, batch=2), TANH2, 20, None, (1, 12)),
    "extragradient": (TARGET, Extragradient(0.05, inner_step=0.02), TANH2, 20, None, (1, 12)),
    "giant": (TARGET, GiantSteps(2, scale=1.0), TwoLayer(2, "tanh", "alternating"), 24, 50, (1, 2)),
    "reuse": (TARGET, ReusedBatch(3, 0.3), TwoLayer(1, "relu"), 24, 40, (1, 3)),
    "within": (
        target("He2(h1)", inputs=Spiked(9.0, 1.0)),
        OnlineSgd(0.01, loss="correlation", constraint="spherical"),
        TwoLayer(1, "He2"),
        20,
        None,
        (10, 30),
    ),
}
DESIGNS = [("sgd", "virtual"), ("extragradient", "dense"), ("giant", "virtual"), ("giant", "streamed")]
DESIGNS += [("reuse", "virtual"), ("reuse", "dice"), ("within", "virtual")]


def simulated(name: str, design: str):
    goal, learner, student, dim, samples, looks = CASES[name]
    times = [step / (1 if samples is not None else dim) for step in looks]
    observe = ("overlap", "weights")
    return simulate(
        goal,
        learner,
        dim=dim,
        samples=samples,
        times=times,
        seeds=SEEDS,
        key=5,
        student=student,
        design=design,
        observe=observe,
        progress=False,
    )


@functools.cache
def reference(name: str) -> Reference:
    return Reference(*CASES[name])


@pytest.mark.parametrize(("name", "design"), DESIGNS)
def test_law_is_that_of_a_plain_loop(name: str, design: str) -> None:
    assert smallest_level(simulated(name, design), reference(name)) > LEVEL


def test_law_for_one_neuron_on_a_gpu_is_that_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are read once, seeds side by side; the same numbers as on a CPU, to rounding."""
    expected = simulated("reuse", "virtual")
    monkeypatch.setattr(choose, "reads_once", lambda width, uses: True)
    run = simulated("reuse", "virtual")
    assert smallest_level(run, reference("reuse")) > LEVEL
    np.testing.assert_allclose(run.overlap, expected.overlap, atol=1e-5)
    assert np.any(run.overlap.values != expected.overlap.values)  # another program


def test_control_a_pull_back_that_forgets_the_spike_is_refused(compiled_anew: pytest.MonkeyPatch) -> None:
    compiled_anew.setattr(SpikedDesign, "backward", lambda self, batch, duals: self.inner.backward(batch, duals))
    compiled_anew.setitem(CASES, "wrong", (*CASES["sgd"][:3], 21, *CASES["sgd"][4:]))
    assert smallest_level(simulated("wrong", "virtual"), Reference(*CASES["wrong"])) < LEVEL


def test_risk_is_that_of_spiked_samples() -> None:
    """At the start: E[(y - f)^2] over 400,000 explicit samples x = S^{1/2} z, within four standard errors of both."""
    goal = target("tanh(h1)", inputs=Spiked(6.0, 0.8))
    found = simulate(
        goal,
        OnlineSgd(0.1),
        dim=5,
        times=[0],
        seeds=1,
        student=TwoLayer(1, "identity"),
        design="dense",
        observe=("risk", "weights"),
        progress=False,
    )
    weights = found.weights.values[0, 0, 0].astype(float)
    spike = np.array([0.8, 0.6, 0, 0, 0])
    root = power(np.eye(5) + 6.0 * np.outer(spike, spike), 0.5)
    z = np.random.default_rng(0).standard_normal((400_000, 5))
    x = z @ root
    labels = np.tanh(x[:, 0] / np.sqrt(1 + 6.0 * 0.64))
    squares, blind = (labels - x @ weights) ** 2, (labels - z @ weights) ** 2
    error = np.hypot(squares.std() / np.sqrt(len(x)), float(found.risk_error[0, 0]))
    assert float(found.risk[0, 0]) == pytest.approx(squares.mean(), abs=4 * error)
    assert abs(float(found.risk[0, 0]) - blind.mean()) > 4 * error, "control: fields without the spike"


def test_a_readout_sees_the_spike() -> None:
    """A target along a strong spike is easier for random features than the same target off it."""

    def risk(inputs: Spiked | Isotropic) -> float:
        goal = target("He2(h1)", inputs=inputs)
        found = simulate(goal, RandomFeatures(400, ridge=1e-3), dim=100, seeds=3, student=TwoLayer(200, "relu"),
                         progress=False)  # fmt: skip
        return float(found.risk.mean())

    assert risk(Spiked(100.0, 1.0)) < 0.5 * risk(Isotropic())


def test_a_spike_costs_no_dimension() -> None:
    found = simulate(TARGET, OnlineSgd(0.1), dim=10**9, times=[1e-8], seeds=2, student=TANH2, progress=False)
    assert found.attrs["design"] == "virtual"
    assert np.isfinite(found.overlap.values).all()


@pytest.mark.parametrize("wrong", [(-1.0, 0.5), (1.0, 1.2), (float("nan"), 0.1), (1.0, (0.9, 0.9))])
def test_inadmissible_spikes(wrong: tuple[float, float]) -> None:
    with pytest.raises(InvalidParameter):
        Spiked(*wrong)


def test_overlaps_must_match_the_rank() -> None:
    with pytest.raises(InvalidParameter, match="one overlap for each"):
        target("h1*h2", inputs=Spiked(1.0, 0.5))


def test_the_reference_covariance_has_the_overlaps() -> None:
    directions = np.eye(2, 12)
    found = covariance(SPIKE, directions, np.random.default_rng(1))
    assert np.linalg.eigvalsh(found)[-1] == pytest.approx(5.0)
    spike = np.linalg.eigh(found)[1][:, -1]
    assert np.abs(directions @ spike) == pytest.approx([0.6, 0.3])
