"""Langevin dynamics from many numbers of samples at once: the plain loop of each, on its own share of the draw."""

import numpy as np
import pytest

from featlab import LangevinDynamics, MeanFieldTanh
from featlab.simulation import parity_grid
from featlab.simulation.parity_grid import Parity, corner_outputs, parity_accuracies
from featlab.simulation.random import fold, named, root_key
from tests.simulation.reference_langevin import one_step, output

PARITY, WIDTH, COUNTS = Parity(order=2, dim=6, anisotropy=0.5), 3, (4, 7)


def grid_steps(steps: int, rate: float, temperature: float, prior: float):
    """Start, batch and neurons after some steps, of two seeds."""
    key = root_key(5)
    inputs, labels = parity_grid._draw(named(key, "batch"), PARITY, (2, max(COUNTS)))
    start = parity_grid._gaussian(named(key, "neurons"), (2, 2, WIDTH), PARITY.dim)
    kept = [np.asarray(part) for part in start]
    counts = np.array(COUNTS)[:, None]
    shares = np.float32((np.arange(max(COUNTS)) < counts) / counts)
    rates = parity_grid.Rates(
        *map(np.float32, (rate, 1 - 2 * rate * temperature * prior, (2 * rate * temperature) ** 0.5))
    )
    end = parity_grid._advance(start, inputs, labels, shares, rates, np.float32(15), named(key, "noise"), 0, steps)
    return np.asarray(inputs), np.asarray(labels), kept, [np.asarray(part) for part in end]


@pytest.mark.parametrize("count", [0, 1])
def test_each_number_of_samples_is_the_plain_loop(count):
    inputs, labels, neurons, end = grid_steps(3, rate=0.2, temperature=0.05, prior=0.1)
    noises = [
        parity_grid._gaussian(fold(named(root_key(5), "noise"), number), (2, 2, WIDTH), PARITY.dim)
        for number in range(3)
    ]
    for used, same in ((COUNTS[count], True), (COUNTS[1 - count], False)):
        state = [part[1, count] for part in neurons]
        for noise in noises:
            own = [np.asarray(part)[1, count] for part in noise]
            state = one_step(
                inputs[1, :used], labels[1, :used], state, own, scale=15, rate=0.2, temperature=0.05, decay=0.01
            )
        agrees = all(np.allclose(one, other[1, count], atol=1e-5) for one, other in zip(state, end, strict=True))
        assert agrees is same


def test_inputs_are_the_anisotropic_hypercube():
    inputs, labels = parity_grid._draw(root_key(1), PARITY, (2, 500))
    assert np.allclose(np.abs(inputs[..., :2]), 6**-0.25)
    assert np.allclose(np.abs(inputs[..., 2:]), 6**-0.5)
    assert np.array_equal(np.sign(inputs[..., 0] * inputs[..., 1]), labels)
    assert np.all(np.abs(np.mean(np.sign(inputs), axis=(0, 1))) < 4 / 1000**0.5)


def test_a_parity_is_learned_from_many_samples_and_not_from_few():
    learner = LangevinDynamics(steps=400, temperature=0.02)
    found = parity_accuracies(
        learner, MeanFieldTanh(64), Parity(2, 8, 0.5), samples=[4, 64], seeds=6, times=[400], key=2
    )
    assert found.shape == (1, 6, 2)
    assert found[0, :, 0].mean() < 0.8 < 0.95 < found[0, :, 1].mean()


def test_every_corner_once_is_the_plain_loop_and_halves_its_temperature():
    learner = LangevinDynamics(5, step_size=0.1, temperature=0.2, prior_rate=0.5, halve_every=2)
    found, labels = corner_outputs(learner, MeanFieldTanh(WIDTH), 2, seeds=2, times=[0, 3, 5], key=5)
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    assert np.array_equal(labels, signs.prod(axis=1))
    key, inputs = root_key(5), signs / 2**0.5
    state = [np.asarray(part)[1, 0] for part in parity_grid._gaussian(named(key, "neurons"), (2, 1, WIDTH), 2)]
    constant = list(state)
    ways = []
    for number in range(5):
        noise = parity_grid._gaussian(fold(named(key, "noise"), number), (2, 1, WIDTH), 2)
        own = [np.asarray(part)[1, 0] for part in noise]
        heat = 0.2 / 2 ** (number // 2)
        options = {"scale": 15, "rate": 0.1}
        state = one_step(inputs, labels, state, own, temperature=heat, decay=heat, **options)
        constant = one_step(inputs, labels, constant, own, temperature=0.2, decay=0.2, **options)
        ways.append([[output(x, *neurons, 15) for x in inputs] for neurons in (state, constant)])
    assert np.allclose(found[1:, 1], [ways[2][0], ways[4][0]], atol=1e-4)
    assert not np.allclose(found[2, 1], ways[4][1], atol=1e-2)
