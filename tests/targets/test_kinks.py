"""Kinks: where a link jumps, bends or blows up."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidTarget
from featlab.targets import target


def found(text: str) -> set[tuple[str, str]]:
    return {(kink.kind, kink.text) for kink in target(text).kinks}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sign(h1*h2*h3)", {("jump", "h1"), ("jump", "h2"), ("jump", "h3")}),
        ("He4(h1) + sign(h1*h2*h3)", {("jump", "h1"), ("jump", "h2"), ("jump", "h3")}),
        ("sign(h1**2 - h2**2)", {("jump", "h1 + h2"), ("jump", "h1 - h2")}),
        ("sign(He3(h1))", {("jump", "h1"), ("jump", "h1**2 - 3")}),
        ("sign(h1**2*h2)", {("jump", "h1")}),
        ("sign((h1**2 + 1)*h2)", {("jump", "h1")}),
        ("sign(tanh(h1)*erf(h2))", {("jump", "h1"), ("jump", "h2")}),
        ("sign(exp(h1)*h2)", {("jump", "h1")}),
        ("sign(h1 + h2*h3)", {("jump", "h1 + h2*h3")}),
        ("sign(2*h1*(h2 - 0.5))", {("jump", "h1"), ("jump", "h2 - 0.5")}),
        ("step(h1 - 1)", {("jump", "h1 - 1")}),
        ("abs(h1)", {("corner", "h1")}),
        ("relu(h1 + 2) - relu(h1)", {("corner", "h1 + 2"), ("corner", "h1")}),
        ("max(h1, h2, 0)", {("corner", "h1"), ("corner", "h2"), ("corner", "h1 - h2")}),
        ("clip(h1, -1, 2)", {("corner", "h1 + 1"), ("corner", "h1 - 2")}),
        ("log(abs(h1))", {("singular", "h1")}),
        ("abs(h1 - 1)**-0.25", {("singular", "h1 - 1")}),
        ("sqrt(abs(h1*h2))", {("singular", "h1"), ("singular", "h2")}),
        ("sin(h1)/h1", {("singular", "h1")}),
        ("h1/(1 + h2**2)", set()),
        ("abs(h1)*h2 + sign(h1)", {("jump", "h1")}),  # one surface, once, with its worst kind
        ("tanh(h1)*exp(-h2**2) + He12(h3)", set()),
        ("sign(h1 + 0.5*xi1)", {("jump", "2*h1 + xi1")}),
        ("where(h1 > h2, h1, 1)", {("jump", "h1 - h2")}),
        ("where(0 < h1 < 1 or not h2 >= 3, 1, 0)", {("jump", "h1"), ("jump", "h1 - 1"), ("jump", "h2 - 3")}),
        ("(h1 > 0.5)*h2", {("jump", "2*h1 - 1")}),
        ("where(h1**2 + h2**2 < 1, 1, 0)", {("jump", "h1**2 + h2**2 - 1")}),
        ("floor(clip(h1*h2, -1, 1))", {("jump", "h1"), ("jump", "h2"), ("jump", "h1*h2 + 1"), ("jump", "h1*h2 - 1")}),
        ("floor(2*tanh(h1))", {("jump", "h1"), ("jump", "2*tanh(h1) + 1"), ("jump", "2*tanh(h1) - 1")}),
        ("round(2*tanh(h1))", {("jump", f"2*tanh(h1) {sign} {size}") for sign in "+-" for size in ("0.5", "1.5")}),
        ("arctan(h1)*sinh(h2) + cosh(h3)", set()),
    ],
)
def test_surfaces(text: str, expected: set[tuple[str, str]]) -> None:
    assert found(text) == expected


def test_variables_and_functions_refer_to_the_reduced_fields() -> None:
    made = target("sign(h3) + h1*xi2")
    (kink,) = made.kinks
    assert made.names == ["h1", "h2", "xi1"]
    assert kink.variables == (1,)
    fields = np.random.default_rng(0).standard_normal((5, 2, 3))
    np.testing.assert_array_equal(kink.function(fields), fields[..., 1])


@pytest.mark.parametrize(
    "text",
    ["sign(h1*h2*h3)", "sign(h1**2 - 2*h2**2) + h1", "max(h1*h2, h2**2 - 1)", "relu(sign(h1)*h2 + h1**3)",
     "where(h1*h2 > 1 or h1 < -1, h2, h1**2)", "floor(h1) + mod(h2, 0.75)", "round(h1*h2/4)*sign(floor(h1 + h2))",
     "step(sin(h1) - h2)", "abs(relu(h1) - relu(h2) + 0.3)", "clip(h1*h2, -1, 1)*sign(h1 - 1)", "sign(min(h1, h2))"],
)  # fmt: skip
def test_the_link_is_smooth_between_kinks(text: str) -> None:
    """Along random lines, every jump of the value or the slope lies where a kink changes sign; and there are some."""
    made = target(text)
    rng = np.random.default_rng(4)
    steps = np.linspace(-3, 3, 20001)
    rough_somewhere = False
    for _ in range(10):
        start, direction = rng.standard_normal((2, made.rank))
        line = start + steps[:, None] * direction
        value = made.link(line)
        bend = np.abs(np.diff(value, 2))
        rough = np.flatnonzero(bend > 200 * np.median(bend) + 2e-5)
        crossed = np.zeros(len(steps), dtype=bool)
        for kink in made.kinks:
            change = np.flatnonzero(np.diff(np.sign(kink.function(line))) != 0)
            for shift in range(-2, 3):
                crossed[np.clip(change + shift, 0, len(steps) - 1)] = True
        assert crossed[rough].all()
        rough_somewhere |= len(rough) > 0
    assert rough_somewhere


def test_the_jumps_of_stairs_are_those_within_eight_deviations() -> None:
    assert {float(kink.function(np.zeros(1))) for kink in target("floor(h1)").kinks} == set(range(-8, 9))
    assert len(target("mod(h1 + h2, 3)").kinks) == 2 * int(8 * 2**0.5 / 3) + 1
    with pytest.raises(InvalidTarget, match="more than 64 times"):
        target("floor(10*h1)")
    assert target("floor(clip(10*h1, -9, 9))").rank == 1
