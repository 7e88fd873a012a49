"""A small sample of benchmarks/diagnose.py: laws of the inputs, planted labels, theory over curves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.diagnose import COUNTS, DEVELOPMENT, PARTS, main, measured
from benchmarks.diagnose_counts import counted, covered, lines, put_into
from benchmarks.diagnose_draws import AS_THEY_ARE, LAWS, explained, looked_at, real_draw, target_draw

from featlab.diagnosis import curve_theory
from featlab.diagnosis.curve_theory import directions_theory, features_theory, kernel_theory
from featlab.diagnosis.search import _leading
from featlab.estimators import MultiIndexRegressor, SlicedInverseRegression
from featlab.targets import target
from featlab.theory.kernels.isotropic import DegreeEnergies
from featlab.theory.reduction.found_coordinates import other_coordinates


@pytest.mark.parametrize("law", LAWS)
def test_targets_of_the_catalogue_on_inputs_of_every_law(law: str) -> None:
    """One direction, its order, its angle and its coefficients, of a link that is far from noise at n/d = 40."""
    found = target_draw("tanh", law, 400, 10, DEVELOPMENT, 0)
    assert found["information"] == found["generative"] == 1
    assert (found["count"], found["angles"]) == (1, [True])
    assert found["label"]
    assert found["functions"]


def test_sums_of_heavy_tailed_columns_are_found_all_the_same() -> None:
    """Their normal scores show more directions than there are: the first is right, halves do not confirm the others."""
    found = target_draw("tanh", AS_THEY_ARE, 400, 10, DEVELOPMENT, 0)
    assert found["count"] >= 1
    assert found["angles"] == [True] + [None] * (found["count"] - 1)


def test_a_product_is_found_in_many_dimensions() -> None:
    """n/d = 10 at d = 100: both directions of a product that is hidden behind a linear part."""
    draw = np.random.default_rng(1)
    inputs = draw.standard_normal((1000, 100))
    labels = inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + 0.3 * draw.standard_normal(1000)
    looked = looked_at(inputs, labels, draw)
    assert len(looked.found.rows) == 3
    assert explained(inputs[:, :3], looked.coordinates @ looked.found.rows.T).min() > 0.8
    assert [step.order for step in looked.found.steps][:2] == [1, 2]


def test_planted_labels_on_real_inputs() -> None:
    found = real_draw("wine", "tanh(h1)", DEVELOPMENT, 0)
    assert found["count"] >= 1
    assert found["explained"][0] > 0.8


def test_one_command_one_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evidence.json"
    main(["--only", "noise", "--draws", "2", "--key", f"{DEVELOPMENT}", "--processes", "1", "--output", str(path)])
    rows = json.loads(path.read_text(encoding="utf-8"))["noise"]
    assert len(rows) == 2 * len(LAWS)
    said = capsys.readouterr().out
    assert " of 2 | " in said
    main(["--read", str(path)])
    assert said.splitlines()[1] in capsys.readouterr().out


def test_the_page_shows_what_was_counted() -> None:
    counts = json.loads(COUNTS.read_text(encoding="utf-8"))
    page = (Path(__file__).parents[2] / "docs" / "your-data.md").read_text(encoding="utf-8").splitlines()
    for part in PARTS:
        missing = set(lines(part, counts[part])) - set(page)
        assert not missing, f"docs/your-data.md: not what {COUNTS.name} has: {missing}"
    assert sum(one["draws"] for one in counts["noise"]) == 1000


def test_counts_of_draws_are_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two draws: one with a direction too many, which nothing is told of, and an interval that does not hold."""
    right = {"count": 1, "information": 1, "generative": 1, "angles": [True], "true": [3.0], "label": False}
    right |= {"functions": True, "band": 0.9, "lower": [True], "medians": [False]}
    more = {**right, "count": 2, "angles": [True, None], "true": [3.0, 88.0], "label": True, "band": 1.0}
    more |= {"lower": [True, None], "medians": [True, None]}
    case = {"target": "tanh", "rank": 1, "law": "isotropic", "ratio": 10, "dim": 15, "draws": [right, more]}
    path, kept, page = (tmp_path / name for name in ("evidence.json", "counts.json", "page.md"))
    cases = {"targets": [case, case | {"law": AS_THEY_ARE}], "noise": [], "real": []}
    cases["noise"] = [{"law": "isotropic", "labels": "binary", "draws": [{"alarm": True}, {"alarm": False}]}]
    path.write_text(json.dumps({"key": 3, **cases}), encoding="utf-8")
    monkeypatch.setattr("benchmarks.diagnose.COUNTS", kept)
    monkeypatch.setattr("benchmarks.diagnose.PAGE", page)
    monkeypatch.setattr("benchmarks.diagnose.PARTS", ("noise", "targets"))
    tables = "\n".join("\n".join([*lines(part, counted(part, cases[part])), ""]) for part in ("noise", "targets"))
    page.write_text(f"# Page\n\n{tables.replace(' of 2 ', ' of 9 ')}\nEnd\n", encoding="utf-8")
    main(["--read", str(path), "--publish"])
    assert page.read_text(encoding="utf-8") == f"# Page\n\n{tables}\nEnd\n"
    said = capsys.readouterr().out
    assert "| isotropic | 10 | 15 | 1 | 1 of 2 | 1 | 2 | 2 | 2 of 2 (1) | 1 of 2 | 2 of 2 | 95% |" in said
    assert "| orders of the label, 95% at once | 1 of 2 | 50.0% (1.3% to 98.7%) | 0 |" in said  # of the first law alone
    assert json.loads(kept.read_text(encoding="utf-8"))["targets"][0]["astray"] == [1, 1]
    with pytest.raises(ValueError, match="no table with the head"):
        put_into("another page", ["| a |"])


