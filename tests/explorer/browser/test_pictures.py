"""The pictures of single learners, their tables, and a run at d = 10^6."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from featlab.experiments.text import experiment_from_text
from featlab.theory import predict

Opened = Callable[..., Page]


def _address(fields: dict[str, str], target: str) -> str:
    return f"#/predict?target={target}&" + "&".join(f"x.{name}={value}" for name, value in fields.items())


def _table(page: Page, name: str) -> list[list[str]]:
    """The rows of the table behind a picture."""
    page.locator(f"#picture-{name}").get_by_role("button", name="Table").click()
    rows = page.locator(f"#table-{name} tbody tr")
    expect(rows.first).to_be_visible()
    return [row.locator("th, td").all_text_contents() for row in rows.all()]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def test_trajectories_on_the_sphere_are_those_of_theory_and_seeds(opened: Opened) -> None:
    fields = {"dim": "300", "times": "0,4,8", "seeds": "2", "step_size": "0.5/d", "activation": "erf"}
    fields |= {"constraint": "spherical", "loss": "correlation", "learner": "online-sgd"}
    page = opened(_address(fields, "tanh(h1)"))
    expect(page.locator("#plot-sphere .main-svg").first).to_be_visible()
    expect(page.locator("#theory-time[data-draft=false]")).to_be_visible()
    cosines = predict(experiment_from_text({**fields, "target": "tanh(h1)"}))["cosine"].values[:, 0, 0]
    (row,) = _table(page, "sphere")
    assert [_number(cell) for cell in row[1:3]] == pytest.approx([cosines[0], cosines[-1]], rel=2e-3)
    page.click("#simulate")
    expect(page.locator("#run-status")).to_contain_text("Done: 2 seeds")
    expect(page.locator("#table-sphere tbody tr")).to_have_count(3)
    ends = "name => document.getElementById(name).data.at(-1)"
    before = page.evaluate(ends, "plot-sphere")["x"]
    assert len(before) == 3
    page.locator("#turn").focus()
    page.keyboard.press("Home")  # seen from another side, the same points are elsewhere
    assert page.evaluate(ends, "plot-sphere")["x"] != before


def test_message_passing_against_n_over_d_with_its_threshold(opened: Opened) -> None:
    page = opened("#/predict?target=h1**2&x.learner=bayes-amp&x.dim=100&x.samples=300&x.iterations=6")
    page.fill("#sweep-low", "0.25")
    page.fill("#sweep-high", "4")
    page.fill("#sweep-seeds", "0")
    page.click("#sweep")
    status = page.locator("section[aria-label='Overlap against n/d'] [role=status]")
    expect(status).to_have_text("Done.")
    drawn: dict[str, Any] = page.evaluate(
        "(({data, layout}) => ({x: [...data[0].x], y: [...data[0].y], lines: layout.shapes.map(one => one.x0), "
        "words: layout.annotations.map(one => one.text)}))(document.getElementById('plot-sweep'))"
    )
    assert drawn["lines"] == pytest.approx([0.5], abs=1e-4)  # phase retrieval: n/d = 1/2
    assert drawn["words"] == ["threshold 0.5"]
    assert len(drawn["x"]) == 13
    assert drawn["x"] == sorted(drawn["x"])
    asked = {"target": "h1**2", "learner": "bayes-amp", "dim": "100", "samples": "400", "iterations": "6"}
    cosine = float(predict(experiment_from_text(asked))["subspace"].values[-1, 0])
    assert drawn["y"][-1] == pytest.approx(cosine, abs=1e-6)
    assert drawn["y"][-1] > drawn["y"][0] + 0.1
    rows = _table(page, "sweep")
    assert [_number(row[0]) for row in rows] == drawn["x"]


def test_a_run_at_a_million_dimensions(opened: Opened) -> None:
    fields = {"learner": "reused-batch", "dim": "1000000", "samples": "3000000", "steps": "2", "step_size": "0.2"}
    page = opened(_address({**fields, "start": "orthogonal", "seeds": "2"}, "He3(h1)"))
    expect(page.locator("output[for=dial-dim]")).to_have_text("1e6")
    page.click("#simulate")
    expect(page.locator("#run-status")).to_contain_text("Done: 2 seeds")
    expect(page.locator("#agreement")).to_contain_text(re.compile("Theory (agrees|and simulation: cannot tell)"))
    rows = _table(page, "risk")
    assert len(rows) == 3
    for row in rows:
        theory, mean = _number(row[2]), _number(row[3])
        assert mean == pytest.approx(theory, rel=0.02)


@pytest.mark.parametrize(
    "fragment",
    [
        "#/function?target=h1*h2",
        "#/predict?target=h1&x.learner=giant-steps&x.dim=200&x.samples=2000&x.width=8",
        "#/predict?target=tanh(h1)&x.dim=300",
    ],
)
def test_every_picture_that_is_seen_has_a_table_behind_it(opened: Opened, fragment: str) -> None:
    page = opened(fragment)
    ready = "#verdict .word" if "function" in fragment else "#theory-time"
    expect(page.locator(ready)).to_be_visible()
    expect(page.locator("figure.picture:visible .main-svg").first).to_be_visible()
    page.wait_for_function("![...document.querySelectorAll('.plot')].some(one => one.offsetParent && !one.data)")
    figures = page.locator("figure.picture:visible")
    assert figures.count() >= 2
    for figure in figures.all():
        assert len(figure.locator(".plot").get_attribute("aria-label") or "") > 20
        button = figure.get_by_role("button", name="Table")
        button.click()
        expect(button).to_have_attribute("aria-expanded", "true")
        expect(figure.locator("caption")).not_to_be_empty()
        heads, rows = figure.locator("thead th").count(), figure.locator("tbody tr")
        assert heads >= 2
        assert rows.count() >= 1
        cells = rows.first.locator("th, td").all_text_contents()
        assert len(cells) == heads
        assert any(re.search(r"\d", cell) for cell in cells)
