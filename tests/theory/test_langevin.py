"""The mean field of Langevin dynamics on a 2-parity: against a loop over neurons, and identities of its equilibrium."""

from functools import cache

import numpy as np
import pytest

from featlab.theory.langevin import OSCILLATION, ParityMeanField, log_sobolev_bound

CORNERS, LABELS = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]) / 2**0.5, np.array([1.0, 1, -1, -1])


@cache
def limit(degree: int = 20) -> ParityMeanField:
    return ParityMeanField(degree=degree)


def outputs_of_a_loop(temperature: float, steps: int, size: float, networks: int, width: int) -> np.ndarray:
    """y f at the corners in the end, (network, corner), by the update rule as it is written."""
    random = np.random.default_rng(3)
    state, scale, rate = random.standard_normal((networks, width, 4)), 5.0, 0.5

    def responses():
        return np.tanh(state[..., :2] @ CORNERS.T + state[..., 2:3]), np.tanh(state[..., 3])

    def outputs(along, offsets):
        return scale * (along.mean(axis=1) + 2 * offsets.mean(axis=1)[:, None])

    for _ in range(steps):
        along, offsets = responses()
        push = -scale * LABELS / (1 + np.exp(LABELS * outputs(along, offsets))) / 4
        dual = push[:, None] * (1 - along**2)
        constant = 2 * (1 - offsets**2) * push.sum(axis=1)[:, None]
        slope = np.concatenate([dual @ CORNERS, dual.sum(-1, keepdims=True), constant[..., None]], axis=-1)
        noise = random.standard_normal(state.shape)
        state = (1 - 2 * size * temperature * rate) * state - size * slope + (2 * temperature * size) ** 0.5 * noise
    return LABELS * outputs(*responses())


def test_a_loop_over_neurons_follows_the_path_and_has_the_distance():
    margins = outputs_of_a_loop(0.4, steps=150, size=0.02, networks=64, width=256)
    (predicted,), _ = limit().path([3.0], 0.4)
    means = margins.mean(axis=1)
    error = means.std(ddof=1) / 8
    assert abs(means.mean() - predicted) < 3 * error + 0.01  # steps of .02 may change 3%
    assert abs(means.mean() - 1.2 * predicted) > 3 * error + 0.01
    distance = ((margins - predicted) ** 2).mean(axis=1) * 256
    end, doubt = limit().equilibrium(0.4), 3 * distance.std(ddof=1) / 8
    assert abs(distance.mean() - end.distance) < doubt + 0.13 * end.distance  # 1/(1 - .11) by steps of .02
    assert distance.mean() + doubt < end.independent / 5


def test_the_path_ends_at_the_equilibrium_where_the_objective_is_least():
    end = limit(32).equilibrium(0.4)
    output, objective = limit(32).path([0.0, 1.0, 3.0, 12.0], 0.4)
    assert output[0] == pytest.approx(0.0, abs=1e-12)
    assert objective[0] == pytest.approx(np.log(2))  # no divergence from the prior there
    assert output[-1] == pytest.approx(end.output, rel=1e-3)
    assert objective[-1] == pytest.approx(end.objective, abs=2e-4)
    assert np.all(np.diff(objective) < 0)
    # Its derivative by lambda is the divergence, since it is a minimum.
    above, below = (limit(32).equilibrium(0.4 + change).objective for change in (1e-4, -1e-4))
    assert (above - below) / 2e-4 == pytest.approx((end.objective - end.loss) / 0.4, rel=1e-5)


def test_the_end_comes_at_the_rate_of_the_slowest_mode_and_above_both_bounds():
    # A narrow prior, where the series converges fast: what is left falls by exp(-rate t), the objective's gap twice as
    # fast.
    narrow = ParityMeanField(prior_rate=4.0, degree=28)
    end, rate = narrow.equilibrium(0.2), narrow.rate(0.2)
    output, objective = narrow.path(np.array([2, 4, 6]) / rate, 0.2)
    left, gap = end.output - output, objective - end.objective
    assert np.log(left[1] / left[2]) / 2 == pytest.approx(1.0, rel=0.05)
    assert np.log(gap[0] / gap[1]) / 2 == pytest.approx(2.0, rel=0.05)
    bound = log_sobolev_bound(end.tilt, 4.0)
    assert bound == pytest.approx(8 * np.exp(-end.tilt * OSCILLATION))
    assert bound < narrow.gap(0.2) < rate / 0.2


def test_without_a_target_the_modes_are_those_of_the_decay():
    weak = ParityMeanField(output_scale=1e-4, degree=12)
    assert weak.equilibrium(0.4).output == pytest.approx(0.0, abs=1e-6)
    assert weak.rate(0.4) == pytest.approx(2 * 2 * 0.4 * 0.5, rel=1e-3)  # of degree two, by the symmetries
    assert weak.gap(0.4) == pytest.approx(2 * 0.5, rel=1e-3)  # of degree one


def test_halving_goes_from_one_equilibrium_to_the_next():
    output, _ = limit().path([15.0, 30.0], 0.8, halve_every=15.0)
    assert output == pytest.approx([limit().equilibrium(heat).output for heat in (0.8, 0.4)], rel=0.01)
    constant, _ = limit().path([15.0, 30.0], 0.8)
    assert constant[1] == pytest.approx(constant[0], rel=1e-3)
    # A look between halvings changes nothing.
    often, _ = limit().path([3.0, 15.0, 16.0, 30.0], 0.8, halve_every=15.0)
    assert often[[1, 3]] == pytest.approx(output, rel=1e-4)
