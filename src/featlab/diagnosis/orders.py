"""Which Hermite orders of the label, and of functions of it, are seen along the directions found, on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial, sqrt

import numpy as np
from scipy.special import ndtri

from featlab.diagnosis.responses import hermite_products, smooth_terms
from featlab.diagnosis.search import Search, along, follow
from featlab.gaussian.hermite import Floats

CONFIDENCE = 0.95
# By the number of directions: the highest order that is looked at.
_MOST_ORDER = {1: 5, 2: 4, 3: 4, 4: 3}
_ROWS_EACH = 10
_GRID = 61
_SHOWN = 0.02  # of the rows, left out of a picture at either end


@dataclass(frozen=True)
class Coefficient:
    """E[phi(y) prod_j He_{k_j}(c_j)/sqrt(k_j!)] with an interval that holds for all coefficients of a list at once.

    Attributes:
        degrees: (k_1, ..), by direction.
        function: of the label: 0 is the label itself, standardised; 1, 2, .. are the functions T_l.
    """

    degrees: tuple[int, ...]
    function: int
    value: float
    half_width: float

    @property
    def order(self) -> int:
        return sum(self.degrees)

    @property
    def visible(self) -> bool:
        return abs(self.value) > self.half_width


@dataclass(frozen=True)
class Exponent:
    """The lowest order that is seen, if any, and how large a coefficient of a lower order (or of any of those looked
    at, if none is seen) could be without being seen."""

    value: int | None
    searched: int
    hidden: float


@dataclass(frozen=True, eq=False)
class Link:
    """The label along one direction: its mean on a grid, with a band of 95% at each point."""

    grid: Floats
    mean: Floats
    half_width: Floats


@dataclass(frozen=True, eq=False)
class Orders:
    """What is seen along the directions.

    Attributes:
        of_label: coefficients of the label; of_functions: of its functions, for each order and direction's degrees.
        information, generative: the exponents.
        links: the label along each direction.
        text: the link that the visible coefficients of the label make, in featlab's language, with its noise, the
            variance of the standardised label that it leaves; None if none is visible.
    """

    of_label: tuple[Coefficient, ...]
    of_functions: tuple[Coefficient, ...]
    information: Exponent
    generative: Exponent
    links: tuple[Link, ...]
    text: str | None
    noise: float | None
    rows: int


def held_out_fields(
    found: Search, inputs: Floats, responses: Floats, functions: int, folds: int = 4
) -> tuple[Floats, Floats]:
    """Coordinates (n, k), standardised, of every row along directions that the other folds have found; and these
    directions (folds, k, q). Rows are in random order."""
    parts = np.array_split(np.arange(len(inputs)), folds)
    fields, directions = np.zeros((len(inputs), len(found.rows))), []
    for part in parts:
        rest = np.ones(len(inputs), bool)
        rest[part] = False
        rows = follow(found, inputs[rest], responses[rest], functions)
        fields[part] = along(inputs[part], rows)
        directions.append(rows)
    return (fields - fields.mean(axis=0)) / fields.std(axis=0), np.array(directions)


def describe_orders(fields: Floats, labels: Floats, functions: Floats) -> Orders:
    """Coefficients along held-out coordinates (n, k) of labels and functions of them (n, L).

    By least squares on all orders together, whose limit for Gaussian coordinates are the coefficients, and which large
    labels of one order spoil less in the others than means do; errors are robust (MacKinnon, White 1985, HC3),
    intervals simultaneous over a list by Bonferroni. Orders are looked at as far as there are ten rows for each
    coefficient. The coordinates come from directions with errors: along one of cosine m with the truth, order k of a
    single direction is m^k times that along the truth.
    """
    standard = (labels - labels.mean()) / labels.std()
    most = _MOST_ORDER.get(fields.shape[1], 3)
    while most > 1 and len(labels) < _ROWS_EACH * comb(fields.shape[1] + most, most):
        most -= 1
    products = hermite_products(fields, most)
    of_label = _coefficients(fields, products, standard[:, None], first=0)
    of_functions = _coefficients(fields, products, functions, first=1)
    seen = [one for one in of_label if one.visible]
    text = " + ".join(_term(one) for one in seen) if seen else None
    fitted = sum((one.value * products[one.degrees] for one in seen), np.zeros(len(labels)))
    links = tuple(_link(fields[:, place], labels) for place in range(fields.shape[1]))
    return Orders(
        of_label,
        of_functions,
        _exponent(of_label),
        _exponent(of_functions),
        links,
        text,
        float(np.var(standard - fitted)) if seen else None,
        len(labels),
    )


def _coefficients(
    fields: Floats, products: dict[tuple[int, ...], Floats], responses: Floats, first: int
) -> tuple[Coefficient, ...]:
    tests = len(products) * responses.shape[1]
    wide, found = -ndtri((1 - CONFIDENCE) / (2 * tests)), []
    terms = np.column_stack([np.ones(len(responses)), *products.values()])
    inverse = np.linalg.pinv(terms.T @ terms)
    leverage = np.einsum("ij,jk,ik->i", terms, inverse, terms)
    fitted = inverse @ (terms.T @ responses)
    left = (responses - terms @ fitted) / np.maximum(1 - leverage, 1e-6)[:, None]
    own = terms @ inverse  # (n, terms)
    for place, degrees in enumerate(products, start=1):
        shift, moved = _standardising(fields, dict(zip(products, fitted[1:], strict=True)), degrees)
        for number in range(responses.shape[1]):
            influence = own[:, place] * left[:, number] + (shift @ moved[:, number]) / len(fields)
            half = float(wide) * sqrt(float(np.sum(influence**2)))
            found.append(Coefficient(degrees, first + number, float(fitted[place, number]), half))
    return tuple(found)


def _standardising(
    fields: Floats, values: dict[tuple[int, ...], Floats], degrees: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """What not knowing mean and covariance of the coordinates adds to the error of a coefficient: numbers of each row
    (n, m) of mean 0, and how the coefficient of each response changes with their mean (m, L).

    Statement: let h_j = m_j + c_j + sum_i S_ji c_i with m the mean of the h, S half the excess of their covariance
    over I, both small and taken off in c. Then b_k in c is that in h and
    sum_j m_j E[d_j f he_k] + sum_ij S_ji E[h_i d_j f he_k], with E[d_j f he_k] = sqrt(k_j + 1) b_{k + e_j} and
    h_i he_k = sqrt(k_i + 1) he_{k + e_i} + sqrt(k_i) he_{k - e_i}.
    """
    count, nothing = len(degrees), np.zeros_like(next(iter(values.values())))

    def at(place: int, by: int, start: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(order + by * (number == place) for number, order in enumerate(start))

    def slope(place: int, start: tuple[int, ...]) -> Floats:
        return sqrt(start[place] + 1) * values.get(at(place, 1, start), nothing)

    rows, changes = [], []
    for j in range(count):
        rows.append(fields[:, j])
        changes.append(slope(j, degrees))
        for i in range(count):
            rows.append((fields[:, i] * fields[:, j] - (i == j)) / 2)
            change = sqrt(degrees[i] + 1) * slope(j, at(i, 1, degrees))
            if degrees[i]:
                change = change + sqrt(degrees[i]) * slope(j, at(i, -1, degrees))
            changes.append(change)
    return np.column_stack(rows), np.array(changes)


def _exponent(coefficients: tuple[Coefficient, ...]) -> Exponent:
    searched = max(one.order for one in coefficients)
    lowest = min((one.order for one in coefficients if one.visible), default=None)
    below = [one for one in coefficients if lowest is None or one.order < lowest]
    return Exponent(lowest, searched, max((abs(one.value) + one.half_width for one in below), default=0.0))


def _term(one: Coefficient) -> str:
    """A coefficient as text in the directions h1, h2, .."""
    scale = sqrt(float(np.prod([factorial(order) for order in one.degrees])))
    factors = [f"He{order}(h{place + 1})" for place, order in enumerate(one.degrees) if order]
    return f"({one.value / scale:.4g})*" + "*".join(factors)


def _link(field: Floats, labels: Floats) -> Link:
    """A cubic spline by least squares, with the band of its own errors, which may differ from place to place."""
    terms, _ = smooth_terms(field[:, None])
    low, high = np.quantile(field, [_SHOWN, 1 - _SHOWN])
    grid = np.linspace(low, high, _GRID)
    at, _ = smooth_terms(grid[:, None])
    inverse = np.linalg.pinv(terms.T @ terms, rcond=1e-12)
    fitted = inverse @ (terms.T @ labels)
    left = labels - terms @ fitted
    spread = inverse @ ((terms * left[:, None] ** 2).T @ terms) @ inverse
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", at, spread, at), 0))
    return Link(grid, at @ fitted, -ndtri(0.025) * errors)
