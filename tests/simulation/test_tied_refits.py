"""Second layers fitted again on networks that are given: what is left of a linear target is 1 - m^2."""

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.simulation.tied_tuning import refitted_risks
from featlab.targets import target


def _networks(cosines, width=60):
    draw = np.random.default_rng(0)
    shape = (len(cosines), width)
    return np.array(cosines), np.sort(1.5 * draw.standard_normal(shape), axis=1), draw.choice([-1.0, 1.0], shape)


def test_many_samples_leave_what_the_direction_leaves_and_few_leave_more():
    cosines, knots, signs = _networks([0.6, -0.95])
    left = 1 - cosines**2
    goal = target("h1", noise=0.01)
    many, few = (refitted_risks(goal, cosines, knots, signs, samples=n, key=1) for n in (20_000, 40))
    assert many == pytest.approx(left, rel=0.02)
    assert np.all(many > left)  # integrals have no noise that could hide it
    assert np.all(few - left > 3 * (many - left))
    assert np.abs(many - (1 - np.abs(cosines))).min() > 0.04  # and not 1 - |m|


def test_networks_have_random_numbers_of_their_own_and_the_key_decides():
    cosines, knots, signs = _networks([0.9, 0.9])
    knots[1], signs[1] = knots[0], signs[0]
    one, again, other = (refitted_risks(target("h1"), cosines, knots, signs, samples=100, key=key) for key in (1, 1, 2))
    assert one[0] != one[1]
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_target_of_two_directions_is_refused():
    with pytest.raises(InvalidParameter, match="one direction"):
        refitted_risks(target("h1*h2"), *_networks([0.5]), samples=100, key=0)
