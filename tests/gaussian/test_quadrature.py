"""Quadrature: exact for piecewise polynomials, for jumps on surfaces, and for Stein's and Mehler's identities."""

from __future__ import annotations

from math import erf as erf_of_number
from math import factorial, pi, sqrt

import numpy as np
import pytest
from scipy.special import erf, ndtr
from scipy.stats import norm

from featlab.gaussian.hermite import Floats, Integers, hermite_all, hermite_normalised_all
from featlab.gaussian.quadrature import (
    ZeroSet,
    crossings_on_lines,
    cut_edges,
    gauss_pieces,
    gauss_segment,
    gaussian_lines,
    gaussian_panels,
    moved_surfaces,
    nested_rule,
    panels,
    places_in_rows,
    product_rule,
    roots_on_lines,
    with_coordinate,
)


def partial_moment(power: int, low: float, high: float) -> float:
    """int_low^high z^power phi(z) dz by M_n = (n - 1) M_{n-2} - [z^{n-1} phi]."""
    if power == 0:
        return float(ndtr(high) - ndtr(low))

    def edge(z: float) -> float:
        return 0.0 if np.isinf(z) else z ** (power - 1) * float(norm.pdf(z))

    below = (power - 1) * partial_moment(power - 2, low, high) if power >= 2 else 0.0
    return below - (edge(high) - edge(low))


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, np.inf), (0.0, np.inf), (-1.3, 0.4), (-np.inf, -0.7), (-0.2, np.inf)]
)
def test_segment_rule_is_exact_to_degree_2n_minus_1_and_no_further(low: float, high: float) -> None:
    x, w = gauss_segment(low, high, 5)
    for power in range(10):
        assert w @ x**power == pytest.approx(partial_moment(power, low, high), abs=1e-11)
    assert abs(w @ x**10 - partial_moment(10, low, high)) > 1e-9


def test_pieces_sum_to_one_and_leave_out_far_breaks() -> None:
    x, w = gauss_pieces((1.0, -0.5, 1.0, 30.0), 7)
    assert x.size == 21
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.all(np.diff(x) > 0)


def test_a_jump_is_exact_where_gauss_hermite_is_wrong_in_the_third_digit() -> None:
    x, w = gauss_pieces((0.0,), 10)
    assert w @ (np.sign(x) * x) == pytest.approx(sqrt(2 / pi), abs=1e-14)
    plain_x, plain_w = np.polynomial.hermite_e.hermegauss(200)
    assert abs(plain_w @ (np.sign(plain_x) * plain_x) / sqrt(2 * pi) - sqrt(2 / pi)) > 1e-3


def test_shifted_jump_hermite_coefficients_are_density_times_hermite() -> None:
    """E[1(z > b) He_k] = phi(b) He_{k-1}(b): Stein for a jump at b."""
    place = 0.37
    x, w = gauss_pieces((place,), 21)
    found = hermite_all(40, x) @ (w * (x > place))
    expected = norm.pdf(place) * hermite_all(39, place)
    roots = np.sqrt([float(factorial(k)) for k in range(1, 41)])
    np.testing.assert_allclose(found[1:] / roots, expected / roots, atol=1e-12)


def test_parseval_of_a_kinked_polynomial() -> None:
    """sum_k E[f h_k]^2 increases to E[f^2]; for a corner the missing part falls like K^{-3/2}."""
    x, w = gauss_pieces((0.5,), 60)
    values = np.abs(x - 0.5)
    energy = np.cumsum((hermite_normalised_all(100, x) @ (w * values)) ** 2)
    missing = w @ values**2 - energy
    assert np.all(missing > 0)
    ratio = np.mean(missing[40:60]) / np.mean(missing[81:100])
    assert ratio == pytest.approx((90 / 50) ** 1.5, rel=0.1)


def test_stein_for_a_smooth_function() -> None:
    """E[z f(z)] = E[f'(z)]."""
    x, w = gauss_pieces(np.arange(-8.0, 8.5, 0.5).tolist(), 12)
    for value, slope in [
        (np.tanh(x), 1 - np.tanh(x) ** 2),
        (np.sin(x), np.cos(x)),
        (x**3, 3 * x**2),
        (erf(x), 2 / sqrt(pi) * np.exp(-(x**2))),
    ]:
        assert w @ (x * value) == pytest.approx(w @ slope, abs=1e-13)


