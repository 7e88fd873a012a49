"""Closed forms of erf committees: Price's theorem, agreement with quadrature, and which targets they recognise."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.online.averages import Descent
from featlab.theory.online.committee import (
    erf_committee,
    erf_erf,
    erf_terms,
    slope_field_erf,
    slope_slope,
    slope_slope_erf_erf,
)
from featlab.theory.online.predictor import Motion, integrate
from featlab.theory.online.rules import averages

ROWS = np.random.default_rng(5).standard_normal((4, 6)) / 2
C = ROWS @ ROWS.T


def test_price_and_stein():
    """d E[u v]/d C12 = E[u' v'] (Price 1958) links the closed forms with Gaussian determinants; so does Stein's lemma,
    E[erf'(x1) x2 erf(x3)] = C23 E[erf' erf'] - 2 C12 E[x1 erf'(x1) erf(x3)], because erf'' = -2 x erf'."""
    step = 1e-5

    def four_point(c34):
        moved = C.copy()
        moved[2, 3] = moved[3, 2] = c34
        return float(slope_slope_erf_erf(moved))

    slope = (four_point(C[2, 3] + step) - four_point(C[2, 3] - step)) / (2 * step)
    determinant = (2 / np.sqrt(np.pi)) ** 4 / np.sqrt(np.linalg.det(np.eye(4) + 2 * C))
    assert slope == pytest.approx(determinant, rel=1e-7)
    assert slope != pytest.approx(1.2 * determinant, rel=1e-7)
    pair = (erf_erf(C[0, 0], C[1, 1], C[0, 1] + step) - erf_erf(C[0, 0], C[1, 1], C[0, 1] - step)) / (2 * step)
    assert pair == pytest.approx(slope_slope(C[0, 0], C[1, 1], C[0, 1]), rel=1e-7)
    own = slope_field_erf(C[0, 0], C[2, 2], C[0, 0], C[0, 2], C[0, 2])
    stein = C[1, 2] * slope_slope(C[0, 0], C[2, 2], C[0, 2]) - 2 * C[0, 1] * own
    assert slope_field_erf(C[0, 0], C[2, 2], C[0, 1], C[0, 2], C[1, 2]) == pytest.approx(stein, rel=1e-12)


def test_four_point_average_factorises_for_independent_fields():
    independent = C.copy()
    independent[:2, 2:] = independent[2:, :2] = 0
    expected = slope_slope(C[0, 0], C[1, 1], C[0, 1]) * erf_erf(C[2, 2], C[3, 3], C[2, 3])
    assert float(slope_slope_erf_erf(independent)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "correlation"])
@pytest.mark.parametrize(("text", "noise"), [("erf(h1)", 0.2), ("erf(h1/sqrt(2)) - 2*erf(0.5*h1 + h2)", 0.0)])
def test_closed_forms_equal_the_generic_path(text, noise, loss):
    """Within the error that quadrature states (twice it, and 1e-12); averages 20% larger are rejected."""
    goal = target(text, noise=noise)
    descent = Descent(activation("erf"), np.array([1.0, -0.6]), np.zeros(2), loss)
    closed, generic = erf_committee(goal, descent), averages(goal, descent)
    overlap = ROWS[:2, : goal.rank]
    gram = ROWS[:2] @ ROWS[:2].T
    found, best, other = closed(overlap, gram), generic.best(overlap, gram), generic.other(overlap, gram)
    for name in ("drive", "pull", "noise", "risk"):
        value, reference = np.asarray(getattr(found, name)), np.asarray(getattr(best, name))
        bound = 2 * np.max(np.abs(reference - getattr(other, name))) + 1e-12
        assert np.max(np.abs(value - reference)) < bound < 0.01 * np.max(np.abs(reference))
        assert np.max(np.abs(1.2 * value - reference)) > bound


def test_one_neuron_has_ten_digits():
    goal, descent = target("erf(h1)", noise=0.1), Descent(activation("erf"), np.ones(1), np.zeros(1), "squared")
    arguments = np.array([[0.4]]), np.array([[0.9]])
    found, generic = erf_committee(goal, descent)(*arguments), averages(goal, descent).best(*arguments)
    for name in ("drive", "pull", "noise", "risk"):
        np.testing.assert_allclose(getattr(found, name), getattr(generic, name), rtol=1e-10)


def test_many_neurons_move_as_the_closed_form_says():
    """Four erf neurons, whose generic path samples the noise: overlaps and Gram matrix at time 1.5, within 1e-3 (the
    solver is asked for 1e-4, the noise is sampled to about that); a step 20% larger is rejected."""
    goal, width = target("erf(h1)", noise=0.1), 4
    descent = Descent(activation("erf"), np.array([3.0, 2.0, -1.0, 2.0]), np.zeros(width), "squared")
    rows = np.random.default_rng(2).standard_normal((width, 9)) / 3
    start, times = (rows[:, :1], rows @ rows.T), np.array([1.5])
    rules = averages(goal, descent)
    assert "pairs" in rules.words
    closed, larger = (integrate(Motion(c), erf_committee(goal, descent), *start, times) for c in (0.5, 0.6))
    generic = integrate(Motion(0.5), rules.best, *start, times, rules.tolerance)
    for name in ("overlap", "gram"):
        np.testing.assert_allclose(getattr(generic, name), getattr(closed, name), atol=1e-3)
        assert not np.allclose(getattr(generic, name), getattr(larger, name), atol=1e-3)


def test_which_targets_are_committees_of_erf():
    heights, directions = erf_terms(target("erf(h1/sqrt(2)) - 2*erf(0.5*h1 + h2)"))
    order = np.argsort(-heights)
    np.testing.assert_allclose(heights[order], [1, -2])
    np.testing.assert_allclose(directions[order], [[0.5**0.5, 0], [0.5, 1]])
    for text in ("erf(h1)*h2", "erf(h1 + 1)", "erf(h1) + h1", "erf(h1**3)", "tanh(h1)", "erf(h1)**2"):
        assert erf_terms(target(text)) is None, text
    biased = Descent(activation("erf"), np.ones(1), np.ones(1), "squared")
    inner = Descent(activation("erf"), np.ones(1), np.zeros(1), "squared", 0.1)
    assert erf_committee(target("erf(h1)"), biased) is None
    assert erf_committee(target("erf(h1)"), inner) is None
