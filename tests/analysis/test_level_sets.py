"""Level sets: Z(y, omega, V) and its gradient against one-dimensional integrals, for every kind of label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from featlab.analysis.label_law import label_law
from featlab.analysis.level_sets import _log_share, level_sets, log_interval, log_partition
from featlab.analysis.pieces import REACH, invert, monotone_pieces
from featlab.errors import InvalidParameter
from featlab.targets import target

OMEGA = np.array([0.5, -0.3, 0.4])
COVARIANCE = np.array([[0.5, 0.1, 0.0], [0.1, 0.4, 0.05], [0.0, 0.05, 0.6]])


def partition(text: str, label: float, noise: float = 0.0, resolution: float | None = None) -> float:
    of = target(text, noise=noise)
    fibres = level_sets(of, resolution).at(np.array([label]))
    rank = of.rank
    return float(np.exp(log_partition(fibres, OMEGA[None, :rank], COVARIANCE[:rank, :rank])[0][0]))


def normal(x: float, mean: float, variance: float) -> float:
    return float(np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance))


def plane(first: float, second: float) -> float:
    """The density of N(omega, V) in two dimensions."""
    return float(multivariate_normal.pdf([first, second], OMEGA[:2], COVARIANCE[:2, :2]))


def of_product(y: float) -> float:
    """z1 z2 = y: z2 = y / z1 with weight 1 / |z1|."""
    return sum(quad(lambda a, s=s: plane(s * a, s * y / a) / a, 1e-6, 8, limit=200)[0] for s in (1, -1))


def of_circle(y: float) -> float:
    """z1^2 + z2^2 = y: an angle, with weight 1/2."""
    radius = np.sqrt(y)
    return quad(lambda t: 0.5 * plane(radius * np.cos(t), radius * np.sin(t)), 0, 2 * np.pi)[0]


def of_relus(y: float) -> float:
    """relu(z1) + relu(z2) = y > 0: a segment in the quadrant and two half lines along the axes."""
    inside = quad(lambda a: plane(a, y - a), 0, y)[0]
    left = quad(lambda a: plane(y, a), -8, 0)[0]
    return inside + left + quad(lambda a: plane(a, y), -8, 0)[0]


@pytest.mark.parametrize(
    ("text", "label", "expected", "tolerance"),
    [
        ("h1*h2", 0.7, of_product, 1e-6),
        ("h1*h2", -0.05, of_product, 1e-4),
        # Lines that touch the circle: the weights vanish there like the third power of a square root.
        ("h1**2 + h2**2", 0.7, of_circle, 1e-4),
        # The level set has corners on the axes, between lines: an error of their spacing, 0.025, times a jump of 1/2.
        ("relu(h1) + relu(h2)", 0.7, of_relus, 1e-2),
    ],
)
def test_densities_in_the_plane(text: str, label: float, expected: Callable[[float], float], tolerance: float) -> None:
    value = partition(text, label)
    assert value == pytest.approx(expected(label), rel=tolerance)
    assert value != pytest.approx(1.2 * expected(label), rel=tolerance), "negative control"


def test_one_direction_is_exact_down_to_the_smallest_variance() -> None:
    for text, label, roots, slope in (("abs(h1)", 0.7, (0.7, -0.7), 1.0), ("h1**2", 0.49, (0.7, -0.7), 1.4)):
        fibres = level_sets(target(text)).at(np.array([label]))
        for variance in (1.0, 1e-2, 1e-6):
            omega = 0.7 + 2 * np.sqrt(variance)
            log_z, score = log_partition(fibres, np.array([[omega]]), np.array([[variance]]))
            expected = sum(normal(root, omega, variance) for root in roots) / slope
            assert np.exp(log_z[0]) == pytest.approx(expected, rel=1e-8)
            mean = sum(root * normal(root, omega, variance) for root in roots) / slope / expected
            assert score[0, 0] == pytest.approx((mean - omega) / variance, rel=1e-6)


def test_atoms_are_regions() -> None:
    orthant = multivariate_normal.cdf([0, 0], -OMEGA[:2], COVARIANCE[:2, :2])
    opposite = multivariate_normal.cdf([0, 0], OMEGA[:2], COVARIANCE[:2, :2])
    assert partition("sign(h1*h2)", 1.0) == pytest.approx(orthant + opposite, rel=1e-6)
    assert partition("sign(h1*h2)", -1.0) == pytest.approx(1 - orthant - opposite, rel=1e-6)
    assert partition("relu(h1)", 0.0) == pytest.approx(ndtr(-OMEGA[0] / np.sqrt(0.5)), rel=1e-12)
    assert partition("relu(h1)", 0.7) == pytest.approx(normal(0.7, OMEGA[0], 0.5), rel=1e-8)
    assert partition("relu(h1)", -0.5) == 0.0


@pytest.mark.parametrize(("text", "noise"), [("h1*h2 + 0.5*xi1", 0.0), ("h1*h2", 0.25)])
def test_noise_inside_the_link_and_on_the_label(text: str, noise: float) -> None:
    """y = z1 z2 + N(0, 1/4) either way: a smooth integral over the plane, by Gauss-Hermite."""
    t, w = np.polynomial.hermite_e.hermegauss(60)
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(t, t)], axis=1) @ np.linalg.cholesky(COVARIANCE[:2, :2]).T
    z = OMEGA[:2] + nodes
    expected = np.sum(np.outer(w, w).ravel() * np.exp(-2 * (0.7 - z[:, 0] * z[:, 1]) ** 2)) / np.sqrt(np.pi / 2)
    expected /= w.sum() ** 2
    assert partition(text, 0.7, noise, resolution=0.3) == pytest.approx(expected, rel=2e-3)


def test_the_score_is_the_gradient() -> None:
    for text, label in (("h1*h2", 0.7), ("sign(h1*h2)", 1.0), ("relu(h1) + relu(h2)", 0.0)):
        fibres = level_sets(target(text)).at(np.array([label]))
        score = log_partition(fibres, OMEGA[None, :2], COVARIANCE[:2, :2])[1][0]
        for axis in range(2):
            step = 1e-5 * np.eye(2)[axis]
            ahead, behind = (
                log_partition(fibres, (OMEGA[:2] + sign * step)[None], COVARIANCE[:2, :2])[0][0] for sign in (1, -1)
            )
            assert score[axis] == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_three_directions() -> None:
    """y = z1 z2 z3: the density of a product of two, integrated over the third (uncorrelated here)."""
    fibres = level_sets(target("h1*h2*h3"), 0.4).at(np.array([0.7]))
    value = np.exp(log_partition(fibres, OMEGA[None], np.diag(np.diag(COVARIANCE)))[0][0])

    def inner(y: float) -> float:
        def density(a: float) -> float:
            return normal(a, 0.5, 0.5) * normal(y / a, -0.3, 0.4) / abs(a)

        return quad(density, -7, -1e-6, limit=200)[0] + quad(density, 1e-6, 7, limit=200)[0]

    grid = np.linspace(-6, 6, 1202)  # no node at 0
    expected = np.trapezoid([inner(0.7 / c) * normal(c, 0.4, 0.6) / abs(c) for c in grid], grid)
    assert value == pytest.approx(expected, rel=1e-2)


def test_the_kind_of_label() -> None:
    assert label_law(target("sign(h1*h2)")).discrete
    assert label_law(target("sign(h1*h2)")).atoms.tolist() == [-1.0, 1.0]
    mixed = label_law(target("relu(h1)"))
    assert mixed.continuous
    assert mixed.atoms.tolist() == [0.0]
    assert mixed.masses[0] == pytest.approx(0.5, abs=0.02)
    assert label_law(target("h1*h2")).atoms.size == 0
    assert label_law(target("sign(h1)", noise=0.1)).continuous
    assert mixed.atom_of(np.array([0.0, 1e-3, 2.0])).tolist() == [0, -1, -1]


def test_pieces_are_monotone_and_inverted() -> None:
    of = target("He4(h1)")
    pieces = monotone_pieces(of, label_law(of), np.zeros((1, 1)), 0, np.linspace(-REACH, REACH, 301))
    assert pieces.low[1:] == pytest.approx([-np.sqrt(3), 0, np.sqrt(3)], abs=1e-6)
    z = np.array([-2.0, -1.0, 1e-3, 3.0])
    places = invert(of, np.zeros((4, 1)), 0, pieces, np.arange(4), of.link(z[:, None]))
    assert places == pytest.approx(z, abs=1e-9)


def test_masses_in_the_tails_do_not_cancel() -> None:
    low = np.array([-1.0, 20.0, -21.0])
    value = log_interval(low, low + 1)
    assert value[0] == pytest.approx(np.log(ndtr(0) - ndtr(-1)))
    assert value[1] == pytest.approx(value[2])
    assert value[1] == pytest.approx(-0.5 * 400 - np.log(20 * np.sqrt(2 * np.pi)), abs=3e-3)


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="resolution"):
        level_sets(target("h1*h2"), -1.0)
    with pytest.raises(InvalidParameter, match="three coordinates"):
        level_sets(target("h1*h2*h3*h4*h5"))


def test_where_differences_of_the_label_vanish_its_weight_is_finite_and_no_warning_is_given() -> None:
    """1 / |g'| of h1^2: 1 at 1/2; at 0, where it is infinite, as much as a float holds."""
    shares = _log_share(target("h1**2"), np.array([[0.5], [0.0]]), 0, np.full(2, 1e-3))
    assert shares[0] == pytest.approx(0.0, abs=1e-9)
    assert 600 < shares[1] < np.inf
