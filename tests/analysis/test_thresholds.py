"""Weak-recovery thresholds against published values and against independent one-dimensional calculations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.special import erf, k0, ndtr

from featlab.analysis import analyse, thresholds
from featlab.analysis.subspaces import complement, nothing, readable_basis
from featlab.analysis.thresholds import second_moments, symmetric_basis
from featlab.gaussian.quadrature import gaussian_density
from featlab.gaussian.symmetry import symmetries
from featlab.targets import target

# z1 z2: density K0(|y|)/pi; the others from Troiani et al. 2024 and Defilippis et al. 2025.
PUBLISHED = [
    ("h1**2", 0.5),
    ("abs(h1)", 0.5),
    ("sign(h1*h2)", np.pi**2 / 4),
    ("h1*h2", 0.593751),
    ("h1*h2*h3", 2.56518),
    ("(h1**2+h2**2)/2", 1.0),
    ("(h1**2+h2**2+h3**2)/3", 1.5),
    ("(h1**2+h2**2+h3**2+h4**2)/4", 2.0),
    ("h1**2+sign(h1*h2*h3)", 0.575166),
    ("He4(h1)", 0.64485),
]


@pytest.mark.parametrize(("text", "expected"), PUBLISHED)
def test_published_thresholds(text: str, expected: float) -> None:
    threshold, error = first_threshold(text)
    assert threshold == pytest.approx(expected, rel=1e-3)
    assert abs(threshold - expected) <= max(3 * error, 1e-4 * expected), "the error bar must cover the truth"
    assert threshold != pytest.approx(1.2 * expected, rel=1e-3), "negative control: 20% off is rejected"


def first_threshold(text: str, noise: float = 0.0) -> tuple[float, float]:
    of = target(text, noise=noise)
    moments = second_moments(of, nothing(of.rank))
    alpha = 1 / moments.restricted(np.eye(of.rank))
    return alpha, alpha**2 * moments.error


def by_root_finding(link: Callable[[float], float], label_range: tuple[float, float], cuts: list[float]) -> float:
    """alpha_c = 1 / E[(E[z^2 | y] - 1)^2] from the preimages z_i(y) with weights phi(z_i) / |g'(z_i)|, by quad in y."""
    grid = np.linspace(-9, 9, 4001)
    values = np.array([link(z) for z in grid])

    def density_and_moment(y: float) -> tuple[float, float]:
        total = moment = 0.0
        for i in np.nonzero((values[:-1] - y) * (values[1:] - y) < 0)[0]:
            z = brentq(lambda t: link(t) - y, grid[i], grid[i + 1], xtol=1e-13)
            slope = (link(z + 1e-6) - link(z - 1e-6)) / 2e-6
            weight = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) / abs(slope)
            total, moment = total + weight, moment + weight * (z * z - 1)
        return total, moment

    def integrand(y: float) -> float:
        total, moment = density_and_moment(y)
        return moment**2 / total if total > 0 else 0.0

    edges = [label_range[0], *cuts, label_range[1]]
    pieces = [
        # y = a + (b - a) s^2 (3 - 2 s) takes the square-root singularities at critical values out of the integrand.
        quad(
            lambda s, a=a, b=b: integrand(a + (b - a) * s * s * (3 - 2 * s)) * (b - a) * 6 * s * (1 - s),
            0,
            1,
            limit=200,
        )[0]
        for a, b in pairwise(edges)
    ]
    return 1 / sum(pieces)


@pytest.mark.parametrize(
    ("text", "link", "label_range", "cuts"),
    [
        ("He4(h1)", lambda z: z**4 - 6 * z**2 + 3, (-6.0, 900.0), [3.0, 60.0]),
        ("cos(2*h1)", lambda z: np.cos(2 * z), (-1.0, 1.0), []),
        ("h1**2*exp(-h1**2/8)", lambda z: z * z * np.exp(-z * z / 8), (0.0, 8 / np.e), []),
    ],
)
def test_single_index_thresholds_by_root_finding(
    text: str, link: Callable[[float], float], label_range: tuple[float, float], cuts: list[float]
) -> None:
    threshold, _ = first_threshold(text)
    assert threshold == pytest.approx(by_root_finding(link, label_range, cuts), rel=2e-4)


