"""Flows of single neurons on one batch, by arcs of great circles with monotone backtracking (Mousavi-Hosseini et al.
2023, arXiv:2309.03843); stated in `featlab.learners.SphericalFlow` and `NormalisedFlow`.

Each neuron is a point v of a sphere, and the batch is asked for fields of v: for the spherical flow v = w and the
samples are x; for the normalised flow v = S^{1/2} w and the samples are whitened. With a known S they are the standard
normal z behind x = S^{1/2} z, on any design. With the empirical one, Z^T Z / n = L L^T, they are the rows of Z L^-T,
whatever the spike, and w = S^{-1/2} L^-T v.

A step asks for one pull-back, the gradient, and for the fields of the direction of descent: on the great circle the
fields are cos(t) (fields of v) + sin(t) (fields of the direction), so that backtracking asks for nothing more.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.linalg import solve_triangular

from featlab.errors import InvalidParameter
from featlab.learners.flows import SphericalFlow
from featlab.learners.students import TwoLayer
from featlab.outcome import Outcome
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.designs.spiked import SpikedDesign, label_fields, seen_weights, weights_seen_as
from featlab.simulation.linalg import product
from featlab.simulation.networks import Network, rescale, start_network
from featlab.simulation.problem import Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named
from featlab.targets import Target
from featlab.targets.inputs import Isotropic, Spiked

# What becomes of a neuron, and of a run, by the number in its state.
MOVING, RESTING, STALLED = range(3)
OUTCOMES = (Outcome.NOT_CONVERGED, Outcome.OK, Outcome.STALLED)
# How far a step may shrink from one try to the next.
SHRINK = (0.1, 0.5)


class State(NamedTuple):
    """What the next step needs; q is the number of neurons that are different."""

    network: Network
    points: Array  # v (q, frame)
    fields: Array  # of the batch (n, q), kept up to date
    loss: Array  # (q,), of each neuron on its own
    steepest: Array  # (q,), the largest slope so far
    resting: Array  # (q,): MOVING, RESTING or STALLED
    root: Array | None  # L (d, d) of an empirical covariance
    batch: Any
    labels: Array
    outcome: Array
    iterations: Array  # taken so far


class Info(NamedTuple):
    """What a person wants to see: the angle that each neuron went, and its slope, the loss per angle, at the start."""

    arc: Array
    slope: Array


class Search(NamedTuple):
    """Backtracking on a great circle, (q,) each: the angle tried, whether it is taken, and what the loss changes by."""

    arc: Array
    taken: Array
    change: Array


def init(problem: Problem, key: Array) -> State:
    """The batch, whitened if need be, and the neurons at the start."""
    design, learner = problem.design, problem.learner
    batch = jax.tree.map(lambda part: part[0], design.draw(named(key, "batch")))
    target_fields, batch = design.target_fields(batch)
    values = labels(problem, target_fields, label_noise(problem, named(key, "labels"), (design.rows,)))
    root = None
    if _whitens(learner):
        root = jnp.linalg.cholesky(product(batch.T, batch) / design.rows)
        batch = solve_triangular(root, batch.T, lower=True).T
    network = start_network(key, problem)
    weights = network.weights[: learner.rows(problem.student.width)]
    if learner.positive_start:
        correlation = field_correlation(problem, weights)
        weights = jnp.where(correlation < 0, -1, 1) * weights
    points = rescale(_points(problem, root, weights), problem.student.norm)
    fields, batch = _samples(problem).forward(batch, points)
    count = len(points)
    loss = jnp.mean(_losses(problem, _neurons(network, count), fields, values), axis=0)
    network = _moved(problem, network, root, points)
    moving, steepest = jnp.full(count, MOVING, jnp.int32), jnp.zeros_like(loss)
    return State(network, points, fields, loss, steepest, moving, root, batch, values, jnp.int32(MOVING), jnp.int32(0))


def draw(problem: Problem, key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem, state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One step; none when every neuron rests."""
    still = Info(jnp.zeros_like(state.loss), jnp.zeros_like(state.loss))
    return lax.cond(state.outcome == MOVING, partial(descend, problem), lambda state: (state, still), state)


