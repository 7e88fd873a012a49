"""The slow obvious version of the flow of tied networks: plain sums over the neurons, one start at a time, float64.

Nothing of `featlab.simulate` is used here.
"""

from __future__ import annotations

import numpy as np


class TiedReference:
    """R networks on stored inputs X (n, d) with labels y, crossing intervals by adaptive Heun steps or fixed ones."""

    def __init__(self, learner, inputs, labels, weights, second, knots, signs):
        self.learner, self.inputs, self.labels = learner, inputs, labels
        self.weights, self.second, self.knots, self.signs = weights, second, knots, signs
        self.stride, self.steps = min(0.1, learner.interval), 0

    def loss(self, weights, second):
        """L of each network."""
        return np.array([self._one(r, weights[r], second[r])[0] for r in range(len(weights))])

    def slopes(self, weights, second):
        """Steepest descent in theta, tangent to the sphere for a flow, and in c."""
        pairs = [self._one(r, weights[r], second[r])[1:] for r in range(len(weights))]
        return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])

    def _one(self, row, weight, second):
        learner, count = self.learner, len(second)
        field = self.inputs @ weight
        before = self.signs[row] * (field[:, None] - self.knots[row])
        features = np.maximum(before, 0) / np.sqrt(count)
        missed = self.labels - features @ second
        slope = (self.signs[row] * (before > 0)) @ second / np.sqrt(count)
        to_weight = 2 * np.mean((missed * slope)[:, None] * self.inputs, axis=0)
        if learner.step_size is None:
            to_weight = to_weight - (to_weight @ weight) * weight
        to_second = 2 * features.T @ missed / len(missed) - 2 * learner.penalty * second
        loss = np.mean(missed**2) + learner.penalty * second @ second
        return loss, learner.direction_speed * to_weight, to_second

    def _moved(self, slopes, stride, training):
        weights = self.weights + stride * slopes[0]
        weights = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        return weights, self.second + training * stride * slopes[1]

    def interval(self, number):
        """The interval of this number."""
        training = number >= self.learner.frozen_steps
        if self.learner.step_size is not None:
            for _ in range(self.learner.descents):
                slopes = self.slopes(self.weights, self.second)
                self.weights, self.second = self._moved(slopes, self.learner.step_size, training)
            return
        left = self.learner.interval
        while left > 0:
            left = self._heun(left, training)

    def _heun(self, left, training):
        stride = min(self.stride, left)
        here = self.slopes(self.weights, self.second)
        there = self.slopes(*self._moved(here, stride, training))
        of_weights = np.linalg.norm(there[0] - here[0], axis=1)
        size = 1 + np.linalg.norm(self.second, axis=1)
        of_second = training * np.linalg.norm(there[1] - here[1], axis=1) / size
        error = stride / 2 * np.max(np.maximum(of_weights, of_second))
        taken = error <= self.learner.tolerance
        if taken:
            mean = tuple((one + other) / 2 for one, other in zip(here, there, strict=True))
            self.weights, self.second = self._moved(mean, stride, training)
        factor = 0.9 * np.sqrt(self.learner.tolerance / error) if error > 0 else 4.0
        wished = stride * min(max(factor, 0.2), 4.0)
        self.stride = max(wished, self.stride) if taken and stride < self.stride else wished
        self.steps += 1
        return left - stride if taken else left
