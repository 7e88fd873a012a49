"""The equations of one-pass learning: solved cases, identities, published numbers, and failures as values."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.activations import activation as named
from featlab.gaussian.sobol import balanced_normals
from featlab.learners import Extragradient, OnlineSgd, ReusedBatch, StepLaw, TwoLayer
from featlab.targets import Spiked, target
from featlab.theory.online.averages import Descent
from featlab.theory.online.predictor import predict_online
from featlab.theory.online.rules import sampled
from featlab.theory.question import NoPrediction, Question, Start

SPHERE = {"loss": "correlation", "constraint": "spherical"}


def predict(text, learner, times, overlap, *, gram=None, activation="erf", second=None, bias=0.0, noise=0.0, dim=10**6):
    """A prediction for neurons with these overlaps, of norm one and independent of one another off the target."""
    overlap = np.atleast_2d(np.asarray(overlap, dtype=float))
    if gram is None:
        gram = overlap @ overlap.T
        np.fill_diagonal(gram, 1.0)
    width = len(overlap)
    goal = text if not isinstance(text, str) else target(text, noise=noise)
    student = TwoLayer(width, activation)
    steps = np.rint(np.asarray(times) * dim).astype(np.int64)
    start = Start(overlap, gram, np.ones(width) if second is None else np.array(second), np.full(width, bias))
    return predict_online(Question(goal, learner, student, dim, None, steps), start)


def test_a_linear_student_is_solved_in_closed_form():
    """y = h + noise, f = lambda, squared loss: M = 1 - (1 - m) e^(-ct), and the excess risk R = 1 - 2M + Q obeys
    dR/dt = -(2c - c^2/b) R + c^2 noise / b. A rate 20% larger is rejected."""
    c, batch, noise, times = 0.8, 2, 0.3, np.linspace(0, 3, 7)
    found = predict("h1", OnlineSgd(StepLaw(c, 1), batch), times, [[0.2]], activation="identity", noise=noise)
    rate, source = 2 * c - c**2 / batch, c**2 * noise / batch

    def excess(rate):
        return (2 - 0.4) * np.exp(-rate * times) + source / rate * (1 - np.exp(-rate * times))

    np.testing.assert_allclose(found.values["overlap"][:, 0, 0], 1 - 0.8 * np.exp(-c * times), rtol=1e-6)
    np.testing.assert_allclose(found.values["risk"], excess(rate) + noise, rtol=1e-6)
    assert not np.allclose(found.values["risk"], excess(1.2 * rate) + noise, rtol=1e-2)
    gram = found.values["gram"][:, 0, 0]
    np.testing.assert_allclose(1 - 2 * found.values["overlap"][:, 0, 0] + gram + noise, found.values["risk"], rtol=1e-9)
    assert (found.outcome, found.remedy) == ("ok", "")
    assert found.errors == {}


def test_a_divergence_is_a_value_with_its_remedy():
    """The linear student diverges for c > 2; a cubic one in finite time."""
    found = predict("h1", OnlineSgd(StepLaw(3.0, 1)), [0, 1, 20], [[0.2]], activation="identity")
    assert found.outcome == "diverged"
    assert "smaller step_size" in found.remedy
    assert np.all(np.isfinite(found.values["risk"][:2]))
    assert np.isnan(found.values["risk"][2])
    assert np.all(np.isnan(found.values["overlap"][2]))
    cubic = predict("He3(h1)", OnlineSgd(StepLaw(1.0, 1)), [0, 50], [[0.2]], activation="He3")
    assert cubic.outcome in ("diverged", "not integrated")
    assert "smaller step_size" in cubic.remedy
    assert np.isnan(cubic.values["risk"][1])


@pytest.mark.parametrize(
    ("learner", "outcome"), [(OnlineSgd(0.5), "not integrated"), (Extragradient(0.5, 0.4), "rare inputs")]
)
def test_steps_that_overshoot_are_an_outcome(learner, outcome):
    """Steps a hundred times too large: the state overflows, or time stands still; neither is an exception. With an
    inner step the force at the start already rests on rare samples, which is found before anything is integrated."""
    found = predict("He2(h1) + abs(h1)", learner, [0, 1, 2], [[0.3]], activation="He3", dim=500)
    assert found.outcome == outcome
    assert np.isnan(found.values["overlap"][1:]).all()
    assert np.isfinite(found.values["overlap"][0]).all()


def test_inner_steps_that_rest_on_rare_samples_are_told_as_such():
    """A student He2 with a bias, of which runs at d = 500 have a norm of .988(6) at t = 2 where the mean over all
    samples gives 1.122; at d = 10^12 there are enough of them. Smaller inner steps, and relu, are safe."""

    def found(inner, activation="He2", dim=500):
        learner = Extragradient(StepLaw(0.05, 1), StepLaw(inner, 1))
        return predict("0.77*h1", learner, [0, 1, 2], [[0.32]], activation=activation, bias=0.3, dim=dim)

    steep, far = found(0.06), found(0.06, dim=10**12)
    assert (steep.outcome, far.outcome) == ("rare inputs", "ok")
    assert np.sqrt(far.values["gram"][2, 0, 0]) == pytest.approx(1.1224, abs=1e-4)
    assert np.isfinite(steep.values["gram"][:2]).all()
    assert np.isnan(steep.values["gram"][2]).all()
    assert "rests on samples that 10 runs of 1,000 do not contain" in steep.words
    assert (found(0.02).outcome, found(0.06, "relu").outcome) == ("ok", "ok")


@pytest.mark.parametrize("end", [1e5, 1e6])
def test_a_long_search_is_no_standstill(end):
    """The control: a first step that is tried far too long, a plateau, and a rise within a small part of the time."""
    found = predict("He3(h1)", OnlineSgd(StepLaw(1e-3, 1), **SPHERE), [0, end], [[0.01]], activation="He3")
    assert found.outcome == "ok"
    assert found.values["overlap"][-1, 0, 0] == pytest.approx(0.95663, abs=1e-4)


COMMITTEE = {"overlap": [[0.3, 0.1], [0.0, 0.2]], "second": [2.0, 2.0]}


def test_gradient_flow_goes_downhill_and_is_the_limit_of_small_steps():
    """At fixed c t the risk falls steadily for small c, and the distance from c -> 0 is proportional to c, up to a
    correction that halves with c; with large steps the risk ends higher."""

    def risks(c):
        times = np.linspace(0, 6, 13) / c
        return predict("erf(h1) + erf(h2)", OnlineSgd(StepLaw(c, 1)), times, **COMMITTEE).values["risk"]

    flow, at_1, at_2, at_4, large = (risks(c) for c in (1e-6, 0.01, 0.02, 0.04, 3.0))
    assert np.all(np.diff(flow) < 0)
    assert large[-1] > 1.5 * flow[-1]
    coarse, fine = (at_4 - flow)[1:] / (at_2 - flow)[1:], (at_2 - flow)[1:] / (at_1 - flow)[1:]
    np.testing.assert_allclose(fine, 2.0, atol=0.1)
    assert np.median((coarse - 2) / (fine - 2)) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("constraint", ["projected", "spherical"])
def test_norms_stay_on_the_sphere(constraint):
    learner = OnlineSgd(StepLaw(1.0, 1), constraint=constraint)
    found = predict("erf(h1) + erf(h2)", learner, np.linspace(0, 4, 5), **COMMITTEE)
    norms = np.diagonal(found.values["gram"], axis1=1, axis2=2)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-7)
    other = predict("erf(h1) + erf(h2)", OnlineSgd(StepLaw(1.0, 1)), np.linspace(0, 4, 5), **COMMITTEE)
    assert np.max(np.abs(np.diagonal(other.values["gram"], axis1=1, axis2=2) - 1)) > 0.1


def test_a_batch_divides_the_noise():
    """b samples a step with step c differ from one only by c^2/b: a batch of 10^6 is gradient flow with rate c."""
    times = np.linspace(0, 3, 4)
    flow = predict("erf(h1) + erf(h2)", OnlineSgd(StepLaw(1e-5, 1)), times * 1e5, **COMMITTEE).values["overlap"]
    large = predict("erf(h1) + erf(h2)", OnlineSgd(StepLaw(1.0, 1), 10**6), times, **COMMITTEE).values["overlap"]
    single = predict("erf(h1) + erf(h2)", OnlineSgd(StepLaw(1.0, 1)), times, **COMMITTEE).values["overlap"]
    np.testing.assert_allclose(large, flow, atol=2e-5)
    assert np.max(np.abs(single - flow)) > 0.02


def test_paired_neurons_start_as_one():
    """A paired student: equal rows, a = +-1, so f = 0 and the residual is y; the rows then part symmetrically."""
    found = predict("erf(h1)", OnlineSgd(StepLaw(0.5, 1)), [0, 1], [[0.1], [0.1]], gram=np.ones((2, 2)), second=[1, -1])
    first, second = found.values["overlap"][1, :, 0]
    assert first > 0.2
    assert second < 0.0
    assert found.values["risk"][0] == pytest.approx(2 / np.pi * np.arcsin(2 / 3), rel=1e-9)


def half_time(times, curve):
    return float(np.interp(0.5, curve, times))


def test_extragradient_has_the_measured_half_time():
    """He3, tanh(z + 1/2), c = .1, rho = .3/d (Arnaboldi et al. 2024): simulations at d = 500, 2000, 8000 reach
    |m| = 1/2 after 25, 25.6 and 26 d steps and .964 +- .003 after 80 d. An inner step 20% larger is rejected; without
    one nothing moves."""
    times = np.linspace(0, 80, 41)

    def curve(reach):
        learner = Extragradient(StepLaw(0.1, 1), StepLaw(reach, 1), **SPHERE)
        found = predict("He3(h1)", learner, times, [[0.0]], activation="tanh", bias=0.5)
        assert np.max(found.errors["overlap"]) < 1e-5
        return np.abs(found.values["overlap"][:, 0, 0])

    found = curve(0.3)
    assert 25.0 <= half_time(times, found) <= 26.0
    assert found[-1] == pytest.approx(0.964, abs=0.003)
    assert not 25.0 <= half_time(times, curve(0.36)) <= 26.0
    plain = predict("He3(h1)", OnlineSgd(StepLaw(0.1, 1), **SPHERE), [80.0], [[0.0]], activation="tanh", bias=0.5)
    assert np.max(np.abs(plain.values["overlap"])) < 1e-9


def test_a_vanishing_inner_step_is_plain():
    times = [0.0, 1.0, 3.0]
    plain, tiny, inner = (
        predict("He3(h1) + h1", learner, times, [[0.1]], activation="tanh").values["overlap"]
        for learner in (
            OnlineSgd(StepLaw(0.3, 1)),
            Extragradient(StepLaw(0.3, 1), StepLaw(1e-9, 1)),
            Extragradient(StepLaw(0.3, 1), StepLaw(0.1, 1)),
        )
    )
    np.testing.assert_allclose(tiny, plain, atol=1e-7)
    assert np.max(np.abs(inner - plain)) > 1e-3


def test_the_step_size_is_taken_at_the_given_dimension():
    """gamma d is what counts: a law 1/d gives the same at every d, d^-1.5 at d = 100 is a tenth of it."""

    def overlap(step, dim):
        return predict("tanh(h1)", OnlineSgd(step), [0, 2], [[0.1]], dim=dim).values["overlap"][-1, 0, 0]

    assert overlap(StepLaw(0.5, 1), 100) == pytest.approx(overlap(StepLaw(0.5, 1), 10**6), rel=1e-9)
    assert overlap(StepLaw(0.5, 1.5), 100) == pytest.approx(overlap(StepLaw(0.05, 1), 100), rel=1e-9)
    assert overlap(0.005, 100) == pytest.approx(overlap(StepLaw(0.5, 1), 100), rel=1e-9)


def test_what_is_not_predicted_is_refused():
    with pytest.raises(NoPrediction, match="OnlineSgd and Extragradient"):
        predict("h1", ReusedBatch(2, 0.1), [1], [[0.1]])
    with pytest.raises(NoPrediction, match="isotropic"):
        predict(target("h1", inputs=Spiked(2.0, 1.0)), OnlineSgd(StepLaw(0.1, 1)), [1], [[0.1]])
    with pytest.raises(NoPrediction, match=r"300 neurons .* 8,388,608 bytes.* at most 256"):  # it was a LinAlgError
        predict("h1", OnlineSgd(StepLaw(0.1, 1)), [1], np.full((300, 1), 0.1))


def test_the_widest_that_is_averaged_has_points_that_span_its_neurons():
    """The control: with a quarter of the points their covariance is singular."""
    descent = Descent(named("tanh"), np.ones(256), np.zeros(256), "squared")
    rule = sampled(target("h1"), descent, 2**20 // 256 // 4).best
    assert len(rule.labels.weights) == 4 * 256
    assert np.linalg.matrix_rank(rule.normals) == 256
    with pytest.raises(np.linalg.LinAlgError):
        balanced_normals(257, 8, 1, 1)


def test_words_say_which_limit_and_how():
    found = predict("He3(h1)", OnlineSgd(StepLaw(0.25, 1)), [0, 1], [[0.1]], activation="relu")
    assert "gamma d = 0.25" in found.words
    assert "cut at the kinks" in found.words
    assert np.max(found.errors["overlap"]) < 1e-8
    assert set(found.values) == set(found.errors) == {"overlap", "gram", "risk"}
