"""Giant steps and their readouts: cosines, overlaps and Gram matrices in closed form, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.learners import GiantSteps, RandomFeatures, Readout, ReusedBatch, TwoLayer
from featlab.targets import target
from featlab.theory.giant.cosine import one_step_cosine
from featlab.theory.giant.labels import conditional_labels
from featlab.theory.giant.overlaps import label_drift, predict_giant, step, step_averages
from featlab.theory.giant.readout import predict_readout
from featlab.theory.online.averages import Descent
from featlab.theory.question import NoPrediction, Question, Start
from featlab.theory.spikes import slope_moments

ERF, RELU = activation("erf"), activation("relu")


def test_cosine_of_one_step_at_leap_one():
    """cos^2 = (m^2 + N_h/n)/(1 + m^2 + N d/n) for relu on h1 + He2(h1) + h2 - He2(h2): m^2 = 1/2, N = 3; limit .577."""
    of, learner = target("h1 + He2(h1) + h2 - He2(h2)"), GiantSteps(1)
    for dim, samples, measured in ((2000, 2000, 0.323), (32000, 32000, 0.330), (32000, 32000**1.5, 0.574)):
        found = one_step_cosine(of, RELU, learner, dim=dim, samples=int(samples)).root_mean_square
        assert found == pytest.approx(np.sqrt(0.5 / (1.5 + 3 * dim / samples)), rel=0.01)
        assert found == pytest.approx(measured, rel=0.05)


def test_cosine_of_one_step_at_leap_two():
    """relu on (He2(h1) - He2(h2))/2, n = d^2: E sqrt(a s/(3/2 + a s)), a = 1/(2 pi), s ~ chi^2_2, as d grows."""
    of, learner, scale = target("(He2(h1)-He2(h2))/2"), GiantSteps(1, leap=2), 1 / (2 * np.pi)
    limit = quad(lambda s: np.sqrt(scale * s / (1.5 + scale * s)) * np.exp(-s / 2) / 2, 0, 80)[0]
    assert limit == pytest.approx(0.360, abs=1e-3)
    assert one_step_cosine(of, RELU, learner, dim=10**6, samples=10**12).mean == pytest.approx(limit, rel=2e-3)
    assert one_step_cosine(of, ERF, learner, dim=10**6, samples=10**12).mean < 0.01, "erf has no second coefficient"
    assert one_step_cosine(of, RELU, learner, dim=10**6, samples=10**6).mean < 0.01


def test_drift_of_the_label_is_exact():
    """Against adaptive quadrature in (h, z), for overlaps of order one and of order 1/sqrt(d)."""
    of = target("relu(h1)*h1")
    for cosine in (0.4, 1e-3):
        student = Descent(RELU, np.array([1.5]), np.array([0.3]), "correlation")
        drive, pull = label_drift(of, student, np.array([[cosine]]), np.array([[1.44]]))
        rest = np.sqrt(1.44 - cosine**2)

        def integrand(h, along, cosine=cosine, rest=rest):
            above = 0.5 * (1 + erf((cosine * h + 0.3) / rest / np.sqrt(2)))  # E sigma' given h
            density = np.exp(-0.5 * ((cosine * h + 0.3) / rest) ** 2) / np.sqrt(2 * np.pi)  # E[sigma' z]
            return max(h, 0) * h * (h * above if along else density) * np.exp(-0.5 * h * h) / np.sqrt(2 * np.pi)

        expected, tilt = (1.5 * quad(integrand, 0, 12, args=(along,), epsabs=1e-14)[0] for along in (True, False))
        assert drive[0, 0] == pytest.approx(expected, rel=1e-9)
        assert pull[0, 0] == pytest.approx(cosine * expected + rest * tilt, rel=1e-9)


def test_one_step_from_the_origin_of_the_overlaps():
    """Orthogonal start, f = 0: M = gamma a E[sigma'] mu1*, Q_ii = 1 + gamma^2 (mean^2 + E[y^2 sigma'^2] d/n)."""
    of = target("h1 + He2(h2)/2", noise=0.25)
    student = Descent(ERF, np.array([1.0, -1.0]), np.zeros(2), "correlation")
    overlap, gram = np.zeros((2, 2)), np.eye(2)
    averages = step_averages(of, student, overlap, gram, 1)
    after, norms = step(overlap, gram, averages, 0.5, 1000, 500)
    slope, square = slope_moments(ERF).slope, slope_moments(ERF).square
    assert after == pytest.approx(0.5 * slope * np.array([[1, 0], [-1, 0]]), abs=1e-12)
    mean = 0.25 * slope**2
    assert norms[0, 0] == pytest.approx(1 + 0.999 * mean + 0.25 * 0.5 * 1.75 * square, rel=2e-3)
    # Neurons with independent fields share the noise of the labels: E[D_1 D_2] = -E[y^2] E[sigma']^2.
    assert norms[0, 1] == pytest.approx(-0.999 * mean - 0.25 * 0.5 * 1.75 * slope**2, rel=5e-3)
    assert norms[0, 1] != pytest.approx(-0.999 * mean, rel=5e-3)
    assert averages.risk == pytest.approx(1.75 + np.mean(output_energy(student)), rel=5e-3)


def output_energy(student):
    """E[f^2] of two independent neurons (1/2)(erf(l1) - erf(l2)): half of E[erf^2]; f is not correlated with y here."""
    return student.activation.second_moment / 2


def question(learner, student=None, text="tanh(h1)", dim=200, samples=400, steps=(0, 1)):
    return Question(target(text), learner, student or TwoLayer(100, "tanh"), dim, samples, np.array(steps))


def typical(width=100, rank=1):
    return Start(np.zeros((width, rank)), np.eye(width), np.ones(width), np.zeros(width))


def test_divergence_is_a_value():
    wild = question(GiantSteps(4, 1e5), TwoLayer(2, "relu"), steps=(0, 4))
    found = predict_giant(wild, typical(2))
    assert found.outcome == "diverged"
    assert "smaller scale" in found.remedy
    assert np.all(np.isfinite(found.values["gram"][0]))
    assert np.all(np.isnan(found.values["gram"][1]))


@pytest.mark.parametrize(
    ("learner", "student", "dim", "words"),
    [
        (Readout(GiantSteps(2), 400), None, 200, "GiantSteps\\(1\\)"),
        (Readout(GiantSteps(1, leap=2), 400), None, 200, "leap=1"),
        (Readout(ReusedBatch(1, 0.1), data="same"), None, 200, "data='fresh'"),
        (Readout(GiantSteps(1), 400, biases="gaussian", bias_scale="fields"), None, 200, "bias_scale a number"),
        (Readout(GiantSteps(1), 400), TwoLayer(100, "tanh", paired=True), 200, "paired"),
        (Readout(GiantSteps(1), 400), TwoLayer(100, "tanh", biases="uniform"), 200, "biases"),
        (Readout(GiantSteps(1), 400), TwoLayer(100, "relu"), 200, "odd activation"),
        (RandomFeatures(400), TwoLayer(100, "tanh", start="orthogonal"), 200, "start='sphere'"),
        (RandomFeatures(10**4), TwoLayer(10**4, "tanh"), 50, "degree two"),
        (GiantSteps(1), None, 200, "Readout"),
    ],
)
def test_what_is_not_covered_is_refused_with_words(learner, student, dim, words):
    with pytest.raises(NoPrediction, match=words):
        predict_readout(question(learner, student, dim=dim), typical())


def test_refusals_of_giant_steps():
    with pytest.raises(NoPrediction, match="at most 512"):
        predict_giant(question(GiantSteps(1), TwoLayer(600)), typical(600))
    with pytest.raises(NoPrediction, match="GiantSteps"):
        predict_giant(question(ReusedBatch(1, 0.1)), typical())
    with pytest.raises(InvalidParameter, match="samples"):
        predict_giant(question(GiantSteps(1), samples=None), typical())
    with pytest.raises(NoPrediction, match="at most 3"):
        conditional_labels(target("h1*h2*h3 + h4"), np.eye(4)[0], 0.5, np.zeros(1))


def test_readout_of_either_convention():
    """A paired start duplicates its features: random features of half the width at the same ridge. Biases of the
    readout
    are averaged over. The best ridge of the leave-one-out grid is never worse than a neighbour."""
    paired = question(RandomFeatures(300, 1e-3), TwoLayer(100, "tanh", paired=True), samples=None, steps=(0,))
    half = question(RandomFeatures(300, 1e-3), TwoLayer(50, "tanh"), samples=None, steps=(0,))
    risk = predict_readout(half, typical(50)).values["risk"]
    assert predict_readout(paired, typical()).values["risk"] == pytest.approx(risk)
    shifted = question(Readout(None, 300, 1e-3, biases="gaussian"), TwoLayer(50, "tanh"), samples=None, steps=(0,))
    assert predict_readout(shifted, typical(50)).values["risk"] != pytest.approx(risk, rel=0.01)
    chosen = predict_readout(question(RandomFeatures(300), half.student, samples=None, steps=(0,)), typical(50)).values
    for factor in (10**-0.5, 10**0.5):
        fixed = RandomFeatures(300, float(chosen["ridge"][0]) * factor)
        other = predict_readout(question(fixed, half.student, samples=None, steps=(0,)), typical(50)).values
        assert chosen["risk"][0] <= other["risk"][0]
