"""Which Hermite orders of the label, and of functions of it, are seen along directions that other rows have found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, factorial, inf, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from featlab.diagnosis.responses import (
    ROWS_PER_KURTOSIS,
    hermite_products,
    label_functions,
    rows_for_tails,
    smooth_terms,
    tail_index,
)
from featlab.diagnosis.search import Search, along, follow
from featlab.gaussian.hermite import Floats

CONFIDENCE = 0.95
# By the number of directions: the highest order that is looked at.
_MOST_ORDER = {1: 5, 2: 4, 3: 4, 4: 3}
_ROWS_EACH = 10
_GRID = 61
_LEAST_INDEX = 2.0
_SHOWN = 0.02  # of the rows, left out of a picture at either end


@dataclass(frozen=True)
class Coefficient:
    """E[phi(y) prod_j He_{k_j}(c_j)/sqrt(k_j!)] with an interval that holds for all coefficients of a list at once.

    Attributes:
        degrees: (k_1, ..), by direction.
        function: of the label: 0 is the label itself, standardised; 1, 2, .. are the functions T_l.
        half_width: of the interval; infinite if nothing can be told.
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
    at, if none is seen) could be without being seen, of those of which something can be told; infinite if of none."""

    value: int | None
    searched: int
    hidden: float


@dataclass(frozen=True, eq=False)
class Link:
    """The label along a direction that other rows have found: its mean on a grid, with a band of nominally
    95% at each point (counted: docs/your-data.md), of infinite width where nothing can be told."""

    grid: Floats
    mean: Floats
    half_width: Floats


@dataclass(frozen=True, eq=False)
class SmoothLink:
    """The standardised label as a smooth function of its coordinates, with the variance of what it leaves."""

    coefficients: Floats
    rank: int
    noise: float
    hidden: int = 0

    def link(self, fields: Floats) -> Floats:
        """At coordinates (n, k)."""
        return smooth_terms(fields)[0] @ self.coefficients


@dataclass(frozen=True, eq=False)
class Orders:
    """What is seen along the directions.

    Attributes:
        of_label: coefficients of the label; of_functions: of its functions, for each order and direction's degrees.
        information, generative: the exponents.
        links: the label along each direction.
        text: the link that the visible coefficients of the label make, in featlab's language, with its noise, the
            variance of the standardised label that it leaves; None if none is visible.
        smooth: the label along all directions together; None if its tails, or ten rows for each term, are not there.
        rows: how many were held out, on which all this was measured.
    """

    of_label: tuple[Coefficient, ...]
    of_functions: tuple[Coefficient, ...]
    information: Exponent
    generative: Exponent
    links: tuple[Link, ...]
    text: str | None
    noise: float | None
    smooth: SmoothLink | None
    rows: int


@dataclass(frozen=True, eq=False)
class HeldOut:
    """One half of the rows, seen through what the other half has fixed.

    Attributes:
        coordinates: along the directions of the other half (m, k), as they are.
        fields: the same with mean 0 and covariance I.
        labels: as they are (m,).
        label: the same, standardised by mean and deviation of the other half.
        functions: T_l (m, L), as the other half defines them.
        directions: (k, q), of the other half.
        too_heavy: whether the tails of the label are too much for these rows.
    """

    coordinates: Floats
    fields: Floats
    labels: Floats
    label: Floats
    functions: Floats
    directions: Floats
    too_heavy: bool = False


def held_out(
    found: Search, inputs: Floats, labels: Floats, responses: Floats, functions: int, *, heavy_inputs: bool = False
) -> HeldOut:
    """The second half of the rows, which are in random order, through what the first fixes: directions by the steps of
    a search, functions of the label and its scale. Given the first half, rows of the second are independent.

    Tails are those of the labels of both halves: one alone may miss them. The kurtosis of few rows is small, even if
    there is none at all; `heavy_inputs`, columns of tails that their normal scores hide, may hand them on to the label,
    which then is asked to have a variance, by Hill's index.
    """
    middle = len(labels) // 2
    first, second = slice(0, middle), slice(middle, None)
    if np.ptp(labels[first]) == 0:  # a rare class, which the other half then has
        first, second = second, first
    rows = follow(found, inputs[first], responses[first], functions)
    too_heavy = len(labels[second]) < rows_for_tails(labels) or (heavy_inputs and tail_index(labels) < _LEAST_INDEX)
    return replace(seen_through(rows, labels[first], inputs[second], labels[second]), too_heavy=too_heavy)


def seen_through(directions: Floats, known: Floats, inputs: Floats, labels: Floats) -> HeldOut:
    """Rows (m, q) with their labels (m,) through directions (k, q) and labels that are known."""
    coordinates = along(inputs, directions)
    return HeldOut(
        coordinates,
        _isotropic(coordinates),
        labels,
        (labels - known.mean()) / known.std(),
        label_functions(known, labels),
        directions,
    )


def _isotropic(fields: Floats) -> Floats:
    """Coordinates (m, k) of mean 0 and covariance I, each as near as possible to what it was."""
    centred = fields - fields.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(fields))
    kept = values > 1e-12 * values[-1]
    return centred @ (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T


def describe_orders(held: HeldOut) -> Orders:
    """Coefficients of the label, and of functions of it, along the directions of the other half.

    What the intervals cover: the coefficients along these directions, which are fixed by the other half, not along the
    true ones: along a direction of cosine m with a single true one, order k is m^k times that of the truth. An order
    that is not zero along them is not zero in truth either.

    Orders are looked at as far as there are ten rows for each coefficient, and four times the kurtosis
    E[he_k^4] (3, 15, 93, 639, ..) of the polynomial: beyond, its sums rest on a few rows, and no interval can
    be trusted. The same is asked of the label and of each function of it; where the kurtosis over the rows is larger,
    or the label's tails are (`held_out`), nothing is told of its coefficients, and of the label no band. Functions of
    the rank are bounded, and pass but for the fewest rows.
    """
    count, dims = held.fields.shape
    most = _MOST_ORDER.get(dims, 3)
    while most > 1 and count < max(_ROWS_EACH * comb(dims + most, most), ROWS_PER_KURTOSIS * kurtosis(most)):
        most -= 1
    products = hermite_products(held.fields, most + 2)  # two orders more, for what standardising adds to errors
    of_label = _coefficients(held.fields, products, held.label[:, None], most, first=0)
    if held.too_heavy:
        of_label = tuple(replace(one, half_width=inf) for one in of_label)
    of_functions = _coefficients(held.fields, products, held.functions, most, first=1)
    seen = [one for one in of_label if one.visible]
    text = " + ".join(_term(one) for one in seen) if seen else None
    fitted = sum((one.value * products[one.degrees] for one in seen), np.zeros(count))
    links = tuple(_link(one, held.labels) for one in held.coordinates.T)
    if not any(np.isfinite(one.half_width) for one in of_label):
        links = tuple(replace(link, half_width=np.full_like(link.mean, inf)) for link in links)
    return Orders(
        of_label,
        of_functions,
        _exponent(of_label),
        _exponent(of_functions),
        links,
        text,
        float(np.var(held.label - fitted)) if seen else None,
        None if held.too_heavy else _smooth(held.fields, held.label),
        count,
    )


def kurtosis(order: int) -> float:
    """E[he_k(z)^4] of a normalised Hermite polynomial, z ~ N(0, 1): he_k^2 has the coefficients C(k, r)^2 r! / k! of
    He_{2 (k - r)}, whose squares have the means (2 (k - r))!."""
    return sum(
        (comb(order, less) ** 2 * factorial(less) / factorial(order)) ** 2 * factorial(2 * (order - less))
        for less in range(order + 1)
    )


def _coefficients(
    fields: Floats, products: dict[tuple[int, ...], Floats], responses: Floats, most: int, first: int
) -> tuple[Coefficient, ...]:
    """By least squares on all orders up to `most` together, whose limit for Gaussian coordinates are the coefficients.

    Statement: an estimate with influences v_i (each row's part of its error: residual times its row of the
    pseudo-inverse over 1 - leverage, HC3 of MacKinnon and White 1985; and what standardising adds) has the standard
    error s, s^2 = sum v_i^2. Its half-width is s (t + |g| (1 + 2 t^2) / 6): t the quantile of Student's law for all
    coefficients of the list at once (Bonferroni) with 2 s^4 / (sum v_i^4 - s^4 / n) degrees of freedom, those of s^2
    (Satterthwaite 1946), and g = sum v_i^3 / s^3 the first term of Edgeworth's expansion of a studentised mean (Hall
    1992, The Bootstrap and Edgeworth Expansion, 2.6), taken on both sides.
    """
    count = len(responses)
    chosen = [degrees for degrees in products if sum(degrees) <= most]
    tail = (1 - CONFIDENCE) / (2 * len(chosen) * responses.shape[1])
    terms = np.column_stack([np.ones(count), *(products[degrees] for degrees in chosen)])
    inverse = np.linalg.pinv(terms.T @ terms)
    leverage = np.einsum("ij,jk,ik->i", terms, inverse, terms)
    fitted = inverse @ (terms.T @ responses)
    left = responses - terms @ fitted
    values = dict(zip(chosen, fitted[1:], strict=True))
    beyond = {degrees: column @ left / count for degrees, column in products.items() if sum(degrees) > most}
    left /= np.maximum(1 - leverage, 1e-6)[:, None]
    own = terms @ inverse  # (n, terms)
    heavy = [count < rows_for_tails(column) for column in responses.T]
    found = []
    for place, degrees in enumerate(chosen, start=1):
        shift, moved = _standardising(fields, values | beyond, degrees)
        influences = own[:, [place]] * left + shift @ moved / count
        widths = np.where(heavy, inf, _half_widths(influences, tail))
        found += [
            Coefficient(degrees, first + number, float(value), float(width))
            for number, (value, width) in enumerate(zip(values[degrees], widths, strict=True))
        ]
    return tuple(found)


def _half_widths(influences: Floats, tail: float) -> Floats:
    """By columns of influences (n, L); a constant has no error."""
    squares, cubes, fourths = (np.sum(influences**power, axis=0) for power in (2, 3, 4))
    scale = np.where(squares > 0, squares, 1)
    count = len(influences)
    freedom = 2 / np.maximum(fourths / scale**2 - 1 / count, 2 / count)
    wide = -stdtrit(freedom, tail)
    skewness = np.abs(cubes) / scale**1.5
    return np.asarray(np.sqrt(squares) * (wide + skewness * (1 + 2 * wide**2) / 6))


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
    could = [abs(one.value) + one.half_width for one in below if np.isfinite(one.half_width)]
    return Exponent(lowest, searched, max(could, default=inf if below else 0.0))


def _term(one: Coefficient) -> str:
    """A coefficient as text in the directions h1, h2, .."""
    scale = sqrt(float(np.prod([factorial(order) for order in one.degrees])))
    factors = [f"He{order}(h{place + 1})" for place, order in enumerate(one.degrees) if order]
    return f"({one.value / scale:.4g})*" + "*".join(factors)


def _smooth(fields: Floats, label: Floats) -> SmoothLink | None:
    """By least squares, which leaves n - p of n parts of the noise."""
    terms, _ = smooth_terms(fields)
    count, width = terms.shape
    if count < _ROWS_EACH * width:
        return None
    coefficients = np.asarray(np.linalg.lstsq(terms, label, rcond=1e-9)[0], float)
    left = label - terms @ coefficients
    return SmoothLink(coefficients, fields.shape[1], float(left @ left / (count - width)))


def _link(field: Floats, labels: Floats) -> Link:
    """A cubic spline by least squares, with the band of its own errors (HC3), which may differ from place to place."""
    terms, _ = smooth_terms(field[:, None])
    low, high = np.quantile(field, [_SHOWN, 1 - _SHOWN])
    grid = np.linspace(low, high, _GRID)
    at, _ = smooth_terms(grid[:, None])
    inverse = np.linalg.pinv(terms.T @ terms, rcond=1e-12)
    fitted = inverse @ (terms.T @ labels)
    leverage = np.einsum("ij,jk,ik->i", terms, inverse, terms)
    left = (labels - terms @ fitted) / np.maximum(1 - leverage, 1e-6)
    spread = inverse @ ((terms * left[:, None] ** 2).T @ terms) @ inverse
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", at, spread, at), 0))
    return Link(grid, at @ fitted, -ndtri(0.025) * errors)
