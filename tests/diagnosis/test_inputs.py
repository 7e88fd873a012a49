"""The inputs: Marchenko and Pastur's law for independent columns, spikes where there are, heavy tails, ties."""

from __future__ import annotations

import numpy as np

from featlab.diagnosis.inputs import describe_columns, describe_spectrum, norm_spread, normal_scores, prepare


def test_independent_columns_have_no_spike_and_planted_ones_are_counted() -> None:
    """Noise shows a spike in at most 5% of draws: 3 of 20 has a chance of 7%, 5 of .3%."""
    alarms = 0
    for seed in range(20):
        inputs = np.random.default_rng(seed).standard_normal((400, 40))
        values = np.linalg.eigvalsh(inputs.T @ inputs / 400)[::-1]
        alarms += describe_spectrum(values, 400).spikes > 0
        inputs[:, :2] *= 3
        values = np.linalg.eigvalsh(inputs.T @ inputs / 400)[::-1]
        assert describe_spectrum(values, 400).spikes >= 2
    assert alarms <= 4


def test_the_law_is_a_density_and_near_the_eigenvalues() -> None:
    inputs = np.random.default_rng(0).standard_normal((2000, 400))
    found = describe_spectrum(np.linalg.eigvalsh(inputs.T @ inputs / 2000)[::-1], 2000)
    assert abs(np.trapezoid(found.density, found.grid) - 1) < 0.01
    assert found.distance < 0.02
    correlated = inputs @ np.diag(np.linspace(0.5, 1.5, 400))
    assert describe_spectrum(np.linalg.eigvalsh(correlated.T @ correlated / 2000)[::-1], 2000).distance > 0.1


def test_columns_are_told_apart() -> None:
    draw = np.random.default_rng(0)
    inputs = np.column_stack(
        [draw.standard_normal(2000), draw.standard_t(2, 2000), draw.integers(3, size=2000), draw.exponential(size=2000)]
    )
    normal, heavy, discrete, skewed = describe_columns(inputs, ("a", "b", "c", "d"))
    assert normal.distance < 0.03
    assert heavy.ranked
    assert discrete.discrete
    assert not normal.discrete
    assert skewed.skewness > 1
    assert discrete.rank_distance > 0.1 > heavy.rank_distance


def test_coordinates_are_isotropic_and_heavy_tails_shared_by_columns_are_seen() -> None:
    draw = np.random.default_rng(0)
    inputs = draw.standard_normal((500, 5)) @ draw.standard_normal((5, 5)) + 3
    columns = describe_columns(inputs, tuple("abcde"))
    coordinates, _, frame = prepare(inputs, columns)
    assert frame == "whitened"
    assert np.allclose(coordinates.values.T @ coordinates.values / 500, np.eye(5), atol=1e-5)
    assert np.allclose(inputs @ coordinates.matrix.T, coordinates.values, atol=1e-5)
    assert norm_spread(draw.standard_normal((2000, 30))) < 1.3
    assert norm_spread(draw.standard_normal((2000, 30)) * draw.uniform(0.5, 1.5, (2000, 1))) > 2


def test_normal_scores_do_not_depend_on_the_scale() -> None:
    column = np.random.default_rng(0).standard_normal(100)
    assert np.allclose(normal_scores(column), normal_scores(np.exp(column)))
