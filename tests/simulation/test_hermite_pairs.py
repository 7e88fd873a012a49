import numpy as np
import pytest

from featlab.simulation.hermite_pairs import hermite_correlations, largest_overlap


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
