"""The table of the label does not depend on what the labels are called: offsets, scales, powers, and what is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from featlab.analysis.label_law import label_law
from featlab.analysis.staircase import Kind
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
from featlab.analysis.verdict import analyse
from featlab.targets import Target, target


def ratio(text: str, noise: float = 0.0) -> tuple[float, float]:
    """The first critical ratio as the numbers tell it, nothing taken off the label, and its error."""
    of = target(text, noise=noise)
    moments = second_moments(of, nothing(of.rank))
    return 1 / moments.top, (moments.error + moments.lost) / moments.top**2


@pytest.mark.parametrize(
    "text",
    ["h1**8", "h1**20", "h1**40", "exp(-10*h1**2)", "1e3 + 1e-3*h1**2", "1e6 + abs(h1)", "1e12 + abs(h1)"],
)
def test_injective_functions_of_the_size_have_one_half(text: str) -> None:
    """E[z^2 | y] = z^2 and E (z^2 - 1)^2 = 2."""
    alpha, error = ratio(text)
    assert alpha == pytest.approx(0.5, abs=error)
    assert error < 2e-6


@pytest.mark.parametrize(("text", "same"), [("1e6 + h1*h2", "h1*h2"), ("h1**20*h2**20", "h1**2*h2**2")])
def test_nothing_is_swallowed_in_two_directions(text: str, same: str) -> None:
    (alpha, error), (expected, its_error) = ratio(text), ratio(same)
    assert alpha == pytest.approx(expected, abs=error + its_error)
    assert error < 1e-3


@pytest.mark.parametrize("power", [2, 8])
def test_even_powers_of_a_polynomial(power: int) -> None:
    """0.53834 by independent quadrature: |h^2 - 1| = s has the sizes sqrt(1 + s), and sqrt(1 - s) for s < 1."""
    alpha, error = ratio(f"He(2,h1)**{power}")

    def part(low: float, high: float, below: bool) -> float:
        def integrand(s: float) -> float:
            sizes = [1 + s, 1 - s] if below else [1 + s]
            weights = [np.exp(-square / 2) / np.sqrt(2 * np.pi * square) for square in sizes]
            moment = sum(weight * (square - 1) for weight, square in zip(weights, sizes, strict=True))
            return moment**2 / sum(weights)

        return quad(integrand, low, high, limit=200)[0]

    expected = 1 / (part(0, 1, below=True) + part(1, 80, below=False))
    assert expected == pytest.approx(0.53834, abs=1e-5)
    assert alpha == pytest.approx(expected, abs=3 * error)


@pytest.mark.parametrize(("wave", "relative"), [(2, 1e-5), (3, 1e-3), (4, 3e-2)])
def test_periodic_labels_by_their_fourier_series(wave: int, relative: float) -> None:
    """cos(k h) tells t = k h mod 2 pi up to its sign.

    2 pi times the density of t is 1 + 2 sum_m e^(-(k m)^2/2) cos(m t); with z^2 - 1 in it, each term has -(k m)^2.
    """
    angle, m = np.linspace(0, np.pi, 20_001), np.arange(1, 12)[:, None]
    terms = 2 * np.exp(-((wave * m) ** 2) / 2) * np.cos(m * angle)
    density, moment = 1 + terms.sum(axis=0), -((wave * m) ** 2 * terms).sum(axis=0)
    expected = np.pi / np.trapezoid(moment**2 / density, angle)
    alpha, error = ratio(f"cos({wave}*h1)")
    assert alpha == pytest.approx(expected, rel=relative)
    assert alpha == pytest.approx(expected, abs=3 * error)


def test_noise_on_labels_that_spread_widely() -> None:
    """h^8 + N(0, 1) by quadrature in h and in y, piece by piece: y runs over a million standard deviations."""
    z = np.arange(1e-4, 2, 2e-4)
    density = np.exp(-(z**2) / 2) * np.sqrt(2 / np.pi) * 2e-4
    near = np.arange(-9, 150, 0.1)
    kernel = np.exp(-((near[:, None] - z**8) ** 2) / 2) / np.sqrt(2 * np.pi)
    total, moment = kernel @ density, kernel @ (density * (z**2 - 1))
    inner = np.sum(moment**2 / total) * 0.1
    last = (near[-1] + 0.05) ** (1 / 8)
    outer = quad(lambda h: (h * h - 1) ** 2 * np.exp(-h * h / 2) * np.sqrt(2 / np.pi), last, 12)[0]
    alpha, error = ratio("h1**8", noise=1.0)
    assert alpha == pytest.approx(1 / (inner + outer), rel=2e-4)
    assert error < 1e-3
    assert alpha > 1.03 * ratio("h1**8")[0], "negative control: the noise counts"


def as_function(text: str, function: Callable[[np.ndarray], np.ndarray]) -> Target:
    inner = target(text)
    return replace(inner, text="<f>", tree=None, numpy_function=lambda h: function(inner.link(h)), source=object())


def test_labels_that_double_precision_does_not_tell_apart_are_a_doubt() -> None:
    """tanh(20 h1 h2) is 1 to the last digit for h1 h2 > 0.95; the true ratio is that of h1 h2."""
    analysis = analyse(as_function("h1*h2", lambda y: np.tanh(20 * y)))
    (stage,) = analysis.grand_staircase
    assert stage.kind is Kind.EASY
    assert stage.alpha is None
    assert stage.alpha_bound is not None
    assert stage.alpha_bound < 0.593751
    (doubt,) = analysis.doubts
    low, high = map(float, re.findall(r"between (\S+) and (\S+);", doubt)[0])
    assert low < 0.59375 < high
    assert high < 3 * low


def test_a_true_plateau_is_no_doubt() -> None:
    """Negative control: relu(h1**2 - 1) keeps the value 0 for good, and its ratio comes with six digits."""
    inside, outside = (
        [2 * quad(lambda z, k=k: z**k * np.exp(-z * z / 2) / np.sqrt(2 * np.pi), *ends)[0] for k in (0, 2, 4)]
        for ends in ((0, 1), (1, 12))
    )
    plateau = (inside[1] - inside[0]) ** 2 / inside[0]
    expected = 1 / (plateau + outside[2] - 2 * outside[1] + outside[0])
    alpha, error = ratio("relu(h1**2 - 1)")
    assert alpha == pytest.approx(expected, abs=2 * error)
    assert error < 1e-4
    assert analyse(target("relu(h1**2 - 1)")).doubts == ()


def test_atoms_are_told_by_rounding() -> None:
    """h1^40 has none, though a quarter of its labels lies below 1e-20 of their root mean square; relu^20 has one."""
    assert label_law(target("h1**40")).atoms.size == 0
    assert label_law(target("1e12 + abs(h1)")).atoms.size == 0
    law = label_law(target("relu(h1)**20"))
    assert law.atoms.tolist() == [0.0]
    assert law.masses[0] == pytest.approx(0.5, abs=0.02)
    assert law.atom_of(np.array([0.0, 1e-30, 1.0])).tolist() == [0, -1, -1]
    noisy_constant = target("sign(h1)*(sin(h2)**2 + cos(h2)**2) + 3")
    assert label_law(noisy_constant).atoms == pytest.approx([2, 4], abs=1e-9)
    assert label_law(noisy_constant).discrete


def test_a_direction_below_the_error_is_not_said_to_have_a_larger_exponent():
    """Once h1 is known h2 has order 1, with 1e-12 of the label's size: neither seen nor excluded."""
    told = analyse(target("h1**20 + h1*h2"))
    assert told.leap is None
    assert any("below that error" in doubt for doubt in told.doubts)