def descend(problem: Problem, state: State) -> tuple[State, Info]:
    """Down the great circle of steepest descent, for the neurons that move."""
    design, neurons = _samples(problem), _neurons(state.network, len(state.points))
    duals = _duals(problem, neurons, state.fields, state.labels)
    pull, batch = design.backward(state.batch, duals)
    tangent = _off(state.points, pull / design.rows)
    direction = _unit(_steered(problem, state, tangent)) * problem.student.norm
    slope = jnp.sum(tangent * direction, axis=1)
    steepest = jnp.maximum(state.steepest, slope)
    arrived = (slope <= problem.learner.tolerance * steepest) & (slope > 0)
    ahead, batch = design.forward(batch, direction)
    moving = state.resting == MOVING
    found = search(problem, neurons, state, ahead, slope, moving & ~arrived & (slope > 0))
    arc = jnp.where(found.taken, found.arc, 0)
    points = rescale(jnp.cos(arc)[:, None] * state.points + jnp.sin(arc)[:, None] * direction, problem.student.norm)
    ended = jnp.where(found.taken, MOVING, jnp.where(arrived, RESTING, STALLED))
    resting = jnp.where(moving, ended, state.resting).astype(jnp.int32)
    return State(
        _moved(problem, state.network, state.root, points),
        points,
        jnp.cos(arc) * state.fields + jnp.sin(arc) * ahead,
        state.loss + jnp.where(found.taken, found.change, 0),
        steepest,
        resting,
        state.root,
        batch,
        state.labels,
        jnp.where(jnp.any(resting == MOVING), MOVING, jnp.max(resting)).astype(jnp.int32),
        state.iterations + 1,
    ), Info(arc, slope)


def search(problem: Problem, neurons: Network, state: State, ahead: Array, slope: Array, searching: Array) -> Search:
    """Shrink the arc until the loss is lower, for each neuron, down to the floor.

    The next try is the vertex of the parabola through the loss and its slope here and the loss there, within `SHRINK`.
    """
    learner, (least, most) = problem.learner, SHRINK
    before = _losses(problem, neurons, state.fields, state.labels)

    def pending(search: Search) -> Array:
        return searching & ~search.taken & (search.arc >= learner.floor)

    def shrink(search: Search) -> Search:
        fields = jnp.cos(search.arc) * state.fields + jnp.sin(search.arc) * ahead
        # The mean of the differences, not the difference of the means, which would round to the size of the loss.
        change = jnp.mean(_losses(problem, neurons, fields, state.labels) - before, axis=0)
        promise = slope * search.arc
        ratio = promise / jnp.where(change > 0, 2 * (change + promise), 2 * promise)
        open_still = pending(search)
        lower = open_still & (change < 0)
        return Search(
            jnp.where(open_still & ~lower, search.arc * jnp.clip(ratio, least, most), search.arc),
            search.taken | lower,
            jnp.where(open_still, change, search.change),
        )

    zero = jnp.zeros_like(state.loss)
    begin = Search(zero + learner.arc, jnp.zeros_like(searching), zero)
    return lax.while_loop(lambda search: jnp.any(pending(search)), shrink, begin)


def flow(problem: Problem) -> Algorithm:
    """The algorithm for a problem whose learner is a `SphericalFlow` or a `NormalisedFlow`."""
    measures = {
        "field_correlation": lambda state, key: field_correlation(problem, state.network.weights),
        "train_loss": lambda state, key: jnp.broadcast_to(state.loss, (problem.student.width,)),
    }
    if isinstance(problem.design, SpikedDesign):
        measures["spike_overlap"] = lambda state, key: spike_overlap(problem, state.network.weights)
    return Algorithm(
        partial(init, problem), partial(draw, problem), partial(step, problem), outcomes=OUTCOMES, measures=measures
    )


def field_correlation(problem: Problem, weights: Array) -> Array:
    """The correlation of <w_i, x> with the target's field h_k over fresh inputs, (rows, r)."""
    design = problem.design
    seen = seen_weights(design, weights)
    axes = label_fields(design, jnp.eye(design.known, dtype=design.dtype))
    norms = jnp.sqrt(jnp.sum(seen**2, axis=1, keepdims=True))
    return product(seen[:, : design.known], axes) / norms


def spike_overlap(problem: Problem, weights: Array) -> Array:
    """<w_i, mu>, (rows,)."""
    spike = jnp.asarray(problem.design.inputs.spike, problem.design.dtype)
    return product(weights[:, : problem.design.known], spike[:, None])[:, 0]