@pytest.mark.parametrize("argument", [-2.0, -0.3, 0.0, 0.8, 3.0])
def test_erf_after_a_spike(argument: float) -> None:
    """E erf(b + z) = erf(b / sqrt 3) and E erf'(b + z) = 2 / sqrt(3 pi) exp(-b^2 / 3); not exp(-3 b^2)."""
    x, w = gauss_pieces(np.arange(-8.0, 8.5, 0.5).tolist(), 12)
    assert w @ erf(argument + x) == pytest.approx(erf_of_number(argument / sqrt(3)), abs=1e-14)
    slope = w @ (2 / sqrt(pi) * np.exp(-((argument + x) ** 2)))
    assert slope == pytest.approx(2 / sqrt(3 * pi) * np.exp(-(argument**2) / 3), abs=1e-14)
    if argument:
        assert abs(slope - 2 / sqrt(3 * pi) * np.exp(-3 * argument**2)) > 1e-3


def test_roots_on_lines_finds_every_sign_change() -> None:
    offsets = np.array([-1.0, 0.25, 2.0])
    scan = np.linspace(-4, 4, 33)
    line, place = roots_on_lines(lambda n, x: (x - offsets[n]) * (x + 3.1), 3, scan)
    found = sorted(zip(line.tolist(), place.tolist(), strict=True))
    expected = sorted((n, p) for n in range(3) for p in (offsets[n], -3.1))
    assert [n for n, _ in found] == [n for n, _ in expected]
    np.testing.assert_allclose([p for _, p in found], [p for _, p in expected], atol=1e-13)


@pytest.mark.parametrize("lines", [1, 200, 2000])
def test_roots_on_lines_are_exact_where_a_function_jumps_or_is_flat(lines: int) -> None:
    """To rounding, by as many looks as halving takes at most, and by a fifth of them on a line alone."""
    roots, looks = np.linspace(-1, 1, lines) + 0.00712, 0

    def values(line: Integers, x: Floats) -> Floats:
        nonlocal looks
        looks += 1
        away = x - roots[line]
        return np.choose(line % 3, [away**3, np.where(away > 0, 1 + away, -0.1), np.where(away > 0, away, -0.1)])

    line, place = roots_on_lines(values, lines, np.linspace(-2, 2, 41))
    assert line.tolist() == list(range(lines))
    np.testing.assert_allclose(place, roots, atol=1e-14)
    assert looks <= {1: 12, 200: 17, 2000: 53}[lines]


def test_parity_of_three_axes_is_exact() -> None:
    """E[sign(z1 z2 z3) z1 z2 z3] = (2 / pi)^{3/2}, and every lower-degree product vanishes."""
    axes = [ZeroSet((axis,), lambda p, axis=axis: p[:, axis]) for axis in range(3)]
    rule = nested_rule(axes, 3, 4, extra_breaks=())
    z = rule.points
    parity = np.sign(z.prod(axis=1))
    assert rule.mean(parity * z.prod(axis=1)) == pytest.approx((2 / pi) ** 1.5, abs=1e-13)
    assert rule.mean(parity * z[:, 0] * z[:, 1]) == pytest.approx(0.0, abs=1e-14)
    assert rule.mean(parity) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_tilted_surface_is_cut_line_by_line(threshold: float) -> None:
    """E[1(a z1 + b z2 > t) z2] = b phi(t) for a^2 + b^2 = 1; without the cut it is off by more than 1e-4."""
    a, b = 0.6, 0.8
    surface = ZeroSet((0, 1), lambda p: a * p[:, 0] + b * p[:, 1] - threshold)
    expected = b * norm.pdf(threshold)

    def mean(surfaces: list[ZeroSet]) -> float:
        rule = nested_rule(surfaces, 2, 24)
        return float(rule.mean((surface.function(rule.points) > 0) * rule.points[:, 1]))

    assert mean([surface]) == pytest.approx(expected, abs=1e-10)
    assert abs(mean([]) - expected) > 1e-4


def test_mehler_for_two_different_functions() -> None:
    """E[f(u) g(v)] = sum_k rho^k E[f h_k] E[g h_k] with f = cos(u + 1), g = v^3 + sign(v), at rho = 0.6."""
    rho = 0.6
    surface = ZeroSet((0, 1), lambda p: rho * p[:, 0] + sqrt(1 - rho**2) * p[:, 1])
    rule = nested_rule([surface], 2, 24)
    u = rule.points[:, 0]
    v = surface.function(rule.points)
    direct = rule.mean(np.cos(u + 1) * (v**3 + np.sign(v)))
    x, w = gauss_pieces((0.0,), 60)
    basis = hermite_normalised_all(80, x)
    first, second = basis @ (w * np.cos(x + 1)), basis @ (w * (x**3 + np.sign(x)))
    assert np.sum(rho ** np.arange(81) * first * second) == pytest.approx(direct, abs=1e-10)
    assert abs(np.sum((rho + 0.01) ** np.arange(81) * first * second) - direct) > 1e-4


