"""The door to predictions: starts as described or as simulated, labels as those of a simulation, refusals with words.

The predictor here is a toy in closed form (overlaps grow linearly in the number of steps), so that the labels can be
checked without a theory.
"""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

import featlab
from featlab.errors import InvalidParameter
from featlab.learners import Adam, BayesAmp, LangevinDynamics, OnlineSgd, RandomFeatures, SignSgd, StepLaw, TwoLayer
from featlab.outcome import Outcome
from featlab.results import ESTIMATE_START, START
from featlab.targets import target
from featlab.theory import NoPrediction, predict
from featlab.theory import prediction as theory_door
from featlab.theory.question import Prediction, Question, Start
from featlab.theory.starts import lawful_start, simulated_starts, typical_start

LEARNER = OnlineSgd(StepLaw(0.5, 1))
PLANTED = TwoLayer(start="planted", planted=((0.5,),))


class Unheard(OnlineSgd):
    """A learner of someone else."""


def toy(question: Question, start: Start) -> Prediction:
    """M grows by 1/d a step, Q stays; the risk is told with an error."""
    growth = 1 + question.steps / question.dim
    overlap = start.overlap * growth[:, None, None]
    gram = np.broadcast_to(start.gram, (len(growth), *start.gram.shape))
    values = {"overlap": overlap, "gram": gram, "risk": 1 / growth}
    failed = start.second[0] == 2.0
    return Prediction(
        values,
        "a toy",
        errors={"risk": 0.01 * np.ones_like(growth)},
        outcome=Outcome.DIVERGED if failed else Outcome.OK,
        remedy="take smaller steps" if failed else "",
    )


