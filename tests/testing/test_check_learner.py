"""The contract, over every learner; and learners that break it in one way each, which the same call finds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import featlab
from featlab import TwoLayer
from featlab.learners.fields import STEP_SIZE, STEPS
from featlab.learners.protocol import Grown, LearnerDescription
from featlab.learners.registry import learner_class, learner_names
from featlab.simulation import online
from featlab.simulation.adaptive import SIMULATOR as SIGN
from featlab.simulation.problem import Problem, Simulator
from featlab.testing import CheckFailed, check_learner

TANH = TwoLayer(2, "tanh", "alternating", second_scale=2.0)
# name: a learner of few steps, and the experiment that it is tested on
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "online-sgd": (featlab.OnlineSgd(0.05), {"student": TANH}),
    "extragradient": (featlab.Extragradient(0.05, 0.1), {"student": TANH}),
    "giant-steps": (featlab.GiantSteps(2, scale=2.0), {"student": TANH}),
    "preprocessed-step": (featlab.PreprocessedStep(test_samples=256), {"student": replace(TANH, biases="gaussian")}),
    "reused-batch": (featlab.ReusedBatch(3, 0.3), {"student": TANH}),
    "sign-sgd": (featlab.SignSgd(0.05, directions="random"), {"student": TANH}),
    "adam": (featlab.Adam(0.05, steps=3), {"student": TANH}),
    "bayes-amp": (featlab.BayesAmp(3, start="informed", start_overlap=0.2), {"target": "abs(h1)"}),
    "kernel-ridge": (featlab.KernelRidge("polynomial-2", 0.1, test_samples=128), {"samples": 16}),
    "inverse-regression": (featlab.SlicedInverseRegression(4), {"target": "h1**3", "samples": 96}),
    "average-variance": (featlab.SlicedAverageVariance(3, 3), {"target": "abs(h1)", "samples": 96}),
    "principal-hessian": (featlab.PrincipalHessian(3), {"target": "h1**2", "samples": 96}),
    "spectral-estimator": (featlab.SpectralEstimator(3), {"target": "abs(h1)"}),
    "langevin": (featlab.LangevinDynamics(3, test_samples=256), {"student": featlab.MeanFieldTanh(8)}),
    "tied-flow": (
        featlab.TiedFlow(time=20.0, frozen_time=10.0, interval=10.0, restarts=2, max_steps=100),
        {"student": featlab.TiedNetwork(8), "target": "h1", "dim": 12, "samples": 60},
    ),
    "layerwise": (
        featlab.Layerwise(steps=1, test_samples=256, second_ridge=0.01, readout_ridge=0.01),
        {"student": featlab.ThreeLayer(8, 12), "target": "He2(h1)", "samples": 600},
    ),
    "spherical-flow": (featlab.SphericalFlow(3), {"student": TwoLayer(1, "tanh")}),
    "normalised-flow": (
        featlab.NormalisedFlow(3, covariance="known"),
        {"student": TwoLayer(1, "tanh"), "target": "h1"},
    ),
    "readout": (featlab.Readout(featlab.GiantSteps(1), 40, 0.1, test_samples=256), {"student": TANH}),
    "random-features": (featlab.RandomFeatures(40, 0.1, test_samples=256), {"student": replace(TANH, width=8)}),
}


def test_every_learner_has_a_case() -> None:
    assert {*learner_names(), "readout", "random-features"} == {*CASES}
    assert all(type(CASES[name][0]) is learner_class(name) for name in learner_names())


@pytest.mark.parametrize("name", CASES)
def test_contract(name: str) -> None:
    learner, case = CASES[name]
    assert all(not check.reason for check in check_learner(learner, **case))


class Broken(LearnerDescription):
    """One-pass SGD, as `OnlineSgd`, to be broken in one way."""

    clock: ClassVar[str] = "one-pass"
    student_kind: ClassVar[type] = TwoLayer
    batch: ClassVar[int] = 1
    loss: ClassVar[str] = "squared"
    constraint: ClassVar[str] = "none"


@dataclass(frozen=True)
class FalseClaim(featlab.SignSgd):
    """The sign of the gradient, said to be equivariant."""

    equivariant: ClassVar[bool] = True


@dataclass(frozen=True)
class Keyless(Broken):
    """Its start does not depend on the key."""

    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = f"{__name__}:KEYLESS"
    step_size: float = field(metadata=STEP_SIZE)


@dataclass(frozen=True)
class Heavier(Broken):
    """Its steps are twice as long where X is not stored: the law depends on the design."""

    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = f"{__name__}:HEAVIER"
    step_size: float = field(metadata=STEP_SIZE)


@dataclass(frozen=True)
class Careless(Broken):
    """It checks nothing."""

    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.online:SIMULATOR"
    step_size: float = field(metadata=STEP_SIZE)
    steps: int = field(default=1, metadata=STEPS)

    def __post_init__(self) -> None:
        pass


@dataclass(frozen=True)
class Growing(featlab.OnlineSgd):
    """It forgets its dimension: twice as large twice is not four times as large."""

    def grown(self, student: Any, dim: int, factor: float, limit: str) -> Grown | None:
        return Grown(replace(self, step_size=1 / (1 + factor)), student, factor)


def _keyless(problem: Problem) -> Any:
    steps = online.online_sgd(problem)
    return steps._replace(init=lambda key: steps.init(jnp.zeros_like(key)), draw=lambda key: steps.draw(key * 0))


def _heavier(problem: Problem) -> Any:
    factor = 1.0 if type(problem.design).__name__ == "Dense" else 2.0
    learner = replace(problem.learner, step_size=factor * problem.learner.step_size)
    return online.online_sgd(replace(problem, learner=learner))


KEYLESS = Simulator(_keyless, online.online_demand)
HEAVIER = Simulator(_heavier, online.online_demand)


@pytest.mark.parametrize(
    ("learner", "check", "words"),
    [
        (FalseClaim(0.05), "equivariance", "does not turn the weights"),
        (Keyless(0.05), "randomness", "does not depend on the key"),
        (Heavier(0.3), "designs", "on virtual and on dense differs"),
        (Careless(0.05), "bad fields", "steps=nan is accepted"),
        (Growing(0.05), "sizes", "`grown` twice by 2 is"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_broken_is_found(learner: Any, check: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the check in question, so that nothing else is compiled; it passes for the learner that is not broken."""
    from featlab.testing import learner as checks

    monkeypatch.setattr(checks, "_CHECKS", {check: checks._CHECKS[check]})
    with pytest.raises(CheckFailed, match=rf"fails 1 of 2 checks:\n- {check}: (.|\n)*{words}"):
        check_learner(learner, student=TANH)
    with pytest.raises(CheckFailed, match=r"contract: learner: .* has no `clock`"):
        check_learner(object())  # type: ignore[arg-type]


