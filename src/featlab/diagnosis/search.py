"""Which directions of isotropic inputs the label depends on, and how many of them noise would not show.

The next direction is looked for in the coordinates off those found, at the first order in them, by all functions of
label and known coordinates together, and at the second order, by each function of the label: the first two steps of
the grand staircase, on data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab import interruption
from featlab.diagnosis.responses import conditional_responses, fit_links
from featlab.gaussian.hermite import Floats

LEVEL = 0.05
MOST_DIRECTIONS = 4
_PERMUTATIONS, _FEWER_PERMUTATIONS = 99, 39
_ROUNDS, _MORE_ROUNDS = 12, 60  # products with B of the test, and for the direction
_ENDED = 1e-12  # of a product, left off the vectors before: there are no more
_REFINEMENTS, _LEAST_STEP, _LEAST_GAIN = 20, 0.05, 0.2
# Operations that the second order's permutations of one step may take, and numbers that a block of them may hold.
_WORK, _BLOCK = 8e10, 2e7
_LARGE = 4e6
_NOTHING_LEFT = 1e-3


@dataclass(frozen=True)
class Step:
    """How a direction was found: at which order, by which function of the label (second order only).

    `p_value`: (1 + permutations that reach it) / (1 + permutations).
    """

    order: int
    function: int
    p_value: float


@dataclass(frozen=True, eq=False)
class Search:
    """The directions found.

    Attributes:
        rows: orthonormal (k, q).
        steps: of each.
        next_p_value: of the one that was not found; None if no more were looked for: there are `MOST_DIRECTIONS`, or
            they leave less than a thousandth of the label.
        permutations: of each step.
        tested_rows: on how many samples the second order was tested.
    """

    rows: Floats
    steps: tuple[Step, ...]
    next_p_value: float | None
    permutations: int
    tested_rows: int


def search(
    inputs: Floats, responses: Floats, functions: int, draw: np.random.Generator, level: float = LEVEL
) -> Search:
    """Directions one after the other, each against permutations of its label, until one is not significant.

    Statement: if there is no direction, labels and inputs are exchangeable: the permuted statistics and the one of
    the data have the same law, and the chance of any direction is at most `level`, for any law of the inputs. The
    orders are combined by the largest of their statistics, each in standard deviations from its mean over data and
    permutations together, which keeps this exact. If k directions are all there are and the inputs are Gaussian, the
    same holds for one more, up to what the errors of these k do, of which `conditional_responses` takes off the first
    order.

    Args:
        inputs: (n, q) of mean 0 and covariance I, rows in random order; float32 is enough.
        responses, functions: of the label, as `all_responses` has them.
    """
    count, dim = inputs.shape
    permutations = _PERMUTATIONS if inputs.size <= _LARGE else _FEWER_PERMUTATIONS
    tested = int(min(count, max(200, _WORK / (4.0 * dim * permutations * functions * _ROUNDS))))
    rows, steps = np.zeros((0, dim)), list[Step]()
    while len(rows) < min(MOST_DIRECTIONS, dim):
        first, second = conditional_responses(responses, functions, along(inputs, rows))
        if not first.shape[1] or (len(rows) and _explained(responses, along(inputs, rows))):
            return Search(rows, tuple(steps), None, permutations, tested)
        orders = [np.arange(count), *(draw.permutation(count) for _ in range(permutations))]
        start = _off(np.asarray(draw.standard_normal(dim)), rows)
        statistics = np.column_stack(
            [_first_statistics(inputs, first, orders, rows)]
            + [_second_statistics(inputs[:tested], column, orders, rows, start) for column in second.T]
        )
        spread = statistics.std(axis=0)
        scores = (statistics - statistics.mean(axis=0)) / np.where(spread > 0, spread, 1)
        largest = scores.max(axis=1)
        p_value = float(np.mean(largest >= largest[0] * (1 - 1e-12) if largest[0] > 0 else np.ones(len(largest))))
        if p_value > level:
            return Search(rows, tuple(steps), p_value, permutations, tested)
        # The first order, unless it shows less than half as much: far above all permutations scores say no more.
        best = 0 if scores[0, 0] >= 0.5 * largest[0] else int(np.argmax(scores[0]))
        if best == 0:
            direction = np.linalg.svd(_first_moments(inputs, first, rows), full_matrices=False)[2][0]
        else:
            direction = _leading(inputs, second[:, [best - 1]], rows, start, _MORE_ROUNDS)[1][:, 0]
        steps.append(Step(1 if best == 0 else 2, max(0, best - 1), p_value))
        rows = refine(inputs, responses, np.concatenate([rows, direction[None]]))
    return Search(rows, tuple(steps), None, permutations, tested)


def _explained(responses: Floats, fields: Floats) -> bool:
    """Whether the label itself, the last response, has nothing left to explain but what the fit of its link misses."""
    return bool(np.mean(fit_links(responses[:, -1:], fields).left ** 2) < _NOTHING_LEFT * np.var(responses[:, -1]))


def refine(inputs: Floats, responses: Floats, rows: Floats) -> Floats:
    """Directions (k, q) that fit better what can be told of the label along them.

    Statement: with links g_l fitted along the directions, residuals e_l and weights w_l = 1 / mean(e_l^2), the
    directions change by H^-1 mean(sum_l w_l e_l grad g_l z^T), H = mean(sum_l w_l grad g_l grad g_l^T): a step of
    Gauss and Newton for inputs of covariance I, which is taken while it lowers sum_l log mean(e_l^2).
    """
    best = fit_links(responses, along(inputs, rows))
    loss = _loss(best.left)
    size = 1.0
    for _ in range(_REFINEMENTS):
        interruption.check()
        weights = 1 / np.maximum(np.mean(best.left**2, axis=0), np.finfo(float).tiny)
        scores = np.sum(best.slopes * best.left * weights, axis=2)
        curvature = np.einsum("inl,jnl,l->ij", best.slopes, best.slopes, weights, optimize=True) / len(inputs)
        change = _off((scores.astype(inputs.dtype) @ inputs).astype(float) / len(inputs), rows)
        step = np.linalg.lstsq(curvature, change, rcond=1e-6)[0]
        while size > _LEAST_STEP:
            tried = np.linalg.svd(rows + size * step, full_matrices=False)
            moved = tried[0] @ tried[2]
            fit = fit_links(responses, along(inputs, moved))
            if _loss(fit.left) < loss:
                break
            size /= 2
        else:
            return rows
        gain = loss - _loss(fit.left)
        rows, best, loss, size = moved, fit, _loss(fit.left), min(1.0, 2 * size)
        if gain < _LEAST_GAIN / len(inputs):
            break
    return rows


def _loss(left: Floats) -> float:
    return float(np.sum(np.log(np.mean(left**2, axis=0) + np.finfo(float).tiny)))


def follow(found: Search, inputs: Floats, responses: Floats, functions: int) -> Floats:
    """The directions (k, q) that the same steps find on other rows (m, q), which know nothing of those of the search;
    turned among themselves so as to lie nearest to these."""
    rows = np.zeros((0, inputs.shape[1]))
    for step in found.steps:
        first, second = conditional_responses(responses, functions, along(inputs, rows))
        if step.order == 1:
            direction = np.linalg.svd(_first_moments(inputs, first, rows), full_matrices=False)[2][0]
        else:
            start = _off(np.random.default_rng(0).standard_normal(rows.shape[1]), rows)
            column = second[:, [min(step.function, second.shape[1] - 1)]]
            direction = _leading(inputs, column, rows, start, _MORE_ROUNDS)[1][:, 0]
        rows = refine(inputs, responses, np.concatenate([rows, direction[None]]))
    left, _, right = np.linalg.svd(found.rows @ rows.T)
    return (left @ right) @ rows


def _first_moments(inputs: Floats, responses: Floats, rows: Floats) -> Floats:
    """mean(phi z^T) (L, q), off the known rows."""
    return _off((responses.T.astype(inputs.dtype) @ inputs).astype(float) / len(inputs), rows)


def _first_statistics(inputs: Floats, responses: Floats, orders: list[np.ndarray], rows: Floats) -> Floats:
    """The largest singular value of mean(phi z^T) with responses in each of the orders."""
    size, found = max(1, int(_BLOCK / responses.size)), list[float]()
    for begin in range(0, len(orders), size):
        interruption.check()
        block = np.concatenate([responses[order] for order in orders[begin : begin + size]], axis=1)
        moments = _first_moments(inputs, block, rows).reshape(-1, responses.shape[1], inputs.shape[1])
        found.extend(np.linalg.svd(moments, compute_uv=False)[:, 0])
    return np.array(found)


def _second_statistics(
    inputs: Floats, response: Floats, orders: list[np.ndarray], rows: Floats, start: Floats
) -> Floats:
    """The size of the leading eigenvalue of B = mean(phi z z^T), as few products from a fixed start have it, which is
    a statistic like any other; responses in each of the orders."""
    count = len(inputs)
    size, found = max(1, int(_BLOCK / count)), list[float]()
    for begin in range(0, len(orders), size):
        block = np.stack([response[order[:count]] for order in orders[begin : begin + size]], axis=1)
        found.extend(_leading(inputs, block, rows, start, _ROUNDS)[0])
    return np.array(found)


def _leading(inputs: Floats, responses: Floats, rows: Floats, start: Floats, rounds: int) -> tuple[Floats, Floats]:
    """The leading eigenvalues in size (P,) and unit eigenvectors (q, P) of B_p = mean(phi_p z z^T) off the known rows,
    for each column of responses (n, P): Lanczos' method, orthogonalised in full, after so many products."""
    count, dim = inputs.shape
    weights, rounds = responses.astype(inputs.dtype), min(rounds, dim - len(rows))
    basis = np.zeros((rounds, dim, responses.shape[1]))
    images = np.zeros_like(basis)
    basis[0] = start[:, None]
    for step in range(rounds):
        interruption.check()
        product = inputs @ basis[step].astype(inputs.dtype)
        product *= weights
        images[step] = _off((inputs.T @ product).T.astype(float) / count, rows).T
        if step + 1 < rounds:
            left, known = images[step], basis[: step + 1]
            for _ in range(2):  # a second time for what rounding has left
                left = left - np.einsum("kqp,kp->qp", known, np.einsum("kqp,qp->kp", known, left))
            size, full = np.linalg.norm(left, axis=0), np.linalg.norm(images[step], axis=0)
            basis[step + 1] = np.where(size > _ENDED * full, left, 0) / np.where(size > 0, size, 1)
    small = np.einsum("kqp,lqp->pkl", basis, images)
    values, vectors = np.linalg.eigh((small + small.transpose(0, 2, 1)) / 2)
    largest = np.argmax(np.abs(values), axis=1)[:, None]
    chosen = np.take_along_axis(vectors, largest[:, None], axis=2)[:, :, 0]
    return np.abs(np.take_along_axis(values, largest, axis=1)[:, 0]), np.einsum("kqp,pk->qp", basis, chosen)


def along(inputs: Floats, rows: Floats) -> Floats:
    """Coordinates (n, k) of inputs (n, q) along rows (k, q), without a copy of the inputs in another precision."""
    return (inputs @ rows.T.astype(inputs.dtype)).astype(float)


def _off(vectors: Floats, rows: Floats) -> Floats:
    """Vectors (..., q) without their parts along orthonormal rows; one vector alone is made a unit vector."""
    left = vectors - (vectors @ rows.T) @ rows
    return left / np.linalg.norm(left) if left.ndim == 1 else left
