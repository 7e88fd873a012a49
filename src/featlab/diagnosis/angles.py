"""How far the directions found are from the truth, by a bootstrap: labels drawn anew from a link fitted along them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import f as variance_ratio

from featlab.diagnosis.responses import MOST_CLASSES, all_responses, smooth_terms
from featlab.diagnosis.search import Search, along, follow
from featlab.estimators.linear import fit_features
from featlab.gaussian.hermite import Floats
from featlab.learners.fields import LEAVE_ONE_OUT

CANNOT_TELL = 90.0  # degrees: no angle is larger
_UNTOLD = (CANNOT_TELL, 0.0, CANNOT_TELL)
_ENOUGH_FREEDOM, _FEWEST_DRAWS, _MOST_DRAWS = 100, 4, 8  # degrees of freedom beyond which more draws tell little
_FOLDS = 5
_LEVELS = (0.5, 0.05, 0.95)

Redraw = Callable[[], Floats]


def bootstrap_angles(
    found: Search, inputs: Floats, labels: Floats, responses: Floats, functions: int, draw: np.random.Generator
) -> Floats:
    """The angle of each direction to the span of the true ones (k, 3), in degrees: its median, and a lower and an
    upper bound that hold with 95% each; 90, 0 and 90 where nothing can be told.

    Statement: with inputs kept, labels y* = g(c) + s e are drawn, g a link fitted along k directions, c the coordinates
    along those found, e the residual of the same row and s a random sign (the wild bootstrap: Wu 1986, Ann. Statist.
    14; Liu 1988, Ann. Statist. 16), which keeps whatever the size of e depends on; labels of few values are drawn from
    fitted probabilities. The steps of the search, done again with y*, give directions whose angles to the span that
    y* depends on are known: T* = tan^2 of them. Inputs being kept, d/n is that of the data. (Resampling rows leaves
    63% of them, of which some count twice, and its angles were far too small.) With T and T* of nu degrees of freedom,
    T over the mean of R draws has the law F of nu and R nu, nu = (E|v|^2)^2 / E<v, v'>^2 of the errors v, v' of two
    draws, at most their dimension q - k (Satterthwaite 1946).

    Which link g: along the directions found it is too strong, as they fit the noise of the same rows; along those
    that other rows find (five folds) it is too weak, as these have errors of their own. For a linear link of share s^2
    of the variance, by least squares, T = (d/n)(1 - s^2)/s^2, and to first order in d/n

        E T* = T (1 - d / (n s^2)) along the directions found: signal s^2 + (1 - s^2) d/n, noise (1 - s^2)(1 - d/n),
        E T* = T (1 + F/(F - 1) d / (n s^2)) for F folds: signal s^2 / (1 + T F/(F - 1)), all else noise.

    So the lower bound is by the first, the upper by the larger of the two, and the median by their geometric mean with
    weights F and F - 1, in which these errors cancel. The steps of the search fit links of several functions of the
    label, not least squares: their errors are larger, to either side. A direction that is noise is flat along those of
    other rows, and lost in the draws. Errors are taken to be small: nothing is told where the upper bound is 45 degrees
    or more.

    Assumed: rows are independent; the label depends on the inputs through few coordinates (else angles are too small).

    Args:
        inputs: (n, q) of mean 0 and covariance I. labels: (n,), with `responses` and `functions` of `all_responses`.
    """
    dim, count = inputs.shape[1], len(found.rows)
    if dim == count:
        return np.zeros((count, 3))
    draws = min(_MOST_DRAWS, max(_FEWEST_DRAWS, 1 + _ENOUGH_FREEDOM // (dim - count)))
    inside, others = squared_errors(found, inputs, labels, responses, functions, draws, draw)
    weight = _FOLDS / (2 * _FOLDS - 1)
    middle = np.stack([inside[0] ** weight * others[0] ** (1 - weight), np.minimum(inside[1], others[1])])
    upper = np.where(others[0] >= inside[0], others, inside)
    squared = [
        size * variance_ratio.ppf(level, freedom, draws * freedom)
        for (size, freedom), level in zip((middle, inside, upper), _LEVELS, strict=True)
    ]
    angles = np.degrees(np.arctan(np.sqrt(squared))).T
    return np.where(squared[-1][:, None] < 1, angles, _UNTOLD)


def squared_errors(
    found: Search,
    inputs: Floats,
    labels: Floats,
    responses: Floats,
    functions: int,
    draws: int,
    draw: np.random.Generator,
) -> tuple[Floats, Floats]:
    """The means of T* over draws, and their degrees of freedom (2, k), for the link along the directions found, and
    for that along the directions of other rows."""
    fields = along(inputs, found.rows)
    inside, others = (
        _sizes_and_freedom(_errors(found, inputs, _redrawing(known, fields, labels, draw), draws))
        for known in (fields, _through_other_rows(found, inputs, responses, functions))
    )
    return inside, others


def _through_other_rows(found: Search, inputs: Floats, responses: Floats, functions: int) -> Floats:
    """Coordinates (n, k) of each row along the directions that the steps find in the other folds."""
    fold, fields = np.arange(len(inputs)) % _FOLDS, np.empty((len(inputs), len(found.rows)))
    for place in range(_FOLDS):
        own = fold == place
        fields[own] = along(inputs[own], follow(found, inputs[~own], responses[~own], functions))
    return fields


def _redrawing(known: Floats, fields: Floats, labels: Floats, draw: np.random.Generator) -> Redraw:
    """Labels anew at coordinates `fields` (n, k), by a link fitted to labels at `known` (n, k)."""
    values = np.unique(labels)
    if len(values) > MOST_CLASSES:
        at_known, at = _fitted(known, fields, labels)
        left = labels - at_known
        return lambda: at + left * draw.choice([-1.0, 1.0], len(left))
    shares = np.stack([_fitted(known, fields, labels == value)[1] for value in values], axis=1)
    shares = np.clip(shares, np.finfo(float).tiny, 1)  # least squares may leave [0, 1]
    below = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    return lambda: values[np.sum(draw.random((len(below), 1)) > below[:, :-1], axis=1)]


def _fitted(known: Floats, fields: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """A smooth link of the outcome at `known`, there and at `fields`: ridge regression, its ridge by leave-one-out."""
    terms, others = (smooth_terms(places)[0][:, 1:] for places in (known, fields))
    spread = terms.std(axis=0)
    scale = np.where(spread > 0, spread, 1)
    fit = fit_features(terms / scale, np.asarray(outcome, float), LEAVE_ONE_OUT, intercept=True)
    return tuple(part / scale @ fit.coefficients + fit.intercept for part in (terms, others))  # type: ignore[return-value]


def _errors(found: Search, inputs: Floats, redraw: Redraw, draws: int) -> Floats:
    """Of directions found again (R, k, q): their parts off the span, over the sizes of those in it."""
    errors = []
    for _ in range(draws):
        labels = redraw()
        if np.ptp(labels) == 0:  # a rare class: no direction is to be found in these
            errors.append(np.full(found.rows.shape, np.inf))
            continue
        again = follow(found, inputs, *all_responses(labels))
        within = again @ found.rows.T
        size = np.linalg.norm(within, axis=1, keepdims=True)
        errors.append((again - within @ found.rows) / np.maximum(size, np.finfo(float).tiny))
    return np.array(errors)


def _sizes_and_freedom(errors: Floats) -> Floats:
    """E|v|^2, and (E|v|^2)^2 / E<v, v'>^2 (2, k), from errors (R, k, q)."""
    draws, count, dim = errors.shape
    if not np.isfinite(errors).all():
        return np.stack([np.full(count, np.inf), np.ones(count)])
    products = np.einsum("akq,bkq->kab", errors, errors)
    sizes = np.einsum("kaa->k", products) / draws
    pairs = (np.sum(products**2, axis=(1, 2)) - np.einsum("kaa->k", products**2)) / (draws * (draws - 1))
    least = np.finfo(float).tiny
    return np.stack([sizes, np.clip(sizes**2 / np.maximum(pairs, least), 1, dim - count)])
