"""Controls that a person might have written down: a term forgotten, an index off. Each is refused by the same data that
bear out the right formula; a prediction that is 20% off is a control for a factor, these are for a theory.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import featlab
from featlab.comparison import Agreement, compare
from featlab.gaussian.activations import activation
from featlab.learners import BayesAmp, OnlineSgd, ReusedBatch, StepLaw, TwoLayer
from featlab.targets import target
from featlab.theory.reuse.dmft import Descent
from featlab.theory.reuse.usual_form import usual_form

ORTHOGONAL = TwoLayer(start="orthogonal")
SEEDS = 16


def relabelled(prediction: xr.Dataset, like: xr.Dataset) -> xr.Dataset:
    """Another prediction at the times of the right one."""
    return prediction.assign_coords(time=like["time"].values, step=("time", like["step"].values))


def one_index_off(prediction: xr.Dataset) -> xr.Dataset:
    """What is predicted for the step before; the start is right."""
    numbers = np.maximum(np.arange(prediction.sizes["time"]) - 1, 0)
    return relabelled(prediction.isel(time=numbers), prediction)


def refuses(run: xr.Dataset, right: xr.Dataset, wrong: dict[str, xr.Dataset], names: list[str]) -> None:
    """1/d is allowed, what the limit neglects of smooth quantities."""
    allowed = 1 / run.attrs["dim"]
    found = compare(right, run, names=names, allowance=allowed)
    assert found.verdict is Agreement.AGREES, found
    for words, prediction in wrong.items():
        assert compare(prediction, run, names=names, allowance=allowed).verdict is Agreement.DISAGREES, words


def test_one_pass_sgd() -> None:
    """Without the noise of single samples, (c^2/b) E[D D], the equations are those of gradient flow; with a batch of
    two in its place that noise is half as large."""
    times = np.linspace(0, 4, 5)

    def predicted(scale: float, looks: np.ndarray, batch: int = 1) -> xr.Dataset:
        return featlab.predict(
            "tanh(h1)", OnlineSgd(StepLaw(scale, 1), batch=batch), dim=4000, times=looks, student=ORTHOGONAL
        )

    right = predicted(1.0, times)
    run = featlab.simulate(
        "tanh(h1)", OnlineSgd(StepLaw(1.0, 1)), dim=4000, times=times, student=ORTHOGONAL, seeds=SEEDS, progress=False
    )
    wrong = {
        "no noise of single samples": relabelled(predicted(0.001, 1000 * times), right),
        "half of it": relabelled(predicted(1.0, times, batch=2), right),
        "one look off": one_index_off(right),
    }
    refuses(run, right, wrong, ["norm", "risk"])


def test_batch_reuse() -> None:
    """Steps that forget that they have seen the batch: fresh samples each time."""
    sizes = {"dim": 4000, "samples": 12_000, "student": ORTHOGONAL}
    right = featlab.predict("tanh(h1)", ReusedBatch(3, 0.8), **sizes)
    run = featlab.simulate("tanh(h1)", ReusedBatch(3, 0.8), **sizes, seeds=SEEDS, progress=False)
    fresh = ReusedBatch(3, 0.8, steps_per_batch=1)
    wrong = {"fresh batches": featlab.predict("tanh(h1)", fresh, **sizes), "one step off": one_index_off(right)}
    refuses(run, right, wrong, ["norm", "risk"])


def test_batch_reuse_with_a_relu() -> None:
    """Responses from sigma'' away from the kink, where a relu has none, miss a delta function."""
    sizes = {"dim": 4000, "samples": 8000, "student": TwoLayer(activation="relu", start="orthogonal")}
    right = featlab.predict("relu(h1)", ReusedBatch(2, 1.0), **sizes)
    run = featlab.simulate("relu(h1)", ReusedBatch(2, 1.0), **sizes, seeds=SEEDS, progress=False)
    descent = Descent(target("relu(h1)"), activation("relu"), np.ones(1), np.zeros(1), step=1.0, ratio=2.0)
    overlap, gram = usual_form(descent, np.zeros_like, 2, 2**14, seed=1)
    without = right.assign(overlap=right.overlap.copy(data=overlap), norm=right.norm.copy(data=gram[:, 0] ** 0.5))
    refuses(run, right, {"without the kink": without, "one step off": one_index_off(right)}, ["overlap", "norm"])


def message_passing(dim: int, alpha: float, overlap: float, iterations: int, seed: int, onsager: bool) -> list[float]:
    """Bayes-AMP for y = sign(h1) by a plain loop, the overlap after each iteration; with or without its Onsager term.

    g_out(y, omega, V) = y phi(u) / (sqrt(V) Phi(u)), u = y omega / sqrt(V).
    """
    rng = np.random.default_rng([seed, dim])
    truth = rng.normal(size=dim) / dim**0.5
    inputs = rng.normal(size=(round(alpha * dim), dim))
    labels = np.sign(inputs @ truth)
    estimate = overlap * truth + np.sqrt(overlap * (1 - overlap) / dim) * rng.normal(size=dim)
    variance, correction, path = 1 - overlap, np.zeros(len(labels)), [overlap]
    for _ in range(iterations):
        fields = inputs @ estimate - correction
        u = labels * fields / np.sqrt(variance)
        output = labels * np.exp(scipy.stats.norm.logpdf(u) - scipy.stats.norm.logcdf(u)) / np.sqrt(variance)
        precision = output @ output / dim
        variance = 1 / (1 + precision)
        estimate = variance * (output @ inputs / dim + precision * estimate)
        correction = output * variance if onsager else 0 * output
        path.append(float(estimate @ truth / (truth @ truth)))
    return path


@pytest.mark.parametrize("onsager", [True, False])
def test_message_passing(onsager: bool) -> None:
    """State evolution describes message passing with its Onsager term, not without; nor with the index off by one."""
    dim, alpha, overlap, iterations = 400, 3.0, 0.3, 5
    right = featlab.predict(
        "sign(h1)",
        BayesAmp(iterations, damping=0.0, start="informed", start_overlap=overlap),
        dim=dim,
        samples=round(alpha * dim),
        times=range(iterations + 1),
        observe="overlap",
    )
    paths = [message_passing(dim, alpha, overlap, iterations, seed, onsager) for seed in range(24)]
    run = xr.Dataset(
        {"overlap": (("seed", "time", "neuron", "direction"), np.array(paths)[:, :, None, None])},
        coords={"seed": range(24), "time": right["time"].values, "step": ("time", right["step"].values)},
        attrs={"dim": dim, "dtype": "float64"},
    )
    found = compare(right, run, allowance=4 / dim)
    assert found.verdict is (Agreement.AGREES if onsager else Agreement.DISAGREES), found
    if onsager:
        assert compare(one_index_off(right), run, allowance=4 / dim).verdict is Agreement.DISAGREES
