"""Losses, and their derivatives by the fields, which is all that a design is ever asked to pull back."""

from __future__ import annotations

from jax import Array

from featlab.simulation.designs.protocol import ColumnRule
from featlab.simulation.linalg import product
from featlab.simulation.networks import Network, output
from featlab.simulation.problem import Problem, label_noise
from featlab.simulation.problem import labels as labels_of
from featlab.simulation.random import named


def loss(problem: Problem, network: Network, fields: Array, labels: Array) -> Array:
    """The loss of every sample: "squared" (y - f)^2 / 2, "correlation" -y f.

    Args:
        problem: the run. network: the student as it is.
        fields: <w_i, x> (n, p). labels: y (n,).
    """
    prediction = output(problem, network, fields)
    if problem.learner.loss == "correlation":
        return -labels * prediction
    return (labels - prediction) ** 2 / 2


def downhill(problem: Problem, network: Network, fields: Array, labels: Array) -> Array:
    """D = -p (d loss / d fields), (n, p): row by row r a_i sigma'(field_i + b_i), with r = y - f or r = y.

    The factor p is the convention of per-neuron steps; minus, so that steps add.

    Args:
        problem: the run. network: the student as it is.
        fields: <w_i, x> (n, p). labels: y (n,).
    """
    slopes = network.second * problem.activation.slope(fields + network.biases)
    if problem.learner.loss == "correlation":
        return labels[:, None] * slopes
    return (labels - output(problem, network, fields))[:, None] * slopes


def downhill_rule(problem: Problem, student: Problem, network: Network) -> ColumnRule:
    """`downhill` for a sweep, by columns of samples: their labels are drawn, and the outputs are a matrix product.

    Args:
        problem: the run, which has the labels. student: the problem of what is trained, often the same.
        network: the student as it is.
    """
    second, biases = network.second[:, None], network.biases[:, None]

    def rule(target_fields: Array, fields: Array, key: Array) -> Array:
        outcome = labels_of(problem, target_fields.T, label_noise(problem, named(key, "labels"), fields.shape[1:]))
        slopes = second * student.activation.slope(fields + biases)
        if student.learner.loss == "correlation":
            return outcome * slopes
        return (outcome - product(second.T / len(second), student.activation.of(fields + biases))[0]) * slopes

    return ColumnRule(rule)
