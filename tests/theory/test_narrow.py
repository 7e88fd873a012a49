"""State evolution of three and four directions where V is narrow: other integrals, limits, symmetries, the entropy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.known_channels import of_product, of_radius

from featlab.gaussian.quadrature import gauss_pieces, product_rule
from featlab.targets import target
from featlab.theory.bayes import narrow
from featlab.theory.bayes.channels import build_channel, channel_of
from featlab.theory.bayes.local_law import Detail, Neighbourhoods
from featlab.theory.bayes.narrow import Narrow

PRODUCT = "h1*h2*h3"


def norm(rank: int) -> str:
    return " + ".join(f"h{axis + 1}**2" for axis in range(rank))


@pytest.fixture
def _fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the points, for relations that hold for any number."""
    fewer = {fields: replace(effort, points=effort.points // 4) for fields, effort in narrow._EVEN.items()}
    monkeypatch.setattr(narrow, "_EVEN", fewer)


def test_a_product_is_a_sum_of_logarithms() -> None:
    """512 Sobol points in all six variables missed F by 3.6e-3 at 0.99; the tangent planes alone by 8% here."""
    q = 0.9
    found, expected = channel_of(target(PRODUCT)).at(q * np.eye(3)).information, of_product((q, q, q))
    assert np.diag(found) == pytest.approx(expected, rel=1e-3)
    assert np.full(3, 1 / 3) != pytest.approx((1 - q) * expected, rel=1e-2), "negative control: tangent planes"
    assert found == pytest.approx(np.diag(np.diag(found)), abs=1e-12), "by symmetry"


@pytest.mark.parametrize(("rank", "q", "tolerance"), [(3, 0.96, 1e-3), (4, 0.9, 5e-3)])
def test_squared_norms(rank: int, q: float, tolerance: float) -> None:
    found, expected = channel_of(target(norm(rank))).at(q * np.eye(rank)).information, of_radius(rank, q)
    assert np.diag(found) == pytest.approx(expected, rel=tolerance)
    assert expected != pytest.approx(1 / (1 - q) / rank, rel=tolerance), "negative control: tangent planes"


def test_tangent_planes_as_the_overlap_becomes_perfect() -> None:
    """(1 - q) F -> E[n n^T], n the unit normal of the level set: I / 3; V below 1e-4 I is computed once."""
    channel = channel_of(target(PRODUCT))
    for q in (1 - 1e-5, 1 - 1e-7):
        assert (1 - q) * channel.at(q * np.eye(3)).information == pytest.approx(np.eye(3) / 3, abs=5e-4)


@pytest.mark.usefixtures("_fewer")
def test_planes_behind_noise() -> None:
    """y = z1 z2 + noise: where level sets are planes, F = E[a a^T / (noise + a^T V a)], a = (z2, z1)."""
    noise, v = 1e-3, 4e-4
    found = build_channel(target("h1*h2", noise=noise)).at((1 - v) * np.eye(2)).information
    rule = product_rule([gauss_pieces((0.0,), 24)] * 2)
    expected = rule.mean(rule.points[:, 0] ** 2 / (noise + v * np.sum(rule.points**2, axis=1)))
    assert found == pytest.approx(expected * np.eye(2), rel=3e-3, abs=3e-3 * expected)
    assert 1 / noise != pytest.approx(expected, rel=3e-3), "negative control: without V"


@pytest.mark.usefixtures("_fewer")
def test_information_turns_with_the_directions() -> None:
    """h1 h2 h3 = (u^2 - w^2) h3 / 2 in axes turned by 45 degrees, where Q is not diagonal; exchanged axes, exactly."""
    turn = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, np.sqrt(2)]]) / np.sqrt(2)
    overlap = np.diag([0.98, 0.95, 0.92])
    plain, turned = Narrow(target(PRODUCT)), Narrow(target("(h1**2 - h2**2)*h3"))
    found = plain.at(overlap).information
    again = turn.T @ turned.at(turn @ overlap @ turn.T).information @ turn
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    assert again / scale == pytest.approx(found / scale, abs=1e-2)
    order = [2, 0, 1]
    exchanged = plain.at(overlap[order][:, order]).information
    assert np.diag(exchanged) == pytest.approx(np.diag(found)[order], rel=1e-2)
    assert np.diag(exchanged) != pytest.approx(np.diag(found), rel=1e-2), "negative control"


@pytest.mark.usefixtures("_fewer")
def test_the_information_is_the_slope_of_the_entropy() -> None:
    """dH = 1/2 Tr(F dQ), and F grows with what is known."""
    channel, q, step = Narrow(target(norm(3))), 0.95, 0.01
    behind, here, ahead = (channel.at((q + shift) * np.eye(3)) for shift in (-step, 0.0, step))
    slope, trace = (ahead.entropy - behind.entropy) / (2 * step), float(np.trace(here.information))
    # H is close to -3/2 log(1 - q) / 3: the difference over two steps is larger than its slope by (step / v)^2 / 3.
    assert slope == pytest.approx(0.5 * trace * (1 + (step / (1 - q)) ** 2 / 3), rel=5e-3)
    assert slope != pytest.approx(0.6 * trace, rel=5e-3), "negative control"
    assert np.trace(behind.information) < trace < np.trace(ahead.information)


def test_planes_are_exact_and_bent_level_sets_are_not() -> None:
    """E[m m^T] = n n^T for a label that is linear on the scale of V; its trace tells how bent the level sets are."""
    of = target(PRODUCT)
    around = Narrow(of)._around(0.999999 * np.eye(3), (), 64)
    normals = np.linalg.eigh(around.normals())[1][:, :, -1]
    told = around.told(normals, Detail(4, 24, 32))
    assert told.moments == pytest.approx(normals[:, :, None] * normals[:, None, :], abs=1e-3)
    assert np.max(told.scatter) < 1e-6
    origin = Neighbourhoods(of, around.law, np.zeros((1, 3)), 0.3 * np.eye(3), around.turns[:1])
    bent = origin.told(np.eye(3)[:1], Detail(8, 32, 32))
    assert np.trace(bent.moments[0]) < 0.5
    assert bent.scatter[0] > 1e-4, "and more lines are laid"


@pytest.mark.usefixtures("_fewer")
def test_an_atom_has_a_bin_of_its_own() -> None:
    """Labels above zero of relu(h1 h2 h3) tell what they tell of h1 h2 h3, its atom what a negative sign tells."""
    overlap = 0.95 * np.eye(3)
    found, whole = (Narrow(target(text)).at(overlap).information for text in ("relu(h1*h2*h3)", PRODUCT))
    sign = channel_of(target("sign(h1*h2*h3)")).at(overlap).information
    assert np.diag(found) == pytest.approx(0.5 * np.diag(whole + sign), rel=2e-2)
    assert np.diag(found) != pytest.approx(0.5 * np.diag(whole), rel=2e-2), "negative control: without the atom"
