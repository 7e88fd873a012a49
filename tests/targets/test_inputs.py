"""Spikes as laws in the dimension."""

from __future__ import annotations

import copy

import pytest

from featlab.errors import InvalidParameter
from featlab.targets import Isotropic, Spiked, SpikeLaw, target
from featlab.targets.inputs import spike_in_words


def test_a_law_at_a_dimension() -> None:
    found = SpikeLaw(0.5, 0.25).at(10_000)
    assert found.strength == pytest.approx(100)
    assert found.overlaps == pytest.approx((0.1,))
    scaled = SpikeLaw(0.5, (0.0, 0.5), strength_scale=3.0, overlap_scale=0.5).at(100)
    assert scaled.strength == pytest.approx(30)
    assert scaled.overlaps == pytest.approx((0.5, 0.05))


def test_perfect_alignment_leaves_no_other_axis() -> None:
    assert SpikeLaw(0.7).at(50).spike == (1.0,)


def test_a_target_carries_its_law() -> None:
    law = target("He3(h1)", inputs=SpikeLaw(0.5, 0.25))
    assert law.at(10_000) == target("He3(h1)", inputs=Spiked(100.0, 10_000**-0.25))
    assert law.at(10_000) != law.at(9_999)
    assert copy.deepcopy(law) == law  # by way of its pickle
    fixed = target("He3(h1)", inputs=Isotropic())
    assert fixed.at(10) is fixed


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: SpikeLaw(1.1), "g2 from 0 to 1"),
        (lambda: SpikeLaw(-0.1), "g2 from 0 to 1"),
        (lambda: SpikeLaw(float("nan")), "g2 from 0 to 1"),
        (lambda: SpikeLaw(0.5, 0.6), "g1 from 0 to 1/2"),
        (lambda: SpikeLaw(0.5, (0.1, -0.1)), "g1 from 0 to 1/2"),
        (lambda: SpikeLaw(0.5, ()), "for each direction"),
        (lambda: SpikeLaw(0.5, strength_scale=0.0), "c2 > 0"),
        (lambda: SpikeLaw(0.5, overlap_scale=1.5), "0 < c1 <= 1"),
        (lambda: SpikeLaw(0.5, (0.0, 0.0)).at(10), "lower overlap_scale"),
        (lambda: SpikeLaw(0.5).at(0), "at least 1"),
        (lambda: SpikeLaw(0.5).at(10.0), "whole number"),  # type: ignore[arg-type]
        (lambda: target("h1*h2", inputs=SpikeLaw(0.5)), "one overlap for each"),
        (lambda: target("h1", inputs="spiked"), "Isotropic"),  # type: ignore[arg-type]
        (lambda: spike_in_words(None, 0.2), "unless there is a spike"),
    ],
)
def test_inadmissible_laws(make: object, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        make()  # type: ignore[operator]


def test_laws_in_words() -> None:
    assert spike_in_words(None, None) is None
    assert spike_in_words(0.4, None) == SpikeLaw(0.4, 0.0)
    assert spike_in_words(0.4, (0.1, 0.2)) == SpikeLaw(0.4, (0.1, 0.2))
