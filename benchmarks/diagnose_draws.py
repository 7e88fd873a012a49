"""What `featlab.diagnose` finds in one draw of data whose truth is known; `benchmarks.diagnose` counts over many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import ndtr
from scipy.stats import t as student

import featlab
from featlab.diagnosis.angles import CANNOT_TELL, bootstrap_angles
from featlab.diagnosis.inputs import describe_columns, normal_scores, prepare
from featlab.diagnosis.orders import Coefficient, Link, describe_orders, held_out, seen_through
from featlab.diagnosis.responses import all_responses, hermite_products, smooth_terms
from featlab.diagnosis.search import Search, search

LAWS = ("isotropic", "spiked", "heavy-tailed", "discrete")
AS_THEY_ARE, NOISY = "heavy, as they are", "isotropic, noisy"
_NOISE = 0.1  # of the variance of the label without it; that of `NOISY` has as much as that
_SPIKE = 4.0
_FRESH = 60_000  # rows that the truth along estimated directions is measured on


def _generator(key: int, seed: int, *case: object) -> np.random.Generator:
    """Independent draws for different cases, too."""
    return np.random.default_rng([key, seed, crc32(repr(case).encode())])


def drawn_inputs(law: str, rows: int, dim: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, d), and the same with population covariance I, of which the fields of a target are taken."""
    white = draw.standard_normal((rows, dim))
    if law == "heavy-tailed":  # increasing functions of Gaussian columns, of which the label depends on a few sums
        return student.ppf(ndtr(white), 3), white
    if law == AS_THEY_ARE:  # the label depends on sums of the columns as they are
        white = draw.standard_t(3, (rows, dim)) / np.sqrt(3)
    if law == "discrete":
        white = np.sign(white)
    if law == "spiked":
        along = np.full(dim, dim**-0.5)
        return white + (np.sqrt(1 + _SPIKE) - 1) * np.outer(white @ along, along), white
    return white, white


@dataclass(frozen=True)
class Looked:
    """The search of a diagnosis, with what it was done on.

    Attributes:
        coordinates: isotropic (n, q).
        at: other inputs (m, d) in the same coordinates (m, q), by what these rows have fixed.
        heavy: whether columns of heavy tails became normal scores.
    """

    found: Search
    coordinates: np.ndarray
    responses: np.ndarray
    functions: int
    at: Callable[[np.ndarray], np.ndarray]
    heavy: bool


def looked_at(inputs: np.ndarray, labels: np.ndarray, draw: np.random.Generator) -> Looked:
    """The search of a diagnosis."""
    columns = describe_columns(inputs, tuple(f"x{place}" for place in range(inputs.shape[1])))
    scored = inputs.copy()
    coordinates, _, _ = prepare(scored, columns)
    shown = [normal_scores(x) if one.ranked else x for x, one in zip(inputs.T, columns, strict=True)]

    def at(others: np.ndarray) -> np.ndarray:
        parts = [
            (np.interp(x, np.sort(own), np.sort(score)) if one.ranked else x, score)
            for x, own, score, one in zip(others.T, inputs.T, shown, columns, strict=True)
        ]
        return np.stack([(x - score.mean()) / score.std() for x, score in parts], axis=1) @ coordinates.matrix.T

    responses, functions = all_responses(labels)
    found = search(coordinates.values, responses, functions, draw)
    return Looked(found, coordinates.values, responses, functions, at, any(one.ranked for one in columns))


def noise_draw(law: str, labels: str, rows: int, dim: int, key: int, seed: int) -> dict[str, Any]:
    """Whether noise shows a direction."""
    draw = _generator(key, seed, law, labels, rows, dim)
    inputs, outcome = drawn_inputs(law, rows, dim, draw)[0], draw.standard_normal(rows)
    outcome = outcome if labels == "continuous" else (outcome > 0).astype(float)
    return {"alarm": bool(looked_at(inputs, outcome, draw).found.steps)}


