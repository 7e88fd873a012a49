"""Targets of more directions than can be integrated over: closed forms, relations, and what is not computed."""

from __future__ import annotations

from functools import cache
from math import pi

import numpy as np
import pytest

import featlab
from featlab.analysis import Analysis, Verdict, analyse
from featlab.errors import InvalidTarget
from featlab.targets import target


@cache
def analysed(text: str, noise: float = 0.0) -> Analysis:
    return analyse(target(text, noise=noise))


def stages(text: str) -> list[tuple[str, int, int]]:
    return [(stage.kind.value, stage.exponent, stage.directions.shape[1]) for stage in analysed(text).grand_staircase]


def orders(text: str) -> list[tuple[int, int]]:
    return [(stage.exponent, stage.directions.shape[1]) for stage in analysed(text).staircase]


def written(form: str, count: int, join: str = " + ") -> str:
    return join.join(form.replace("h1", f"h{k}") for k in range(1, count + 1))


@pytest.mark.parametrize("rank", [5, 8, 32])
def test_a_sum_of_squares_has_the_ratio_of_its_closed_form(rank: int) -> None:
    """E[zz^T - I | y] = (y/r - 1) I for y = sum h_i^2, so that 1 / alpha = Var(y) / r^2 = 2 / r."""
    found = analysed(written("h1**2", rank))
    assert (found.verdict, found.leap, found.generative_exponent) == (Verdict.EASY, 2, 2)
    assert found.alpha_c == pytest.approx(rank / 2, abs=2 * found.alpha_c_error)
    assert found.alpha_c_error < 1e-4 * rank
    assert found.grand_staircase[0].directions.shape[1] == rank


def test_a_quadratic_form_is_a_sum_in_its_own_directions() -> None:
    """Pairs of all six: eigenvalues 5/2 once and -1/2 five times, so that it is 5 u1^2 - u2^2 - .. - u6^2."""
    pairs = analysed("sum(h[i]*h[j] for i in 1..6 for j in 1..6 if i < j)")
    turned = analysed("5*h1**2 - h2**2 - h3**2 - h4**2 - h5**2 - h6**2")
    for one, other in zip(pairs.grand_staircase, turned.grand_staircase, strict=True):
        assert one.directions.shape == other.directions.shape
        assert one.alpha == pytest.approx(other.alpha, abs=2 * (one.alpha_error + other.alpha_error))
    assert np.allclose(pairs.grand_staircase[0].directions, 6**-0.5)


def test_a_quadratic_form_with_a_slope_in_an_eigenspace() -> None:
    """|h|^2 + 2 h1 + 2 h2 tells, once u = (h1 + h2)/sqrt(2) is known, the squares of the four others: alpha = 4/2."""
    first, second = analysed("h1**2 + h2**2 + h3**2 + h4**2 + h5**2 + 2*h1 + 2*h2").grand_staircase
    assert np.allclose(first.directions[:, 0], [0.5**0.5, 0.5**0.5, 0, 0, 0])
    assert second.directions.shape[1] == 4
    assert second.alpha == pytest.approx(2.0, abs=2 * second.alpha_error)


@pytest.mark.parametrize("rank", [5, 7, 20])
def test_a_parity_is_seen_at_its_own_order_only(rank: int) -> None:
    found = analysed(f"sign({written('h1', rank, '*')})")
    assert found.information_exponent == found.leap == found.generative_exponent == rank
    assert found.verdict is Verdict.HARD
    assert found.alpha_c is None
    assert found.sample_cost["sq_bound"].exponent == rank / 2
    np.testing.assert_array_equal(found.labels, [-1, 1])


def test_signs_that_the_label_tells_up_to_a_flip() -> None:
    """G = (2/pi)(s s^T - I), whose F has the identity as top eigenmatrix: 1 / alpha = (4/pi^2)(r - 1)."""
    found = analysed("sign(h1*h2) + 2*sign(h2*h3) + 4*sign(h3*h4) + 8*sign(h4*h5)")
    assert found.alpha_c == pytest.approx(pi**2 / 16, rel=1e-9)
    assert stages(found.target.text) == [("easy", 2, 5)]


def test_two_parities_of_a_function_of_signs() -> None:
    """Given h1, each of the two other pairs is a two-parity: pi^2/4 (the sum of both is told exactly)."""
    found = analysed("4*sign(h1) + sign(h1*h2*h3) + 2*sign(h1*h4*h5)")
    assert stages(found.target.text) == [("trivial", 1, 1), ("easy", 2, 4)]
    assert found.grand_staircase[1].alpha == pytest.approx(pi**2 / 4, rel=1e-9)


def test_a_committee_knows_its_sum_first() -> None:
    """With f = h + He2(h) the label and the sum tell |z|^2 exactly: alpha = (r - 1)/2 for the other directions."""
    found = analysed(written("h1 + He2(h1)", 6))
    first, second = found.grand_staircase
    assert np.allclose(first.directions, 6**-0.5)
    assert second.directions.shape[1] == 5
    assert second.alpha == pytest.approx(2.5, abs=second.alpha_error)
    assert second.alpha_error < 0.02


