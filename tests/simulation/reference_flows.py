"""The slow obvious version of the flows: NumPy, explicit inputs and covariance, gradients in w itself, one neuron."""

from __future__ import annotations

import numpy as np

from featlab.gaussian.activations import activation
from featlab.learners import NormalisedFlow, SphericalFlow, TwoLayer

from .reference import power


class ReferenceFlow:
    """One neuron's flow on inputs x (n, d) with labels (n,); `covariance` is S of the normalised flow, I for the
    spherical one. `path` has w after every step, scaled so that the neuron is sigma(<w, x>)."""

    def __init__(self, inputs, labels, weights, covariance, learner: SphericalFlow, student: TwoLayer, second=1.0):
        self.inputs, self.labels, self.learner, self.second = inputs, labels, learner, second
        self.act, self.normalised = activation(student.activation), isinstance(learner, NormalisedFlow)
        self.covariance, self.root = covariance, power(covariance, 0.5)
        self.back = np.linalg.inv(self.root)
        self.steepest, self.outcome = 0.0, "not converged"
        self.path, self.losses = [self.scaled(weights)], [self.loss(weights)]

    def run(self, steps):
        for _ in range(steps):
            if self.outcome == "not converged":
                self.step()
            else:
                self.path.append(self.path[-1])
        return self

    def scaled(self, weights):
        return weights / np.sqrt(weights @ self.covariance @ weights)

    def loss(self, weights):
        output = self.second * self.act.value(self.inputs @ self.scaled(weights))
        if self.learner.loss == "correlation":
            return -np.mean(self.labels * output)
        return np.mean((self.labels - output) ** 2) / 2

    def gradient(self, weights):
        """grad_w of the loss of sigma(<w, x> / s), s = |S^{1/2} w|: x / s - <w, x> S w / s^3 inside."""
        size = np.sqrt(weights @ self.covariance @ weights)
        fields = self.inputs @ weights / size
        residual = self.labels
        if self.learner.loss == "squared":
            residual = residual - self.second * self.act.value(fields)
        pull = residual * self.second * self.act.derivative(fields)
        inner = self.inputs / size - np.outer(fields, self.covariance @ weights) / size**2
        return -np.mean(pull[:, None] * inner, axis=0)

    def step(self):
        weights = self.path[-1]
        gradient, point = self.gradient(weights), self.root @ weights
        precondition = self.normalised and self.learner.preconditioned
        velocity = -self.root @ (np.linalg.solve(self.covariance, gradient) if precondition else gradient)
        velocity -= (velocity @ point) * point
        direction = velocity / np.linalg.norm(velocity)
        slope = -gradient @ self.back @ direction
        self.steepest = max(self.steepest, slope)
        if slope <= self.learner.tolerance * self.steepest:
            self.outcome = "ok"
        arc = self.learner.arc
        while self.outcome == "not converged" and arc >= self.learner.floor:
            ahead = self.back @ (np.cos(arc) * point + np.sin(arc) * direction)
            rise = self.loss(ahead) - self.losses[-1]
            if rise < 0:
                self.path.append(self.scaled(ahead))
                self.losses.append(self.loss(ahead))
                return
            arc *= min(max(slope * arc / (2 * (rise + slope * arc)), 0.1), 0.5)
        self.outcome = "stalled" if self.outcome == "not converged" else self.outcome
        self.path.append(weights)