def product_threshold(rank: int) -> float:
    """alpha_c of h1 .. hr, r >= 3: log|y| is a sum, so p and p E[h1^2 | y] are convolutions; G is a multiple of I."""
    step = 2e-3
    logs = np.arange(-40.0, 2.5, step)
    size = np.exp(logs)
    density = 2 * gaussian_density(size) * size
    total, moment = density, density * size**2
    for _ in range(rank - 1):
        total, moment = (fftconvolve(one, density) * step for one in (total, moment))
    seen = total > 1e-13 * total.max()
    return 1 / (np.sum((moment[seen] - total[seen]) ** 2 / total[seen]) * step)


@pytest.mark.parametrize(("rank", "tolerance"), [(3, 1e-4), (4, 5e-4)])
def test_products_by_convolution_of_their_logarithms(rank: int, tolerance: float) -> None:
    expected = product_threshold(rank)
    threshold, error = first_threshold("*".join(f"h{axis + 1}" for axis in range(rank)))
    assert threshold == pytest.approx(expected, rel=tolerance)
    assert abs(threshold - expected) <= error
    assert error <= 1e-3 * expected
    assert threshold != pytest.approx(product_threshold(7 - rank), rel=0.1), "negative control: the other product"


def test_a_product_of_cubics_by_convolution() -> None:
    """He3(h1) He3(h2): the same with exact masses of bins of log|He3|, extrapolated to bins of no width: 1.26432."""
    threshold, error = first_threshold("He3(h1)*He3(h2)")
    assert threshold == pytest.approx(1.26432, rel=1e-3)
    assert error < 2e-3


def test_cones_close_to_a_quadrant_are_cut() -> None:
    """A plane that meets the circle of directions just before it closes: pi^2 / 4, as for h1 h2 themselves."""
    threshold, error = first_threshold("sign((h1 - 0.0104*h2)*(h2 + 0.0104*h1))")
    assert threshold == pytest.approx(np.pi**2 / 4, rel=1e-9)
    assert error < 1e-9


@pytest.mark.parametrize(("text", "noise"), [("h1**2", 0.1), ("abs(h1)", 0.01), ("abs(h1)", 1.0)])
def test_label_noise_against_direct_quadrature(text: str, noise: float) -> None:
    """With noise, E[z^2 - 1 | y] is a ratio of integrals over z; both are smooth, so a plain fine grid is exact."""
    z = np.linspace(-9, 9, 6001)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    clean = z * z if text == "h1**2" else np.abs(z)
    y = np.linspace(clean.min() - 8 * noise**0.5, clean.max() + 8 * noise**0.5, 12_001)
    total, moment = np.zeros(y.size), np.zeros(y.size)
    for start in range(0, y.size, 1000):
        kernel = np.exp(-((y[start : start + 1000, None] - clean) ** 2) / (2 * noise)) / np.sqrt(2 * np.pi * noise)
        total[start : start + 1000] = kernel @ density
        moment[start : start + 1000] = kernel @ (density * (z * z - 1))
    kept = total > 1e-14
    expected = 1 / np.sum(moment[kept] ** 2 / total[kept] * (y[1] - y[0]))
    assert first_threshold(text, noise)[0] == pytest.approx(expected, rel=2e-4)


def test_a_rotation_does_not_change_the_threshold() -> None:
    """h1 h2 = (u^2 - v^2) / 2 in the axes turned by 45 degrees, where its level sets through the origin are no axes."""
    assert first_threshold("h1**2 - h2**2")[0] == pytest.approx(0.593751, rel=1e-4)


def test_difference_of_absolute_values_by_one_dimensional_integrals() -> None:
    """y = |h1| - |h2|: at y > 0, |h2| = t and |h1| = y + t with weight phi(t) phi(y + t); y -> -y exchanges the two."""

    def moments(y: float) -> tuple[float, float, float]:
        weight = [quad(lambda t, k=k: 4 * _gaussian(t) * _gaussian(y + t) * (y + t) ** k, 0, 10)[0] for k in (0, 2)]
        other = quad(lambda t: 4 * _gaussian(t) * _gaussian(y + t) * t**2, 0, 10)[0]
        return weight[0], weight[1] - weight[0], other - weight[0]

    def integrand(y: float) -> float:
        density, first, second = moments(y)
        return (first**2 + second**2) / density

    threshold, error = first_threshold("abs(h1) - abs(h2)")
    expected = 1 / quad(integrand, 0, 9)[0]
    assert threshold == pytest.approx(expected, rel=2e-4)
    assert abs(threshold - expected) < 3 * error


