"""Staircases: published examples, and invariance under rotations of the target's directions."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.analysis import analyse
from featlab.analysis.grids import build_grids
from featlab.analysis.levels import find_level
from featlab.analysis.probes import label_probes
from featlab.analysis.staircase import giant_staircase, grand_staircase, leap_staircase
from featlab.analysis.subspaces import nothing
from featlab.targets import target

# Dimensions of U_1, U_2, ... under giant steps on n = O(d) samples (Dandi et al. 2023 and by exact quadrature).
GIANT = [
    ("h1+h2+h1**2-h2**2", [1, 2]),
    ("h1+h2+He2(h1)+He2(h2)", [1]),
    ("h1+h1*h2+h1*h3", [1, 2]),
    ("h1+h1*h2+He3(h1)*h3", [1, 3]),
    ("h1+He3(h1)*h2+He3(h2)*h3", [1, 2, 3]),
    ("h1+h2+h1*h2", [1]),
    ("h1+He2(h2)+He2(h1)*h2+He4(h1)*He2(h2)*h3+He2(h2)*He2(h3)", [1, 2, 3]),
    ("He2(h1)+h1*h2", []),
]


@pytest.mark.parametrize(("text", "dimensions"), GIANT)
def test_giant_staircases_of_the_literature(text: str, dimensions: list[int]) -> None:
    stairs = giant_staircase(build_grids(target(text)))
    assert np.cumsum([stage.directions.shape[1] for stage in stairs.stages]).tolist() == dimensions
    assert stairs.doubts == ()


@pytest.mark.parametrize(
    ("text", "leap"),
    [
        ("He2(h1)+h1*h2", 2),
        ("h1+h2+h1*h2", 2),  # 1 in its own basis, 2 in (h1 + h2, h1 - h2): the isotropic leap is larger
        ("h1*h2*h3", 3),
        ("He3(h1)", 3),
        ("He2(h1)+He2(h1)*He3(h2)+He2(h1)*He3(h2)*He2(h3)", 3),
        ("He2(h1)+He2(h2)+He2(h3)+He3(h1)*He8(h3)", 2),
        ("h1**2+sign(h1*h2*h3)", 2),
    ],
)
def test_rotation_invariant_leap(text: str, leap: int) -> None:
    of = target(text)
    assert leap_staircase(build_grids(of), 12).exponent == leap


@pytest.mark.parametrize(
    ("text", "information", "generative"),
    [
        ("He2(h1)", 2, 2),
        ("He3(h1)", 3, 1),
        ("He4(h1)", 4, 2),
        ("He5(h1)", 5, 1),
        ("He6(h1)+0.1*He3(h1)", 3, 1),
        ("h1**2*exp(-h1**2)", 4, 4),
    ],
)
def test_exponents_of_single_index_targets(text: str, information: int, generative: int) -> None:
    """A polynomial has generative exponent 1, or 2 if it is even (Lee et al. 2024); z^2 exp(-z^2) has 4."""
    analysis = analyse(target(text))
    assert (analysis.information_exponent, analysis.generative_exponent) == (information, generative)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_parity_of_r_signs_has_generative_exponent_r(count: int) -> None:
    of = target("sign(" + "*".join(f"h{i + 1}" for i in range(count)) + ")")
    level = find_level(grids := build_grids(of), label_probes(grids.fine, 0), nothing(count), 6)
    assert level.order == count
    assert level.directions == pytest.approx(np.eye(count))


def test_the_coordinate_leap_can_be_smaller() -> None:
    analysis = analyse(target("h1+h2+h1*h2"))
    assert (analysis.coordinate_leap, analysis.leap) == (1, 2)


def test_a_jump_is_seen_by_stein_and_not_by_the_gradient() -> None:
    """E[grad f] vanishes for a step function away from its jump; E[f z] does not. The recursion uses the latter."""
    stairs = giant_staircase(build_grids(target("sign(h1)+sign(h1)*sign(h2)")))
    assert np.cumsum([stage.directions.shape[1] for stage in stairs.stages]).tolist() == [1, 2]


def test_directions_of_one_trivial_closure_are_one_stage() -> None:
    of = target("h1+h1*h2+h1*h2*h3")
    stages = grand_staircase(of, build_grids(of), 8).stages
    assert [stage.kind for stage in stages] == ["trivial"]
    assert stages[0].directions == pytest.approx(np.eye(3))


def test_an_easy_stage_takes_only_the_directions_of_smallest_alpha() -> None:
    of = target("h1**2 + 0.3*h2**2")
    stages = grand_staircase(of, build_grids(of), 8).stages
    assert [np.abs(stage.directions[:, 0]).tolist() for stage in stages] == [[1.0, 0.0], [0.0, 1.0]]
    tied = target("h1**2 + h2**2")
    assert [stage.directions.shape[1] for stage in grand_staircase(tied, build_grids(tied), 8).stages] == [2], "control"


@pytest.mark.parametrize(
    ("text", "leap", "generative", "angle"),
    [
        ("He2(a)+a*b", 2, 2, 0.1),
        ("a+He2(b)", 2, 2, 0.37),
        ("He3(a)*b", 4, 2, 0.7),
        ("a+He3(a)*b", 1, 1, 1.03),
        ("He3(a)+He2(b)", 3, 2, 1.4),
    ],
)
def test_exponents_do_not_depend_on_the_basis(text: str, leap: int, generative: int, angle: float) -> None:
    """Property: turning the directions by any angle changes neither the leap nor the generative exponent."""
    cosine, sine = repr(float(np.cos(angle))), repr(float(np.sin(angle)))
    a, b = f"({cosine}*h1+{sine}*h2)", f"({cosine}*h2-{sine}*h1)"
    analysis = analyse(target(text.replace("a", a).replace("b", b)))
    assert (analysis.leap, analysis.generative_exponent) == (leap, generative)
    known = np.column_stack([stage.directions for stage in analysis.staircase])
    assert known.T @ known == pytest.approx(np.eye(2), abs=1e-8)
