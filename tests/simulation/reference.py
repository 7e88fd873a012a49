"""The slow obvious version: plain NumPy loops on a stored X, float64, every seed with its own data.

Nothing of `featlab.simulate` is used here. Directions of the target are random orthonormal rows, not the first axes.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import ks_2samp

from featlab.gaussian.activations import activation
from featlab.learners import Extragradient, GiantSteps
from featlab.learners.steps import step_at
from featlab.targets import Spiked

# The chance that one comparison of equal laws is refused. The tests make about 400 of them, with fixed keys.
LEVEL = 1e-6
SEEDS = 1500


class Reference:
    """All seeds of one learner side by side; `stats` maps (name, step) to one number per seed."""

    def __init__(self, target, learner, student, dim, samples, looks, seed=0):
        self.target, self.learner, self.student, self.dim = target, learner, student, dim
        self.rows = samples if samples is not None else learner.batch
        self.rng = np.random.default_rng(seed)
        self.act = activation(student.activation)
        basis = np.linalg.qr(self.rng.standard_normal((dim, target.rank)))[0].T
        self.directions = basis
        self.covariance = covariance(target.inputs, basis, self.rng)
        self.second = np.where(np.arange(student.distinct) % 2 == 0, 1.0, -1.0) * student.second_scale
        self.weights = self.rng.standard_normal((SEEDS, student.distinct, dim))
        self.weights *= student.norm / np.linalg.norm(self.weights, axis=2, keepdims=True)
        if student.paired:
            self.second = np.concatenate([self.second, -self.second])
            self.weights = np.concatenate([self.weights, self.weights], axis=1)
        self.stats = {}
        self.run(looks)

    def run(self, looks):
        for step in range(max(looks) + 1):
            if step in looks:
                self.stats |= {(k, step): v for k, v in order_parameters(self.weights, self.overlaps()).items()}
            self.one_step(step)

    def overlaps(self):
        return self.weights @ self.directions.T

    def one_step(self, step):
        uses = getattr(self.learner, "uses", 1)
        if step % uses == 0:
            self.new_batch()
        fields = np.einsum("snd,spd->snp", self.inputs, self.weights)
        if isinstance(self.learner, Extragradient):
            reach = step_at(self.learner.inner_step, self.dim) * np.sum(self.inputs**2, axis=2, keepdims=True)
            fields = fields + reach * self.downhill(fields)
        pull = np.einsum("snp,snd->spd", self.downhill(fields), self.inputs) / self.rows
        self.move(self.rate(step) * pull)

    def new_batch(self):
        """X = Z S^{1/2} by a matrix square root; labels of the whitened target fields (S = I for isotropic inputs)."""
        self.inputs = self.rng.standard_normal((SEEDS, self.rows, self.dim)) @ power(self.covariance, 0.5)
        noise = np.sqrt(self.target.noise) * self.rng.standard_normal((SEEDS, self.rows))
        whitening = power(self.directions @ self.covariance @ self.directions.T, -0.5)
        self.labels = self.target.link(self.inputs @ self.directions.T @ whitening) + noise

    def rate(self, step):
        if isinstance(self.learner, GiantSteps):
            return self.learner.steps_at(self.dim)[min(step, self.learner.steps - 1)]
        return step_at(self.learner.step_size, self.dim)

    def downhill(self, fields):
        residual = self.labels
        if self.learner.loss == "squared":
            residual = residual - np.mean(self.second * self.act.value(fields), axis=2)
        return residual[:, :, None] * self.second * self.act.derivative(fields)

    def move(self, change):
        constraint = getattr(self.learner, "constraint", "none")
        if constraint == "spherical":
            change = change - np.sum(change * self.weights, axis=2, keepdims=True) * self.weights
        self.weights = self.weights + change
        if constraint != "none":
            self.weights = self.weights / np.linalg.norm(self.weights, axis=2, keepdims=True)


def covariance(inputs, directions, rng):
    """I, or I + theta mu mu^T with a mu that has the given overlaps with the directions."""
    dim = directions.shape[1]
    if not isinstance(inputs, Spiked):
        return np.eye(dim)
    rest = rng.standard_normal(dim)
    rest -= directions.T @ (directions @ rest)
    overlaps = np.array(inputs.overlaps)
    spike = directions.T @ overlaps + np.sqrt(max(0.0, 1 - overlaps @ overlaps)) * rest / np.linalg.norm(rest)
    return np.eye(dim) + inputs.strength * np.outer(spike, spike)


def power(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * values**exponent) @ vectors.T


def order_parameters(weights, overlaps):
    """A few numbers per seed: overlaps, a norm, an angle between neurons, and a nonlinear one."""
    gram = weights @ np.swapaxes(weights, 1, 2)
    found = {
        "first overlap": overlaps[:, 0, 0],
        "last overlap": overlaps[:, -1, -1],
        "learned": np.sqrt(np.sum(overlaps**2, axis=(1, 2))),
    }
    norms = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    if np.ptp(norms) > 1e-4:  # under a constraint, or at the start, all norms are equal up to rounding
        found["norm"] = norms[:, 0]
    angle = gram[:, 0, -1] / (norms[:, 0] * norms[:, -1])
    if np.ptp(angle) > 1e-4:
        found["angle"] = angle
    return found


def simulated_parameters(dataset):
    """The same numbers from a dataset with `weights` (p, frame)."""
    found = {}
    for index, step in enumerate(dataset.step.values):
        weights = dataset.weights.values[:, index].astype(float)
        overlaps = dataset.overlap.values[:, index].astype(float)
        found |= {(k, int(step)): v for k, v in order_parameters(weights, overlaps).items()}
    return found


def smallest_level(dataset, reference):
    """The smallest p-value of Kolmogorov-Smirnov over every quantity and time: above LEVEL means the same law."""
    measured = simulated_parameters(dataset)
    assert measured.keys() == reference.stats.keys()
    return min(ks_2samp(measured[name], reference.stats[name]).pvalue for name in measured)
