"""Bayes-AMP linearised at What = 0, whose leading modes are a spectral start for it, and an estimate by themselves.

With g_out(y, omega, I) = G(y) omega + ..., G(y) = E[z z^T - I | y] (where E[z | y] = 0), the undamped iteration
becomes omega' = (X X^T / d - I) G omega on R^(n x r): the asymmetric spectral method of Defilippis et al. 2025,
arXiv:2502.02545. Its bulk has radius sqrt(alpha / alpha_c) and its informative eigenvalues are alpha / alpha_c (for
sign(h1*h2) also minus that, with modes of the wrong sign, which damping puts behind the right ones).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from featlab.simulation.amp_closed import Denoiser, closed_form
from featlab.simulation.amp_mixture import CHUNK_NUMBERS, MixtureDenoiser
from featlab.simulation.linalg import product
from featlab.simulation.problem import Problem
from featlab.targets import Target

# How many numbers a closed form takes for one label, at most.
_CLOSED_NUMBERS = 2**7


def linear_step(problem: Problem, moments: Any, rows: Any, onsager: Any, batch: Any) -> tuple[Any, Any, Any]:
    """omega' = (X X^T / d - I) G omega for omega = X rows^T - onsager and G = moments (n, r, r).

    Returns omega' as its rows (r, frame) and Onsager term (n, r), and the batch.
    """
    fields, batch = problem.design.forward(batch, rows)
    duals = (moments * (fields - onsager)[:, None, :]).sum(axis=2)
    pull, batch = problem.design.backward(batch, duals)
    return pull / (1.0 * problem.design.dim), duals, batch


def power_iteration(problem: Problem, batch: Any, labels: Array, rows: Array) -> tuple[Array, Array, Any]:
    """What after `power_steps` linearised iterations from `rows`, its Onsager term, and the batch they have read.

    The rows come back with a root mean square norm of sqrt(start_overlap). As in Bayes-AMP, -(1/d) sum G What is added,
    whose mean is zero.
    """
    learner, rank = problem.learner, problem.target.rank
    moments = response(problem.target, labels)
    drift = -jnp.sum(moments, axis=0) / (1.0 * problem.design.dim)
    keep = learner.damping

    def one(_: Array, carry: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        rows, onsager, batch = carry
        new, duals, batch = linear_step(problem, moments, rows, onsager, batch)
        new = new + product(drift, rows)
        rows, onsager = (1 - keep) * new + keep * rows, (1 - keep) * duals + keep * onsager
        scale = (learner.start_overlap * rank / jnp.sum(rows**2)) ** 0.5
        return rows * scale, onsager * scale, batch

    return lax.fori_loop(0, learner.power_steps, one, (rows, jnp.zeros_like(moments[:, 0]), batch))


def denoiser_of(target: Target) -> Denoiser:
    """That of Bayes-AMP, for one look at every label: in closed form, or by a mixture of small clouds."""
    return closed_form(target) or MixtureDenoiser(target)


def response(target: Target, labels: Array) -> Array:
    """d g_out / d omega at omega = 0, V = I, for every label, (n, r, r): Cov(z | y) - I, which is G(y) where
    E[z | y] = 0.

    From the covariance itself: near a fold of the link a difference of g_out would divide the error of its small
    clouds by a small step.
    """
    denoiser, rank = denoiser_of(target), target.rank
    nowhere, eye = jnp.zeros((1, rank), labels.dtype), jnp.eye(rank, dtype=labels.dtype)
    together = max(1, CHUNK_NUMBERS // getattr(denoiser, "numbers", _CLOSED_NUMBERS))
    return lax.map(lambda label: -denoiser(label[None], nowhere, eye)[1], labels, batch_size=min(together, len(labels)))