@pytest.fixture(autouse=True)
def _toy_predictor(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("featlab.theory.toy_predictor")
    module.toy = toy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for learner in ("OnlineSgd", "BayesAmp"):
        _, starts, inputs = theory_door._OWN[learner]
        monkeypatch.setitem(theory_door._OWN, learner, ("toy_predictor:toy", starts, inputs))


def run(seeds: int = 3, width: int = 2, rank: int = 1, first_step: int = 0) -> xr.Dataset:
    """As a simulation would observe it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(seeds, 2, width, 50)).astype(np.float32)
    return xr.Dataset(
        {
            "overlap": (("seed", "time", "neuron", "direction"), rows[..., :rank]),
            "gram": (("seed", "time", "neuron", "other_neuron"), rows @ np.swapaxes(rows, 2, 3)),
            "second_layer": (("seed", "time", "neuron"), rng.normal(size=(seeds, 2, width))),
            "biases": (("seed", "time", "neuron"), rng.normal(size=(seeds, 2, width))),
        },
        coords={"seed": np.arange(5, 5 + seeds), "step": ("time", [first_step, first_step + 10])},
    )


def test_names_axes_and_derived_quantities() -> None:
    student = TwoLayer(2, start="planted", planted=((0.6, 0.0), (0.3, 0.4)), norm=2.0)
    found = predict("h1*h2", LEARNER, dim=10, times=[0, 1, 3], student=student)
    assert dict(found.sizes) == {"time": 3, "neuron": 2, "direction": 2, "other_neuron": 2, "component": 2}
    np.testing.assert_array_equal(found["step"], [0, 10, 30])
    np.testing.assert_allclose(found["overlap"][2], 4 * 2 * np.array([[0.6, 0.0], [0.3, 0.4]]))
    np.testing.assert_allclose(found["norm"], 2.0)
    np.testing.assert_allclose(found["cosine"], found["overlap"] / 2)
    expected = np.linalg.svd(found["cosine"][1].values / 2**0.5, compute_uv=False)
    np.testing.assert_allclose(found["subspace"][1], expected)
    np.testing.assert_allclose(found["risk_error"], 0.01)
    assert found["outcome"].item() == found.attrs["outcome"] == "ok"
    asked = predict("h1*h2", LEARNER, dim=10, times=[0, 1, 3], student=student, observe=("spectrum", "gram"))
    assert asked["spectrum"].dims == ("time", "mode")
    np.testing.assert_allclose(asked["spectrum"] ** 2, np.linalg.eigvalsh(asked["gram"].values)[:, ::-1], atol=1e-12)
    assert found.attrs["words"] == "a toy"
    assert (found.attrs["dim"], found.attrs["samples"]) == (10, -1)


def test_the_same_axes_as_a_simulation() -> None:
    """Every name of a prediction that a simulation has too has the same axes there, but for the seed."""
    observed = featlab.simulate(
        "tanh(h1)", LEARNER, dim=30, times=[0, 1], seeds=2, observe=("risk", "cosine", "norm", "subspace", *START)
    )
    alone = predict("tanh(h1)", LEARNER, dim=30, times=[0, 1])
    started = predict("tanh(h1)", LEARNER, dim=30, times=[0, 1], start=observed)
    shared = set(alone.data_vars) & set(observed.data_vars) - {"outcome"}
    assert {"overlap", "gram", "norm", "cosine", "subspace", "risk", "risk_error"} <= shared
    for name in shared:
        assert ("seed", *alone[name].dims) == started[name].dims == observed[name].dims
        assert started[name].shape == observed[name].shape
    for name in ("overlap", "gram", "cosine", "norm", "subspace"):  # the prediction starts where the simulation does
        np.testing.assert_allclose(started[name][:, 0], observed[name][:, 0], rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(observed["second_layer"], 1.0)


def test_one_prediction_for_each_simulated_start() -> None:
    given = run()
    given["second_layer"][1, 0, 0] = 2.0  # the toy fails on it
    found = predict("h1**3", LEARNER, dim=50, times=[0, 1], student=TwoLayer(2), start=given)
    np.testing.assert_array_equal(found["seed"], [5, 6, 7])
    np.testing.assert_allclose(found["overlap"][:, 1], 2 * given["overlap"].values[:, 0])
    assert found["outcome"].values.tolist() == ["ok", "diverged", "ok"]
    assert (found.attrs["outcome"], found.attrs["remedy"]) == ("diverged", "take smaller steps")


def test_what_only_a_run_has_is_ignored_with_a_word() -> None:
    alone = predict("h1", LEARNER, dim=10, times=[0, 1])
    with pytest.warns(UserWarning, match="seeds, design ignored: a prediction has no runs"):
        found = predict("h1", LEARNER, dim=10, times=[0, 1], seeds=4, design="dense")
    xr.testing.assert_identical(found, alone)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sedes'"):
        predict("h1", LEARNER, dim=10, times=[0, 1], sedes=4)


def test_a_random_start_is_said_to_be_typical() -> None:
    """Of an overlap that has any sign in a run, the prediction without a start takes one."""
    words = [predict("h1", LEARNER, dim=10, times=[0], student=one).attrs["words"] for one in (None, PLANTED)]
    assert "overlaps of size 1/sqrt(d)" in words[0]
    assert words[1] == "a toy"


def test_typical_start_on_the_sphere() -> None:
    start = typical_start(
        TwoLayer(4, "tanh", second_layer="alternating", second_scale=3.0, biases=0.5, norm=2.0), 3, 100
    )
    np.testing.assert_allclose(np.abs(start.overlap), 0.2)
    assert np.all(start.overlap[0] > 0)
    assert len({tuple(row) for row in start.overlap}) == 4
    np.testing.assert_allclose(start.gram, 4 * np.eye(4))
    np.testing.assert_array_equal(start.second, [3, -3, 3, -3])
    np.testing.assert_array_equal(start.biases, 0.5)


def test_orthogonal_and_paired_starts() -> None:
    start = typical_start(TwoLayer(4, paired=True, start="orthogonal"), 2, 100)
    np.testing.assert_array_equal(start.overlap, 0.0)
    np.testing.assert_array_equal(start.gram, np.tile(np.eye(2), (2, 2)))
    np.testing.assert_array_equal(start.second, [1, 1, -1, -1])


def test_a_planted_start_is_that_of_a_large_simulation() -> None:
    student = TwoLayer(2, start="planted", planted=((0.6, 0.0), (0.3, 0.4)), norm=2.0)
    found = featlab.simulate("h1*h2", LEARNER, dim=10**6, times=[0], seeds=2, student=student, observe=START)
    described = typical_start(student, 2, 10**6)
    for _, simulated in simulated_starts(found, 2, 2):
        for name in ("overlap", "gram", "second", "biases"):  # products of the random parts are of size 4/sqrt(d)
            np.testing.assert_allclose(getattr(simulated, name), getattr(described, name), atol=0.02)


@pytest.mark.parametrize(
    ("student", "certain"),
    [
        (TwoLayer(start="orthogonal"), True),
        (TwoLayer(start="planted", planted=((0.5,),)), True),
        (TwoLayer(), False),
        (TwoLayer(start="orthogonal", biases="gaussian"), False),
        (TwoLayer(start="orthogonal", second_layer="signs"), False),
    ],
)
def test_certain_starts(student: TwoLayer, certain: bool) -> None:
    assert student.certain is certain
    assert LEARNER.needs_start(student, target("h1")) == (() if certain else START)
    assert RandomFeatures(10).needs_start(student, target("h1")) == ()


def test_wide_students_start_by_the_laws_of_their_layers() -> None:
    """Quantiles instead of draws: moments of the laws to the accuracy of 1000 midpoints."""
    student = TwoLayer(2000, paired=True, second_layer="gaussian", second_scale=3.0, biases="uniform", bias_scale=2.0)
    start = lawful_start(student, 1, 100)
    np.testing.assert_array_equal(start.second[:1000], -start.second[1000:])
    np.testing.assert_array_equal(start.biases[:1000], start.biases[1000:])
    assert np.mean(start.second**2) == pytest.approx(9.0)
    assert np.mean(start.second[:1000] ** 4) == pytest.approx(3 * 81, rel=0.03)
    assert np.mean(start.biases**2) == pytest.approx(4 / 3, rel=1e-5)
    other = lawful_start(TwoLayer(10, second_layer="signs", biases="gaussian"), 1, 100)
    np.testing.assert_array_equal(np.sort(other.second), [-1] * 5 + [1] * 5)
    assert np.mean(other.biases) == pytest.approx(0.0, abs=1e-12)


def test_message_passing_has_no_student() -> None:
    """It starts as its own description says, or at the overlaps and norms that a run was seen at."""
    learner = BayesAmp(10, start="informed", start_overlap=0.2)
    sizes = {"dim": 50, "samples": 100, "times": [0, 10]}
    informed = predict("h1*h2", learner, **sizes)
    np.testing.assert_allclose(informed["overlap"][0], 0.2 * np.eye(2))
    np.testing.assert_allclose(informed["gram"][0], 0.2 * np.eye(2))
    assert informed.attrs["student"] == "none"
    seen = run(rank=2).drop_vars(["second_layer", "biases"])
    started = predict("h1*h2", learner, **sizes, start=seen)
    np.testing.assert_allclose(started["overlap"][:, 0], seen["overlap"][:, 0])
    with pytest.raises(InvalidParameter, match="student: got"):
        predict("h1*h2", learner, **sizes, student=TwoLayer(2))
    assert learner.needs_start(None, target("h1*h2")) == ()
    assert BayesAmp(10).needs_start(None, target("h1*h2")) == ()
    assert BayesAmp(10, start="spectral").needs_start(None, target("h1*h2")) == ESTIMATE_START


def test_refusals_say_what_to_ask_instead() -> None:
    for learner, words in (
        (Adam(0.1), "^adam: no theory known, because .* online-sgd$"),
        (SignSgd(0.1), "^sign-sgd: no theory known, because .* turns with the axes"),
        (Unheard(0.1), r"Unheard: no theory known here, .* predicted are online-sgd, .*principal-hessian"),
    ):
        with pytest.raises(NoPrediction, match=words):
            predict("h1", learner, dim=10, times=[1])
    signs = featlab.target("sign(h1*h2)", inputs=featlab.Hypercube())
    with pytest.raises(NoPrediction, match=r"^langevin: no theory known, because .*parity_bounds"):
        predict(signs, LangevinDynamics(2), dim=10, samples=10)
    with pytest.raises(NoPrediction, match="'gaussian' is drawn at random and asks for a simulation"):
        predict("h1", LEARNER, dim=10, times=[1], student=TwoLayer(second_layer="gaussian"))
    with pytest.raises(NoPrediction, match="Gram matrix of 1,000,000 neurons takes 8,000,000,000,000 bytes"):
        typical_start(TwoLayer(10**6), 1, 100)
    with pytest.raises(NoPrediction, match="'uniform' are drawn at random"):
        predict("h1", LEARNER, dim=10, times=[1], student=TwoLayer(biases="uniform"))
    with pytest.raises(NoPrediction, match="Isotropic"):
        predict(featlab.target("h1", inputs=featlab.Spiked(2.0, 1.0)), LEARNER, dim=10, times=[1])
    with pytest.raises(InvalidParameter, match="dim: got 1"):
        predict("h1*h2", LEARNER, dim=1, times=[1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (run().drop_vars("gram"), "that observes overlap, gram"),
        (run().drop_vars("gram"), "wider ones with observe="),
        (run(first_step=3), "first seen at step 3"),
        (run(width=1), "got '1 neurons and 1 directions'"),
        (run().isel(seed=0), "that observes"),
    ],
)
def test_starts_that_are_none(given: xr.Dataset, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        predict("h1**3", LEARNER, dim=50, times=[0, 1], student=TwoLayer(2), start=given)
