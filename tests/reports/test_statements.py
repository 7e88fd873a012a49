"""The sentences: each verdict says what it must, and never more than is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from featlab.analysis.sample_cost import Constant, SampleCost, Status
from featlab.reports import Explanation
from featlab.reports.statements import climbs, costs, log10_samples, papers_of, samples_text, state

Explained = Callable[..., Explanation]


SENTENCES = {
    "He3(h1)": (
        "TRIVIAL: n = O(d) samples suffice to find the direction, at any sample ratio n/d > 0 (critical ratio 0)."
    ),
    "abs(h1)": (
        "EASY: n = O(d) samples suffice to find the direction, but below the critical sample ratio n/d = 0.5 message "
        "passing (AMP) sees nothing."
    ),
    "h1 + abs(h2)": (
        "EASY: n = O(d) samples suffice to find every direction: h1 at any sample ratio n/d > 0 (critical ratio 0), "
        "the rest only above a ratio of at least 0.5."
    ),
    "sign(h1*h2*h3)": (
        "HARD: no known efficient method sees any direction from n = O(d) samples (no critical ratio); "
        "statistical-query and low-degree methods need at least about d^1.5."
    ),
    "h1 + h2**2*exp(-h2**2)": (
        "HARD: h1 can be found from n = O(d) samples at any ratio n/d > 0 (critical ratio 0), but no known efficient "
        "method then finds h2 from so few; statistical-query and low-degree methods need at least about d^2."
    ),
    "3e-11*h1 + abs(h1)": (
        "UNDECIDED: the next stage could not be decided numerically, so nothing is claimed of the whole target."
    ),
}


@pytest.mark.parametrize("text", SENTENCES)
def test_verdict_sentence(explained: Explained, text: str) -> None:
    assert explained(text).verdict_sentence == SENTENCES[text]


def _cost(exponent: float | None, logs: int = 0, beyond: bool = False) -> SampleCost:
    return SampleCost("amp", "x", exponent, logs, Status.THEOREM, (), "", beyond=beyond)


@pytest.mark.parametrize(
    ("cost", "dim", "text"),
    [
        (_cost(1), 1000, "1e3"),
        (_cost(1.5), 1000, "3.2e4"),
        (_cost(1, logs=1), 1000, "6.9e3"),
        (_cost(3), 999, "1e9"),  # 9.97e8 rounds up into the next decade
        (_cost(40), 10**15, "1e600"),  # far beyond a float
        (_cost(8, beyond=True), 10, "> 1e8"),
        (_cost(None), 10, "-"),
    ],
)
def test_samples_text(cost: SampleCost, dim: int, text: str) -> None:
    assert samples_text(cost, dim) == text


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (Constant(2.467, 2.467, 2.467, ""), "= 2467"),
        (Constant(2.467, 2.4, 2.5, "", at_least=True), ">= 2467"),
        (Constant(256.5, 256.5, 256.5, ""), "= 2.565e5"),
        (Constant(2.8, 2, 4, ""), "= 2.8e3 (2000 to 4000)"),
    ],
)
def test_samples_text_has_the_constant_that_is_known(constant: Constant, text: str) -> None:
    assert samples_text(replace(_cost(1), constant=constant), 1000) == text


def test_log10_samples_agrees_with_the_cost() -> None:
    cost = _cost(1.5, logs=1)
    size = log10_samples(cost, 10**4)
    assert size is not None
    assert 10**size == pytest.approx(cost.samples(10**4))


def test_every_cost_is_in_one_group(explained: Explained) -> None:
    every = explained("He3(h1)").analysis.sample_cost
    grouped = [cost.line for group in costs(every).values() for cost in group]
    assert sorted(grouped) == sorted(every)


def test_papers_are_told_once_in_order(explained: Explained) -> None:
    papers = papers_of(explained("He3(h1)").analysis)
    assert len(set(papers)) == len(papers)
    years = [paper.year for paper in papers]
    assert years == sorted(years)


def test_a_staircase_says_how_it_ends(explained: Explained) -> None:
    giant, leap, grand = climbs(explained("h1 + abs(h2)").analysis)
    assert giant.rows == (("order 1", "h1"), ("nothing more is found", ""))
    assert leap.rows == (("order 1", "h1"), ("order 2", "h2"))
    assert grand.rows == (("TRIVIAL at any n/d", "h1"), ("EASY above n/d >= 0.5", "h2"))
    assert grand.kinds == ("trivial", "easy")
    for climb in climbs(explained("3e-11*h1 + abs(h1)").analysis):
        assert climb.rows == (("undecided", "see the doubt"),)
    assert climbs(explained("He3(h1)").analysis)[0].rows == (("nothing is found", ""),)


@pytest.mark.parametrize(("text", "status"), [("3e-11*h1 + abs(h1)", "-"), ("He3(h1)", "theorem")])
def test_an_open_cost_is_no_theorem(explained: Explained, text: str, status: str) -> None:
    every = {cost.line: cost for group in state(explained(text).analysis).costs.values() for cost in group}
    assert every["one_pass_sgd"].status == status


def test_a_ratio_too_large_to_be_resolved_is_told_by_its_bound(explained: Explained) -> None:
    """cos(5 h1): E[z^2 | y] differs from 1 by e^(-25/2); 1 / alpha = 2 * 5^4 e^-25."""
    found = explained("cos(5*h1)")
    (stage,) = found.analysis.grand_staircase
    assert stage.alpha is None
    assert stage.alpha_bound is not None
    assert 1e3 < stage.alpha_bound < np.exp(25) / (2 * 5**4)
    assert "that was not computed (it is > " in found.verdict_sentence
    assert "EASY above n/d > " in str(found)
    assert found.to_dict()["grand_staircase"][0]["alpha_bound"] == pytest.approx(stage.alpha_bound, rel=1e-6)