def test_panels_are_exact_for_piecewise_polynomials_and_no_further() -> None:
    """|x - 1/2|^9 over [-1, 2], cut at 1/2, on many lines at once; an uncut line and one more degree are wrong."""
    edges = np.array([[-1.0, 0.5, 2.0], [-1.0, 0.0, 2.0]])
    x, w = panels(edges, 5)
    assert x.shape == w.shape == (2, 10)
    found = np.sum(w * np.abs(x - 0.5) ** 9, axis=1)
    exact = 2 * 1.5**10 / 10
    assert found[0] == pytest.approx(exact, rel=1e-14)
    assert abs(found[1] - exact) > 1e-6 * exact
    assert abs(np.sum(w * x**10, axis=1)[0] - (2**11 + 1) / 11) > 1e-4


def test_graded_panels_resolve_a_root_at_the_end_better_and_polynomials_worse() -> None:
    edges = np.array([0.0, 1.0])
    for graded, power, exact in ((True, 0.5, 2 / 3), (False, 9.0, 0.1)):
        errors = [abs(w @ x**power - exact) for x, w in (panels(edges, 6, graded), panels(edges, 6, not graded))]
        assert errors[0] < 0.1 * errors[1]


def test_gaussian_panels_lack_the_mass_outside() -> None:
    x, w = gaussian_panels(np.arange(-5.0, 6.0), 8)
    assert w.sum() == pytest.approx(ndtr(5) - ndtr(-5), abs=1e-12)
    assert w @ x**2 == pytest.approx(partial_moment(2, -5, 5), abs=1e-11)


def test_lines_are_cut_at_their_own_crossings() -> None:
    """E[sign(z - c)] for three c, one of them beyond the ends; an empty panel and a narrow one bring no points."""
    places = np.array([0.3, -1.2, 20.0])
    line, x, w = gaussian_lines((-9.0, 0.0, 9.0), np.stack([places, places + 1e-13], axis=1), 20, narrowest=1e-12)
    assert np.bincount(line).tolist() == [60, 60, 40]
    found = np.bincount(line, w * np.sign(x - places[line]))
    np.testing.assert_allclose(found, 1 - 2 * ndtr(places), atol=1e-8)
    edges = cut_edges((-9.0, 0.0, 9.0), places[:, None])
    np.testing.assert_array_equal(edges[2], [-9.0, 0.0, 9.0, 9.0])


def test_surfaces_move_with_the_coordinates_and_vanish_with_them() -> None:
    """The plane h1 = h2 seen from z with h = (1, 0) + R z, R turned by 45 degrees, is moved."""
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]]) / sqrt(2)
    plane = ZeroSet((0, 1), lambda h: h[..., 0] - h[..., 1])
    (moved,) = moved_surfaces([plane], np.array([1.0, 0.0]), turn)
    assert moved.variables == (0, 1)  # as far as the matrix tells
    np.testing.assert_allclose(moved.function(np.array([[-1 / sqrt(2), 3.0]])), 0, atol=1e-15)
    assert moved_surfaces([plane], np.zeros(2), np.zeros((2, 1))) == []
    (last,) = moved_surfaces([ZeroSet((1,), lambda h: h[..., 1])], np.zeros(2), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert last.variables == (1,)


def test_products_of_rules_run_fastest_in_the_last_variable() -> None:
    rule = product_rule([gauss_pieces((), 3), gauss_pieces((0.0,), 4)])
    assert rule.points.shape == (24, 2)
    assert rule.mean(rule.points[:, 0] ** 4 * np.abs(rule.points[:, 1]) ** 3) == pytest.approx(3 * 2 * sqrt(2 / pi))
    assert np.all(np.diff(rule.points[:8, 0]) == 0)
    assert product_rule([]).weights.tolist() == [1.0]


def test_crossings_of_several_surfaces_side_by_side() -> None:
    """Lines y = 0, 1 and 3: circles of radius 2 and the plane x = 1/2; a line that misses the circle is filled up."""
    heights = np.array([0.0, 1.0, 3.0])

    def points(line: Integers, position: Floats) -> Floats:
        return with_coordinate(np.column_stack([np.zeros(line.size), heights[line]]), 0, position)

    circle, plane = (lambda p: np.sum(p**2, axis=1) - 4), (lambda p: p[:, 0] - 0.5)
    found = crossings_on_lines([circle, plane], points, 3, np.linspace(-5, 5, 40), 9.0)
    np.testing.assert_allclose(found, [[-2, 2, 0.5], [-sqrt(3), sqrt(3), 0.5], [9, 9, 0.5]], atol=1e-12)


def test_places_in_rows_count_each_row_in_the_order_given() -> None:
    assert places_in_rows(np.array([2, 0, 2, 2, 0]), 4).tolist() == [0, 0, 1, 2, 1]
