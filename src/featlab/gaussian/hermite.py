"""Hermite polynomials in the probabilists' convention, and the tensors that a function of a few directions has.

Conventions, everywhere in featlab: He_k is monic, E[He_j(z) He_k(z)] = k! [j = k] for z ~ N(0, 1), and
h_k = He_k / sqrt(k!) is its orthonormal version. For a multi-index a = (a_1, ..., a_r) the product
h_a(z) = prod_i h_{a_i}(z_i) has degree |a| = sum a_i, and a square-integrable f has the expansion
f = sum_a c_a h_a with sum_a c_a^2 = E[f^2] (Parseval).

The degree-k Hermite tensor of f, T_k = E[f(z) He_k(z)], is symmetric with r^k entries T_{i1..ik} = sqrt(a!) c_a, where
a counts how often each axis occurs among i1..ik. Here it is kept as its distinct coefficients c_a, |a| = k.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, permutations
from math import factorial, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]


def hermite_all(max_order: int, x: ArrayLike) -> Floats:
    """He_0(x), ..., He_max_order(x), stacked in front, by He_{k+1} = x He_k - k He_{k-1}.

    Args:
        max_order: the highest k.
        x: any shape.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import hermite_all
        >>> hermite_all(3, np.array([2.0]))[:, 0].tolist()
        [1.0, 2.0, 3.0, 2.0]
    """
    x = np.asarray(x, dtype=float)
    values = np.empty((max_order + 1, *x.shape))
    values[0] = 1.0
    if max_order >= 1:
        values[1] = x
    for k in range(1, max_order):
        values[k + 1] = x * values[k] - k * values[k - 1]
    return values


def hermite_normalised_all(max_order: int, x: ArrayLike) -> Floats:
    """h_0(x), ..., h_max_order(x) with h_k = He_k / sqrt(k!), by sqrt(k+1) h_{k+1} = x h_k - sqrt(k) h_{k-1}.

    Args:
        max_order: the highest k.
        x: any shape.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import hermite_normalised_all
        >>> hermite_normalised_all(2, np.array([2.0]))[:, 0].round(4).tolist()
        [1.0, 2.0, 2.1213]
    """
    x = np.asarray(x, dtype=float)
    values = np.empty((max_order + 1, *x.shape))
    values[0] = 1.0
    if max_order >= 1:
        values[1] = x
    for k in range(1, max_order):
        following = np.multiply(x, values[k], out=values[k + 1, ...])
        following -= sqrt(k) * values[k - 1]
        following /= sqrt(k + 1)
    return values


def hermite(order: int, x: ArrayLike) -> Floats:
    """He_order(x), the monic polynomial orthogonal under the standard Gaussian."""
    return hermite_all(order, x)[order]


def hermite_series(coefficients: ArrayLike, x: ArrayLike) -> Floats:
    """sum_k c_k He_k(x), by Clenshaw's recurrence (stable at every order).

    Args:
        coefficients: c_0, c_1, ...
        x: any shape.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import hermite_series
        >>> hermite_series([0.0, 1.0, 1.0], np.array([2.0])).tolist()  # He1 + He2 at 2
        [5.0]
    """
    return np.polynomial.hermite_e.hermeval(np.asarray(x, dtype=float), np.asarray(coefficients, dtype=float))


@cache
def _multi_indices(rank: int, degree: int) -> tuple[tuple[int, ...], ...]:
    picks = combinations_with_replacement(range(rank), degree)
    return tuple(tuple(pick.count(axis) for axis in range(rank)) for pick in picks)


def multi_indices(rank: int, degree: int) -> Integers:
    """All (a_1, ..., a_rank) with sum exactly `degree`, one a row; axis 0 first.

    Examples:
        >>> from featlab.gaussian import multi_indices
        >>> multi_indices(rank=2, degree=2).tolist()
        [[2, 0], [1, 1], [0, 2]]
    """
    return np.array(_multi_indices(rank, degree), dtype=np.intp).reshape(-1, rank)


def hermite_products(points: Floats, degree: int) -> Floats:
    """h_a(points) for every multi-index |a| = degree: from points (N, r) to values (N, count)."""
    count, rank = points.shape
    one_axis = hermite_normalised_all(degree, points.T)  # (degree + 1, r, N)
    indices = _multi_indices(rank, degree)
    values = np.ones((len(indices), count))  # a product at a time stays in the cache
    for value, index in zip(values, indices, strict=True):
        for axis, order in enumerate(index):
            if order:
                value *= one_axis[order, axis]
    return values.T


def unfold(coefficients: Floats, rank: int, degree: int) -> Floats:
    """The unfolding of the tensor with the given coefficients c_a: rank rows, one for each axis.

    Statement: with T_k / sqrt(k!) of squared Frobenius norm sum_a c_a^2, the entry of the unfolding at axis i and
    multi-index b, |b| = k - 1, weighted by how often b occurs, is sqrt((b_i + 1) / k) c_{b + e_i}. Its column space is
    the smallest subspace U with T_k in U^{(x) k}.

    Args:
        coefficients: (..., count) coefficients in the order of `multi_indices(rank, degree)`.

    Returns:
        (..., rank, columns).
    """
    place = {index: position for position, index in enumerate(_multi_indices(rank, degree))}
    lower = _multi_indices(rank, degree - 1)
    source = np.empty((rank, len(lower)), dtype=np.intp)
    weight = np.empty((rank, len(lower)))
    for column, index in enumerate(lower):
        for axis in range(rank):
            raised = (*index[:axis], index[axis] + 1, *index[axis + 1 :])
            source[axis, column] = place[raised]
            weight[axis, column] = np.sqrt((index[axis] + 1) / degree)
    return np.asarray(coefficients)[..., source] * weight


def dense_tensor(coefficients: Floats, rank: int, degree: int) -> Floats:
    """The full symmetric tensor T_{i1..ik} = sqrt(a!) c_a, of shape (rank,) * degree."""
    tensor = np.zeros((rank,) * degree)
    for coefficient, index in zip(coefficients, _multi_indices(rank, degree), strict=True):
        value = coefficient * np.sqrt(float(np.prod([factorial(a) for a in index])))
        axes = [axis for axis, a in enumerate(index) for _ in range(a)]
        for place in set(permutations(axes)):
            tensor[place] = value
    return tensor
