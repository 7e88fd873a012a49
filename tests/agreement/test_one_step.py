"""One gradient step with n, p and d in proportion: theory against dense matrices in NumPy, and simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh
from scipy.special import erf

from featlab.gaussian.activations import activation
from featlab.learners import GiantSteps, RandomFeatures, Readout, TwoLayer
from featlab.results import START
from featlab.simulation import simulate
from featlab.targets import target
from featlab.theory.giant.given import given_features, given_ridge_risk
from featlab.theory.giant.overlaps import predict_giant
from featlab.theory.giant.readout import giant_step_features, neuron_law, predict_readout
from featlab.theory.giant.ridge import Sizes, ridge_risk
from featlab.theory.question import Question, Start
from featlab.theory.ridge import gaussian_risk, linear_part
from featlab.theory.spikes import (
    GradientSpike,
    critical_step,
    gradient_spike,
    label_moments,
    slope_moments,
    spike_strength,
    spiked_weights,
)

STUDENTS = {
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "erf": (erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x)),
}
RELU_MEAN = 1 / np.sqrt(2 * np.pi)
TEACHERS = {
    "relu": ("relu(h1) - 0.3989422804014327", lambda h: np.maximum(h, 0) - RELU_MEAN),
    "tanh": ("tanh(h1)", np.tanh),
    "erf": ("erf(h1)", erf),
}
NOISE = 0.01


def labelled(rng, teacher, count, dim):
    x = rng.standard_normal((count, dim))
    return x, TEACHERS[teacher][1](x[:, 0]) + np.sqrt(NOISE) * rng.standard_normal(count)


def start(rng, width, dim):
    return rng.standard_normal((width, dim)) / np.sqrt(dim), rng.standard_normal(width)


def gradient(student, weights, second, x, y):
    """The first gradient of all neurons (p, d), and its common part as it was realised."""
    value, slope = STUDENTS[student]
    fields = x @ weights.T
    residual = y - value(fields) @ second / len(second)
    common = x.T @ residual / len(y)
    norm = float(np.linalg.norm(common))
    spike = GradientSpike(norm, abs(common[0]) / norm, float(np.mean(residual**2)) * x.shape[1] / len(y))
    return second[:, None] * (slope(fields).T * residual) @ x / len(y), spike


@pytest.fixture(scope="module")
def large_step():
    """tanh student, relu teacher, d = 2000, n = 2d, p = d/2."""
    rng, dim = np.random.default_rng(11), 2000
    weights, second = start(rng, dim // 2, dim)
    return weights, second, *gradient("tanh", weights, second, *labelled(rng, "relu", 2 * dim, dim))


def top(weights):
    """The largest singular value with its vectors in R^p and R^d."""
    value, vector = eigsh(weights @ weights.T, k=1, v0=np.ones(len(weights)))
    size = float(np.sqrt(value[0]))
    return size, vector[:, 0], weights.T @ vector[:, 0] / size


@pytest.mark.parametrize("times_critical", [1.6, 2.5, 4.0])
def test_outlier_of_the_weights(large_step, times_critical):
    """With the realised strength: singular value within 2%, squared overlaps within .02 + 1/sqrt(d) = .042."""
    weights, second, direction, spike = large_step
    slope, norm = slope_moments(activation("tanh")).slope, float(np.linalg.norm(second))
    step = times_critical * critical_step(norm, slope, spike, 0.5)
    predicted = spiked_weights(spike_strength(step, norm, slope, spike), 0.5)
    value, in_neurons, in_inputs = top(weights + step * direction)
    assert predicted.outlier
    assert value == pytest.approx(predicted.singular_value, rel=0.02)
    assert value != pytest.approx(1.2 * predicted.singular_value, rel=0.02)
    strength = spike_strength(step, norm, slope, spike)
    assert value != pytest.approx(strength, rel=0.02), "the spike without the bulk"
    common = spike.cosine**2 * predicted.input_overlap
    assert in_inputs[0] ** 2 == pytest.approx(common, abs=0.042)
    assert (in_neurons @ second / norm) ** 2 == pytest.approx(predicted.neuron_overlap, abs=0.042)
    limit = gradient_spike(label_moments(target(TEACHERS["relu"][0], noise=NOISE)), 2.0)
    assert spike.strength == pytest.approx(limit.strength, rel=0.05), "the limit, up to 2/sqrt(d)"


def test_no_outlier_below_the_threshold(large_step):
    """At .7 of the critical step the largest singular value is the edge, up to the d^(-2/3) of its fluctuations."""
    weights, second, direction, spike = large_step
    slope, norm = slope_moments(activation("tanh")).slope, float(np.linalg.norm(second))
    step = 0.7 * critical_step(norm, slope, spike, 0.5)
    predicted = spiked_weights(spike_strength(step, norm, slope, spike), 0.5)
    value, _, in_inputs = top(weights + step * direction)
    assert not predicted.outlier
    assert value == pytest.approx(predicted.edge, rel=0.01)
    assert value != pytest.approx(1.2 * predicted.edge, rel=0.01)
    assert in_inputs[0] ** 2 < 0.02


def fit_and_test(student, weights, second, teacher, rng, samples, ridges):
    """Mean squared test error (noise included) of ridge regression at each lambda, features sigma/sqrt(p)."""
    value, (width, dim) = STUDENTS[student][0], weights.shape
    x, y = labelled(rng, teacher, samples, dim)
    features = value(x @ weights.T) / np.sqrt(width)
    x = rng.standard_normal((6000, dim))
    clean, tested = TEACHERS[teacher][1](x[:, 0]), value(x @ weights.T) / np.sqrt(width)
    errors = []
    for ridge in ridges:
        if samples > width:
            fitted = np.linalg.solve(features.T @ features / samples + ridge * np.eye(width), features.T @ y / samples)
        else:
            dual = np.linalg.solve(features @ features.T / samples + ridge * np.eye(samples), y / samples)
            fitted = features.T @ dual
        errors.append(np.mean((clean - tested @ fitted) ** 2) + NOISE)
    return errors


def test_ridge_after_a_small_step_in_24_configurations():
    """tanh student, relu teacher, d = p = 300, eta/eta_c in {0, 1, 2}, psi1 in {.5, 1, 2, 4}, two ridges, 6 seeds: the
    closed
    form is off by 2% in the median and 7% at most (finite size and seeds). 20% more fails in every configuration; so
    do, in some, features that are linear (mu_* = 0), a fit to as many samples as one likes, and a step that leaves no
    outlier."""
    dim = width = 300
    ridges, part = (0.03, 0.3), linear_part(activation("tanh"))
    labels, slope = label_moments(target(TEACHERS["relu"][0], noise=NOISE)), slope_moments(activation("tanh")).slope
    linear = replace(part, residual=1e-9)
    misses, wrong = [], {"linear": [], "many samples": [], "no outlier": []}
    for ratio in (0.5, 1.0, 2.0, 4.0):
        spike, samples = gradient_spike(labels, ratio), int(ratio * dim)
        step = critical_step(np.sqrt(width), slope, spike, 1.0)
        risks = np.zeros((3, 2))
        for seed in range(6):
            rng = np.random.default_rng([seed, samples])
            weights, second = start(rng, width, dim)
            direction, _ = gradient("tanh", weights, second, *labelled(rng, "relu", samples, dim))
            for place, times in enumerate((0, 1, 2)):
                moved = weights + times * step * direction
                given = [ridge / width for ridge in ridges]
                risks[place] += np.array(fit_and_test("tanh", moved, second, "relu", rng, samples, given)) / 6
        for place, times in enumerate((0, 1, 2)):
            sizes = {"sample_ratio": ratio, "width_ratio": 1.0, "strength": float(times), "cosine": spike.cosine}
            closed = [gaussian_risk(part, labels, ridge=ridge, **sizes) for ridge in ridges]
            misses += [measured / predicted - 1 for measured, predicted in zip(risks[place], closed, strict=True)]
            for measured, ridge in zip(risks[place], ridges, strict=True):
                of = {"labels": labels, "ridge": ridge}
                wrong["linear"].append(measured / gaussian_risk(linear, **of, **sizes) - 1)
                wrong["many samples"].append(measured / gaussian_risk(part, **of, **{**sizes, "sample_ratio": 1e6}) - 1)
                wrong["no outlier"].append(measured / gaussian_risk(part, **of, **{**sizes, "strength": 0.0}) - 1)
    misses = np.array(misses)
    for words, others in wrong.items():
        assert np.max(np.abs(others)) > 0.07, words
    assert misses.size == 24
    assert np.median(np.abs(misses)) <= 0.02
    assert np.max(np.abs(misses)) <= 0.07
    assert np.min(np.abs((1 + misses) / 1.2 - 1)) > 0.07


@pytest.mark.parametrize(("name", "ratio", "ridge"), [("tanh", 4, 0.1), ("erf", 8, 0.05)])
def test_ridge_after_a_giant_step(name, ratio, ridge):
    """c = 3, d = 160, p = 2d, Gaussian second layer, 10 seeds, each predicted from its own gradient: single seeds
    scatter by
    7%, their mean ratio is 1 within 5%. The law of small steps, of which only the linear part of the target is learned,
    is refused, at the strength of the spike that the step makes."""
    dim, width, seeds = 160, 320, 10
    samples, of = ratio * dim, target(TEACHERS[name][0], noise=NOISE)
    student = TwoLayer(width, name, "gaussian", start="gaussian")
    learner = Readout(GiantSteps(1, 3.0), samples, ridge / width)
    question = Question(of, learner, student, dim, samples, np.array([1]))
    ratios, small = [], []
    part, moments, slope = linear_part(activation(name)), label_moments(of), slope_moments(activation(name)).slope
    for seed in range(seeds):
        rng = np.random.default_rng([seed, samples])
        weights, second = start(rng, width, dim)
        direction, spike = gradient(name, weights, second, *labelled(rng, name, samples, dim))
        strength = spike_strength(3.0, float(np.linalg.norm(second)), slope, spike)
        given = {"sample_ratio": float(ratio), "width_ratio": width / dim, "cosine": spike.cosine}
        small.append(gaussian_risk(part, moments, ridge=ridge, strength=strength, **given) - NOISE)
        moved = weights + 3.0 * direction
        measured = fit_and_test(name, moved, second, name, rng, samples, [ridge / width])[0] - NOISE
        origin = Start(weights[:, :1], weights @ weights.T, second, np.zeros(width))
        features, labels = giant_step_features(question, origin, neuron_law(student, learner, second), spike)
        predicted = ridge_risk(features, labels, Sizes(samples, width, dim), ridge / width).risk - NOISE
        ratios.append(measured / predicted)
        small[-1] = measured / small[-1]
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)
    assert np.mean(ratios) / 1.2 != pytest.approx(1, abs=0.05)
    assert np.mean(small) != pytest.approx(1, abs=0.05)


# psi1 -> (seeds, p lambda near the best): with n = d samples one fit scatters by 5%, with 32 d by 1%.
GIVEN = {1: (9, 0.2), 2: (4, 0.1), 4: (4, 0.05), 8: (5, 0.05), 16: (3, 0.05), 32: (2, 0.05)}


@pytest.mark.parametrize(("ratio", "name"), list(zip(GIVEN, ["tanh", "erf"] * 3, strict=True)))
def test_table_of_giant_step_ridge_with_its_weights_given(name, ratio):
    """eta = 3 sqrt(p), d = 160, psi2 = 2, label noise .01, near the best lambda: the excess risk, theory given the
    weights that the step made, within 5% of the measured one, at every ratio of the table, the students in turn."""
    dim, width, (seeds, ridge) = 160, 320, GIVEN[ratio]
    samples, of = ratio * dim, target(TEACHERS[name][0], noise=NOISE)
    measured, predicted = [], []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, samples, 1])
        weights, second = start(rng, width, dim)
        x, y = labelled(rng, name, samples, dim)
        moved = weights + 3.0 * gradient(name, weights, second, x, y)[0]
        common = x.T @ (y - STUDENTS[name][0](x @ weights.T) @ second / width)
        features = given_features(
            of, activation(name), moved, np.zeros(width), common / np.linalg.norm(common), nodes=16
        )
        found = given_ridge_risk(features, samples, ridge / width)
        assert found.converged
        predicted.append(found.risk - NOISE)
        measured.append(fit_and_test(name, moved, second, name, rng, samples, [ridge / width])[0] - NOISE)
    assert np.mean(measured) == pytest.approx(np.mean(predicted), rel=0.05)
    assert np.mean(measured) != pytest.approx(1.2 * np.mean(predicted), rel=0.05)


def test_giant_steps_follow_the_recursion():
    """Two steps, relu with Gaussian second layer, squared loss, d = 4000, n = 4d, from each seed's own start.
    Overlaps: up to three times 1/sqrt(d) of the rest of a neuron, the fluctuation that the limit neglects. Squared
    norms and risk hang on
    mean squares of labels with E[y^4] = 10 E[y^2]^2, known to 4% in one seed: the mean over three seeds within 5%. The
    norms of a step without the noise of its batch, (d/n) E[D D], are not."""
    text, student, learner = "h1 + He2(h1) + h2 - He2(h2)", TwoLayer(8, "relu", "gaussian"), GiantSteps(2)
    dim, samples, seeds = 4000, 16000, 3
    names = (*START, "risk")
    run = simulate(text, learner, dim=dim, samples=samples, seeds=seeds, student=student, observe=names, progress=False)
    question = Question(target(text), learner, student, dim, samples, np.array([0, 1, 2]))
    ratios, noiseless = [], []
    for seed in range(seeds):
        origin = Start(*(np.asarray(run[name].values[seed, 0], dtype=np.float64) for name in START))
        values = predict_giant(question, origin).values
        norms, expected = (np.diagonal(gram, axis1=1, axis2=2)[1:] for gram in (run.gram.values[seed], values["gram"]))
        overlap = values["overlap"][1:]
        noise = np.sqrt((expected - np.sum(overlap**2, axis=2)) / dim)[:, :, None]
        for factor, fits in ((1.0, True), (1.2, False)):
            off = (run.overlap.values[seed][1:] - factor * overlap) / noise
            assert np.all((np.sqrt(np.mean(off**2, axis=(1, 2))) < 3) == fits)
        ratios.append([*np.mean(norms / expected, axis=1), *(run.risk.values[seed] / values["risk"])])
        without = predict_giant(replace(question, samples=10**12), origin).values["gram"]
        noiseless.append(np.mean(norms / np.diagonal(without, axis1=1, axis2=2)[1:], axis=1))
    assert np.mean(ratios, axis=0) == pytest.approx(1, abs=0.05)
    assert np.all(np.abs(np.mean(ratios, axis=0) / 1.2 - 1) > 0.05)
    assert np.all(np.abs(np.mean(noiseless, axis=0) - 1) > 0.05)


@pytest.mark.parametrize(
    ("text", "learner", "student", "batch"),
    [
        ("tanh(h1) + h1*h2", RandomFeatures(600, 1e-3), TwoLayer(200, "relu", biases="gaussian"), None),
        ("h1 + h1*h2", Readout(GiantSteps(1, 2.0), 1200, 2e-3), TwoLayer(300, "erf", "signs"), 1200),
    ],
)
def test_readouts_as_simulated(text, learner, student, batch):
    """d = 300, 8 seeds: within 3 standard errors of the mean and a finite-size allowance of 1/sqrt(d) = 6% of the risk
    beyond the label noise. Refused: random features fitted to as many samples as one likes; a step that is not seen."""
    dim, of = 300, target(text)
    run = simulate(of, learner, dim=dim, samples=batch, seeds=8, student=student, observe=("risk",), progress=False)
    steps = np.array(run.step.values)
    origin = Start(np.zeros((student.width, 2)), np.eye(student.width), np.ones(student.width), np.zeros(student.width))
    predicted = predict_readout(Question(of, learner, student, dim, batch, steps), origin)
    assert predicted.outcome == "ok"
    mean = run.risk.values.mean(axis=0)
    error = run.risk.values.std(axis=0, ddof=1) / np.sqrt(8)
    allowed = 3 * error + predicted.values["risk"] / np.sqrt(dim)
    assert np.all(np.abs(mean - predicted.values["risk"]) < allowed)
    assert np.all(np.abs(mean - 1.2 * predicted.values["risk"]) > allowed)
    if batch is None:
        many = replace(learner, samples=10**7)
        wrong = predict_readout(Question(of, many, student, dim, batch, steps), origin).values["risk"]
    else:
        wrong = predicted.values["risk"][:-1]
    assert abs(mean[-1] - wrong[-1]) > allowed[-1]
