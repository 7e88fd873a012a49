"""Three layers trained one after the other (Dandi, Pesce, Zdeborova, Krzakala 2025, arXiv:2502.13961).

The steps are those of the first layer, through the design: on a batch read once, or again and again. The second and the
last layer are trained at every time that is looked at and leave no trace in the state, as a `Readout` does: given W
their samples are Gaussian fields, so that n of them cost n (r + p1) p1 at every d. Sums, fits and risk are in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.linalg import cho_factor, cho_solve

from featlab.gaussian.activations import activation
from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.learners.layerwise import Layerwise, ThreeLayer
from featlab.learners.steps import step_at
from featlab.learners.students import TwoLayer
from featlab.simulation import reuse
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.designs.chunks import chunk_size, within
from featlab.simulation.linalg import product
from featlab.simulation.losses import downhill_rule
from featlab.simulation.networks import Network, draw_biases, moved, rescale
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.random import fold, named, normal
from featlab.simulation.readout import Drawn, fresh_fields
from featlab.simulation.ridge import Fit, Rows, chunk_sum, fit_primal, moments, path_primal, shifted, within_reach
from featlab.targets import Target


class State(NamedTuple):
    """What the next step needs: the first layer, and the key of all batches."""

    network: Network
    key: Array


class Info(NamedTuple):
    """What a person wants to see: the gradient that the first layer followed, (p1, frame)."""

    gradient: Array


class Upper(NamedTuple):
    """What lies above the fields: biases b (p1,) of the first layer; V (p2, p1), c (p2,) and a (p2,) of the others."""

    first_biases: Array
    second: Array
    biases: Array
    last: Array


def init(problem: Problem[Layerwise, ThreeLayer], key: Array) -> State:
    """The first layer at the start."""
    return State(start_first(problem, key), named(key, "batches"))


def draw(problem: Problem[Layerwise, ThreeLayer], key: Array) -> Array:
    """Nothing: batches have the keys of their numbers, so that one can be read again."""
    return key[None]


def step(problem: Problem[Layerwise, ThreeLayer], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One step of the first layer. The same key makes the same batch again where X is made from its key."""
    design, first = problem.design, first_problem(problem)
    network = replace(state.network, weights=design.rebase(state.network.weights))
    batch = fold(state.key, number // first.learner.uses)
    gradient = design.sweep(batch, network.weights, downhill_rule(problem, first, network)) / float(design.rows)
    rate = step_at(problem.learner.step_size, design.dim)
    return State(moved(first, network, rate * gradient), state.key), Info(gradient)


def layerwise(problem: Problem[Layerwise, ThreeLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is a `Layerwise`."""
    found = Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), informs=True)
    if not _swept(problem):  # a batch that is read again must be remembered
        first = first_problem(problem)
        found = reuse.reused_batch(first)._replace(
            init=lambda key: reuse.new_batch(first, start_first(problem, key), named(key, "first batch"))
        )
    hidden = hasattr(problem.target, "hidden_fields_jax") and problem.learner.trains_second
    return found._replace(
        measures={"first_overlap": partial(first_overlap, problem)},
        absent=("second_layer", "biases"),
        on_request=("overlap", "norm", "cosine", "subspace"),  # of hundreds of neurons and many directions
        fit=partial(fit, problem),
        fitted=("risk_share", *(("hidden_overlap",) if hidden else ())),
    )


def first_problem(problem: Problem) -> Problem:
    """The two-layer problem whose steps train the first layer."""
    return replace(problem, student=problem.learner.first_student(problem.student), learner=problem.learner.first)


def start_first(problem: Problem, key: Array) -> Network:
    """Rows of norm 1, uniform on the sphere, or on that of the target's directions."""
    count = problem.student.width
    rows = problem.design.gaussian_rows(named(key, "weights"), count)
    if problem.student.start == "aligned":
        rows = rows.at[:, problem.target.rank :].set(0)
    dtype = problem.design.dtype
    return Network(rescale(rows, 1.0).astype(dtype), jnp.zeros(count, dtype), jnp.ones(count, dtype))


def first_overlap(problem: Problem, state: Any, key: Array) -> Array:
    """M_W = sqrt(mean_i |W* w_i|^2 / |w_i|^2)."""
    weights = state.network.weights
    along = jnp.sum(weights[:, : problem.target.rank] ** 2, axis=1) / jnp.sum(weights**2, axis=1)
    return jnp.sqrt(jnp.mean(along))


def fit(problem: Problem, state: Any, key: Array) -> dict[str, Array]:
    """The other layers trained on top of the first, and what they are worth. Call it where float64 is enabled."""
    learner, weights = problem.learner, state.network.weights
    upper = start_upper(problem, key)
    if learner.trains_second:
        count = learner.second_samples or problem.design.rows
        upper = train_second(problem, upper, fresh_fields(problem, weights, named(key, "second"), count))
    count = learner.readout_samples or problem.design.rows
    samples = fresh_fields(problem, weights, named(key, "readout"), count)
    rows = Rows(partial(_labelled, problem, samples, partial(features, problem, upper)), samples.chunks, count)
    fitted = fit_primal(rows, learner.readout_ridge)
    return {**measured(problem, weights, upper, fitted, named(key, "test")), "ridge": fitted.ridge}


def start_upper(problem: Problem, key: Array) -> Upper:
    """Biases and last layer as drawn, and a second layer of zeros."""
    student, dtype = problem.student, problem.design.dtype
    half = student.second_width // 2
    first = TwoLayer(student.width, biases=student.biases, bias_scale=student.bias_scale)
    second = TwoLayer(half, biases=student.second_biases, bias_scale=student.second_bias_scale)
    first_biases = draw_biases(named(key, "biases"), replace(problem, student=first))
    biases = jnp.tile(draw_biases(named(key, "second biases"), replace(problem, student=second)), 2)
    last = normal(named(key, "last layer"), (half,), dtype)
    double = (part.astype(jnp.float64) for part in (biases, jnp.concatenate([last, -last])))
    # Hidden from the compiler: on CPUs it (JAX 0.10) fuses a product with a constant matrix into a kernel that now and
    # then reads other memory.
    zeros = lax.optimization_barrier(jnp.zeros((2 * half, student.width), jnp.float64))
    return Upper(first_biases, zeros, *double)


def train_second(problem: Problem, upper: Upper, samples: Drawn) -> Upper:
    """V after T2 (preconditioned) gradient steps on these samples."""
    learner, rows = problem.learner, _first_rows(problem, upper, samples)
    solve = _preconditioner(learner, rows) if learner.preconditioned else lambda gradient: gradient

    def one_step(_: int, second: Array) -> Array:
        gradient = second_gradient(problem, upper._replace(second=second), rows)
        return second + learner.second_step * solve(gradient)

    return upper._replace(second=lax.fori_loop(0, learner.second_steps, one_step, upper.second))


def second_gradient(problem: Problem, upper: Upper, rows: Rows) -> Array:
    """mean[(y - f) a_j s2'(<v_j, z> + c_j) z], (p2, p1): minus p2 times the gradient of half the squared error."""
    sigma = activation(problem.student.second_activation)

    def part(index: Array) -> Array:
        first, outcome = rows.visit(index)  # beyond the last sample z = 0: those add nothing
        fields = product(first, upper.second.T) + upper.biases
        missed = outcome - jnp.mean(upper.last * sigma.jax_value(fields), axis=1)
        return product((missed[:, None] * upper.last * sigma.jax_derivative(fields)).T, first)

    return chunk_sum(part, rows.chunks) / rows.total


def features(problem: Problem, upper: Upper, fields: Array) -> Array:
    """What the last layer sees of samples with these fields: the second layer's neurons, or the first's."""
    first = _first_features(problem, upper, fields)
    if not problem.learner.trains_second:
        return first
    sigma = activation(problem.student.second_activation)
    return sigma.jax_value(product(first, upper.second.T) + upper.biases) / problem.student.second_width**0.5


def measured(problem: Problem, weights: Array, upper: Upper, fitted: Fit, key: Array) -> dict[str, Array]:
    """Risk on fresh samples, its standard error, the risk over the label's variance, and of a tree the overlap M_h."""
    samples = fresh_fields(problem, weights, key, problem.learner.test_samples, additive_noise=False)
    tree = getattr(problem.target, "hidden_fields_jax", None) if problem.learner.trains_second else None

    def look(index: Array) -> tuple[Array, ...]:
        target_fields, fields, outcome = samples.visit(index)
        outcome = outcome.astype(jnp.float64)
        missed = outcome - product(features(problem, upper, fields), fitted.coefficients[:, None])[:, 0]
        if tree is None:
            return outcome, missed
        second = product(_first_features(problem, upper, fields), upper.second.T)
        return outcome, missed, second, tree(target_fields).astype(jnp.float64)

    found = lax.map(look, jnp.arange(samples.chunks))
    outcome, missed, *hidden = (part.reshape(-1, *part.shape[2:])[: samples.total] for part in found)
    risk = jnp.mean(missed**2) + problem.target.noise
    values = {
        "risk": risk,
        "risk_error": jnp.std(missed**2, ddof=1) / samples.total**0.5,
        "risk_share": risk / (jnp.var(outcome) + problem.target.noise),
    }
    return values | ({"hidden_overlap": hidden_overlap(*hidden)} if hidden else {})


def hidden_overlap(second: Array, hidden: Array) -> Array:
    """M_h = sqrt(mean_j sum_i corr(<v_j, z>, h_i*)^2) over samples: second-layer fields (n, p2) and h* (n, r)."""
    units, targets = (part - jnp.mean(part, axis=0) for part in (second, hidden))
    square = product(units.T, targets) ** 2 / (jnp.sum(units**2, axis=0)[:, None] * jnp.sum(targets**2, axis=0))
    return jnp.sqrt(jnp.mean(jnp.sum(square, axis=1)))


def layerwise_demand(learner: Layerwise, student: ThreeLayer, target: Target, sizes: Sizes) -> Demand:
    """That of the first layer's steps, and the memory of the fits; seeds are fitted one at a time."""
    uses = learner.first.uses if learner.trains_first else 1
    first = Demand(sizes.dim, sizes.known, student.width, sizes.batch, uses=uses, dtype=sizes.dtype, swept=uses == 1)
    width, axes = student.width, sizes.known + min(student.width, sizes.dim - sizes.known)
    counts = (learner.second_samples or sizes.batch, learner.readout_samples or sizes.batch, learner.test_samples)
    visited = max(chunk_size(count, width + axes) for count in counts)
    doubles = 8 * width**2 + visited * (4 * width + 6 * student.second_width) + 3 * width * student.second_width
    doubles += learner.test_samples * (student.second_width + 4)
    singles = 3 * width * axes + 2 * visited * (width + axes)
    return replace(first, besides=8 * doubles + np.dtype(sizes.dtype).itemsize * singles)


def _swept(problem: Problem) -> bool:
    """Whether a batch can be made from its key whenever it is read: it is read once, or X is a function of the key."""
    return problem.learner.first.uses == 1 or hasattr(problem.design, "chunk") or not problem.learner.trains_first


def _preconditioner(learner: Layerwise, rows: Rows) -> Callable[[Array], Array]:
    """G -> G (mean[z z^T] + lambda2)^-1 for G (p2, p1)."""
    gram, _ = moments(rows)
    if learner.second_ridge == LEAVE_ONE_OUT:
        _, used = path_primal(rows).best()
    else:
        used = within_reach(learner.second_ridge, gram)
    factor = cho_factor(shifted(gram, used))
    return lambda gradient: cho_solve(factor, gradient.T).T


def _first_features(problem: Problem, upper: Upper, fields: Array) -> Array:
    """z (m, p1) in float64."""
    values = activation(problem.student.activation).jax_value(fields + upper.first_biases)
    return values.astype(jnp.float64) / problem.student.width**0.5


def _first_rows(problem: Problem, upper: Upper, samples: Drawn) -> Rows:
    visit = partial(_labelled, problem, samples, partial(_first_features, problem, upper))
    return Rows(visit, samples.chunks, samples.total)


def _labelled(
    problem: Problem, samples: Drawn, function: Callable[[Array], Array], index: Array
) -> tuple[Array, Array]:
    """Features (size, p) and labels (size,) of a chunk, zero beyond the last sample."""
    _, fields, outcome = samples.visit(index)
    found = within(function(fields), index, samples.total)
    return found, within(outcome.astype(jnp.float64)[:, None], index, samples.total)[:, 0]


SIMULATOR = Simulator(layerwise, layerwise_demand)
