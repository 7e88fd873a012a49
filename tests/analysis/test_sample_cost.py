"""Costs as words and numbers."""

from __future__ import annotations

from math import log

import pytest

from featlab.analysis.sample_cost import SampleCost, Status, critical_constant, sample_costs


def costs(
    rank: int = 1, leap: int | None = 2, generative: int | None = 2, degree: int | None = 2
) -> dict[str, SampleCost]:
    return sample_costs(
        rank=rank,
        information_exponent=leap,
        leap=leap,
        generative_exponent=generative,
        degree=degree,
        degree_for_most=degree,
        searched_degree=8,
    )


@pytest.mark.parametrize(
    ("leap", "sgd", "bound"),
    [(1, "d", "d"), (2, "d log d", "d"), (3, "d^2", "d^1.5"), (4, "d^3", "d^2"), (None, "unknown", "unknown")],
)
def test_costs_of_a_leap(leap: int | None, sgd: str, bound: str) -> None:
    found = costs(leap=leap)
    assert (found["one_pass_sgd"].text, found["csq_bound"].text) == (sgd, bound)


@pytest.mark.parametrize(
    ("generative", "amp", "reuse", "bound"),
    [
        (1, "d", "d", "d"),
        (2, "d", "d log d", "d"),
        (3, "none", "d^2", "d^1.5"),
        (None, "unknown", "unknown", "unknown"),
    ],
)
def test_costs_of_a_generative_exponent(generative: int | None, amp: str, reuse: str, bound: str) -> None:
    found = costs(generative=generative)
    assert (found["amp"].text, found["batch_reuse"].text, found["sq_bound"].text) == (amp, reuse, bound)


def test_a_conjecture_is_called_one() -> None:
    assert costs(rank=1)["one_pass_sgd"].status is Status.THEOREM
    assert costs(rank=2)["one_pass_sgd"].status is Status.CONJECTURE
    assert costs(rank=2)["batch_reuse"].status is Status.CONJECTURE
    assert costs(rank=1, generative=3)["batch_reuse"].status is Status.CONJECTURE


def test_numbers_at_a_dimension() -> None:
    assert costs()["one_pass_sgd"].samples(1000) == pytest.approx(1000 * log(1000))
    assert costs(generative=3)["amp"].samples(1000) is None


def test_random_features_never_fit_a_function_that_is_no_polynomial() -> None:
    found = costs(degree=None)
    assert (found["random_features"].text, found["random_features_99"].text) == ("none", "> d^8")


def test_every_cost_has_its_paper_and_its_meaning() -> None:
    for cost in costs().values():
        assert cost.papers
        assert cost.meaning


def test_the_critical_ratio_is_the_constant_of_message_passing() -> None:
    """The largest over the stages; a lower bound if there are several; none where one is unknown or all are trivial."""
    one = critical_constant([(0.5, 0.01)])
    assert one is not None
    assert (one.value, one.low, one.high, one.at_least) == (0.5, 0.49, 0.51, False)
    two = critical_constant([(0.0, 0.0), (2.4, 0.1)])
    assert two is not None
    assert (two.value, two.at_least) == (2.4, True)
    assert critical_constant([(0.5, 0.0), (None, None)]) is None
    assert critical_constant([(0.0, 0.0)]) is None
    assert critical_constant([]) is None
