"""Functions given as code: what is none is refused, poles are found, and what is left in doubt is said."""

from itertools import count

import numpy as np
import pytest

import featlab
from featlab.errors import InvalidTarget
from featlab.targets.poles import find_poles
from featlab.targets.repeatable import check_repeatable

RANDOM = np.random.default_rng(0)
CALLS = count(1)


def _cleared(h):
    h[..., 0] = 0.0
    return h.sum(axis=-1)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda h: h[..., 0] + RANDOM.normal(size=h.shape[:-1]), "called twice"),
        (lambda h: h[..., 0] + 1e-3 * RANDOM.normal(), "called twice"),
        (lambda h: h[..., 0] * next(CALLS), "called twice"),
        (lambda h: h[..., 0] - h[..., 0].mean(), "other points of its batch"),
        (lambda h: h[..., 0] / h.std(), "other points of its batch"),
        (lambda h: np.sort(h[..., 0].ravel()).reshape(h.shape[:-1]), "other points of its batch"),
        (lambda h: h[..., 0] + (h[..., 0].size == 1), "one by one"),
        (lambda h: h[..., 0] + (h.ndim > 2), "in another shape"),
        (_cleared, "changes the array"),
        (lambda h: 1 / 0, "ZeroDivisionError"),
        (lambda h: h.no_such_thing, "AttributeError"),
    ],
)
def test_what_is_no_function_of_a_point_is_refused(function, words):
    with pytest.raises(InvalidTarget, match=words):
        featlab.target(function, rank=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda h: np.tanh(h[..., 0] @ np.ones(())) if h.ndim == 1 else np.tanh(h[..., 0]),
        lambda h: np.exp(h @ np.array([0.3, 0.4])),  # a matrix product is rounded by the shape of its batch
        lambda h: np.where(h[..., 0] > 0, np.nan, 1.0),  # undefined, which others refuse
    ],
)
def test_functions_of_a_point_are_repeatable(function):
    check_repeatable(lambda h: np.asarray(function(h)), 2)


@pytest.mark.parametrize(
    ("function", "rank"),
    [
        (lambda h: 1 / h[..., 0], 1),
        (lambda h: np.abs(h[..., 0] - 0.3) ** -0.6, 1),
        (lambda h: h[..., 0] ** -2.0, 1),
        (lambda h: np.tan(h[..., 0]), 1),
        (lambda h: 1 / (h[..., 0] - h[..., 1] ** 2), 2),
        (lambda h: 1 / (h[..., 0] ** 2 + h[..., 1] ** 2 - 1), 2),
        (lambda h: 1 / (h[..., 0] ** 2 + h[..., 1] ** 2), 2),
    ],
)
def test_poles_too_strong_are_refused(function, rank):
    with pytest.raises(InvalidTarget, match="not square-integrable"):
        featlab.target(function, rank=rank)


@pytest.mark.parametrize(
    ("function", "rank", "strength"),
    [
        (lambda h: np.abs(h[..., 0] - 0.3) ** -0.25, 1, 0.25),
        (lambda h: np.abs(h[..., 0] * h[..., 1]) ** -0.3, 2, None),  # -0.6 at the origin, and square-integrable
        (lambda h: (h[..., 0] ** 2 + h[..., 1] ** 2) ** -0.45, 2, 0.9),
        (lambda h: np.log(np.abs(h[..., 0])), 1, None),
    ],
)
def test_poles_that_are_integrable_become_a_doubt(function, rank, strength):
    found = featlab.target(function, rank=rank)
    (doubt,) = [said for said in found.doubts if "without bound" in said]
    assert strength is None or f"power -{strength}" in doubt


def test_a_declared_pole_is_no_doubt():
    found = featlab.target(lambda h: np.abs(h[..., 0] - 0.3) ** -0.25, rank=1, kinks=(lambda h: h[..., 0] - 0.3,))
    assert found.doubts == ()


@pytest.mark.parametrize(
    "function",
    [
        lambda h: h[..., 0] ** 3,
        lambda h: np.sign(h[..., 0]),
        lambda h: np.tanh(1e3 * h[..., 0]),
        lambda h: 1 / (h[..., 0] ** 2 + 1e-6),  # narrow, and no pole
        lambda h: np.sin(200 * h[..., 0]),
        lambda h: np.abs(h[..., 0]) ** 0.1,
    ],
)
def test_no_pole_is_seen_where_there_is_none(function):
    assert find_poles(function, 1) == []
