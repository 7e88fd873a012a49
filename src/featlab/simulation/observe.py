"""What is measured of a student: order parameters, never weights unless asked for.

All follow from the overlaps M = W[:, :r] and the part of W off the target's directions. The risk too: the
fields of a fresh sample are jointly Gaussian, h ~ N(0, I_r) and lambda = M h + L z with L L^T = Q - M M^T, so
it is averaged over fresh *fields* in dimension r + p, never over d-dimensional inputs; and since M and L are all it
needs of a student, its program is one for all learners, designs and dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.errors import InvalidParameter, or_meant
from featlab.simulation.designs.spiked import SpikedDesign, label_fields, seen_weights
from featlab.simulation.linalg import lower_triangle, product
from featlab.simulation.networks import output
from featlab.simulation.problem import Algorithm, Problem, label_noise, labels
from featlab.simulation.random import named, normal

RISK_SAMPLES = 8192

# What comes with "risk": its error, and for a fitted second layer what it was fitted with.
_WITH_RISK = ("risk_error", "ridge")
# What a learner without a student has not.
_OF_STUDENT = ("second_layer", "biases")
# What can be said of any two-layer network or estimate of directions; other names of QUANTITIES belong to learners.
COMMON = (
    "overlap",
    "gram",
    "norm",
    "cosine",
    "subspace",
    "spectrum",
    "risk",
    "risk_error",
    "ridge",
    "gradient_cosine",
    "weights",
    "second_layer",
    "biases",
)
DEFAULT = ("overlap", "norm", "cosine", "subspace", "risk")


def check_names(
    names: Iterable[str] | None, steps: Algorithm, student: bool = True, besides: Iterable[str] = ()
) -> tuple[str, ...]:
    """The names in order, once each, "risk" followed by what comes with it; unknown ones are refused.

    None: the usual ones, those that this learner alone has, and those `besides` that can be measured. `student`:
    whether there is one.
    """
    absent = {*_WITH_RISK, *steps.absent, *(() if student else _OF_STUDENT)}
    if not steps.informs:
        absent.add("gradient_cosine")
    own = [name for name in (*steps.measures, *steps.fitted) if name not in COMMON]
    allowed = [name for name in (*COMMON, *own) if name not in absent or name in own]
    if names is None:
        names = [name for name in (*DEFAULT, *own) if name in allowed and name not in steps.on_request]
        shared = "cosine" in names and "cosine" not in steps.measures  # of neurons, whose products say more
        names += [name for name in besides if name in own or (shared and name in allowed)]
    risk_names = ["risk", *_WITH_RISK] if steps.fit is not None else ["risk", "risk_error"]
    chosen: list[str] = []
    for name in dict.fromkeys([names] if isinstance(names, str) else names):
        if name not in allowed:
            raise InvalidParameter("observe", name, f"names among {', '.join(allowed)}{or_meant(name, allowed)}")
        chosen += risk_names if name == "risk" else [name]
    return tuple(chosen)


def observe(
    problem: Problem, names: tuple[str, ...], measures: Mapping[str, Any], state: Any, info: Any, key: Array
) -> dict[str, Array]:
    """The quantities of these names for one seed: by the learner's own `measures`, else of the `Network` or `Estimate`
    of its state."""
    network, rank, weights = state.network, problem.target.rank, state.network.weights
    if problem.student is None:
        weights = aligned(weights, rank)
    quantities: dict[str, Callable[[], Array]] = {
        "overlap": lambda: weights[:, :rank],
        "gram": lambda: product(weights, weights.T),
        "norm": lambda: _norms(weights)[:, 0],
        "cosine": lambda: _cosines(weights, rank),
        "subspace": lambda: jnp.linalg.svd(_cosines(weights, rank) / len(weights) ** 0.5, compute_uv=False),
        "spectrum": lambda: jnp.linalg.svd(weights, compute_uv=False),
        "gradient_cosine": lambda: _cosines(info.gradient, rank),
        "weights": lambda: weights,
        "second_layer": lambda: network.second,
        "biases": lambda: network.biases,
    }
    result = {name: quantities[name]() for name in names if name in quantities and name not in measures}
    result |= {name: measure(state, key) for name, measure in measures.items()}
    if "risk" in measures:
        result["risk"], result["risk_error"] = result["risk"]
    return result


@dataclass(frozen=True)
class Axes:
    """As much of a design as fresh fields need: the known axes, and the type of every number."""

    known: int
    dtype: Any


def risk_problem(problem: Problem) -> Problem:
    """What a problem's risk depends on besides the network `by_fields`: equal for all learners and designs."""
    design, axes = problem.design, Axes(problem.design.known, problem.design.dtype)
    fields = SpikedDesign(axes, design.inputs) if isinstance(design, SpikedDesign) else axes
    return Problem(problem.target, problem.student, None, fields)


