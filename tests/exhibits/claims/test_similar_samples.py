import numpy as np
import pytest
from docs.reproduce import RESULTS

from featlab.exhibits import ClaimVerdict, Size
from featlab.exhibits.claims.similar_samples import BIAS, INNER, SECOND, first_rates, means, overlaps, path
from featlab.exhibits.report import read_report


def he3(x):
    return x**3 - 3 * x


def slope(z):
    return SECOND / np.cosh(z + BIAS) ** 2


def test_a_very_similar_sample_breaks_the_information_exponent(shown):
    report = shown("similar-samples")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)


@pytest.mark.parametrize(("overlap", "similarity"), [(0.0, 1.0), (0.0, 0.9), (0.2, 0.8)])
def test_the_means_are_those_of_plain_monte_carlo(overlap, similarity):
    draw = np.random.default_rng(7)
    told, across, told_new, across_new = draw.standard_normal((4, 1_000_000))
    fresh = np.sqrt(1 - similarity**2)
    told_near, across_near = similarity * told + fresh * told_new, similarity * across + fresh * across_new
    field, near = (
        overlap * along + np.sqrt(1 - overlap**2) * rest for along, rest in ((told, across), (told_near, across_near))
    )
    outer = he3(told) * slope(field + INNER * similarity * he3(told_near) * slope(near))
    for predicted, samples in zip(
        means(overlap, similarity, INNER), (outer * (told - overlap * field), outer**2), strict=True
    ):
        error = samples.std() / 1000
        assert abs(samples.mean() - predicted) < 4 * error
        assert abs(predicted) > 25 * error  # 20% off is seen
    # What a sample of another similarity predicts is refused.
    samples = outer * (told - overlap * field)
    assert abs(samples.mean() - means(overlap, similarity - 0.1, INNER)[0]) > 6 * samples.std() / 1000


@pytest.mark.parametrize("similarity", [1.0, 0.9, 0.5])
def test_a_small_inner_step_gives_the_second_order(similarity):
    """g c^2 rho^2 a^3 E[y h* y'^2] E[s''' s'^2] / 2, its means here by Hermite series and by a plain sum."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = np.outer(weights, weights) / weights.sum() ** 2
    first = nodes[:, None]
    second = similarity * first + np.sqrt(1 - similarity**2) * nodes
    labels = 216 * similarity**4 + 108 * similarity**2
    assert np.sum(weights * he3(first) * first * he3(second) ** 2) == pytest.approx(labels)
    tangent = np.tanh(first + BIAS)
    third = (1 - tangent**2) * (6 * tangent**2 - 2)
    shape = np.sum(weights * third / np.cosh(second + BIAS) ** 4)
    inner = 1e-3
    expected = SECOND**3 * inner**2 * similarity**2 * labels * shape / 2
    assert means(0.0, similarity, inner)[0] == pytest.approx(expected, rel=2e-3)
    assert means(0.0, similarity, INNER)[0] != pytest.approx(expected * (INNER / inner) ** 2, rel=0.2)


def test_two_fresh_samples_have_no_rate():
    assert means(0.0, 0.0, INNER)[0] == pytest.approx(0, abs=1e-12)


def test_the_numbers_drawn_have_the_law_of_vectors():
    """In a dimension so small that the limit of large d is something else."""
    dim, similarity, count = 12, 0.8, 400_000
    draw = np.random.default_rng(3)
    x, z = draw.standard_normal((2, count, dim))
    near = similarity * x + np.sqrt(1 - similarity**2) * z
    shift = INNER / dim * he3(near[:, 0]) * slope(near[:, 1]) * (x * near).sum(axis=1)
    explicit = he3(x[:, 0]) * slope(x[:, 1] + shift) * x[:, 0]
    point = {"dim": dim, "similarities": [similarity], "inner": INNER, "outer": 1.0, "samples": 100_000, "seeds": 12}
    found = np.array([row["rate"] for row in first_rates(point, 5)])
    error = np.hypot(explicit.std() / count**0.5, found.std(ddof=1) / found.size**0.5)
    assert abs(explicit.mean() - found.mean()) < 4 * error
    assert abs(found.mean() - means(0.0, similarity, INNER)[0]) > 6 * error


def test_runs_are_those_of_vectors():
    """The whole rule, written out with vectors, in a small dimension."""
    dim, seeds, similarity, steps = 64, 400, 0.9, 20 * 64
    draw = np.random.default_rng(11)
    weights = np.zeros((seeds, dim))
    weights[:, 1] = 1.0
    for _ in range(steps):
        x, z = draw.standard_normal((2, seeds, dim))
        near = similarity * x + np.sqrt(1 - similarity**2) * z
        pull = INNER / dim * he3(near[:, 0]) * slope((weights * near).sum(axis=1))
        moved = weights + pull[:, None] * near
        pull = 0.1 / dim * he3(x[:, 0]) * slope((moved * x).sum(axis=1))
        weights += pull[:, None] * (x - (weights * x).sum(axis=1)[:, None] * weights)
        weights /= np.linalg.norm(weights, axis=1)[:, None]
    point = {"dim": dim, "seeds": seeds, "similarity": similarity, "outer": 0.1, "inner": INNER, "last": 20.0}
    found = np.array([row["overlap"] for row in overlaps(point, 3) if row["time"] == 20.0])
    error = np.sqrt((found.var() + weights[:, 0].var()) / seeds)
    assert abs(found.mean() - weights[:, 0].mean()) < 4 * error
    assert found.mean() > 20 * error  # it has moved by far more than the errors that are allowed


def test_for_the_same_sample_the_limit_is_that_of_extragradient():
    times = np.arange(0.0, 82.5, 2.5)
    theirs = read_report(RESULTS, "extragradient", Size.PAPER)
    half = next(number.predicted for number in theirs.numbers if number.name.startswith("half time"))
    assert np.interp(0.5, path(1.0, 0.1, INNER, times)[:20], times[:20]) == pytest.approx(half, rel=2e-3)
    assert np.interp(0.5, path(0.98, 0.1, INNER, times)[:20], times[:20]) != pytest.approx(half, rel=2e-2)
