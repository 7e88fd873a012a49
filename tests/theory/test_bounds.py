"""The floors of the risk, against values worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.integrate

from featlab.errors import InvalidParameter
from featlab.targets import target
from featlab.theory import Floor, unexplained_variance

FIVE = "h1+He2(h2)+He2(h1)*h2+He4(h1)*He2(h2)*h3+He2(h2)*He2(h3)"
ABS_VARIANCE = 1 - 2 / np.pi


def holds(found: Floor, value: float) -> bool:
    """Within the stated error (three times it: an error is itself an estimate), which must be small."""
    return abs(found.value - value) <= 3 * found.error and found.error < 1e-2 * found.variance


@pytest.mark.parametrize(
    ("text", "known", "degree", "value"),
    [
        # Dandi et al. 2023: (n, p) ~ (d, 1), (d, d), (d^2, 1), (d^2, d), (d^2, d^2) of a variance of 57.
        (FIVE, [[1, 0, 0]], 0, 56.0),
        (FIVE, [[1, 0, 0]], 1, 54.0),
        (FIVE, [[1, 0, 0], [0, 1, 0]], 0, 52.0),
        (FIVE, [[1, 0, 0], [0, 1, 0]], 1, 4.0),
        (FIVE, [[1, 0, 0], [0, 1, 0]], 2, 0.0),
        # |h|: only even degrees, the second with coefficient E[|h| (h^2 - 1)]^2 / 2 = 1/pi.
        ("abs(h1)", None, 0, ABS_VARIANCE),
        ("abs(h1)", None, 1, ABS_VARIANCE),
        ("abs(h1)", None, 2, ABS_VARIANCE - 1 / np.pi),
        # A tilted kink: max = u / sqrt 2 + |v| / sqrt 2.
        ("max(h1,h2)", [[1, 1]], 0, ABS_VARIANCE / 2),
        ("max(h1,h2)", [[1, 1]], 2, ABS_VARIANCE / 2 - 1 / (2 * np.pi)),
        # Noise inside the link stays, whatever is known.
        ("h1 + 0.5*xi1", [[1.0]], 0, 0.25),
        ("h1 + h2 + 0.5*xi1*h2", [[1, 0], [0, 1]], 3, 0.25),
    ],
)
def test_values(text: str, known: list[list[float]] | None, degree: int, value: float) -> None:
    found = unexplained_variance(text, known, degree)
    assert holds(found, value)
    assert not holds(found, 1.2 * value + (1.0 if value == 0 else 0.0))


def test_a_smooth_link_against_plain_integrals() -> None:
    """tanh: E[tanh^2] - E[h tanh]^2."""

    def mean(power: int, moment: int) -> float:
        density = (2 * np.pi) ** -0.5
        return scipy.integrate.quad(lambda z: density * np.exp(-(z**2) / 2) * np.tanh(z) ** power * z**moment, -12, 12)[
            0
        ]

    assert holds(unexplained_variance("tanh(h1)", degree=1), mean(2, 0) - mean(1, 1) ** 2)


def test_additive_noise_is_not_counted() -> None:
    assert unexplained_variance(target("h1", noise=0.3), [[1.0]]).value == pytest.approx(0.0, abs=1e-12)


def test_floors_fall_with_the_degree_and_the_directions() -> None:
    by_degree = [unexplained_variance("sign(h1*h2) + h1**2", [[1, 1]], k).value for k in range(4)]
    assert all(after <= before + 1e-9 for before, after in itertools.pairwise(by_degree))
    everything = unexplained_variance("sign(h1*h2) + h1**2", np.eye(2))
    assert everything.value == pytest.approx(0.0, abs=1e-9)
    assert by_degree[0] <= unexplained_variance("sign(h1*h2) + h1**2").value


def test_the_span_counts_not_the_vectors() -> None:
    one, other = (
        unexplained_variance(FIVE, known, 1).value for known in ([[1, 0, 0], [0, 1, 0]], [[2, 1, 0], [1, 3, 0]])
    )
    assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize(
    ("known", "degree", "name"),
    [([[1.0]], 0, "known"), ([[1, 0], [2, 0]], 0, "known"), ([[0, 0]], 0, "known"), (None, -1, "degree")],
)
def test_misuse(known: list[list[float]] | None, degree: int, name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name}: got"):
        unexplained_variance("h1*h2", known, degree)