def test_draws_are_kept_as_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of every case before the second of any; so a kill leaves what was done."""
    monkeypatch.setattr("benchmarks.diagnose._KEPT_EVERY", -1.0)
    kept = []
    cases = [({"case": "a"}, lambda seed: {"seed": seed}, 2), ({"case": "b"}, lambda seed: {"seed": seed}, 1)]
    rows = measured(cases, 1, np.inf, lambda found: kept.append([len(row["draws"]) for row in found]))
    assert kept == [[1, 0], [1, 1], [2, 1], [2, 1]]
    assert rows == [{"case": "a", "draws": [{"seed": 0}, {"seed": 1}]}, {"case": "b", "draws": [{"seed": 0}]}]


def test_what_is_not_done_in_time_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--only", "noise", "--seconds", "0", "--processes", "1"])
    assert "nothing was done in time" in capsys.readouterr().out
    assert covered(1, 2, 1) == "1 of 2 (1)"


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


def test_theory_of_a_fit_along_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 draws of n = 400 in 150 dimensions: within three standard errors and 1%, as other slices mix in a share of
    8 d / (n rho^2)^2 = 2% of a coordinate that explains half of the label. As if other rows had found the directions,
    whose fit does not know its own noise, the error would be less."""
    link, dim, samples, errors = target("tanh(2*h1)", noise=0.3), 150, 400, []
    for seed in range(40):
        draw = np.random.default_rng([8, seed])
        inputs = draw.standard_normal((samples + 1000, dim))
        labels = link.link(inputs[:, :1]) + np.sqrt(0.3) * draw.standard_normal(samples + 1000)
        model = MultiIndexRegressor(SlicedInverseRegression(1), random_state=seed)
        model.fit(inputs[:samples], labels[:samples])
        others = labels[samples:]
        errors.append(np.mean((others - model.predict(inputs[samples:])) ** 2) / np.var(others))
    mean, allowed = np.mean(errors), 3 * np.std(errors, ddof=1) / np.sqrt(40) + 0.01 * np.mean(errors)
    assert abs(mean - directions_theory(link, 1, 10, dim)(samples)) < allowed
    monkeypatch.setattr(curve_theory, "used_coordinates", lambda modes, h, y, *rest: other_coordinates(modes, h, *rest))
    assert mean - directions_theory(link, 1, 10, dim)(samples) > allowed
