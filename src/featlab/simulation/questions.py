"""Questions to a batch that have fewer rows than its design is made for, and what is asked of every batch first."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from featlab.errors import InvalidParameter
from featlab.learners.protocol import Learner
from featlab.learners.registry import called
from featlab.simulation.problem import Problem, label_noise, labels
from featlab.simulation.random import named
from featlab.targets import Target
from featlab.targets.inputs import Isotropic


class Labelled(NamedTuple):
    """One batch as its design keeps it, and its labels (n,)."""

    batch: Any
    labels: Any


def labelled_batch(problem: Problem, key: Array) -> Labelled:
    """One batch and its labels."""
    design = problem.design
    batch = jax.tree.map(lambda part: part[0], design.draw(named(key, "batch")))
    target_fields, batch = design.target_fields(batch)
    return Labelled(batch, labels(problem, target_fields, label_noise(problem, named(key, "labels"), (design.rows,))))


def forward(design: Any, batch: Any, rows: Any) -> tuple[Any, Any]:
    """The fields of at most `design.width` rows, (n, rows)."""
    count = len(rows)
    if count < design.width:
        rows = jnp.pad(rows, ((0, design.width - count), (0, 0)))
    fields, batch = design.forward(batch, rows)
    return fields[:, :count], batch


def backward(design: Any, batch: Any, duals: Any) -> tuple[Any, Any]:
    """The pull-back of at most `design.width` columns, (columns, frame)."""
    count = duals.shape[1]
    if count < design.width:
        duals = jnp.pad(duals, ((0, 0), (0, design.width - count)))
    pull, batch = design.backward(batch, duals)
    return pull[:count], batch


def mean_slope(design: Any, batch: Any, values: Any) -> tuple[Any, Any]:
    """beta = mean(y x), (1, frame): the slope of a linear regression on inputs whose covariance is I."""
    return backward(design, batch, values[:, None] / design.rows)


def isotropic_only(learner: Learner, target: Target) -> None:
    """Refuse other inputs than those whose covariance these learners take for granted."""
    if target.inputs != Isotropic():
        expected = f"Isotropic() for {called(learner)}, which takes the covariance of the inputs to be I"
        raise InvalidParameter("inputs", target.inputs, expected)