def test_a_rule_that_sees_coordinates_gets_no_virtual_design() -> None:
    """On the frame of a virtual design the sign of the gradient would reach a cosine of .998 here."""
    sizes: dict[str, Any] = {"dim": 200, "times": [40], "seeds": 40, "student": TwoLayer(activation="tanh")}
    run = featlab.simulate("tanh(h1)", featlab.SignSgd(0.01), **sizes)
    assert run.attrs["design"] in ("dense", "dice")
    dice = featlab.simulate("tanh(h1)", featlab.SignSgd(0.01), **sizes, design="dice", key=1)
    one, two = (found["cosine"].values[:, -1, 0, 0] for found in (run, dice))
    assert abs(one.mean() - two.mean()) < 4 * np.hypot(one.std(), two.std()) / 40**0.5
    assert np.abs(one).mean() < 0.9
    with pytest.raises(featlab.InvalidParameter, match="looks at single coordinates"):
        featlab.simulate("tanh(h1)", featlab.SignSgd(0.01), **sizes, design="virtual")


def test_dice_is_offered_where_x_would_not_fit() -> None:
    rule = featlab.Adam(0.01, steps=2)
    run = featlab.simulate("tanh(h1)", rule, dim=20_000, samples=20_000, seeds=1, memory=10**8)
    assert run.attrs["design"] == "dice"


