"""Jumps found by values alone: their planes, what is left over, and that nothing continuous is taken for a jump."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import featlab
from featlab.targets import target
from featlab.targets.jumps import find_jumps

Function = Callable[[np.ndarray], np.ndarray]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda rank: st.lists(st.integers(-3, 3), min_size=rank, max_size=rank)),
    st.sampled_from([0.0, 0.3, -1.25, 2.0]),
    st.sampled_from([1.0, 0.05, 40.0]),
)
def test_a_plane_is_found_wherever_it_is(weights: list[int], offset: float, size: float) -> None:
    normal = np.array(weights, dtype=float)
    if not normal.any() or abs(offset) > 2.5 * np.linalg.norm(normal):
        return

    def function(fields: np.ndarray) -> np.ndarray:
        return size * np.where(fields @ normal > offset, 1.0, -0.5) + np.tanh(fields[..., 0])

    found = find_jumps(function, len(weights), ())
    assert len(found.planes) == 1
    assert not len(found.stray)
    plane = found.planes[0]
    sign = np.sign(normal[np.flatnonzero(normal)[0]])
    np.testing.assert_allclose(plane.normal, sign * normal / np.linalg.norm(normal), atol=1e-9)
    np.testing.assert_allclose(plane.offset, sign * offset / np.linalg.norm(normal), atol=1e-9)


CONTINUOUS: dict[str, tuple[Function, int]] = {
    "cubic": (lambda h: h[..., 0] ** 3, 1),
    "corner": (lambda h: np.abs(h[..., 0] - h[..., 1]), 2),
    "root": (lambda h: np.abs(h[..., 0]) ** 0.25, 1),
    "steep": (lambda h: np.tanh(1e3 * h[..., 0]), 1),
    "growing": (lambda h: np.exp(2 * h[..., 0]), 1),
    "fast": (lambda h: np.sin(50 * h[..., 0]), 2),
    "single precision": (lambda h: (h[..., 0] * h[..., 1]).astype(np.float32), 2),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_nothing_continuous_jumps(name: str) -> None:
    function, rank = CONTINUOUS[name]
    found = find_jumps(function, rank, ())
    assert not found.planes
    assert not len(found.stray)


def disc(fields: np.ndarray) -> np.ndarray:
    return (np.sum(fields**2, axis=-1) < 1) * 1.0


def circle(fields: np.ndarray) -> np.ndarray:
    return np.sum(fields**2, axis=-1) - 1


def test_a_curved_jump_is_asked_for_by_name() -> None:
    found = find_jumps(disc, 2, ())
    assert not found.planes
    np.testing.assert_allclose(np.linalg.norm(found.stray, axis=1), 1, atol=1e-9)
    (doubt,) = target(disc, rank=2).doubts
    assert "kinks=" in doubt
    assert not target(disc, rank=2, kinks=[circle]).doubts
    assert not len(find_jumps(disc, 2, [circle]).stray)


def test_planes_and_a_curve_are_told_apart() -> None:
    found = find_jumps(lambda h: np.sign(h[..., 1]) + disc(h), 2, ())
    assert [plane.normal.tolist() for plane in found.planes] == [[0.0, 1.0]]
    np.testing.assert_allclose(np.linalg.norm(found.stray, axis=1), 1, atol=1e-9)


def test_found_jumps_are_kinks_of_the_target() -> None:
    made = target(lambda h: np.sign(h[..., 0] * (h[..., 1] - 0.5)), rank=2)
    assert [(kink.kind, kink.text, kink.variables) for kink in made.kinks] == [
        ("jump", "h1", (0,)),
        ("jump", "h2 - 0.5", (1,)),
    ]
    assert "h1, h2 - 0.5" in made.remarks[-1]
    assert made.doubts == ()


@pytest.mark.parametrize(
    ("function", "rank", "text"),
    [
        (lambda h: np.sign(h[..., 0] * h[..., 1]), 2, "sign(h1*h2)"),
        (lambda h: np.floor(h[..., 0]), 1, "floor(h1)"),
        (lambda h: np.where(np.abs(h[..., 0]) < 0.7, h[..., 0] ** 2, -1.0), 1, "where(abs(h1) < 0.7, h1**2, -1)"),
    ],
)
def test_a_function_is_explained_as_its_text_is(function: Function, rank: int, text: str) -> None:
    by_values, by_text = featlab.explain(function, rank=rank).analysis, featlab.explain(text).analysis
    assert by_values.verdict == by_text.verdict
    assert by_values.energies.variance == pytest.approx(by_text.energies.variance, rel=1e-6)
    np.testing.assert_allclose(by_values.energies.per_degree[:6], by_text.energies.per_degree[:6], atol=1e-6)
    assert not by_values.doubts


def test_the_variance_of_stairs_is_sheppards() -> None:
    """Var floor(h + U) for a step 1: 1 + 1/12, and Var (h mod 1) = 1/12, up to exp(-2 pi^2) = 3e-9."""
    assert featlab.explain("floor(h1)").analysis.energies.variance == pytest.approx(1 + 1 / 12, abs=1e-7)
    assert featlab.explain("mod(h1, 1)").analysis.energies.variance == pytest.approx(1 / 12, abs=1e-7)


def test_rank_and_kinks_belong_to_functions() -> None:
    with pytest.raises(featlab.InvalidParameter, match="only for functions"):
        featlab.explain("h1", rank=1)
    with pytest.raises(featlab.InvalidParameter, match="only for functions"):
        featlab.explain(target("h1"), kinks=[circle])
