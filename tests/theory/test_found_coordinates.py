"""Coordinates along directions that SIR has found: their law against SIR itself, in many dimensions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from featlab.estimators import SlicedInverseRegression
from featlab.targets import target
from featlab.theory.inverse_regression import sir_matrix
from featlab.theory.reduction.found_coordinates import inverse_modes, other_coordinates, used_coordinates

SLICES, DIM, SEEDS = 10, 150, 8
LINK = target("tanh(2*h1) + 0.3*h1", noise=0.3)


def moments(coordinate, fields, labels):
    """Correlations of a coordinate with the field, with the noise of the label, and with the label."""
    parts = [fields[:, 0], labels - LINK.link(fields), labels]
    found = np.array([np.corrcoef(coordinate, part)[0, 1] for part in parts])
    return found * np.sign(found[0])


@cache
def measured(samples: int, frame: str):
    """Of rows that were used, and of others: means and standard errors over seeds."""
    used, others = [], []
    for seed in range(SEEDS):
        draw = np.random.default_rng([samples, seed])
        inputs = draw.standard_normal((2 * samples, DIM))
        labels = LINK.link(inputs[:, :1]) + np.sqrt(LINK.noise) * draw.standard_normal(2 * samples)
        model = SlicedInverseRegression(1, slices=SLICES, inputs=frame).fit(inputs[:samples], labels[:samples])
        along = model.transform(inputs)[:, 0]
        for rows, kept in ((slice(samples), used), (slice(samples, None), others)):
            kept.append(moments(along[rows], inputs[rows, :1], labels[rows]))
    return [(np.mean(part, axis=0), np.std(part, axis=0, ddof=1) / np.sqrt(SEEDS)) for part in (used, others)]


@cache
def predicted(samples: int, whitened: bool):
    """The same of the law, by a million rows."""
    draw = np.random.default_rng(0)
    fields, noise, own = draw.standard_normal((3, 10**6, 1))
    labels = LINK.link(fields) + np.sqrt(LINK.noise) * own[:, 0]
    modes, load = inverse_modes(LINK, SLICES), (DIM - 1) / (samples - 1)
    used = used_coordinates(modes, fields, labels, load, whitened, noise)[:, 0]
    other = other_coordinates(modes, fields, load, whitened, noise)[:, 0]
    return moments(used, fields, labels), moments(other, fields, labels)


@pytest.mark.parametrize(("samples", "frame"), [(150, "standardise"), (450, "whiten"), (900, "whiten")])
def test_rows_that_found_a_direction_know_their_noise_and_others_do_not(samples: int, frame: str) -> None:
    """Within four standard errors over eight seeds, and what other contrasts of slices mix in at this d. The law of
    others is far from that of rows that were used, but for the field."""
    (used, other), laws = measured(samples, frame), predicted(samples, frame == "whiten")
    square = inverse_modes(LINK, SLICES).correlations[0] ** 2
    mixed = (SLICES - 2) * DIM / (samples * square) ** 2
    for (mean, error), law in zip((used, other), laws, strict=True):
        assert np.all(np.abs(mean - law) < 4 * error + mixed * np.abs(law))
    assert np.all((np.abs(used[0] - laws[1]) > 4 * used[1] + mixed * np.abs(laws[1]))[1:])


def test_whitening_is_not_the_same_as_not() -> None:
    """At n = 3 d, by the cosine: that of inputs as they are is outside of what is allowed above."""
    mean, error = measured(450, "whiten")[1]
    assert abs(mean[0] - predicted(450, False)[1][0]) > 4 * error[0]


def test_modes_are_those_of_the_matrix_of_sir() -> None:
    link = target("h1 + 0.4*h2**3", noise=0.2)
    modes = inverse_modes(link, SLICES)
    assert np.allclose(modes.correlations[:2] ** 2, sir_matrix(link, SLICES).eigenvalues, atol=2e-3)
    assert np.all(modes.correlations[2:] == 0)
    assert np.allclose(modes.functions.T @ modes.functions, SLICES * np.eye(SLICES - 1))
    assert np.allclose(modes.functions.sum(axis=0), 0)


def test_a_direction_more_than_there_are_is_noise() -> None:
    """It is made of functions of the label alone: known to the rows that were used, nothing to others."""
    draw = np.random.default_rng(0)
    fields, noise = draw.standard_normal((4000, 1)), draw.standard_normal((4000, 2))
    labels = LINK.link(fields) + np.sqrt(LINK.noise) * draw.standard_normal(4000)
    modes = inverse_modes(LINK, SLICES)
    used = used_coordinates(modes, fields, labels, 0.3, True, noise)
    other = other_coordinates(modes, fields, 0.3, True, noise)
    assert abs(np.corrcoef(other[:, 1], fields[:, 0])[0, 1]) < 4 / np.sqrt(4000)
    assert used[:, 1].var() == pytest.approx(0.3, rel=4 * np.sqrt(2 / 4000))
    assert np.allclose(other[:, 1], np.sqrt(0.3 / 0.7) * noise[:, 1])
