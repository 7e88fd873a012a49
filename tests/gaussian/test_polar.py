"""The polar rule: curved and tilted kinks that lines along the axes cannot cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import direction_rule, is_cone, polar_rule
from featlab.gaussian.quadrature import nested_rule


@dataclass(frozen=True)
class Surface:
    variables: tuple[int, ...]
    function: Callable[[Floats], Floats]


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_moments_of_the_gaussian(dimension: int) -> None:
    rule = polar_rule([], dimension, 16 if dimension < 4 else 8)
    assert rule.weights.sum() == pytest.approx(1)
    second = np.einsum("n,ni,nj->ij", rule.weights, rule.points, rule.points)
    assert second == pytest.approx(np.eye(dimension), abs=1e-6)
    assert rule.mean(rule.points[:, 0] ** 4) == pytest.approx(3, rel=1e-5)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_ball_is_cut_exactly(dimension: int) -> None:
    """P(|z|^2 < 2) is 1 - exp(-1) in two dimensions and erf(1) - 2/sqrt(pi) exp(-1) in three."""
    ball = Surface(tuple(range(dimension)), lambda z: np.sum(z**2, axis=1) - 2)
    rule = polar_rule([ball], dimension, 16)
    expected = {2: 1 - np.exp(-1), 3: 0.8427007929497149 - 2 / np.sqrt(np.pi) * np.exp(-1)}[dimension]
    assert rule.mean(ball.function(rule.points) < 0) == pytest.approx(expected, abs=1e-9)
    lines = nested_rule([ball], dimension, 16)
    error = abs(lines.mean(ball.function(lines.points) < 0) - expected)
    assert error > 1e-6, "control: lines along the axes are tangent to the ball somewhere and lose digits"


def test_a_tilted_line_through_the_origin_is_a_cone() -> None:
    line = Surface((0, 1), lambda z: z[:, 0] + 2 * z[:, 1])
    assert is_cone(line.function, 2)
    assert not is_cone(lambda z: line.function(z) - 0.1, 2)
    expected = np.sqrt(10 / np.pi)  # E|z1 + 2 z2|
    cut, blunt = polar_rule([line], 2, 12), polar_rule([], 2, 12)
    assert cut.mean(np.abs(line.function(cut.points))) == pytest.approx(expected, rel=1e-10)
    assert blunt.mean(np.abs(line.function(blunt.points))) != pytest.approx(expected, rel=1e-5), "control: not cut"


def test_a_shifted_line_is_cut_on_every_ray() -> None:
    """P(z1 + z2 > 1) = Phi(-1/sqrt 2). Rays almost parallel to the line cross it far out: it converges."""
    line = Surface((0, 1), lambda z: z[:, 0] + z[:, 1] - 1)
    errors = []
    for nodes in (12, 24, 48, 96):
        rule = polar_rule([line], 2, nodes)
        errors.append(abs(float(rule.mean(line.function(rule.points) > 0)) - 0.23975006109347669))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-8


def test_directions_cut_at_a_circular_cone() -> None:
    """The share of the sphere with u1^2 > u2^2 + u3^2 is 1 - sqrt(1/2): exact once the outer angle is cut there."""

    def cone(u: Floats) -> Floats:
        return u[:, 0] ** 2 - u[:, 1] ** 2 - u[:, 2] ** 2

    directions, weights = direction_rule(3, 8, [cone])
    assert weights[cone(directions) > 0].sum() == pytest.approx(1 - np.sqrt(0.5), abs=1e-7)
    directions, weights = direction_rule(3, 8, [])
    assert weights[cone(directions) > 0].sum() != pytest.approx(1 - np.sqrt(0.5), abs=1e-3), "control: without the cut"
