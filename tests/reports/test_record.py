"""The JSON object: its fixed keys, its conventions, and the reference rows of the literature."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import featlab
from featlab.reports import Explanation

Explained = Callable[..., Explanation]

KEYS = [
    "target",
    "rank",
    "noise",
    "information_exponent",
    "leap",
    "generative_exponent",
    "verdict",
    "alpha_c",
    "giant_steps",
    "staircase",
    "grand_staircase",
    "sample_cost",
]
COSTS = ["one_pass_sgd", "csq_bound", "sq_bound", "amp", "batch_reuse", "one_giant_step", "random_features"]
README = "He4(h1) + sign(h1*h2*h3)"


def _strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("text", ["He3(h1)", "abs(h1)", "sign(h1*h2*h3)", "3e-11*h1 + abs(h1)", "h1 + abs(h2)"])
def test_keys_and_plain_types(explained: Explained, text: str) -> None:
    record = explained(text).to_dict()
    assert list(record)[: len(KEYS)] == KEYS
    assert set(COSTS) <= set(record["sample_cost"])
    assert all(set(stage) >= {"exponent", "directions"} for stage in record["staircase"])
    assert all(set(stage) >= {"kind", "exponent", "alpha", "directions"} for stage in record["grand_staircase"])
    assert _strict(json.dumps(record)) == record


def test_trivial(explained: Explained) -> None:
    record = explained("He3(h1)").to_dict()
    exponents = ("information_exponent", "leap", "generative_exponent")
    assert [record[key] for key in exponents] == [3, 3, 1]
    assert record["verdict"] == "TRIVIAL"
    assert record["alpha_c"] == 0
    assert record["giant_steps"] == []
    (stage,) = record["grand_staircase"]
    assert (stage["kind"], stage["exponent"], stage["alpha"], stage["directions"]) == ("trivial", 1, 0, [[1.0]])
    costs = [record["sample_cost"][name] for name in COSTS]
    assert costs == ["d^2", "d^1.5", "d", "d", "d", "d^3", "d^3"]


def test_hard(explained: Explained) -> None:
    record = explained("sign(h1*h2*h3)").to_dict()
    assert record["verdict"] == "HARD"
    assert record["alpha_c"] is None
    (stage,) = record["grand_staircase"]
    assert (stage["kind"], stage["exponent"], stage["alpha"]) == ("hard", 3, None)
    assert stage["directions"] == np.eye(3).tolist()
    costs = [record["sample_cost"][name] for name in COSTS]
    assert costs == ["d^2", "d^1.5", "d^1.5", "none", "d^2", "d^3", "none"]
    assert record["labels"] == [-1.0, 1.0]


def test_easy_readme_example(explained: Explained) -> None:
    record = explained(README, dim=1000).to_dict()
    assert record["verdict"] == "EASY"
    first, second = record["grand_staircase"]
    assert first["directions"] == [[1.0, 0.0, 0.0]]
    assert record["alpha_c"] == first["alpha"]
    assert second["directions"] == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert second["alpha"] == pytest.approx(np.pi**2 / 4, rel=1e-3)
    costs = [record["sample_cost"][name] for name in COSTS]
    assert costs == ["d^2", "d^1.5", "d", "d", "d log d", "d^3", "none"]
    details = record["sample_cost_details"]
    assert details["batch_reuse"]["log10_samples"] == pytest.approx(3 + np.log10(np.log(1000)), rel=1e-7)
    assert details["random_features"]["log10_samples"] is None
    assert details["one_pass_sgd"]["status"] == "conjecture"


def test_giant_steps_are_lists_of_directions(explained: Explained) -> None:
    record = explained("h1 + He2(h1) + h2 - He2(h2)").to_dict()
    (first,), (second,) = record["giant_steps"]
    half = pytest.approx(np.sqrt(0.5), abs=1e-8)
    assert first == [half, half]
    assert [abs(entry) for entry in second] == [half, half]
    assert second[0] * second[1] < 0


def test_undecided_is_null_not_a_guess(explained: Explained) -> None:
    record = explained("3e-11*h1 + abs(h1)").to_dict()
    assert record["verdict"] == "UNDECIDED"
    assert (
        record["information_exponent"] is record["leap"] is record["generative_exponent"] is record["alpha_c"] is None
    )
    assert record["sample_cost"]["one_pass_sgd"] == "unknown"
    assert any("undecided" in doubt for doubt in record["doubts"])


def test_reduction_is_told(explained: Explained) -> None:
    record = explained("(h1 + h2)**3").to_dict()
    assert record["rank"] == 1
    assert record["typed_variables"] == ["h1", "h2"]
    assert record["typed_directions"] == [[pytest.approx(np.sqrt(0.5)), pytest.approx(np.sqrt(0.5))]]
    assert record["remarks"]


def test_energies_add_up(explained: Explained) -> None:
    record = explained("He3(h1)").to_dict()
    assert record["variance"] == pytest.approx(6)
    assert sum(record["hermite_energies"]) == pytest.approx(6)


def test_every_kind_of_source_gives_the_same() -> None:
    h1, h2 = sympy.symbols("h1 h2")
    from_text = featlab.explain("h1 + h2**2", noise=0.1)
    assert featlab.explain(h1 + h2**2, noise=0.1).to_dict() == from_text.to_dict()
    assert featlab.explain(featlab.target("h1 + h2**2", noise=0.1)).to_dict() == from_text.to_dict()

    def function(fields: Any) -> Any:
        return fields[..., 0] + fields[..., 1] ** 2

    from_function = featlab.explain(featlab.target(function, rank=2, noise=0.1)).to_dict()
    assert from_function["verdict"] == "EASY"
    assert from_function["alpha_c"] == 0
    assert from_function["grand_staircase"][1]["alpha"] == pytest.approx(
        from_text.to_dict()["grand_staircase"][1]["alpha"], rel=1e-3
    )


def test_noise_counts() -> None:
    noisy = featlab.explain("abs(h1)", noise=0.25).to_dict()
    assert noisy["noise"] == 0.25
    assert noisy["alpha_c"] > 0.5 * (1 + 1e-2)


@pytest.mark.parametrize("dim", [1, 0, -5, 1.5, float("nan"), float("inf"), True, 1e16])
def test_bad_dimension(dim: float) -> None:
    with pytest.raises(featlab.InvalidParameter, match="dim"):
        featlab.explain("h1", dim=dim)


def test_dimension_below_the_rank() -> None:
    with pytest.raises(featlab.InvalidParameter, match="at least the number of directions, 3"):
        featlab.explain("h1*h2*h3", dim=2)


def test_lines_name_their_exhibits(explained: Explained) -> None:
    record = explained(README).to_dict()
    exhibits = record["exhibits"]
    assert set(exhibits) <= {*record, *record["sample_cost"]}
    assert "amp-two-parity" in exhibits["alpha_c"]
    assert "extragradient" in exhibits["batch_reuse"]
    assert "extragradient" not in exhibits["alpha_c"]