def test_noise_raises_the_threshold_and_its_limit_is_the_noiseless_one() -> None:
    thresholds = [first_threshold("h1*h2", noise)[0] for noise in (0.0, 1e-4, 1e-2, 1.0)]
    assert thresholds == sorted(thresholds)
    assert thresholds[1] == pytest.approx(thresholds[0], rel=2e-2)
    assert thresholds[3] > 1.5 * thresholds[0]


def test_noise_inside_the_link_is_integrated_out() -> None:
    """y = sign(h1 h2 + s xi): P(y | h1 h2) = Phi(y h1 h2 / s), so G = y g sigma_x with g = E[h1 h2 (2 Phi - 1)]."""
    scale = 0.5
    gain, _ = quad(lambda t: 2 * t * k0(t) / np.pi * erf(t / (scale * np.sqrt(2))), 0, 40, limit=400)
    expected = 1 / gain**2
    threshold, error = first_threshold("sign(h1*h2 + 0.5*xi1)")
    assert threshold == pytest.approx(expected, rel=1e-3)
    assert error < 1e-2


def test_the_norm_in_the_threshold_is_frobenius() -> None:
    """The threshold is the top eigenvalue of F, not the operator norm |E[G^2]|: they differ when the G do not commute.

    y = sign(h1 h2) + 3 step(h1^2 - 1) tells whether |h1| > 1 and the sign of h1 h2, so in either region G = diag(a, 0)
    +- c sigma_x with a = E[h1^2 | region] - 1 and c = E[|h1| | region] sqrt(2/pi). On diagonal matrices F is then the
    2 x 2 matrix ((E a^2, E c^2), (E c^2, 0)).
    """
    of = target("sign(h1*h2) + 3*step(h1**2 - 1)")
    moments = second_moments(of, nothing(2))
    outside = 2 * quad(_gaussian, 1, 12)[0]
    first, squares = 0.0, 0.0
    for mass, low, high in ((outside, 1, 12), (1 - outside, 0, 1)):
        diagonal = 2 * quad(lambda z: z * z * _gaussian(z), low, high)[0] / mass - 1
        off_diagonal = 2 * quad(lambda z: z * _gaussian(z), low, high)[0] / mass * np.sqrt(2 / np.pi)
        first, squares = first + mass * diagonal**2, squares + mass * off_diagonal**2
    expected = np.linalg.eigvalsh([[first, squares], [squares, 0.0]])[-1]
    assert moments.restricted(np.eye(2)) == pytest.approx(expected, rel=1e-8)
    basis = symmetric_basis(2)
    identity = np.einsum("aij,ij->a", basis, np.eye(2))
    mean_square = np.tensordot(moments.operator @ identity, basis, axes=1)  # F(I) = E[G^2]
    assert np.linalg.norm(mean_square, 2) == pytest.approx(first + squares, rel=1e-8)
    assert np.linalg.norm(mean_square, 2) > 1.2 * expected, "negative control: the operator norm is another number"


def _gaussian(z: float) -> float:
    return float(np.exp(-z * z / 2) / np.sqrt(2 * np.pi))


def test_conditional_thresholds_assume_the_first_directions_known() -> None:
    analysis = analyse(target("h1 + abs(h2)"))
    assert [stage.alpha for stage in analysis.grand_staircase] == pytest.approx([0.0, 0.5], rel=1e-3)


def test_known_coordinates_that_are_left_out_are_rare_and_the_most_rare_ones() -> None:
    weights = np.array([0.5, 6e-8, 3e-8, 0.3, 2e-8, 0.2, 1e-6])
    common = thresholds._common(weights)
    assert common.tolist() == [True, True, False, True, False, True, True]
    assert weights[~common].sum() < 1e-7
    both = weights[~common].sum() + weights[common].min()
    assert both > 1e-7, "negative control: one more would be too many"


def test_what_is_left_out_enters_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """For x + |z| with x known every x has alpha = 1/2: without a third of them the eigenvalue is short by so much."""
    of, known = target("h1 + abs(h2)"), np.array([[1.0], [0.0]])
    monkeypatch.setattr(thresholds, "_RARE", 0.3)
    found = second_moments(of, known)
    assert 0.05 < 2 - found.top < 0.6
    assert found.error > 2 - found.top


