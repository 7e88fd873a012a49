"""Principal Hessian directions (Li 1992): the leading eigenvectors of mean(r x x^T), r the labels without their linear
part, through products with X and X^T."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featlab.learners.spectral_methods import PrincipalHessian
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.lanczos import Operator, lanczos, lanczos_bytes
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.questions import Labelled, backward, forward, isotropic_only, mean_slope
from featlab.targets import Target


class Residuals(NamedTuple):
    """What a product needs: the batch, and the labels without their linear part (n,)."""

    batch: Any
    values: Any


def prepare(problem: Problem, data: Labelled) -> Residuals:
    """r = y - mean(y) - <b, x>, b = mean((y - mean(y)) x)."""
    centred = data.labels - data.labels.mean()
    slope, batch = mean_slope(problem.design, data.batch, centred)
    fields, batch = forward(problem.design, batch, slope)
    return Residuals(batch, centred - fields[:, 0])


def apply(problem: Problem, data: Residuals, rows: Any) -> tuple[Any, Residuals]:
    """V mean(r x x^T) for rows V (k, frame)."""
    fields, batch = forward(problem.design, data.batch, rows)
    pull, batch = backward(problem.design, batch, data.values[:, None] * fields / problem.design.rows)
    return pull, Residuals(batch, data.values)


OPERATOR = Operator(prepare, apply)


def principal_hessian(problem: Problem[PrincipalHessian, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `PrincipalHessian`."""
    return lanczos(problem, OPERATOR)


def principal_hessian_demand(learner: PrincipalHessian, student: None, target: Target, sizes: Sizes) -> Demand:
    """A batch that is read for the linear part and once in every iteration."""
    item = np.dtype(sizes.dtype).itemsize
    vectors = lanczos_bytes(learner.iterations, target.rank, sizes.dim, item)
    besides = vectors + 8 * item * sizes.batch * target.rank
    uses = 1 + learner.iterations
    return Demand(sizes.dim, sizes.known, target.rank, sizes.batch, uses=uses, dtype=sizes.dtype, per_seed=besides)


def check_principal_hessian(learner: PrincipalHessian, student: None, target: Target) -> None:
    """Refuse other inputs."""
    isotropic_only(learner, target)


SIMULATOR = Simulator(principal_hessian, principal_hessian_demand, check_principal_hessian)
