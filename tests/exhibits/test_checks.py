"""Each check holds for what is true, fails for what is false, and says so when it cannot tell."""

import numpy as np
import pytest

from featlab.exhibits.checks import above, close, contrast, exponent, exponent_at_most, identity, ordered, straight
from featlab.exhibits.verdict import CheckResult


def noise(mean, *shape, spread=0.1, key=0):
    return np.random.default_rng(key).normal(mean, spread, shape)


def test_close():
    assert close("s", noise(1.0, 30), 1.0).passed
    assert close("s", noise(1.0, 30), 1.5).result is CheckResult.FAILS
    vague = close("s", noise(1.0, 4, spread=2.0), 1.0)
    assert vague.result is CheckResult.CANNOT_TELL
    assert not vague.refused
    assert close("s", noise(1.0, 30), 1.04, allowance=0.05).passed


def test_exponent():
    x = np.array([10.0, 30, 100, 300, 1000])
    error = 0.02 * x**1.5
    exact = exponent("s", x, 3 * x**1.5, 3 * error, 1.5, wrong=1.0)
    assert exact.passed
    assert exponent("s", x, 3 * x**1.5, 3 * error, 1.0, wrong=2.0).result is CheckResult.FAILS
    bending = exponent("s", x, x + 40.0, 0.01 * x, 1.0, wrong=0.0)
    assert bending.result is CheckResult.CONVERGES
    assert bending.needs


def test_exponent_at_most():
    x = np.array([10.0, 30, 100, 300])
    y, error = x**1.5, 0.02 * x**1.5
    assert exponent_at_most("s", x, y, error, 2.0, wrong=1.0).passed
    assert exponent_at_most("s", x, y, error, 1.5, wrong=1.0).passed  # sharp
    assert exponent_at_most("s", x, y, error, 1.4, wrong=1.0).result is CheckResult.FAILS
    assert not exponent_at_most("s", x, y, error, 2.0, wrong=1.6).refused


def test_ordered():
    low, high = noise(1.0, 20), noise(2.0, 20, key=1)
    assert ordered("s", {"a": low, "b": high}).passed
    assert ordered("s", {"a": high, "b": low}).result is CheckResult.FAILS
    assert ordered("s", {"a": low, "b": noise(1.0, 20, key=2)}).result is CheckResult.CANNOT_TELL


def test_ordered_by_a_least_effect():
    low, high = noise(1.0, 400, key=0), noise(1.0, 400, key=1) * 1.2
    assert ordered("s", {"a": low, "b": high}, least=0.05).passed
    assert ordered("s", {"a": low, "b": high}, least=0.5).result is CheckResult.FAILS
    assert ordered("s", {"a": low, "b": high}, least=0.2).result is CheckResult.CANNOT_TELL
    with_size = ordered("s", {"a": -high, "b": -low}, least=0.05)
    assert with_size.passed, "of a negative mean its size counts"


def test_ordered_pairs():
    luck = np.exp(noise(0.0, 6, key=3))
    apart = {"a": luck * 1.0, "b": luck * (1.1 + 0.001 * np.arange(6))}
    assert ordered("s", apart).result is CheckResult.CANNOT_TELL
    assert ordered("s", apart, paired=True).passed
    assert ordered("s", apart, paired=True, least=0.2).result is CheckResult.FAILS
    assert ordered("s", dict(reversed(apart.items())), paired=True).result is CheckResult.FAILS


def test_ordered_without_scatter():
    assert ordered("s", {"a": [1.0, 1.0], "b": [2.0, 2.0]}).passed
    assert ordered("s", {"a": [2.0, 2.0], "b": [1.0, 1.0]}).result is CheckResult.FAILS


@pytest.mark.parametrize(
    ("found", "control", "result", "refused"),
    [
        (20, 0, CheckResult.HOLDS, True),
        (20, 20, CheckResult.HOLDS, False),
        (0, 0, CheckResult.FAILS, True),
        (10, 0, CheckResult.CANNOT_TELL, True),
    ],
)
def test_contrast(found, control, result, refused):
    runs = np.arange(20)
    check = contrast("s", runs < found, runs < control, name="this", control_name="that")
    assert (check.result, check.refused) == (result, refused)


def test_above():
    over, under = noise(1.2, 20, 3), noise(0.8, 20, 3, key=1)
    assert above("s", over, 1.0, control="c", control_samples=under).passed
    assert above("s", under, 1.0, control="c", control_samples=under).result is CheckResult.FAILS
    assert not above("s", over, 1.0, control="c", control_samples=over).refused


def test_identity():
    assert identity("s", 1e-9, 1e-6, control="c", control_difference=1.0).passed
    assert identity("s", 1e-3, 1e-6, control="c", control_difference=1.0).result is CheckResult.FAILS
    assert not identity("s", 1e-9, 1e-6, control="c", control_difference=1e-9).refused


def test_straight():
    x = np.log([10.0, 100.0, 1000.0])
    samples = 2 * x + 5 + np.random.default_rng(3).normal(0, 0.2, (40, 3))
    assert straight("s", x, samples, 2.0).passed
    assert straight("s", x, samples, 2.4).result is CheckResult.FAILS
    assert not straight("s", x, 2 * x + noise(5.0, 4, 3, spread=3.0), 2.0).refused


def test_above_without_scatter():
    """Three equal numbers are no reason for a warning of precision lost, which would be an error here."""
    right, wrong = (
        above("s", np.full(3, value), 1.0, control="c", control_samples=np.full(3, 0.5)) for value in (2, 0.9)
    )
    assert right.passed
    assert wrong.result is CheckResult.FAILS
