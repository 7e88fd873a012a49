"""Every row of the reference table of targets: exponents, verdict, stages, giant steps and costs.

The rows were computed by an independent prototype and checked by hand; thresholds must agree to 1e-3 relative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from featlab.analysis import Analysis, analyse
from featlab.targets import target

E1, E2, E3, E4 = np.eye(4)


@dataclass(frozen=True)
class Row:
    """What is expected: grand stages as (kind, alpha or exponent, spanning directions), giant steps as unions."""

    text: str
    exponents: tuple[int, int, int]
    verdict: str
    stages: list[tuple[str, float | None, list[np.ndarray]]]
    giant: list[list[np.ndarray]]
    costs: tuple[str, str, str, str, str, str]


ROWS = [
    Row("tanh(h1)", (1, 1, 1), "TRIVIAL", [("trivial", 0, [E1])], [[E1]], ("d", "d", "d", "d", "d", "none")),
    Row("relu(h1)", (1, 1, 1), "TRIVIAL", [("trivial", 0, [E1])], [[E1]], ("d", "d", "d", "d", "d", "none")),
    Row("sign(h1)", (1, 1, 1), "TRIVIAL", [("trivial", 0, [E1])], [[E1]], ("d", "d", "d", "d", "d", "none")),
    Row("abs(h1)", (2, 2, 2), "EASY", [("easy", 0.5, [E1])], [], ("d log d", "d", "d", "d log d", "d^2", "none")),
    Row("h1**2", (2, 2, 2), "EASY", [("easy", 0.5, [E1])], [], ("d log d", "d", "d", "d log d", "d^2", "d^2")),
    Row("He3(h1)", (3, 3, 1), "TRIVIAL", [("trivial", 0, [E1])], [], ("d^2", "d^1.5", "d", "d", "d^3", "d^3")),
    Row("He4(h1)", (4, 4, 2), "EASY", [("easy", 0.64485, [E1])], [], ("d^3", "d^2", "d", "d log d", "d^4", "d^4")),
    Row("h1**2*exp(-h1**2)", (4, 4, 4), "HARD", [("hard", 4, [E1])], [], ("d^3", "d^2", "d^2", "d^3", "d^4", "none")),
    Row(
        "sign(h1*h2)",
        (2, 2, 2),
        "EASY",
        [("easy", np.pi**2 / 4, [E1, E2])],
        [],
        ("d log d", "d", "d", "d log d", "d^2", "none"),
    ),
    Row(
        "h1*h2",
        (2, 2, 2),
        "EASY",
        [("easy", 0.593751, [E1, E2])],
        [],
        ("d log d", "d", "d", "d log d", "d^2", "d^2"),
    ),
    Row(
        "h1*h2*h3",
        (3, 3, 2),
        "EASY",
        [("easy", 2.56518, [E1, E2, E3])],
        [],
        ("d^2", "d^1.5", "d", "d log d", "d^3", "d^3"),
    ),
    Row(
        "sign(h1*h2*h3)",
        (3, 3, 3),
        "HARD",
        [("hard", 3, [E1, E2, E3])],
        [],
        ("d^2", "d^1.5", "d^1.5", "d^2", "d^3", "none"),
    ),
    Row(
        "h1 + abs(h2)",
        (1, 2, 2),
        "EASY",
        [("trivial", 0, [E1]), ("easy", 0.5, [E2])],
        [[E1]],
        ("d log d", "d", "d", "d log d", "d", "none"),
    ),
    Row(
        "h1+2*h2+h1*h2+3*h2**2",
        (1, 1, 1),
        "TRIVIAL",
        [("trivial", 0, [E1, E2])],
        [[E1 + 2 * E2], [E1, E2]],
        ("d", "d", "d", "d", "d", "d^2"),
    ),
    Row(
        "h1+He2(h1)+h2-He2(h2)",
        (1, 1, 1),
        "TRIVIAL",
        [("trivial", 0, [E1, E2])],
        [[E1 + E2], [E1, E2]],
        ("d", "d", "d", "d", "d", "d^2"),
    ),
    Row(
        "h1+He2(h1)+h2+He2(h2)",
        (1, 2, 2),
        "EASY",
        [("trivial", 0, [E1 + E2]), ("easy", 0.5, [E1 - E2])],
        [[E1 + E2]],
        ("d log d", "d", "d", "d log d", "d", "d^2"),
    ),
    Row(
        "h1+h1*h2+He3(h1)*h3",
        (1, 1, 1),
        "TRIVIAL",
        [("trivial", 0, [E1, E2, E3])],
        [[E1], [E1, E2, E3]],
        ("d", "d", "d", "d", "d", "d^4"),
    ),
    Row(
        "h1+He3(h1)*h2+He3(h2)*h3",
        (1, 1, 1),
        "TRIVIAL",
        [("trivial", 0, [E1, E2, E3])],
        [[E1], [E1, E2], [E1, E2, E3]],
        ("d", "d", "d", "d", "d", "d^4"),
    ),
    Row(
        "h1**2+sign(h1*h2*h3)",
        (2, 2, 2),
        "EASY",
        [("easy", 0.575166, [E1]), ("easy", np.pi**2 / 4, [E2, E3])],
        [],
        ("d log d", "d", "d", "d log d", "d^2", "none"),
    ),
    Row(
        "He4(h1)+sign(h1*h2*h3)",
        (3, 3, 2),
        "EASY",
        [("easy", None, [E1]), ("easy", np.pi**2 / 4, [E2, E3])],
        [],
        ("d^2", "d^1.5", "d", "d log d", "d^3", "none"),
    ),
    Row(
        "h1+h1*h2+h1*h2*h3+h1*h2*h3*h4",
        (1, 1, 1),
        "TRIVIAL",
        [("trivial", 0, [E1, E2, E3, E4])],
        [[E1], [E1, E2], [E1, E2, E3], [E1, E2, E3, E4]],
        ("d", "d", "d", "d", "d", "d^4"),
    ),
]


def projector(vectors: np.ndarray) -> np.ndarray:
    """The orthogonal projector on the span of the columns."""
    left, values, _ = np.linalg.svd(vectors, full_matrices=False)
    basis = left[:, values > 1e-9]
    return basis @ basis.T


def assert_same_span(found: np.ndarray, expected: list[np.ndarray]) -> None:
    rank = found.shape[0]
    assert projector(found) == pytest.approx(projector(np.column_stack([e[:rank] for e in expected])), abs=1e-6)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text)
def test_row_of_the_reference_table(row: Row) -> None:
    analysis = analyse(target(row.text))
    assert (analysis.information_exponent, analysis.leap, analysis.generative_exponent) == row.exponents
    assert analysis.verdict == row.verdict
    assert analysis.doubts == ()
    assert_costs(analysis, row)
    assert_grand_staircase(analysis, row)
    assert_giant_steps(analysis, row)


def assert_costs(analysis: Analysis, row: Row) -> None:
    names = ("one_pass_sgd", "csq_bound", "sq_bound", "batch_reuse", "one_giant_step", "random_features")
    assert tuple(analysis.sample_cost[name].text for name in names) == row.costs
    assert analysis.sample_cost["amp"].text == ("none" if row.verdict == "HARD" else "d")


def assert_grand_staircase(analysis: Analysis, row: Row) -> None:
    assert [stage.kind for stage in analysis.grand_staircase] == [kind for kind, _, _ in row.stages]
    for stage, (kind, number, directions) in zip(analysis.grand_staircase, row.stages, strict=True):
        assert_same_span(stage.directions, directions)
        if kind == "hard":
            assert stage.exponent == number
            assert stage.alpha is None
        elif number is not None:
            assert stage.alpha == pytest.approx(number, rel=1e-3, abs=1e-12)
    first = row.stages[0]
    if first[0] == "hard":
        assert analysis.alpha_c is None
    elif first[1] is not None:
        assert analysis.alpha_c == pytest.approx(first[1], rel=1e-3)


def assert_giant_steps(analysis: Analysis, row: Row) -> None:
    assert len(analysis.giant_steps) == len(row.giant)
    known = np.zeros((analysis.target.rank, 0))
    for stage, span in zip(analysis.giant_steps, row.giant, strict=True):
        known = np.column_stack([known, stage.directions])
        assert_same_span(known, span)


def test_a_sum_of_two_products_has_two_directions() -> None:
    """h1 + h1 h2 + h1 h3 depends on h1 and on h2 + h3 only; the giant steps find them one after the other."""
    analysis = analyse(target("h1+h1*h2+h1*h3"))
    assert analysis.target.rank == 2
    assert (analysis.information_exponent, analysis.leap, analysis.generative_exponent) == (1, 1, 1)
    first, second = (analysis.target.directions.T @ stage.directions[:, 0] for stage in analysis.giant_steps)
    assert np.abs(first) == pytest.approx([1, 0, 0], abs=1e-6)
    assert np.abs(second) == pytest.approx([0, np.sqrt(0.5), np.sqrt(0.5)], abs=1e-6)
    assert second[1] == pytest.approx(second[2])