def flow_demand(learner: SphericalFlow, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """A batch that every step reads; X itself, n > d and room for d x d where its covariance is inverted."""
    rows, count, item = sizes.batch, learner.rows(student.width), np.dtype(sizes.dtype).itemsize
    per_seed = 8 * rows * count * item
    if _whitens(learner):
        if rows <= sizes.dim:
            expected = f"more than d = {sizes.dim}, to invert their covariance; or covariance='known'"
            raise InvalidParameter("samples", rows, expected)
        per_seed += (3 * sizes.dim**2 + rows * sizes.dim) * item
    stored = _whitens(learner)
    return Demand(
        sizes.dim, sizes.known, count, rows, learner.uses, dtype=sizes.dtype, per_seed=per_seed, stored=stored
    )


def check_flow(learner: SphericalFlow, student: TwoLayer, target: Target) -> None:
    """Refuse inputs that are not Gaussian, a start whose sign means nothing, and copies that are not alike."""
    if not isinstance(target.inputs, Isotropic | Spiked):
        raise InvalidParameter("inputs", target.inputs, "isotropic or spiked Gaussian ones, for a flow")
    if learner.positive_start and target.rank != 1:
        raise InvalidParameter("positive_start", True, f"False: the target has {target.rank} directions, not one")
    if learner.common and (student.paired or isinstance(student.biases, str) or student.second_layer != "ones"):
        expected = "False; or a student of copies: not paired, one number for biases, second_layer='ones'"
        raise InvalidParameter("common", True, expected)


def _whitens(learner: SphericalFlow) -> bool:
    return getattr(learner, "covariance", "known") == "empirical"


def _samples(problem: Problem) -> Any:
    """The design whose samples the points are asked of: x, or the z behind it."""
    normalised = problem.learner.normalised and isinstance(problem.design, SpikedDesign)
    return problem.design.inner if normalised else problem.design


def _points(problem: Problem, root: Array | None, weights: Array) -> Array:
    """v of these weights: w, or S^{1/2} w up to a rotation."""
    if not problem.learner.normalised:
        return weights
    rows = seen_weights(problem.design, weights)
    return rows if root is None else product(rows, root)


def _weights(problem: Problem, root: Array | None, points: Array) -> Array:
    """w of these points, the inverse of `_points`."""
    if not problem.learner.normalised:
        return points
    rows = points if root is None else solve_triangular(root, points.T, lower=True, trans=1).T
    return weights_seen_as(problem.design, rows)


def _steered(problem: Problem, state: State, tangent: Array) -> Array:
    """The direction of the flow: the gradient on the sphere; without S^{-1}, S times it, on the sphere again."""
    learner = problem.learner
    if not learner.normalised or learner.preconditioned:
        return tangent
    rows = tangent if state.root is None else product(tangent, state.root.T)
    return _off(state.points, _points(problem, state.root, seen_weights(problem.design, rows)))


def _off(points: Array, rows: Array) -> Array:
    along = jnp.sum(rows * points, axis=1, keepdims=True) / jnp.sum(points**2, axis=1, keepdims=True)
    return rows - along * points


def _unit(rows: Array) -> Array:
    """Rows of norm one; a row of zeros stays."""
    norms = jnp.sqrt(jnp.sum(rows**2, axis=1, keepdims=True))
    return rows / jnp.where(norms > 0, norms, 1)


def _neurons(network: Network, count: int) -> Network:
    """The neurons that are different: all, or the first of copies."""
    return Network(network.weights[:count], network.biases[:count], network.second[:count])


def _moved(problem: Problem, network: Network, root: Array | None, points: Array) -> Network:
    weights = _weights(problem, root, points)
    return replace(network, weights=jnp.broadcast_to(weights, (problem.student.width, weights.shape[1])))


def _losses(problem: Problem, neurons: Network, fields: Array, values: Array) -> Array:
    """The loss of every neuron on every sample, (n, q)."""
    outputs = neurons.second * problem.activation.jax_value(fields + neurons.biases)
    if problem.learner.loss == "correlation":
        return -values[:, None] * outputs
    return (values[:, None] - outputs) ** 2 / 2


def _duals(problem: Problem, neurons: Network, fields: Array, values: Array) -> Array:
    """D = -(d loss / d fields), (n, q), each neuron with its own residual."""
    slopes = neurons.second * problem.activation.jax_derivative(fields + neurons.biases)
    if problem.learner.loss == "correlation":
        return values[:, None] * slopes
    return (values[:, None] - neurons.second * problem.activation.jax_value(fields + neurons.biases)) * slopes


SIMULATOR = Simulator(flow, flow_demand, check_flow)
