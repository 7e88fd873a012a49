import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.noisy_labels import NOISE, critical_ratio, first_overlap, root
from featlab.gaussian.quadrature import gauss_pieces


def test_a_noisy_sign_tells_at_once(shown):
    report = shown("noisy-labels")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)


def test_what_a_noisy_sign_tells():
    """E[h | y = 1] by quadrature: P(y = 1 | h) = Phi(h / sqrt(Delta))."""
    from scipy.stats import norm

    z, weights = gauss_pieces((0.0,), 40)
    told = 2 * float(weights @ (z * norm.cdf(z / 0.5)))
    assert first_overlap(0.25, 2.0) == pytest.approx(2 * told**2 / (1 + 2 * told**2))
    assert first_overlap(0.0, 2.0) > 1.1 * first_overlap(0.25, 2.0)


def test_the_threshold_of_the_noisy_committee():
    """1/alpha_c = E[E[h1^2 - 1 | y]^2], by sums over y and over s = |h1| + |h2|: with u = (|h1| - |h2|)/sqrt(2) and v =
    s/sqrt(2), the density of s is 2 sqrt(2) phi(v) P(|u| < v), and E[h1^2 | s] = (v^2 + E[u^2 | |u| < v]) / 2."""
    from scipy.stats import norm

    s = (np.arange(3000) + 0.5) * 4e-3
    v = s / np.sqrt(2)
    mass = 2 * norm.cdf(v) - 1
    weight = 2 * np.sqrt(2) * norm.pdf(v) * mass * 4e-3
    told = (v**2 + 1 - 2 * v * norm.pdf(v) / mass) / 2 - 1
    y = np.linspace(-1.5, 8.0, 1500)
    joint = norm.pdf(y[:, None], s / 2, np.sqrt(NOISE)) * weight
    density = joint.sum(axis=1)
    inverse = np.sum((joint @ told) ** 2 / np.maximum(density, 1e-300)) * (y[1] - y[0])
    assert critical_ratio(NOISE) == pytest.approx(1 / inverse, rel=1e-4)
    assert critical_ratio(0.0) == pytest.approx(1 / (weight @ told**2), rel=1e-4)


def test_where_growth_is_one():
    found, error = root(np.array([1.0, 2.0]), np.array([0.8, 1.3]), np.array([0.01, 0.01]))
    assert found == pytest.approx(1.4)
    # Of the line's value there, .01 sqrt(.6^2 + .4^2), over its slope.
    assert error == pytest.approx(0.01 * np.hypot(0.6, 0.4) / 0.5)