def test_a_committee_of_relus() -> None:
    """Leap 2 in the worst basis, 1 as typed; the ratio of the others by a lattice of two dimensions."""
    found = analysed("sum(relu(h[i]) for i in 1..10)")
    assert (found.information_exponent, found.leap, found.coordinate_leap) == (1, 2, 1)
    assert stages(found.target.text) == [("trivial", 1, 1), ("easy", 2, 9)]
    assert found.grand_staircase[1].alpha == pytest.approx(5.131, abs=0.01)
    assert found.energies.variance == pytest.approx(5 * (1 - 1 / pi), rel=1e-9)


def test_the_long_staircase() -> None:
    """h1, h2, h3 one after the other; then the label tells h4 h5, and nothing of one of them."""
    text = "h1 + h1*h2 + h1*h2*h3 + h1*h2*h3*h4*h5"
    found = analysed(text)
    assert (found.information_exponent, found.leap, found.generative_exponent) == (1, 2, 2)
    assert [stage.exponent for stage in found.giant_steps] == [1, 1, 1]
    assert orders(text) == [(1, 1), (1, 1), (1, 1), (2, 2)]
    assert stages(text) == [("trivial", 1, 3), ("easy", 2, 2)]
    last = found.grand_staircase[-1]
    assert last.alpha == pytest.approx(0.593751, abs=last.alpha_error)
    assert found.sample_cost["random_features"].text == "d^5"
    # One step on d samples finds h1; the terms of degree <= 1 in the others are then learned with p ~ d neurons.
    assert [regime.residual for regime in found.regimes[:2]] == [3.0, 2.0]


def test_the_seven_directions_of_the_catalogue() -> None:
    entry = featlab.catalogue["boolean-leap-four"]
    found = analysed(entry.text)
    assert (found.coordinate_leap, found.information_exponent) == (entry.coordinate_leap, entry.information_exponent)
    assert orders(found.target.text) == [(1, 1), (2, 2), (4, 4)]
    assert stages(found.target.text) == [("trivial", 1, 1), ("easy", 2, 6)]
    assert found.verdict is Verdict.EASY
    assert found.grand_staircase[1].alpha is None
    assert "not computed, because" in found.doubts[0]


def test_order_one_is_proven_or_left_undecided() -> None:
    """Flips of signs forbid it in the first; in the second, for h1, only a third of a turn of (h1, h2) does."""
    assert stages("h1*h2*h3 + h3*h4*h5 + h5*h6*h1")[0][:2] == ("easy", 2)
    found = analysed("h1**3 - 3*h1*h2**2 + h3*h4*h5*h6*h7")
    assert found.verdict is Verdict.UNDECIDED
    assert "whether order 1 vanishes is not decided" in found.doubts[0]
    assert "not HARD" in found.doubts[0]


@pytest.mark.parametrize(("added", "kind", "order"), [("abs(h6)", "easy", 2), ("He3(h6)", "trivial", 1)])
def test_an_independent_term_keeps_the_orders_of_the_others(added: str, kind: str, order: int) -> None:
    hard = "h1**2*exp(-h1**2)"
    found = analysed(f"{hard} + h2**2 + abs(h3) + cos(h4) + h5 + {added}")
    opened = {}
    for stage in found.grand_staircase:
        for axis in np.flatnonzero(np.abs(stage.directions).max(axis=1) > 0.5):
            opened[int(axis) + 1] = (stage.kind.value, stage.exponent)
    easy = ("easy", 2)
    assert opened == {1: ("hard", 4), 2: easy, 3: easy, 4: easy, 5: ("trivial", 1), 6: (kind, order)}


def test_functions_of_the_label_that_lose_nothing_change_nothing() -> None:
    plain, cubed = (analysed(text) for text in ("h1*h2*h3*h4*h5", "(h1*h2*h3*h4*h5)**3"))
    assert cubed.alpha_c == pytest.approx(plain.alpha_c, rel=1e-9)
    assert cubed.information_exponent == plain.information_exponent == 5


def test_noise_raises_the_ratio_and_changes_no_order() -> None:
    text = written("abs(h1)", 5)
    quiet, inside, outside = analysed(text), analysed(text + " + xi1"), analysed(text, noise=1.0)
    assert outside.alpha_c > 1.05 * quiet.alpha_c
    assert inside.alpha_c == pytest.approx(outside.alpha_c, abs=3 * outside.alpha_c_error)
    assert inside.generative_exponent == outside.generative_exponent == quiet.generative_exponent == 2


def test_a_function_of_signs_with_a_mixed_direction_says_what_it_lacks() -> None:
    found = analysed("sign(sign(h1) + sign(h2) + sign(h3) + sign(h4) + sign(h5))")
    assert found.verdict is Verdict.UNDECIDED
    assert found.leap == 2
    assert "was not computed, because" in found.doubts[0]


@pytest.mark.parametrize("text", ["max(h1, h2, h3, h4, h5)", "tanh(h1*h2 + h3*h4*h5)", "relu(h1 + h2*h3*h4*h5)"])
def test_without_a_structure_it_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(InvalidTarget, match="polynomial"):
        analysed(text)


def test_it_is_explained_and_written_down() -> None:
    explained = featlab.explain("h1 + h1*h2*h3 + h2*h3*h4*h5*h6*h7", dim=1000)
    assert "EASY above n/d not computed" in str(explained)
    assert "a ratio that was not computed" in explained.verdict_sentence
    record = explained.to_dict()
    assert record["grand_staircase"][1]["alpha"] is None
    assert len(record["hermite_energies"]) == 6
    many = str(featlab.explain("prod(sign(h[i]) for i in 1..32)"))
    assert "h1, ..., h32" in many
