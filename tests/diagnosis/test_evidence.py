"""A small sample of benchmarks/diagnose.py: laws of the inputs, planted labels, theory over curves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.diagnose import LAWS, explained, looked_at, main, real_draw, target_draw

from featlab.diagnosis.curve_theory import features_theory, kernel_theory
from featlab.diagnosis.search import _leading
from featlab.theory.kernels.isotropic import DegreeEnergies


@pytest.mark.parametrize("law", LAWS)
def test_targets_of_the_catalogue_on_inputs_of_every_law(law: str) -> None:
    """One direction and its order, of a link that is far from noise at n/d = 40. Normal scores of heavy tails bend
    a direction that has parts in many columns: there it may be seen as several, and angles mean little."""
    found = target_draw("tanh", law, 400, 10, 0)
    assert found["information"] == 1
    assert found["count"] >= 1
    assert law == "heavy-tailed" or (found["count"], found["angles"]) == (1, [True])


def test_a_product_is_found_in_many_dimensions() -> None:
    """n/d = 10 at d = 100: both directions of a product that is hidden behind a linear part."""
    draw = np.random.default_rng(1)
    inputs = draw.standard_normal((1000, 100))
    labels = inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + 0.3 * draw.standard_normal(1000)
    found, coordinates, _, _ = looked_at(inputs, labels, draw)
    assert len(found.rows) == 3
    assert explained(inputs[:, :3], coordinates @ found.rows.T).min() > 0.8
    assert [step.order for step in found.steps][:2] == [1, 2]


def test_planted_labels_on_real_inputs() -> None:
    found = real_draw("wine", "tanh(h1)", 0)
    assert found["count"] >= 1
    assert found["explained"][0] > 0.8


def test_one_command_one_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evidence.json"
    main(["--only", "noise", "--draws", "2", "--processes", "1", "--output", str(path)])
    rows = json.loads(path.read_text(encoding="utf-8"))["noise"]
    assert len(rows) == 2 * len(LAWS)
    assert "/2 = " in capsys.readouterr().out


def test_the_leading_eigenvalue_is_that_of_the_whole_matrix() -> None:
    """With as many products as dimensions; off a known row; after few products it is smaller, if anything."""
    draw = np.random.default_rng(0)
    inputs, weights = draw.standard_normal((200, 6)), draw.standard_normal((200, 3))
    known = np.eye(6)[:1]
    start = np.array([0, 1.0, 1, 1, 1, 1]) / np.sqrt(5)
    sizes, vectors = _leading(inputs, weights, known, start, 60)
    few, _ = _leading(inputs, weights, known, start, 2)
    for place, column in enumerate(weights.T):
        matrix = ((inputs * column[:, None]).T @ inputs / 200)[1:, 1:]
        values, axes = np.linalg.eigh(matrix)
        best = int(np.argmax(np.abs(values)))
        assert sizes[place] == pytest.approx(abs(values[best]))
        assert abs(axes[:, best] @ vectors[1:, place]) == pytest.approx(1)
        assert few[place] <= sizes[place] * (1 + 1e-12)
    assert np.all(few < sizes)


def test_theory_of_kernels_and_features_has_its_limits() -> None:
    """Many samples leave the noise to a kernel; few features leave more, many of them what their kernel does. A label
    that is all noise is worth its variance."""
    link = DegreeEnergies(np.array([0.0, 0.6, 0.3]), 0.1, 0.1)
    kernel = kernel_theory("exponential", link, 10)
    assert kernel(50) > kernel(500) > kernel(100_000)
    assert kernel(100_000) == pytest.approx(0.1, rel=0.02)
    narrow, wide, wider = (features_theory("relu", width, link, 10)(500) for width in (64, 20_000, 40_000))
    assert narrow > 1.2 * wide
    assert wide == pytest.approx(wider, rel=0.01)
    noise = kernel_theory("exponential", DegreeEnergies(np.array([0, 1e-9, 0]), 1.0, 1.0), 10)(200)
    assert noise == pytest.approx(1 + 1 / 200, rel=1e-3)
