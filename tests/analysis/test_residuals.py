"""The variance left after one giant step, against examples worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.residuals import explained_variance, giant_step_subspace, regimes
from featlab.targets import target


def test_five_regimes_of_one_giant_step() -> None:
    """Dandi et al. 2023: of a variance of 57 remain 56, 54, 52, 4, 0 as n and p grow from (d, 1) to (d^2, d^2)."""
    of = target("h1+He2(h2)+He2(h1)*h2+He4(h1)*He2(h2)*h3+He2(h2)*He2(h3)")
    energies = hermite_energies(build_grids(of), 8)
    assert energies.variance == pytest.approx(57)
    found = {(r.samples, r.width): r.residual for r in regimes(of, energies, 2)[0]}
    assert found == pytest.approx({(1, 0): 56, (1, 1): 54, (2, 0): 52, (2, 1): 4, (2, 2): 0}, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("h1+He2(h1)+h2-He2(h2)", [([], 6.0), ([[1, 1]], 4.0), ([[1, 0], [0, 1]], 0.0)]),
        ("h1+He2(h1)+h2+He2(h2)", [([[1, 1]], 2.0)]),
        ("h1+h1*h2+He3(h1)*h3", [([[1, 0, 0]], 7.0)]),
    ],
)
def test_unexplained_variance_given_a_subspace(text: str, steps: list[tuple[list[list[int]], float]]) -> None:
    """E Var(f | P_U x) at the subspaces of the giant staircase (width of order one)."""
    of = target(text)
    energies = hermite_energies(build_grids(of), 8)
    for vectors, expected in steps:
        known = np.linalg.qr(np.array(vectors, dtype=float).T)[0] if vectors else np.zeros((of.rank, 0))
        explained = explained_variance(of, energies, known, 0)[0]
        assert energies.variance - explained == pytest.approx(expected, abs=1e-6)


def test_a_kinked_link_in_a_tilted_subspace() -> None:
    """max(h1, h2) = u / sqrt 2 + |v| / sqrt 2: given u the rest has variance (1 - 2/pi) / 2."""
    of = target("max(h1,h2)")
    energies = hermite_energies(build_grids(of), 8)
    known = np.full((2, 1), np.sqrt(0.5))
    left = energies.variance - explained_variance(of, energies, known, 2)
    assert left[0] == pytest.approx((1 - 2 / np.pi) / 2, rel=1e-6)
    assert left[1] == pytest.approx(left[0], rel=1e-6)
    assert left[2] == pytest.approx(left[0] - 1 / (2 * np.pi), rel=1e-6)


def test_directions_of_one_step() -> None:
    energies = hermite_energies(build_grids(target("He2(h1)-He2(h2)+He3(h3)")), 8)
    assert giant_step_subspace(energies, 1).shape == (3, 0)
    assert giant_step_subspace(energies, 2) == pytest.approx(np.eye(3)[:, :2])
    assert giant_step_subspace(energies, 3) == pytest.approx(np.eye(3))


def test_noise_inside_the_link_stays_when_every_direction_is_known() -> None:
    """h1 + 0.5 xi1 h2 + h2: the noise has variance 0.25 E[h2^2]."""
    of = target("h1+h2**2+0.5*xi1*h2")
    found, _ = regimes(of, hermite_energies(build_grids(of), 8), 2)
    assert [regime.residual for regime in found if regime.known_dimension == 2] == pytest.approx([0.25] * 3)