def test_no_threshold_where_second_moments_vanish() -> None:
    of = target("sign(h1*h2*h3)")
    assert second_moments(of, nothing(3)).restricted(np.eye(3)) == pytest.approx(0, abs=1e-10)
    of = target("h1**2*exp(-h1**2)")
    assert abs(second_moments(of, nothing(1)).restricted(np.eye(1))) < 1e-3


@pytest.mark.parametrize(
    "text",
    [
        "sign(h1*h2) + 2*sign(h1*h3)",
        "sign(h1*h2) + 2*sign(h2*h3) + 4*sign(h3*h1)",
        "sign(h1*h2) + 0.5*sign(h1*h3)",
        "sign(h1*h2) + 0.5*sign(h1*h3) + 1.5*sign(h2*h3)",
    ],
)
def test_labels_that_tell_three_signs_up_to_a_flip(text: str) -> None:
    """G(y) = (2/pi)(s s^T - I), E[G M G] has the identity as its top eigenmatrix, with 8/pi^2: pi^2/8, all at once.

    The moments are irreducible; torn apart at round-off, they gave 2.47, 2.88, 2.68 and 40.3.
    """
    (stage,) = analyse(target(text)).grand_staircase
    assert stage.directions.shape == (3, 3)
    assert stage.alpha == pytest.approx(np.pi**2 / 8, rel=1e-6)


def test_labels_before_a_jump_of_the_density() -> None:
    """He2(h1) + 5 sign(..): the labels just below 4 are those of |h1| near sqrt(10), in the middle of all labels.

    Two branches, u = h1^2 = y + 1 -+ 5, with densities w: 1/alpha = E[(E[u | y] - 1)^2] by quadrature in sqrt(y - y0).
    """

    def integrand(root: float, start: float) -> float:
        squares = np.array([u for u in (start + root**2 - 4, start + root**2 + 6) if u > 0])
        weights = np.exp(-squares / 2) / np.sqrt(2 * np.pi * squares) / 2
        return float((weights @ (squares - 1)) ** 2 / weights.sum() * 2 * root)

    exact = 1 / (quad(integrand, 0, np.sqrt(10), args=(-6,))[0] + quad(integrand, 0, 12, args=(4,))[0])
    found = analyse(target("He2(h1) + 5*sign(h1*h2*h3)")).grand_staircase[0]
    assert found.alpha is not None
    assert found.alpha_error is not None
    assert abs(found.alpha - exact) < found.alpha_error < 1e-3 * exact


def test_a_plateau_is_one_label_however_it_is_rounded() -> None:
    """relu(h1) + relu(h2) given x = (h1 + h2)/sqrt(2) tells |z| where |z| > |x|, and nothing more elsewhere.

    1/alpha = E_x[ E[z^2 - 1; |z| < |x|]^2 / P(|z| < |x|) + E[(z^2 - 1)^2; |z| > |x|] ].
    """

    def given(x: float) -> float:
        inside = quad(lambda z: 2 * (z**2 - 1) * gaussian_density(z), 0, x)[0]
        return inside**2 / (2 * ndtr(x) - 1) + quad(lambda z: 2 * (z**2 - 1) ** 2 * gaussian_density(z), x, 12)[0]

    exact = 1 / quad(lambda x: 2 * gaussian_density(x) * given(x), 1e-9, 9)[0]
    found = analyse(target("relu(h1) + relu(h2)")).grand_staircase[1]
    assert found.alpha is not None
    assert found.alpha_error is not None
    assert abs(found.alpha - exact) < found.alpha_error < 1e-3 * exact


def test_four_exchangeable_directions_leave_the_symmetries_of_a_tetrahedron() -> None:
    """Around the sum of the four, on the axes of a cube, all 24 exchanges are found; in a readable basis two are."""
    of, known = target("max(h1, h2, h3, h4)"), np.full((4, 1), 0.5)
    unknown = complement(known)
    np.testing.assert_allclose(unknown.T @ np.hstack([known, unknown]), np.eye(4)[1:], atol=1e-15)
    found = symmetries(lambda z: of.link(0.3 * known.T + z @ unknown.T), (3, 0))
    assert len(found) == 24
    readable = readable_basis(unknown, 3)
    assert len(symmetries(lambda z: of.link(0.3 * known.T + z @ readable.T), (3, 0))) == 2