def by_fields(problem: Problem, network: Any) -> Any:
    """The network with weights (M, L) (p, known + p) in place of W: standard normal numbers give its fields by them."""
    known, seen = problem.design.known, seen_weights(problem.design, network.weights)
    return replace(network, weights=jnp.concatenate([seen[:, :known], lower_triangle(seen[:, known:])], axis=1))


def risk(problem: Problem, network: Any, key: Array) -> tuple[Array, Array]:
    """E[(y - f)^2] of a network `by_fields` over fresh ones, and its standard error. Additive noise enters exactly.

    Without a student, f is the link at the estimated fields, averaged over noise variables inside it: their average
    squared error is the mean product of the errors of two independent draws.
    """
    clean, fields = _fresh_fields(problem, network, key)
    if problem.student is None:
        errors = [clean - _link_at(problem, fields, named(key, f"risk link {k}")) for k in range(2)]
        squares = errors[0] * errors[1]
    else:
        squares = (clean - output(problem, network, fields)) ** 2
    return jnp.mean(squares) + problem.target.noise, jnp.std(squares) / RISK_SAMPLES**0.5


def posterior_risk(problem: Problem, network: Any, covariance: Array, key: Array) -> Array:
    """E[(y - E[y | omega])^2] over fresh fields, where an estimate What with covariance C takes z ~ N(omega, C) for the
    true fields, omega = What x: the risk of the Bayes-optimal predictor, if C is right.

    The average over z inside the square is the mean product of the errors of two independent draws.
    """
    clean, fields = _fresh_fields(problem, by_fields(problem, network), key)
    values, vectors = jnp.linalg.eigh(covariance)
    root = vectors * jnp.sqrt(jnp.maximum(values, 0.0))
    errors = []
    for k in range(2):
        draw = product(normal(named(key, f"posterior {k}"), fields.shape, problem.design.dtype), root.T)
        errors.append(clean - _link_at(problem, fields + draw, named(key, f"risk link {k}")))
    return jnp.mean(errors[0] * errors[1]) + problem.target.noise


def _fresh_fields(problem: Problem, network: Any, key: Array) -> tuple[Array, Array]:
    """Labels of fresh samples without their additive noise (RISK_SAMPLES,), and the fields of a network `by_fields`."""
    known, dtype = problem.design.known, problem.design.dtype
    along, across = network.weights[:, :known], network.weights[:, known:]
    coordinates = normal(named(key, "risk targets"), (RISK_SAMPLES, known), dtype)
    others = normal(named(key, "risk others"), (RISK_SAMPLES, across.shape[1]), dtype)
    fields = product(coordinates, along.T) + product(others, across.T)
    return _link_at(problem, label_fields(problem.design, coordinates), named(key, "risk labels")), fields


def _link_at(problem: Problem, fields: Array, key: Array) -> Array:
    """g at these fields with fresh noise inside the link, and no additive noise."""
    noise = label_noise(problem, key, (len(fields),))
    return labels(problem, fields, noise.at[:, problem.target.hidden :].set(0))


def aligned(rows: Array, rank: int) -> Array:
    """The rows (r, frame), permuted and with signs such that the sum of their overlaps with the directions is largest.

    A link may have fewer symmetries than that: for sign(h1*h2), changing one sign changes the label. So an overlap up
    to signed permutation says how well directions are known as lines; the risk is not taken up to anything.
    """
    overlaps = rows[:, :rank]
    orders = np.array(list(permutations(range(rank))))
    best = jnp.asarray(orders)[jnp.argmax(jnp.sum(jnp.abs(overlaps[orders, np.arange(rank)]), axis=1))]
    signs = jnp.where(overlaps[best, np.arange(rank)] < 0, -1, 1).astype(rows.dtype)
    return rows[best] * signs[:, None]


def _norms(rows: Array) -> Array:
    return jnp.sqrt(jnp.sum(rows**2, axis=1, keepdims=True))


def _cosines(rows: Array, rank: int) -> Array:
    return rows[:, :rank] / _norms(rows)
