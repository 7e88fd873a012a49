"""Injective functions are taken off the label, others stay; added noise variables become label noise."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.targets import target
from featlab.targets.relabelling import informative


@pytest.mark.parametrize(
    ("text", "inner", "noise"),
    [
        ("tanh(h2*He3(h1))", "h2*He3(h1)", 0),
        ("(h1**2 + h1*h2*h3)**3", "h1**2 + h1*h2*h3", 0),
        ("5 - 3*tanh(2*h1**3*h2**3)", "h1*h2", 0),
        ("1000000 + abs(h1)", "abs(h1)", 0),
        ("abs(h1)**0.001", "abs(h1)", 0),
        ("log(1 + h1**2)", "h1**2", 0),
        ("1/(1 + h1**2*h2**2)**3", "h1**2*h2**2", 0),
        ("exp(0.1*h1)*exp(h2**2/9)", "0.1*h1 + h2**2/9", 0),
        ("h1**20*h2**20", "h1**2*h2**2", 0),
        ("He2(h1)**8", "He2(h1)**2", 0),
        ("He2(h1*h2)", "h1**2*h2**2", 0),
        ("abs(tanh(h1*h2))", "h1**2*h2**2", 0),
        ("sigmoid(h1*h2)**2", "h1*h2", 0),
        ("relu(h1*h2)**2", "relu(h1*h2)", 0),
        ("tanh(exp(h1**2))", "h1**2", 0),
        ("h1 + xi1", "h1", 1),
        ("(3*h1*h2 - 6*xi1)**3", "h1*h2", 4),
        ("h1*xi1 + h1*h2 + 2*xi2", "h1*xi1 + h1*h2", 4),
    ],
)
def test_what_is_taken_off(text: str, inner: str, noise: float) -> None:
    found = informative(target(text))
    assert found == target(inner, noise=float(noise))


@pytest.mark.parametrize("text", ["tanh(h2*He3(h1))", "He2(h1)**8", "1/(1 + h1**2*h2**2)**3", "sigmoid(h1*h2)**2"])
def test_equal_labels_stay_equal_and_different_ones_different(text: str) -> None:
    """On a grid with many ties: the labels of the two are equal in the same places."""
    of, simpler = target(text), informative(target(text))
    points = np.random.default_rng(0).integers(-3, 4, (300, of.rank)) / 4
    one, other = of.link(points), simpler.link(points)
    same, as_well = (np.isclose(label[:, None], label, rtol=1e-9, atol=1e-12) for label in (one, other))
    assert np.array_equal(same, as_well)


@pytest.mark.parametrize(
    "text",
    ["sign(h1*h2)", "h1**3 + h1*h2", "cos(h1)**2", "relu(h1*h2)", "tanh(h1 + exp(h1**2))", "h1*h2 + h1*xi1", "abs(h1)"],
)
def test_what_stays(text: str) -> None:
    """Not injective, a sum, an argument that is not square-integrable, noise that is multiplied; a size is a size."""
    of = target(text)
    assert informative(of) == of


def test_under_label_noise_only_an_affine_map_is_taken_off() -> None:
    assert informative(target("7 - 2*(h1*h2)**3", noise=1.0)) == target("h1**3*h2**3", noise=0.25)
    of = target("tanh(h1*h2)", noise=0.1)
    assert informative(of) == of


def test_a_function_target_stays() -> None:
    of = target(lambda h: np.tanh(h[..., 0]), rank=1)
    assert informative(of) == of
