"""One step on labels without their linear part: the gradient of single neurons, predicted and by plain NumPy.

Means over batches against the limit, within four standard errors and 2/d of the value. The same assertion rejects the
gradient that forgets that mean and slope were fitted to the same batch, as if they were known.
"""

from __future__ import annotations

import numpy as np
import pytest

import featlab
from featlab.gaussian.activations import activation
from featlab.learners import PreprocessedStep, TwoLayer
from featlab.theory import NoPrediction, predict
from featlab.theory.preprocessed_step import pull
from featlab.theory.step_alignment import step_alignment

GOAL = featlab.target("He2(h1) + 0.6*h1 + 0.5", noise=0.3)
BIAS = 0.4


def measured(name, dim, samples, cosine, batches, fitted=True):
    """The overlap and the squared length of the gradient, of every batch."""
    sigma, found = activation(name), []
    for seed in range(batches):
        rng = np.random.default_rng([3, seed])
        inputs = rng.standard_normal((samples, dim))
        labels = GOAL.link(inputs[:, :1]) + np.sqrt(GOAL.noise) * rng.standard_normal(samples)
        weights = np.zeros(dim)
        weights[:2] = cosine, np.sqrt(1 - cosine**2)
        slope = labels @ inputs / samples if fitted else 0.6 * np.eye(dim)[0]
        rest = labels - (labels.mean() if fitted else 0.5) - inputs @ slope
        gradient = (rest * sigma.derivative(inputs @ weights + BIAS)) @ inputs / samples
        found.append((gradient[0], gradient @ gradient))
    return np.array(found)


def agrees(found, expected, dim):
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return np.abs(found.mean(axis=0) - expected) < 4 * error + 2 * np.abs(expected) / dim


@pytest.mark.parametrize(("name", "ratio", "cosine"), [("relu", 1.5, 0.6), ("relu", 8.0, 0.2), ("tanh", 3.0, -0.5)])
def test_the_gradient_of_a_neuron(name, ratio, cosine):
    dim = 300
    one = pull(GOAL, activation(name), np.array([cosine]), 1.0, 1.0, BIAS, ratio)
    expected = np.array([one.along[0], one.square])
    found = measured(name, dim, int(ratio * dim), cosine, 40)
    assert np.all(agrees(found, expected, dim)), (found.mean(axis=0), expected)
    assert not np.all(agrees(found, 1.2 * expected, dim))
    known = measured(name, dim, int(ratio * dim), cosine, 40, fitted=False)
    assert not np.all(agrees(known, expected, dim))


def test_it_is_the_alignment_that_is_known_for_relu():
    """Where n >> d, fluctuations along the directions are small, and both formulas say the same to order 1/d."""
    dim, samples, cosines = 400, 40_000, np.array([[0.15, 0.1], [-0.1, 0.2]])
    expected = step_alignment("h1*h2 + 0.5*He2(h1)*h2", cosines, dim, samples)
    goal = featlab.target("h1*h2 + 0.5*He2(h1)*h2")
    pulls = [pull(goal, activation("relu"), one, 1.0, 1.0, 0.0, samples / dim) for one in cosines]
    assert [one.along @ one.along / one.square for one in pulls] == pytest.approx(expected, rel=0.02)


def test_the_learner_as_it_is_simulated():
    """d = 2000, n = 3d, two neurons that know something, 6 seeds, whose overlaps scatter too much for a control;
    the step is set by the norm that is asked for."""
    student = TwoLayer(2, "relu", "alternating", start="planted", planted=((0.3,), (0.6,)), biases=BIAS)
    sizes = {"dim": 2000, "samples": 6000, "student": student}
    learner = PreprocessedStep(row_norm=1.5, fit_samples=50, ridge=1.0, test_samples=64)
    run = featlab.simulate(GOAL, learner, **sizes, seeds=6, observe=("overlap", "norm", "step_size"), progress=False)
    theory = predict(GOAL, learner, **sizes)
    for name in ("norm", "step_size", "overlap"):
        found, expected = run[name].isel(time=1).values, theory[name].values[1]
        assert np.all(agrees(found, expected, 2000)), (name, found.mean(axis=0), expected)
        assert name == "overlap" or not np.all(agrees(found, 1.2 * expected, 2000)), name
    assert np.isnan(theory.step_size.values[0])
    assert theory.overlap.values[0].tolist() == [[0.3], [0.6]]


def test_what_is_refused():
    sizes = {"dim": 100, "samples": 1000}
    with pytest.raises(NoPrediction, match=r"cosine of 0\.99"):
        predict("h1", PreprocessedStep(), student=TwoLayer(start="planted", planted=((0.99,),)), **sizes)
    with pytest.raises(NoPrediction, match="drawn at random"):
        predict("h1", PreprocessedStep(), student=TwoLayer(second_layer="signs"), **sizes)
