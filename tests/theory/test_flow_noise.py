"""What the noise of a batch does to a flow: its strength by identities, its path against plain loops on batches."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from benchmarks.plain_loops import SIGMAS, spherical_flow

from featlab.comparison import Agreement, compare
from featlab.gaussian.activations import activation
from featlab.learners import NormalisedFlow, SphericalFlow, TwoLayer
from featlab.targets import Isotropic, Spiked, target
from featlab.theory import predict
from featlab.theory.flows.averages import Averages
from featlab.theory.flows.noise import Tilted, noisy_walk
from featlab.theory.flows.path import Landscape, Spike, walk


def scape(text: str = "tanh(2*h1)", name: str = "tanh", inputs=None, learner=None) -> Landscape:
    spike = Spike.of(inputs or Isotropic())
    return Landscape(Averages(target(text), activation(name)), 1.0, 1.0, spike, learner or SphericalFlow(20))


def test_the_mean_square_of_the_force_is_that_of_closed_forms() -> None:
    """(h - u)^2 has the mean 1 + q - 2 c, (h theta(u))^2 the mean 1/2, and noise on the label adds its variance."""
    line = Averages(target("h1", noise=0.5), activation("identity"))
    assert line.force_square(1.7, 0.4, 1.0, "squared") == pytest.approx(1 + 1.7 - 0.8 + 0.5, rel=1e-12)
    half = Averages(target("h1"), activation("relu"))
    for covariance in (0.0, 0.3, 0.9):
        assert half.force_square(1.0, covariance, -2.0, "correlation") == pytest.approx(2.0, rel=1e-10)


@pytest.mark.parametrize("inputs", [Isotropic(), Spiked(3.0, 0.5)])
def test_descent_is_that_of_the_tilted_loss(inputs) -> None:
    tilted = Tilted(scape(inputs=inputs), 0.3)
    rng = np.random.default_rng(0)
    point = rng.standard_normal(tilted.inner.spike.axis.size + 2)
    point[-2:] = np.abs(point[-2:])
    point /= np.linalg.norm(point)
    tangent = rng.standard_normal(point.size)
    tangent -= (tangent @ point) * point
    ahead, behind = (point + step * tangent for step in (1e-5, -1e-5))
    change = (tilted.loss(ahead / np.linalg.norm(ahead)) - tilted.loss(behind / np.linalg.norm(behind))) / 2e-5
    assert -change == pytest.approx(float(tilted.descent(point) @ tangent), rel=1e-6)


def test_without_noise_it_is_the_path_of_the_population() -> None:
    start = np.array([0.3, np.sqrt(0.91)])
    many = noisy_walk(scape(), start, 12, 20, 10**14).path.points
    np.testing.assert_allclose(many, walk(scape(), start, 12).points, atol=1e-6)


def test_runs_are_where_the_noise_of_their_batch_puts_them() -> None:
    """A plain loop at d = 20 and n = 400, 48 batches: within three standard errors of the path under noise, on its way,
    where the population's is off by more than six. The distance falls as 1/n, and is said."""
    start, places = np.array([0.3, np.sqrt(0.91)]), [2, 5, 8]
    population = walk(scape(), start, 8).after(places)[:, 0]
    few, more = (noisy_walk(scape(), start, 8, 20, n).path.after(places)[:, 0] for n in (400, 1600))
    assert (population - few) / (population - more) == pytest.approx(4, rel=0.1)
    rngs, how = [np.random.default_rng([1, seed]) for seed in range(48)], {"dim": 20, "samples": 400, "cosine": 0.3}
    runs = [spherical_flow(rng, lambda h: np.tanh(2 * h), SIGMAS["tanh"], steps=8, **how) for rng in rngs]
    mean, scatter = np.mean(runs, axis=0)[places], np.std(runs, axis=0, ddof=1)[places] / 48**0.5
    assert np.all(np.abs(mean - few) < 3 * scatter)
    assert np.all(np.abs(mean - population) > 6 * scatter)
    student = TwoLayer(activation="tanh", start="planted", planted=((0.3,),))
    told = predict("tanh(2*h1)", SphericalFlow(8), dim=20, samples=400, times=[0, 2, 5, 8], student=student)
    assert told.attrs["words"].endswith(f"a cosine is off by up to {np.max(population - few):.2g}.")
    assert "overlap_error" not in told, "a comparison measures it"


def test_where_the_noise_decides_it_is_said_and_covered() -> None:
    """relu on He4 from a cosine of .34: runs of n = 15 d stay where the population goes back."""
    student = TwoLayer(activation="relu", start="planted", planted=((0.34,),))
    asked = {"dim": 100, "times": [0, 1, 3, 20], "student": student}
    told = predict("1.25*He4(h1)", NormalisedFlow(20), samples=1500, **asked)
    assert "After step 0 the slope of the population's loss, 0.074, is below the noise" in told.attrs["words"]
    link = lambda h: 1.25 * (h**4 - 6 * h**2 + 3)  # noqa: E731
    rngs = [np.random.default_rng([2, seed]) for seed in range(8)]
    how = {"dim": 100, "samples": 1500, "cosine": 0.34, "steps": 3, "whitened": True}
    runs = np.array([spherical_flow(rng, link, SIGMAS["relu"], **how) for rng in rngs])[:, [1, 3]]
    off = runs.mean(axis=0) - told.overlap.values[1:3, 0, 0]
    assert np.all(off > 5 * runs.std(axis=0, ddof=1) / 8**0.5)
    error = told.overlap_error.values[:, 0, 0]
    assert np.all(off < 1.5 * error[1:3])
    assert error[3] >= error[2], "who has lost the way is not said to be nearer to it later"
    driven = predict("tanh(2*h1)", SphericalFlow(20), samples=1500, **asked)
    assert "noise of a batch of" not in driven.attrs["words"]


def test_where_the_noise_decides_a_comparison_cannot_tell() -> None:
    """Runs at n, 4n and 16n are far from the limit and near each other: without the stated error, a disagreement."""
    student = TwoLayer(activation="relu", start="planted", planted=((0.34,),))
    link, steps = (lambda h: 1.25 * (h**4 - 6 * h**2 + 3)), [0, 1, 3]
    predictions, runs = [], []
    for samples in (900, 3600, 14_400):
        told = predict("1.25*He4(h1)", SphericalFlow(3), dim=60, samples=samples, times=steps, student=student)
        rngs = [np.random.default_rng([5, samples, seed]) for seed in range(16)]
        how = {"dim": 60, "samples": samples, "cosine": 0.34, "steps": 3}
        found = np.array([spherical_flow(rng, link, SIGMAS["relu"], **how) for rng in rngs])[:, steps]
        axes = ("seed", "time", "neuron", "direction")
        run = xr.Dataset({"overlap": (axes, found[:, :, None, None])}, told.overlap.coords)
        predictions.append(told)
        runs.append(run.assign_coords(seed=range(16)).assign_attrs(dim=60, samples=samples))
    assert compare(predictions, runs, names=["overlap"]).verdict is Agreement.CANNOT_TELL
    silent = [one.drop_vars("overlap_error") for one in predictions]
    assert compare(silent, runs, names=["overlap"]).verdict is Agreement.DISAGREES
