"""Functions of the label, and of the label and the directions known so far, that samples are weighed with."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featlab.gaussian.hermite import Floats

# Labels of at most so many values have a function for each of them; others have polynomials of their rank.
MOST_CLASSES = 10
_POLYNOMIALS = 3
_DEGREES = {2: 5, 3: 4, 4: 3}
_KNOTS = (-1.5, -0.75, 0.0, 0.75, 1.5)
# What is left of a function after others were taken off it, if less than this, is rounding.
_NOTHING = 1e-6
_CUT = 4.0  # standard deviations of a response
_TAIL = 20  # one row in so many is in the tail
ROWS_PER_KURTOSIS = 4  # the mean of a square over so many rows is known within half of itself


def label_functions(labels: Floats, at: Floats | None = None) -> Floats:
    """Functions T_l(y) (n, L) of mean 0, variance 1 and no correlation: they change with no injective function of y.

    Labels of few values: L = values - 1, all functions there are. Others: Legendre's polynomials of degree 1 to 3 of
    the rank u in (0, 1), which no heavy tail of the label can spoil.

    Args:
        at: other labels (m,), at which the functions that `labels` define are wanted (m, L).
    """
    columns = _label_columns(labels, labels)
    functions = orthonormal(columns)
    if at is None:
        return functions
    mixing = np.linalg.lstsq(columns - columns.mean(axis=0), functions, rcond=None)[0]
    return (_label_columns(labels, at) - columns.mean(axis=0)) @ mixing


def _label_columns(labels: Floats, at: Floats) -> Floats:
    """Which of the values of `labels` each of `at` is; or polynomials of its rank among them."""
    values = np.unique(labels)
    if len(values) <= MOST_CLASSES:
        return (at[:, None] == values[1:]).astype(float)
    ordered = np.sort(labels)
    below = np.searchsorted(ordered, at, "left") + np.searchsorted(ordered, at, "right")  # twice, ties by halves
    return np.asarray(np.polynomial.legendre.legvander(below / len(labels) - 1, _POLYNOMIALS)[:, 1:], float)


def orthonormal(columns: Floats, off: Floats | None = None) -> Floats:
    """The columns (n, .) as functions of mean 0, variance 1 and no correlation with each other, nor with those of
    `off`; columns of which nothing is left are dropped."""
    count = len(columns)
    taken = np.ones((count, 1)) if off is None else np.column_stack([np.ones(count), off])
    basis, kept = np.linalg.qr(taken)[0], []
    for column in columns.T:
        scale = np.linalg.norm(column - column.mean())
        for _ in range(2):  # a second time for what rounding has left
            column = column - basis @ (basis.T @ column)
        size = np.linalg.norm(column)
        if size > _NOTHING * max(scale, np.finfo(float).tiny):
            basis = np.column_stack([basis, column / size])
            kept.append(column / size)
    return np.array(kept).reshape(-1, count).T * np.sqrt(count)


def all_responses(labels: Floats) -> tuple[Floats, int]:
    """What a link is fitted to (n, L + 1): the functions of the label, and the label itself, standardised, cut at four
    standard deviations; and the number of the functions, which come first."""
    functions = label_functions(labels)
    label = np.clip((labels - labels.mean()) / labels.std(), -_CUT, _CUT)
    return np.column_stack([functions, label]), functions.shape[1]


def rows_for_tails(values: Floats) -> float:
    """How many rows show the variance of values (n,) to within half of itself: four times their kurtosis
    E[(v - E v)^4] / Var(v)^2. For a class that one row in m has it is about 4 m; infinite for a constant."""
    if np.ptp(values) == 0:
        return inf
    centred = values - values.mean()
    return ROWS_PER_KURTOSIS * float(np.mean(centred**4) / np.mean(centred**2) ** 2)


def tail_index(values: Floats) -> float:
    """a of P(|v - median| > t) ~ t^-a, by the largest 5% of values (n,) (Hill 1975, Ann. Statist. 3); infinite where
    these are all the same. There is a variance for a > 2 alone."""
    sizes = np.sort(np.abs(values - np.median(values)))[::-1]
    last = max(5, len(sizes) // _TAIL)
    above = float(np.mean(np.log(sizes[:last] / sizes[last]))) if sizes[last] > 0 else inf
    return 1 / above if above > 0 else inf


class Fit(NamedTuple):
    """Responses (n, L) as functions g_l of coordinates c (n, k): what is left, and the slopes by c_j (k, n, L)."""

    left: Floats
    slopes: Floats


def fit_links(responses: Floats, fields: Floats) -> Fit:
    """g_l by least squares on `smooth_terms`."""
    terms, slopes = smooth_terms(fields)
    gram = terms.T @ terms
    gram[np.diag_indices(len(gram))] += 1e-9 * np.trace(gram) / len(gram)  # discrete coordinates leave terms alike
    fitted = np.linalg.solve(gram, terms.T @ responses)
    return Fit(responses - terms @ fitted, np.stack([slope @ fitted for slope in slopes]))


def conditional_responses(responses: Floats, functions: int, fields: Floats) -> tuple[Floats, Floats]:
    """What is left of the responses if coordinates c (n, k) are known: for the first order in the others (n, .),
    products with the coordinates included, and for the second order (n, .).

    Statement: let g_l(c) = E[T_l | c]. If the label depends on x through c alone, T_l - g_l and its products with c are
    independent of all other coordinates of Gaussian inputs. Directions are known with an error, by which a part of c
    counts among the others; a function phi(y, c) then shows a correlation with it of <phi, S_j> to first order,
    S_j = d log p(y | c) / d c_j. So phi is made orthogonal to (T_l - g_l) d g_l / d c_j, which for additive Gaussian
    noise span these scores (Neyman's orthogonality). In mean(phi z z^T) an error counts by its square, s ~ d/n, below
    the noise, ~ sqrt(d/n): there phi is T_l - g_l as it is, of variance 1 and without its tails, which would widen
    the noise.

    Args:
        functions: how many of the responses are functions of the label alone of variance 1, for nothing known.
    """
    if not fields.shape[1]:
        return responses[:, :functions], responses[:, :functions]
    left, slopes = fit_links(responses, fields)
    scores = np.column_stack([left * slope for slope in slopes])
    products = [left * fields[:, [place]] for place in range(fields.shape[1])]
    return orthonormal(np.column_stack([left, *products]), scores), np.clip(left / left.std(axis=0), -_CUT, _CUT)


def smooth_terms(fields: Floats) -> tuple[Floats, list[Floats]]:
    """Functions of coordinates (n, k) to fit a link with, and their derivatives by each coordinate: along one a cubic
    spline, else monomials up to a degree. Coordinates beyond three standard deviations count as three: no fit must
    follow a tail."""
    cut, count = np.clip(fields, -3, 3), fields.shape[1]
    if count == 1:
        beyond = np.maximum(cut - np.array(_KNOTS), 0)
        powers = np.arange(4)
        return (
            np.column_stack([cut**powers, beyond**3]),
            [np.column_stack([powers * cut ** np.maximum(powers - 1, 0), 3 * beyond**2])],
        )
    places = [
        chosen
        for size in range(_DEGREES.get(count, 2) + 1)
        for chosen in combinations_with_replacement(range(count), size)
    ]
    exponents = np.array([[chosen.count(place) for place in range(count)] for chosen in places])
    tables = cut[:, :, None] ** np.arange(exponents.max() + 1)

    def monomials(powers: NDArray[np.int_]) -> Floats:
        found = np.ones((len(cut), len(powers)))
        for place in range(count):
            found *= tables[:, place, np.maximum(powers[:, place], 0)]
        return found

    axes = np.eye(count, dtype=int)
    return monomials(exponents), [exponents[:, place] * monomials(exponents - axes[place]) for place in range(count)]


def hermite_products(fields: Floats, most: int) -> dict[tuple[int, ...], Floats]:
    """prod_j He_{k_j}(c_j) / sqrt(k_j!) (n,) of coordinates c (n, k), by degrees (k_1, .., k_k) of sum 1 to `most`."""
    count = fields.shape[1]
    single = np.stack(
        [np.polynomial.hermite_e.hermevander(fields[:, place], most) for place in range(count)]
    ) / np.sqrt([float(factorial(order)) for order in range(most + 1)])
    found = {}
    for size in range(1, most + 1):
        for chosen in combinations_with_replacement(range(count), size):
            degrees = tuple(chosen.count(place) for place in range(count))
            found[degrees] = np.prod([single[place, :, order] for place, order in enumerate(degrees)], axis=0)
    return found
