"""What SIR, SAVE and PHD see of a target, against moments worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from featlab.errors import InvalidParameter
from featlab.targets import target
from featlab.theory.inverse_regression import phd_matrix, save_matrix, sir_cosine, sir_matrix, spectral_cosine


def truncated(slices):
    """Mean and variance of a standard normal within each of its quantile slices."""
    edges = norm.ppf(np.linspace(0, 1, slices + 1))
    density, lines = norm.pdf(edges), np.where(np.isfinite(edges), edges, 0) * norm.pdf(edges)
    means = -slices * np.diff(density)
    return means, 1 - slices * np.diff(lines) - means**2


def holds(found, value):
    """Within four standard errors, which must be small."""
    return abs(found.eigenvalues[0] - value) < 4 * found.error + 1e-9 and found.error < 2e-3


@pytest.mark.parametrize("slices", [2, 10])
def test_a_monotone_link_by_truncated_normals(slices):
    means, variances = truncated(slices)
    assert holds(sir_matrix("h1**3", slices), np.mean(means**2))
    assert holds(save_matrix("h1**3", slices), np.mean((1 - variances) ** 2))
    assert not holds(sir_matrix("h1**3", slices), 1.02 * np.mean(means**2))


def test_labels_of_two_values_are_shared_among_slices():
    """sign(h1): however many slices, those of one label are alike: m = +-sqrt(2/pi), C = 1 - 2/pi."""
    for slices in (2, 10):
        assert holds(sir_matrix("sign(h1)", slices), 2 / np.pi)
        assert holds(save_matrix("sign(h1)", slices), (2 / np.pi) ** 2)


def test_noise_hides_part_of_it():
    """y = h1 + noise of variance 3: E[h | s] is half that of y's own slices, m / 2 of a standard normal's."""
    means, _ = truncated(10)
    noisy = sir_matrix(target("h1", noise=3.0))
    assert holds(noisy, np.mean(means**2) / 4)
    assert not holds(noisy, np.mean(means**2))


@pytest.mark.parametrize(
    ("text", "seen_by_sir", "seen_by_save", "seen_by_phd"),
    [
        ("He2(h1)", 0, 1, 1),
        ("He3(h1)", 1, 1, 0),
        ("h1*h2", 0, 2, 2),
        ("h1*h2*h3", 0, 3, 0),
        ("h1 + He2(h2)", 1, 2, 1),
    ],
)
def test_who_is_blind_to_what(text, seen_by_sir, seen_by_save, seen_by_phd):
    matrices = sir_matrix(text), save_matrix(text), phd_matrix(text)
    assert [found.visible.shape[1] for found in matrices] == [seen_by_sir, seen_by_save, seen_by_phd]
    rank = target(text).rank
    assert all(found.visible.shape[1] + found.invisible.shape[1] == rank for found in matrices)


def test_the_directions_that_are_seen():
    sir, phd = sir_matrix("h1 + He2(h2)"), phd_matrix("h1 + He2(h2)")
    np.testing.assert_allclose(np.abs(sir.visible[:, 0]), [1, 0], atol=5e-3)
    np.testing.assert_allclose(np.abs(phd.visible[:, 0]), [0, 1], atol=1e-9)
    np.testing.assert_allclose(np.abs(phd.invisible[:, 0]), [1, 0], atol=1e-9)


def test_cosines_at_their_ends():
    assert sir_cosine(0.0, 5.0) == 0
    assert sir_cosine(0.3, 1e9) == pytest.approx(1.0)
    assert sir_cosine(0.25, 4.0) == pytest.approx(np.sqrt(0.5))
    assert spectral_cosine(0.99, 4.0) == 0
    assert spectral_cosine(2.0, 0.0) == pytest.approx(np.sqrt(0.5))
    assert spectral_cosine(1e9, 4.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("function", "given", "name"),
    [
        (sir_matrix, ("h1", 1), "slices"),
        (sir_cosine, (-0.1, 1.0), "eigenvalue"),
        (sir_cosine, (0.1, 0.0), "alpha"),
        (spectral_cosine, (0.0, 1.0), "ratio"),
        (spectral_cosine, (2.0, -1.0), "skewness"),
    ],
)
def test_misuse(function, given, name):
    with pytest.raises(InvalidParameter, match=f"^{name}: got"):
        function(*given)
