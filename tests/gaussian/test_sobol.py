"""Scrambled Sobol points: never at the ends, of the right moments, and far better than random points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from featlab.gaussian.hermite import Floats
from featlab.gaussian.sobol import balanced_normals, sobol_normals, sobol_uniforms


def test_uniform_points_are_one_in_each_cell_and_never_an_end() -> None:
    points = sobol_uniforms(3, 256, 5)
    assert np.all((points > 0) & (points < 1))
    for column in points.T:
        np.testing.assert_array_equal(np.sort(np.floor(256 * column)), np.arange(256))


def test_a_seed_names_its_points_and_a_generator_goes_on() -> None:
    np.testing.assert_array_equal(sobol_normals(2, 64, 5), sobol_normals(2, 64, 5))
    generator = np.random.default_rng(5)
    assert not np.allclose(sobol_normals(2, 64, generator), sobol_normals(2, 64, generator))


def test_normal_points_average_smooth_functions_better_than_random_ones() -> None:
    """E[cos(z1 + z2)] = 1/e: the errors of 20 scramblings are ten times below those of random points."""

    def error(draw: Callable[[int], Floats]) -> float:
        found = [np.mean(np.cos(np.sum(draw(seed), axis=1))) for seed in range(20)]
        return float(np.sqrt(np.mean((np.array(found) - np.exp(-1)) ** 2)))

    usual = error(lambda seed: np.random.default_rng(seed).standard_normal((1024, 2)))
    assert error(lambda seed: sobol_normals(2, 1024, seed)) < 0.1 * usual


@pytest.mark.parametrize("wide", [0, 1, 3])
def test_balanced_points_have_exact_first_second_and_third_moments(wide: int) -> None:
    points, weights = balanced_normals(5, 9, 1, wide)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose((points.T * weights) @ points, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(weights @ points**3, 0, atol=1e-12)
    assert not np.allclose(points, balanced_normals(5, 9, 2, wide)[0])


def test_balanced_points_see_the_tails_of_the_label() -> None:
    """E[h^8] = 105, which comes from |h| of about 3; without points farther out it is missed by far more."""

    def error(wide: int) -> float:
        sets = [balanced_normals(4, 12, key, wide) for key in range(1, 9)]
        return float(np.sqrt(np.mean([(weights @ points[:, 0] ** 8 / 105 - 1) ** 2 for points, weights in sets])))

    assert error(2) < 0.005
    assert error(0) > 4 * error(2)