def target_draw(name: str, law: str, rows: int, dim: int, key: int, seed: int) -> dict[str, Any]:
    """What is found of a target of the catalogue, and whether the intervals hold.

    The truth of what is said along directions that half of the rows have found is measured on many fresh rows.
    """
    draw = _generator(key, seed, name, law, rows, dim)
    link = featlab.target(featlab.catalogue[name].text)
    frame = np.linalg.qr(draw.standard_normal((dim, link.rank)))[0]

    def clean(white: np.ndarray) -> np.ndarray:
        return link.link(np.hstack([white @ frame, draw.standard_normal((len(white), link.hidden))]))

    inputs, white = drawn_inputs(law, rows, dim, draw)
    exact = clean(white)
    noise = np.sqrt((1 if law == NOISY else _NOISE) * exact.var())
    labels = exact + noise * draw.standard_normal(rows)
    looked = looked_at(inputs, labels, draw)
    found = looked.found
    answer: dict[str, Any] = {"count": len(found.rows), "information": None, "generative": None}
    if not len(found.rows):
        return answer
    values, responses, functions = looked.coordinates, looked.responses, looked.functions
    median, low, high = bootstrap_angles(found, values, labels, responses, functions, draw).T
    true = angles_to(values, white @ frame, found.rows)
    held = held_out(found, values, labels, responses, functions, heavy_inputs=looked.heavy)
    orders = describe_orders(held)
    fresh, fresh_white = drawn_inputs(law, _FRESH, dim, draw)
    fresh_labels = clean(fresh_white) + noise * draw.standard_normal(_FRESH)
    truth = seen_through(held.directions, labels[: rows // 2], looked.at(fresh), fresh_labels)
    return answer | {
        "information": orders.information.value,
        "generative": orders.generative.value,
        "angles": _held(true <= high, high),
        "lower": _held(true >= low, high),
        "medians": _held(true <= median, high),
        "bounds": high.tolist(),
        "true": true.tolist(),
        "label": inside(orders.of_label, truth.label[:, None], truth.fields),
        "functions": inside(orders.of_functions, truth.functions, truth.fields),
        "band": band(orders.links, truth.coordinates, fresh_labels),
    }


def _held(answers: np.ndarray, high: np.ndarray) -> list[bool | None]:
    """Whether a bound holds, of each direction; None where nothing is told."""
    return [bool(one) if bound < CANNOT_TELL else None for one, bound in zip(answers, high, strict=True)]


def angles_to(coordinates: np.ndarray, fields: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Angles (k,) in degrees of directions (k, q) to the span of those that give the fields (n, r)."""
    true = np.linalg.qr(np.linalg.lstsq(coordinates.astype(float), fields - fields.mean(axis=0), rcond=None)[0])[0]
    return np.degrees(np.arccos(np.minimum(np.linalg.norm(rows @ true, axis=1), 1)))


def inside(coefficients: tuple[Coefficient, ...], responses: np.ndarray, fields: np.ndarray) -> bool | None:
    """Whether all intervals that are given hold the coefficients of least squares on many rows; None if none is."""
    most = max(one.order for one in coefficients)
    products = hermite_products(fields, most)
    terms = np.column_stack([np.ones(len(fields)), *products.values()])
    fitted = np.linalg.lstsq(terms, responses, rcond=None)[0][1:]
    truth = {
        (degrees, number): value
        for degrees, row in zip(products, fitted, strict=True)
        for number, value in enumerate(row)
    }
    given = [one for one in coefficients if np.isfinite(one.half_width)]
    first = coefficients[0].function
    missed = [abs(one.value - truth[one.degrees, one.function - first]) > one.half_width for one in given]
    return not any(missed) if given else None


def band(links: tuple[Link, ...], fields: np.ndarray, labels: np.ndarray) -> float | None:
    """The share of the pictures' grids at which the band holds the curve of many rows; None where none is given."""
    if not all(np.isfinite(link.half_width).all() for link in links):
        return None
    shares = []
    for link, field in zip(links, fields.T, strict=True):
        terms, _ = smooth_terms(field[:, None])
        curve = smooth_terms(link.grid[:, None])[0] @ np.linalg.lstsq(terms, labels, rcond=None)[0]
        shares.append(np.mean(np.abs(curve - link.mean) <= link.half_width))
    return float(np.mean(shares))


def real_draw(name: str, text: str, key: int, seed: int) -> dict[str, Any]:
    """How many directions of a data set are found for a label planted on random columns of it, and how well."""
    from sklearn import datasets

    draw = _generator(key, seed, name, text)
    inputs = getattr(datasets, f"load_{name}")().data.astype(float)
    inputs = inputs[:, inputs.std(axis=0) > 0][draw.permutation(len(inputs))]
    link = featlab.target(text)
    standard = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    chosen = draw.permutation(inputs.shape[1])[: 2 * link.rank].reshape(link.rank, 2)
    fields = np.stack([standard[:, pair].sum(axis=1) for pair in chosen], axis=1)
    labels = noisy(link.link(fields / fields.std(axis=0)), draw)
    looked = looked_at(inputs, labels, draw)
    rows = looked.found.rows
    seen = explained(fields, looked.coordinates @ rows.T) if len(rows) else np.zeros(link.rank)
    return {"count": len(rows), "explained": seen.tolist()}


def shipped(name: str, seed: int) -> dict[str, Any]:
    """What a whole diagnosis says of a data set."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    found = featlab.diagnose(data.data, data.target, seed=seed)
    verdict = found.findings.analysis and found.findings.analysis.verdict.value
    return {"count": found.findings.directions.count, "verdict": verdict, "advice": found.advice}


def noisy(clean: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Labels with additive noise of a tenth of their variance."""
    return clean + np.sqrt(_NOISE * clean.var()) * draw.standard_normal(len(clean))


def explained(fields: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The share of the variance of each of the fields (n, k) that linear regression on others (n, l) explains."""
    fields, by = (part - part.mean(axis=0) for part in (fields, by))
    left = fields - by @ np.linalg.lstsq(by, fields, rcond=None)[0]
    return np.clip(1 - left.var(axis=0) / fields.var(axis=0), 0, 1)
