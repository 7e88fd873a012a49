"""Where neurons point after one step: plain gradients on samples, limits, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.targets import target
from featlab.theory.first_step import hessian
from featlab.theory.step_alignment import step_alignment

GOAL = target("h1*h2 + 0.5*He2(h1)*h2 + 0.6*h1", noise=0.1)


def plain(dim, samples, batches, fitted):
    """The share of |g|^2 along the directions of 32 fixed neurons, over batches; beta fitted to the batch or known."""
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((32, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    shares = []
    for _ in range(batches):
        inputs = rng.standard_normal((samples, dim))
        labels = GOAL.link(inputs[:, :2]) + np.sqrt(GOAL.noise) * rng.standard_normal(samples)
        slope = labels @ inputs / samples if fitted else 0.6 * np.eye(dim)[0]
        rest = labels - fitted * labels.mean() - inputs @ slope
        gradient = (rest[:, None] * (inputs @ weights.T > 0)).T @ inputs / samples
        shares.append(np.mean(np.sum(gradient[:, :2] ** 2, axis=1) / np.sum(gradient**2, axis=1)))
    return weights[:, :2], np.mean(shares), np.std(shares, ddof=1) / np.sqrt(batches)


def test_it_is_the_mean_over_plain_gradients_and_not_that_with_a_known_slope():
    """d = 40, n = 1000: within 4 standard errors and 1/d. A known slope leaves more noise, and is refused."""
    cosines, share, error = plain(40, 1000, 60, fitted=True)
    expected = step_alignment(GOAL, cosines, 40, 1000).mean()
    assert error < 0.02 * share
    assert abs(expected - share) < 4 * error + expected / 40
    _, known, known_error = plain(40, 1000, 60, fitted=False)
    assert known + 4 * known_error + expected / 40 < expected


def test_with_infinitely_many_samples_it_is_the_hessian():
    """Of He2(h1) + He2(h2)/2: g = H m / sqrt(2 pi) + c4 P_2(m) w, |c4| = 1/sqrt(2 pi), to leading order in m."""
    text, cosines = "He2(h1) + He2(h2)/2", np.array([[0.02, 0.01], [0.0, 0.03]])
    pull = cosines @ hessian(text).matrix
    across = np.sum(cosines * pull, axis=1) / 2
    expected = np.sum(pull**2, axis=1) / (np.sum(pull**2, axis=1) + across**2)
    found = step_alignment(text, cosines, 100, 10**12)
    np.testing.assert_allclose(1 - found, 1 - expected, rtol=0.01)
    assert np.all(step_alignment(text, cosines, 100, 100) < 0.5)


@pytest.mark.parametrize("text", ["h1*h2*h3", "h1*h2 + 1", "sign(h1 + xi1)"])
def test_what_is_refused(text):
    with pytest.raises(InvalidParameter, match="target"):
        step_alignment(text, np.zeros((1, 3)), 10, 10)
