"""A fitted second layer: the law of a plain NumPy ridge on a stored X, its exact risk where that is known, its limits.

The comparison of laws is Kolmogorov-Smirnov on the measured risks of 1500 seeds a side, at level 1e-6.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.residuals import explained_variance
from featlab.errors import InvalidParameter
from featlab.learners import GiantSteps, OnlineSgd, RandomFeatures, Readout, ReusedBatch, TwoLayer
from featlab.learners.readout import LEAVE_ONE_OUT, LEAVE_ONE_OUT_GRID
from featlab.precision import double_precision
from featlab.simulation import DoesNotFit, simulate
from featlab.simulation.designs import chunks
from featlab.simulation.designs.virtual import FreshVirtual
from featlab.simulation.networks import start_network
from featlab.simulation.problem import Problem
from featlab.simulation.random import root_key
from featlab.simulation.readout import fresh_samples, measured_risk, readout_bytes
from featlab.simulation.ridge import Fit
from featlab.targets import target

from .reference import LEVEL, SEEDS, Reference

TARGET = target("h1 + 0.3*h1*h2", noise=0.25)
TANH4 = TwoLayer(4, "tanh", "alternating", second_scale=2.0)
TESTED = 128
started = jax.jit(start_network, static_argnums=1)
GIANT = Readout(GiantSteps(2, 2.0), 24, 0.02, test_samples=TESTED)
ONLINE = Readout(OnlineSgd(0.2, batch=2), 24, test_samples=TESTED, biases="gaussian", bias_scale=2.0)
SAME = Readout(ReusedBatch(2, 1.0), data="same", test_samples=TESTED)
GIANT_SAME = Readout(ReusedBatch(2, 1.0, steps_per_batch=1), data="same", test_samples=TESTED)
FEATURES = RandomFeatures(16, LEAVE_ONE_OUT, TESTED)

# name: (readout, student, d, batch of the first layer, steps to look at)
CASES = {
    "giant": (GIANT, TANH4, 20, 50, (0, 1, 2)),
    "online, new biases": (ONLINE, TANH4, 20, None, (10,)),
    "same batch": (SAME, TANH4, 30, 24, (1, 2)),
    "giant steps' batch": (GIANT_SAME, TANH4, 30, 24, (1, 2)),
    "many random features": (FEATURES, TwoLayer(24, "relu"), 20, None, (0,)),
}
DESIGNS = {
    "giant": ("virtual",),
    "online, new biases": ("virtual",),
    "same batch": ("virtual", "dense"),
    "giant steps' batch": ("virtual",),
    "many random features": ("dense",),
}


class RidgeReference(Reference):
    """The plain loop for the first layer; the readout by batched linear algebra on stored inputs."""

    def __init__(self, readout, student, dim, samples, looks):
        self.readout = readout
        super().__init__(TARGET, readout.first, student, dim, samples or getattr(readout.first, "batch", 1), looks)

    def run(self, looks):
        for step in range(max(looks) + 1):
            if step in looks:
                self.stats[step] = self.risks()
            if step < max(looks):
                self.one_step(step)

    def risks(self):
        if self.readout.data == "same":
            inputs, labels = self.inputs, self.labels
        else:
            inputs = self.rng.standard_normal((SEEDS, self.readout.samples, self.dim))
            noise = np.sqrt(TARGET.noise) * self.rng.standard_normal(inputs.shape[:2])
            labels = TARGET.link(inputs @ self.directions.T) + noise
        biases = np.zeros((SEEDS, 1, self.student.width))
        if self.readout.biases == "gaussian":
            biases = self.readout.bias_scale * self.rng.standard_normal(biases.shape)
        fit = best_of_grid if self.readout.ridge == LEAVE_ONE_OUT else fixed_ridge(self.readout.ridge)
        coefficients = fit(self.features(inputs, biases), labels)
        fresh = self.rng.standard_normal((SEEDS, self.readout.test_samples, self.dim))
        predicted = (self.features(fresh, biases) @ coefficients[:, :, None])[:, :, 0]
        return np.mean((TARGET.link(fresh @ self.directions.T) - predicted) ** 2, axis=1) + TARGET.noise

    def features(self, inputs, biases):
        fields = inputs @ np.swapaxes(self.weights, 1, 2)
        return self.act.value(fields + biases) / np.sqrt(self.student.width)


def fixed_ridge(ridge):
    return lambda features, labels: hat_and_fit(features, labels, ridge)[1]


def best_of_grid(features, labels):
    scale = np.sum(features**2, axis=(1, 2)) / features.shape[1]
    best, chosen = np.full(SEEDS, np.inf), np.zeros((SEEDS, features.shape[2]))
    for unit in LEAVE_ONE_OUT_GRID:
        hat, fit = hat_and_fit(features, labels, unit * scale[:, None, None])
        missed = (labels - (features @ fit[:, :, None])[:, :, 0]) / (1 - np.diagonal(hat, axis1=1, axis2=2))
        error = np.mean(missed**2, axis=1)
        chosen = np.where((error < best)[:, None], fit, chosen)
        best = np.minimum(error, best)
    return chosen


def hat_and_fit(features, labels, ridge):
    samples, width = features.shape[1:]
    turned = np.swapaxes(features, 1, 2)
    solve = np.linalg.solve(turned @ features / samples + ridge * np.eye(width), turned / samples)
    return features @ solve, (solve @ labels[:, :, None])[:, :, 0]


def simulated(readout, student, dim, samples, looks, design="virtual"):
    unit = dim if isinstance(readout.first, OnlineSgd) else 1
    times = [step / unit for step in looks]
    words = {"seeds": SEEDS, "key": 4, "student": student, "design": design, "observe": "risk", "progress": False}
    return simulate(TARGET, readout, dim=dim, samples=samples, times=times, **words)


def smallest_level(dataset, reference):
    """The smallest p-value over the times."""
    steps = dataset.step.values.tolist()
    assert steps == list(reference.stats)
    return min(ks_2samp(dataset.risk.values[:, i], reference.stats[step]).pvalue for i, step in enumerate(steps))


@functools.cache
def measured(name, design="virtual"):
    return simulated(*CASES[name], design)


@functools.cache
def reference(name):
    return RidgeReference(*CASES[name])


@pytest.mark.parametrize(("name", "design"), [(name, design) for name in CASES for design in DESIGNS[name]])
def test_law_is_that_of_plain_ridge(name, design):
    assert smallest_level(measured(name, design), reference(name)) > LEVEL


def test_law_is_the_same_in_many_chunks(monkeypatch):
    """Random features, with chunks of 4 samples, the last one not full."""
    case = (RandomFeatures(25, 0.02, TESTED), TANH4, 21, None, (0,))
    monkeypatch.setattr(chunks, "_CHUNK_NUMBERS", 40)
    assert smallest_level(simulated(*case), RidgeReference(*case)) > LEVEL


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("giant", replace(GIANT, ridge=0.02 / 24)),  # the penalty without the 1/n of the squares
        ("giant", replace(GIANT, samples=18)),
        ("online, new biases", replace(ONLINE, biases=None)),  # the old biases
        ("same batch", replace(SAME, data="fresh", samples=24)),
        ("same batch", replace(SAME, first=GIANT_SAME.first)),  # the second step's batch alone
        ("giant steps' batch", replace(GIANT_SAME, data="fresh", samples=24)),
    ],
)
def test_control_another_readout_is_refused(name, wrong):
    assert smallest_level(measured(name), RidgeReference(wrong, *CASES[name][1:])) < LEVEL


def test_the_risk_of_a_linear_student_is_the_exact_one():
    """sigma = identity, target h1, noise v: E[(y - f)^2] = |e1 - W^T a / sqrt p|^2 + v. Within 4.5 standard errors."""
    student, design = TwoLayer(3, "identity", norm=2.0), FreshVirtual(50, 1, 3, 1)
    problem = Problem(target("h1", noise=0.5), student, RandomFeatures(10, 1.0, test_samples=50_000), design)
    network = started(root_key(1), problem)
    coefficients = np.array([1.0, -0.5, 0.7])
    direction = np.asarray(network.weights, float).T @ coefficients / np.sqrt(3)
    direction[0] -= 1
    with double_precision():
        fit = Fit(jnp.asarray(coefficients), jnp.asarray(1.0))
        risk, error = (
            float(part) for part in jax.jit(measured_risk, static_argnums=0)(problem, network, fit, root_key(2))
        )
    exact = direction @ direction + 0.5
    assert error == pytest.approx((exact - 0.5) * np.sqrt(2 / 50_000), rel=0.05)
    assert abs(risk - exact) < 4.5 * error
    assert abs(risk - (exact - 0.5)) > 4.5 * error


def test_fresh_samples_have_the_overlaps_as_covariance():
    """E[h lambda^T] = M^T and E[lambda lambda^T] = Q, to 5 standard errors of 2^17 samples."""
    student, design = TwoLayer(3, "identity", norm=1.5), FreshVirtual(30, 2, 3, 1)
    problem = Problem(target("h1 + h1*h2"), student, RandomFeatures(10, 1.0), design)
    network = started(root_key(1), problem)
    samples = fresh_samples(problem, network, root_key(3), 2**17)
    visit = jax.jit(samples.visit)
    fields, labels = (
        np.concatenate(part) for part in zip(*(visit(jnp.int32(i)) for i in range(samples.chunks)), strict=True)
    )
    weights = np.asarray(network.weights, float)
    np.testing.assert_allclose(fields.T @ fields / len(fields), weights @ weights.T, atol=5 * 2.25 * 1.5 / 2**8.5)
    np.testing.assert_allclose(labels @ fields / len(fields), weights[:, 0], atol=5 * 1.5 * 2 / 2**8.5)


def test_random_features_learn_degree_after_degree():
    """n = d^kappa, p = 2n, a target with one unit of variance in each of degrees 1 and 2 (Mei, Misiakiewicz, Montanari
    2022): the risk is 2, near 1, near 0 at kappa = 1/2, 3/2, 5/2. At d = 10, allowed above the last two is 1.5 times
    d/n = 0.31 and (d^2/2)/n = 0.16, what it costs to fit the coefficients of degree 1 and 2."""
    low = random_features_risk(10, 0.5, ridge=0.1)  # three samples cannot choose their ridge
    middle = random_features_risk(10, 1.5)
    high = random_features_risk(10, 2.5, seeds=4)
    assert 2 - 3 * low[1] < low[0] < 3
    assert 1 - 3 * middle[1] < middle[0] < 1.47
    assert 0 < high[0] < 0.24


def test_random_features_between_d_and_d_squared_come_down_to_the_nonlinear_part():
    """The same at n = d^1.5: the risk falls to ||P_{>1} f||^2 = 1 from above, never to 0. Allowed above it at d = 40 is
    1.5 d/n = 0.24."""
    means, errors = np.transpose([random_features_risk(dim, 1.5) for dim in (6, 16, 40)])
    assert np.all(means > 1 - 3 * errors)
    assert np.all(np.diff(means) < 0)
    assert means[-1] < 1.24


def random_features_risk(dim, kappa, seeds=32, ridge=LEAVE_ONE_OUT):
    """Mean over seeds for h1 + He2(h2)/sqrt(2), and its standard error."""
    samples = round(dim**kappa)
    student = TwoLayer(2 * samples, "relu", biases="gaussian")
    words = {"dim": dim, "student": student, "seeds": seeds, "observe": "risk", "progress": False}
    found = simulate("h1 + He2(h2)/sqrt(2)", RandomFeatures(samples, ridge, test_samples=4096), **words)
    risk = found.risk.values[:, 0]
    return risk.mean(), risk.std(ddof=1) / np.sqrt(seeds)


# The text, and how many directions are known after 0, 1, 2 steps.
CLIMBING = ("h1 + He2(h1) + h2 - He2(h2)", (0, 1, 2))
STUCK = ("h1 + He2(h1) + h2 + He2(h2)", (0, 1, 1))
GIANT_WIDTH, GIANT_DIM = 32, 400


@functools.cache
def giant_risks(text):
    """d = 400, n = 50d, p = 32, steps of 2, new biases for the readout: risks after 0, 1, 2 steps of four seeds."""
    learner = Readout(GiantSteps(2, 2.0), 50 * GIANT_DIM, biases="gaussian", bias_scale=2.0, test_samples=2**16)
    student = TwoLayer(GIANT_WIDTH, "relu", "gaussian")
    words = {"student": student, "seeds": 4, "observe": "risk", "progress": False}
    return simulate(text, learner, dim=GIANT_DIM, samples=50 * GIANT_DIM, **words)


def remaining_variance(text, dimensions):
    """E Var(f | P_U x) for U of dimension 0, 1 (spanned by h1 + h2) or 2."""
    goal = target(text)
    known = (np.zeros((2, 0)), np.full((2, 1), 0.5**0.5), np.eye(2))
    energies = hermite_energies(build_grids(goal), 4)
    explained = [explained_variance(goal, energies, known[dimension], 1)[0] for dimension in dimensions]
    return energies.variance - np.array(explained)


@pytest.mark.parametrize(("text", "dimensions"), [CLIMBING, STUCK])
def test_giant_steps_with_a_readout_stay_above_what_is_unexplained(text, dimensions):
    """The risk is above E Var(f | P_U x), U being what the steps have found (Dandi et al. 2023). Allowed below: the
    share p/d that p random directions see of all others, and 3 standard errors of the test set."""
    bound, found = remaining_variance(text, dimensions), giant_risks(text)
    error = np.sqrt(np.sum(found.risk_error.values**2, axis=0)) / 4
    mean = found.risk.values.mean(axis=0)
    assert np.all(mean > bound * (1 - GIANT_WIDTH / GIANT_DIM) - 3 * error)
    assert np.all(mean[:2] < bound[:2] * 1.5)  # and not far above it, where U has dimension 0 or 1


def test_only_the_climbing_staircase_leaves_its_first_step():
    """The bounds are 6, 4, 0 and 6, 2, 2: the second step explains more of one target, and nothing new of the other."""
    np.testing.assert_allclose(remaining_variance(*CLIMBING), [6, 4, 0], atol=1e-6)
    np.testing.assert_allclose(remaining_variance(*STUCK), [6, 2, 2], atol=1e-6)
    climbing, stuck = (giant_risks(text).risk.values for text, _ in (CLIMBING, STUCK))
    assert np.all(np.diff(climbing, axis=1) < -1)
    assert np.all(climbing[:, 2] < 2)
    assert np.all(stuck[:, 1] < climbing[:, 1])
    assert np.all(stuck[:, 2] > 2)


def test_a_fit_comes_with_its_ridge_and_leaves_the_first_layer_alone():
    words = {"dim": 20, "samples": 50, "student": TANH4, "observe": ("overlap", "risk"), "progress": False}
    plain = simulate(TARGET, GIANT.first, seeds=range(5, 25), key=4, **words)
    fitted = simulate(TARGET, GIANT, seeds=range(5, 25), key=4, **words)
    np.testing.assert_array_equal(fitted.overlap, plain.overlap)
    np.testing.assert_array_equal(fitted.ridge, np.full((20, 3), 0.02))
    assert fitted.risk.dims == fitted.risk_error.dims == fitted.ridge.dims == ("seed", "time")
    assert np.all(fitted.risk.values != plain.risk.values)
    assert np.all(fitted.risk_error.values > 0)
    assert "ridge" not in plain
    np.testing.assert_allclose(fitted.risk[:10], measured("giant").risk[5:15], rtol=1e-5)  # whoever runs beside it


def test_a_diverged_first_layer_has_no_risk():
    learner = Readout(OnlineSgd(50.0), 20, 0.1)
    found = simulate(
        "He3(h1)", learner, dim=30, times=[0, 1], student=TwoLayer(2, "He3"), seeds=3, observe="risk", progress=False
    )
    assert set(found.outcome.values) == {"diverged"}
    assert np.all(np.isfinite(found.risk[:, 0]))
    assert np.all(np.isnan(found.risk[:, 1]))
    assert np.all(np.isnan(found.ridge[:, 1]))


def test_a_million_samples_of_a_thousand_neurons_fit_in_memory_and_what_does_not_is_refused():
    wide = TwoLayer(1000)
    assert readout_bytes(RandomFeatures(10**6), wide, 10**5, 1, 1, np.float32) < 200e6
    with pytest.raises(DoesNotFit) as caught:
        simulate("h1", RandomFeatures(10**6), dim=10**5, student=wide, memory=10**7)
    assert caught.value.needed > caught.value.available == 10**7
    with pytest.raises(DoesNotFit):  # the dual needs matrices of 10^5 x 10^5
        simulate("h1", RandomFeatures(10**5), dim=100, student=TwoLayer(10**6), memory=10**11)


@pytest.mark.parametrize(
    ("learner", "words", "name"),
    [
        (RandomFeatures(10), {"samples": 10}, "samples"),
        (RandomFeatures(10), {"times": [1]}, "times"),
        (GIANT, {}, "samples"),
        (GIANT, {"samples": 20, "times": [3]}, "times"),
        (GIANT, {"samples": 20, "observe": "ridge"}, "observe"),
        (ONLINE, {}, "samples"),
    ],
)
def test_bad_calls_are_refused_by_name(learner, words, name):
    with pytest.raises(InvalidParameter) as caught:
        simulate("h1", learner, dim=30, **words)
    assert caught.value.name == name


def test_biases_as_wide_as_the_fields_follow_the_norm_of_the_neurons():
    """On isotropic inputs a field is as wide as its row of W is long: 3 here, and biases of scale 1 are others."""
    student = TwoLayer(6, "relu", norm=3.0)
    found = {}
    for scale in ("fields", 3.0, 1.0):
        learner = Readout(None, 40, 0.1, biases="gaussian", bias_scale=scale, test_samples=TESTED)
        words = {"student": student, "seeds": 3, "key": 4, "observe": "risk", "progress": False}
        found[scale] = simulate(TARGET, learner, dim=20, **words)["risk"].values
    assert found["fields"] == pytest.approx(found[3.0], rel=1e-5)
    assert found["fields"] != pytest.approx(found[1.0], rel=1e-3)
