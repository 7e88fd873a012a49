"""The two-layer student as a plain dataclass of arrays, its start, and its steps on the sphere or off it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.simulation.arrays import ops_of
from featlab.simulation.problem import Problem
from featlab.simulation.random import named, normal, uniform


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Network:
    """f(x) = (1/p) sum_i second_i sigma(<weights_i, x> + biases_i), weights in the coordinates of the design.

    Attributes:
        weights: W (p, frame).
        biases: b (p,).
        second: a (p,).
    """

    weights: Array  # (p, frame)
    biases: Array  # (p,)
    second: Array  # (p,)


def start_network(key: Any, problem: Problem) -> Network:
    """The student at the start, as its description says; with a constraint, rows start on the sphere.

    Args:
        key: of the draw.
        problem: the run.
    """
    student, count, dtype = problem.student, problem.student.distinct, problem.design.dtype
    rows = problem.design.gaussian_rows(named(key, "weights"), count)
    if student.start in ("orthogonal", "planted"):
        rows = rows.at[:, : problem.target.rank].set(0)
    if student.start == "planted":
        rows = _plant(rows, student.planted_cosines(problem.target.rank))
    if student.start == "gaussian" and getattr(problem.learner, "constraint", "none") == "none":
        weights = rows * (student.norm / problem.design.dim**0.5)
    else:
        weights = rescale(rows, student.norm)
    network = Network(weights, draw_biases(named(key, "biases"), problem), _second(named(key, "second"), problem))
    if student.paired:
        ops = ops_of(network.weights)
        network = Network(
            ops.tile(network.weights, (2, 1)),
            ops.tile(network.biases, 2),
            ops.concatenate([network.second, -network.second]),
        )
    return replace(network, weights=network.weights.astype(dtype))


def _plant(rows: Array, cosines: tuple[tuple[float, ...], ...]) -> Array:
    """Unit rows with these cosines with the first axes; `rows`, zero there, say where the rest points."""
    along = np.asarray(cosines)
    square = np.sum(along**2, axis=1, keepdims=True)
    rest = np.sqrt(np.maximum(1 - square, 0))  # 1 - 1 may round to -2e-16
    return (jnp.asarray(rest, rows.dtype) * rescale(rows, 1.0)).at[:, : along.shape[1]].set(along)


def output(problem: Problem, network: Network, fields: Any) -> Any:
    """f of samples with these fields (n, p)."""
    return (network.second * problem.activation.of(fields + network.biases)).mean(axis=-1)


def moved(problem: Problem, network: Network, change: Array) -> Network:
    """The network after its weights moved by `change` (p, frame), under the learner's constraint.

    Examples:
        >>> import jax.numpy as jnp
        >>> import featlab
        >>> from featlab.extending import Network, Problem, moved
        >>> learner = featlab.OnlineSgd(step_size=0.01, constraint="projected")
        >>> problem = Problem(featlab.target("tanh(h1)"), featlab.TwoLayer(1, "tanh"), learner, design=None)
        >>> network = Network(jnp.array([[0.0, 1.0]]), jnp.ones(1), jnp.zeros(1))
        >>> found = moved(problem, network, jnp.array([[1.0, 0.0]])).weights[0]
        >>> [round(float(value), 3) for value in found]  # back to the sphere
        [0.707, 0.707]
    """
    weights, constraint = network.weights, problem.learner.constraint
    if constraint == "spherical":
        along = (change * weights).sum(axis=1, keepdims=True) / problem.student.norm**2
        change = change - along * weights
    weights = weights + change
    return replace(network, weights=weights if constraint == "none" else rescale(weights, problem.student.norm))


def rescale(rows: Any, norm: float) -> Any:
    """Rows set to one norm."""
    return rows * (norm / ops_of(rows).sqrt((rows**2).sum(axis=1, keepdims=True)))


def draw_biases(key: Any, problem: Problem) -> Any:
    """The biases of the neurons drawn at the start."""
    student, shape, dtype = problem.student, (problem.student.distinct,), problem.design.dtype
    if student.biases == "gaussian":
        return student.bias_scale * normal(key, shape, dtype)
    if student.biases == "uniform":
        return student.bias_scale * (2 * uniform(key, shape, dtype) - 1)
    return ops_of(key).full(shape, float(student.biases), dtype)


def _second(key: Any, problem: Problem) -> Any:
    student, shape, dtype = problem.student, (problem.student.distinct,), problem.design.dtype
    ops = ops_of(key)
    laws = {
        "ones": lambda: ops.ones(shape, dtype),
        "alternating": lambda: ops.where(ops.arange(shape[0]) % 2 == 0, 1, -1).astype(dtype),
        "signs": lambda: ops.where(uniform(key, shape, dtype) < 0.5, 1, -1).astype(dtype),
        "gaussian": lambda: normal(key, shape, dtype),
    }
    return student.second_scale * laws[student.second_layer]()