@pytest.mark.parametrize("text", ["h1**20 + 0.1*h1", "h1**20 + 1e-5*h1"])
def test_small_labels_are_seen_beside_large_ones(text: str) -> None:
    """Where |h1| < 0.7 the label is 0.1 h1 but for a thousandth: it tells the sign of h1, and so does E[Y h1] = 0.1."""
    found = analyse(target(text))
    assert found.verdict == "TRIVIAL"
    assert (found.information_exponent, found.leap, found.coordinate_leap, found.doubts) == (1, 1, 1, ())
    control = analyse(target("h1**20 + 0.1*abs(h1)"))
    assert (control.verdict, control.information_exponent) == ("EASY", 2), "negative control"


def test_what_rounding_hides_from_correlations_is_said() -> None:
    """The rms of cosh(6 h1) is e^36 / sqrt(2), twelve digits of which are 2000; half of its labels are below 30."""
    found = analyse(target("cosh(6*h1) + 0.1*h1"))
    assert found.information_exponent == 2
    assert any("rounding of the largest labels" in doubt for doubt in found.doubts)
    assert not any("rounding" in doubt for doubt in analyse(target("cosh(2*h1) + 0.1*h1")).doubts), "negative control"
    assert not analyse(target("sign(h1*h2 - 0.5)")).doubts, "two labels, one of them more than half of the time"


def test_numbers_of_sixteen_digits_are_not_taken_for_exact() -> None:
    """cos(1)^2 + sin(1)^2 is 1 but for rounding: nothing of degree 2 is left."""
    assert analyse(target("He4(cos(1)*h1 + sin(1)*h2)")).information_exponent == 4
    assert analyse(target("He4(0.999999*h1)")).information_exponent == 2, "negative control"