def _plain_adam(state: Any, rule: featlab.Adam, steps: int) -> np.ndarray:
    """The slow obvious version."""
    inputs, labels, weight = (np.asarray(one, np.float64) for one in (*state.kept, state.network.weights[0]))
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for count in range(1, steps + 1):
        fields = np.tanh(inputs @ weight)
        gradient = ((fields - labels) * (1 - fields**2)) @ inputs / len(labels)
        mean = rule.beta1 * mean + (1 - rule.beta1) * gradient
        square = rule.beta2 * square + (1 - rule.beta2) * gradient**2
        unbiased = mean / (1 - rule.beta1**count), square / (1 - rule.beta2**count)
        weight = weight - float(rule.step_size) * unbiased[0] / (np.sqrt(unbiased[1]) + rule.epsilon)
    return weight


@pytest.mark.parametrize("rule", [featlab.Adam(0.05, steps=8, beta2=0.9), featlab.Adam(0.05, steps=8)])
def test_adam_is_adam(rule: featlab.Adam) -> None:
    """Number by number, on the X and the start that the run itself has drawn."""
    from featlab.experiments import Experiment
    from featlab.simulation.algorithms import algorithm, demand
    from featlab.simulation.designs.choose import Sizes, choose
    from featlab.simulation.random import named, seed_keys

    case = Experiment.of(
        "tanh(h1)", rule, dim=12, samples=30, student=TwoLayer(activation="tanh"), seeds=1, design="dense"
    )
    run = featlab.simulate(replace(case, observe=("weights",)))
    wanted = demand(rule, case.student, case.concrete, Sizes(12, 1, 30, np.dtype(np.float32)))
    problem = Problem(case.concrete, case.student, rule, choose(wanted, False, "dense").design)
    state = algorithm(problem).init(named(jnp.asarray(seed_keys(0, [0])[0]), "start"))
    expected = _plain_adam(state, rule, 8)
    np.testing.assert_allclose(run["weights"].values[0, -1, 0], expected, atol=2e-4)
    assert np.max(np.abs(_plain_adam(state, replace(rule, beta1=0.5), 8) - expected)) > 0.01


def test_adam_without_memory_is_sign_descent() -> None:
    forgetful = featlab.Adam(0.05, steps=3, beta1=0.0, beta2=0.0, epsilon=1e-12)
    sizes: dict[str, Any] = {"dim": 12, "samples": 30, "seeds": 3, "student": TwoLayer(activation="tanh")}
    one = featlab.simulate("tanh(h1)", forgetful, **sizes, observe=["weights"])["weights"]
    two = featlab.simulate("tanh(h1)", featlab.SignSgd(0.05, steps=3), **sizes, observe=["weights"])["weights"]
    np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.parametrize("rank", [1, 2])
def test_random_directions_are_uniform(rank: int) -> None:
    """Q is orthogonal, and takes the first axes to a frame whose entries have the variance 1/d."""
    from featlab.simulation.adaptive import _mirrors, _turned, _turned_back
    from featlab.simulation.designs.dense import Dense
    from featlab.simulation.random import seed_keys

    text = "h1" if rank == 1 else "h1*h2"
    problem = Problem(
        featlab.target(text), TwoLayer(), featlab.SignSgd(0.1, directions="random"), Dense(30, rank, 1, 1)
    )
    frames = []
    for key in seed_keys(0, range(60)):
        mirrors = _mirrors(problem, jnp.asarray(key))
        axes: Array = jnp.eye(30)
        turned = _turned(mirrors, axes)
        np.testing.assert_allclose(turned @ turned.T, np.eye(30), atol=1e-5)
        np.testing.assert_allclose(_turned_back(mirrors, turned), axes, atol=1e-5)
        frames.append(turned[:rank])
    assert np.mean(np.square(frames)) == pytest.approx(1 / 30)
    assert abs(np.mean(np.stack(frames)[:, :, 0] ** 2) - 1 / 30) < 4 * np.sqrt(2) / 30 / np.sqrt(60 * rank)


def test_the_simulator_of_signs_is_the_one_they_name() -> None:
    assert SIGN.check is None
    assert featlab.SignSgd(0.1).simulator == featlab.Adam(0.1).simulator
