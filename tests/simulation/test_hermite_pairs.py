import numpy as np
import pytest

from featlab.simulation.hermite_pairs import hermite_correlations, largest_overlap, query_game


def test_correlations_are_powers_of_the_overlap():
    sizes = {"dim": 20, "samples": 12_345, "pairs": 8}
    runs = np.array([hermite_correlations((1, 2, 3), (0.0, 0.5), **sizes, seed=seed) for seed in range(12)])
    mean, error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    powers = np.array([[0, 0.5], [0, 0.25], [0, 0.125]])
    assert np.all(np.abs(mean - powers) < 5 * error)
    assert np.all(np.abs(mean[1:, 1] - 0.5) > 5 * error[1:, 1])  # and not the overlap itself


def test_the_largest_overlap_is_that_of_the_drawn_directions():
    assert largest_overlap(3, 1, seed=0) == pytest.approx(1.0)  # on a line all are parallel
    assert largest_overlap(1, 7, seed=0) == pytest.approx(0.0)
    many, few = largest_overlap(200, 64, seed=1), largest_overlap(200, 1024, seed=1)
    assert few < np.sqrt(4 * np.log(200) / 1024) < many


def test_the_query_game():
    """Orthogonal directions: each query rules out .9/tau^2 of them, longer queries more; the last one is not asked."""
    sizes = {"count": 61, "dim": 10**5, "seed": 3}
    asked, largest = query_game(4, 0.3, **sizes)  # groups of ten
    assert largest < 1e-6
    assert asked == 6
    assert query_game(4, 0.3, **sizes, norm=2.0)[0] == 2  # groups of forty
    many, coherent = query_game(2, 0.3, count=300, dim=512, seed=1)
    assert many >= 300 * (0.3**2 - coherent) / 2, "the bound of the argument"
    assert many <= 300
