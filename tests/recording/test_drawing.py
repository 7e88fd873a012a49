"""A draw is what a simulation on a stored X sees, number by number; what cannot be stored is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import featlab
from featlab.errors import InvalidParameter


def full_batch(experiment: featlab.Experiment, seed: int) -> np.ndarray:
    """The slow obvious loop: weights (steps + 1, p, d) of full-batch steps, a new batch after every `uses`."""
    drawn = featlab.draw(experiment, seed)
    learner, samples = experiment.learner, experiment.samples
    weights = [drawn.W0.astype(np.float64)]
    for step in range(learner.steps):
        rows = slice(samples * (step // learner.uses), samples * (step // learner.uses + 1))
        fields = drawn.X[rows] @ weights[-1].T + drawn.biases
        error = drawn.y[rows] - np.mean(drawn.second_layer * np.maximum(fields, 0), axis=1)
        force = (error[:, None] * drawn.second_layer * (fields > 0)).T @ drawn.X[rows] / samples
        weights.append(weights[-1] + learner.step_size * force)
    return np.array(weights)


def test_a_loop_on_a_draw_is_the_simulation_number_by_number() -> None:
    """Weights, biases, second layer, three batches, noise of the labels, and the risk."""
    experiment = featlab.Experiment.of(
        featlab.target("h1*h2", noise=0.1),
        featlab.ReusedBatch(5, 0.5, steps_per_batch=2),
        dim=20,
        samples=30,
        student=featlab.TwoLayer(width=2, second_layer="gaussian", biases="gaussian"),
        seeds=(3, 8),
        design="dense",
        observe=("overlap", "gram", "spectrum", "subspace", "risk", "second_layer", "biases"),
    )
    run = featlab.simulate(experiment)
    drawn = featlab.draw(experiment, 3)
    assert drawn.X.shape == (90, 20)
    stack = np.array([full_batch(experiment, seed) for seed in (3, 8)])
    for place, seed in enumerate((3, 8)):
        layers = featlab.draw(experiment, seed)
        given = {"second_layer": layers.second_layer, "biases": layers.biases}
        seen = {"steps": range(6), "seeds": [seed], "experiment": experiment}
        mine = featlab.observe(stack[place][None], drawn.directions, **seen, **given)
        for name in experiment.observe:
            assert np.allclose(mine[name], run[name].sel(seed=[seed]), atol=2e-5), name
    other = featlab.observe(stack[0], drawn.directions, steps=range(6))
    assert not np.allclose(other.overlap, run.overlap.sel(seed=8), atol=0.01)


def test_spiked_inputs_are_stretched_along_the_spike() -> None:
    """Against the law: variances I + theta mu mu^T, and labels of whitened fields."""
    target = featlab.target("h1", inputs=featlab.Spiked(3.0, 0.6))
    student = featlab.TwoLayer(start="orthogonal")
    experiment = featlab.Experiment.of(target, featlab.ReusedBatch(1, 0.5), dim=4, samples=20_000, student=student)
    drawn = featlab.draw(experiment)
    mu = np.array([0.6, 0.8, 0.0, 0.0])
    covariance = np.eye(4) + 3.0 * np.outer(mu, mu)
    error = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / 20_000)
    assert np.all(np.abs(drawn.X.T @ drawn.X / 20_000 - covariance) < 4.5 * error)
    assert not np.all(np.abs(drawn.X.T @ drawn.X / 20_000 - np.eye(4)) < 4.5 * error)
    assert np.allclose(drawn.y, drawn.X[:, 0] / np.sqrt(covariance[0, 0]), atol=1e-5)


def test_precision_and_seeds() -> None:
    learner = featlab.SlicedInverseRegression()
    experiment = featlab.Experiment.of("h1*h2", learner, dim=6, samples=50, dtype="float64")
    one, other = featlab.draw(experiment, 0), featlab.draw(experiment, 1)
    assert one.X.dtype == one.y.dtype == one.directions.dtype == np.float64
    assert one.W0 is None
    assert one.second_layer is None
    assert np.allclose(one.y, one.X[:, 0] * one.X[:, 1], rtol=1e-12)
    assert not np.any(one.X == other.X)
    assert np.array_equal(one.X, featlab.draw(experiment, 0).X)


def test_what_cannot_be_stored_is_refused_before_it_is_drawn() -> None:
    """X alone, 8 x 10^10 bytes; and the bound counts what is needed while it is drawn."""
    sgd = featlab.Experiment.of("h1", featlab.OnlineSgd(0.1), dim=10**4, times=[200], memory=10**9)
    with pytest.raises(featlab.DoesNotFit, match="X has 2,000,000 x 10,000 numbers") as refused:
        featlab.draw(sgd)
    assert refused.value.needed >= 8 * 10**10
    featlab.draw(replace(sgd, dim=10, times=(2.0,), memory=10**5))
    with pytest.raises(featlab.DoesNotFit):
        featlab.draw(replace(sgd, dim=10, times=(2.0,), memory=200 * 4))


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (featlab.Readout(featlab.ReusedBatch(1, 0.1), samples=50), "steps on a TwoLayer"),
        (featlab.SphericalFlow(positive_start=True), "steps on a TwoLayer"),
        (featlab.SignSgd(0.1, steps=2, directions="random"), "directions='axes'"),
    ],
)
def test_learners_whose_start_arrays_do_not_tell_are_refused(learner: featlab.Learner, words: str) -> None:
    with pytest.raises(InvalidParameter, match=rf"learner: got .*{words}"):
        featlab.draw(featlab.Experiment.of("h1", learner, dim=10, samples=20))
