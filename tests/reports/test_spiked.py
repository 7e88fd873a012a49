"""An explanation under a spike: the spiked costs, and nothing that is known for isotropic inputs only."""

from __future__ import annotations

import json
import re

import pytest

from featlab.comparison.demonstration import demonstrate
from featlab.reports import Explanation, explain
from featlab.reports.statements import costs, inputs_text
from featlab.targets import Isotropic, Spiked, SpikeLaw


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return explain("He3(h1)", inputs=SpikeLaw(0.8, 0.2), dim=10**4)


def test_the_screen(explanation: Explanation) -> None:
    text = " ".join(str(explanation).split())
    for words in (
        "He3(h1) (1 direction, inputs with a spike: theta = d^0.8, overlap d^-0.2)",
        "OPEN: TRIVIAL, EASY and HARD are known for isotropic inputs only; under this spike n ~ d^1.4 samples suffice",
        "information exponent 3",
        "generative exponent 1",
        "normalised gradient flow, whitened d^1.4 4e5 sufficient",
        "one gradient step, then ridge d 1e4 heuristic",
        "kernels, rotation-invariant d^Theta(0.6) - theorem",
        "from n ~ d samples a kernel learns the degrees up to 4 and leaves nothing",
    ):
        assert words in text
    for absent in ("critical ratio 0", "n/d where AMP", "message passing", "giant", "TRIVIAL at"):
        assert absent not in text
    assert max(map(len, str(explanation).splitlines())) <= 80


def test_the_page(explanation: Explanation) -> None:
    page = explanation.to_html()
    assert page.count("<svg") == 4
    assert "theta = d^0.8" in page
    assert "order 1 (trivial)" not in page
    assert "What one giant step leaves" not in page
    assert 'class="verdict open"' in page


def test_the_record(explanation: Explanation) -> None:
    record = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert (record["verdict"], record["alpha_c"], record["residuals"]) == ("OPEN", None, [])
    assert record["grand_staircase"][0]["alpha"] is None
    assert record["sample_cost"]["kernels_bound"] == "d^Theta(0.6)"
    assert record["sample_cost_details"]["kernels_bound"]["log10_samples"] is None
    assert record["sample_cost_details"]["one_gradient_step"]["status"] == "heuristic"


def test_every_cost_is_in_one_group(explanation: Explanation) -> None:
    every = explanation.analysis.sample_cost
    assert sorted(cost.line for group in costs(every).values() for cost in group) == sorted(every)


def test_why_there_is_no_picture_at_the_end(explanation: Explanation) -> None:
    refusal = demonstrate(explanation.analysis, 10.0)
    assert refusal.recipe is None
    assert "--spike" in refusal.reason


def test_several_directions_on_a_page() -> None:
    found = explain("h1*h2", inputs=SpikeLaw(0.5, (0.1, 0.3)))
    assert "What each algorithm needs" not in found.to_html()
    assert "Samples needed" not in str(found)
    assert "and so is what finds every direction" in found.verdict_sentence


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (Isotropic(), "^$"),
        (Spiked(3.0, (0.5, 0.25)), r"theta = 3, overlap 0\.5, 0\.25$"),
        (SpikeLaw(0.5, 0.0, strength_scale=2.0), r"theta = 2 d\^0\.5, overlap 1$"),
        (SpikeLaw(0.0, 0.5, overlap_scale=0.5), r"theta = 1, overlap 0\.5 d\^-0\.5$"),
    ],
)
def test_inputs_in_words(inputs: Isotropic | Spiked | SpikeLaw, words: str) -> None:
    assert re.search(words, inputs_text(inputs))
