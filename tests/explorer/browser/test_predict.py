"""Predict and simulate: theory follows the sliders, seeds stream in, and can be paused and cancelled."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from featlab.experiments.text import experiment_from_text
from featlab.theory import predict

Opened = Callable[..., Page]
BATCH = {
    "target": "He3(h1)",
    "learner": "reused-batch",
    "dim": "1000",
    "samples": "3000",
    "steps": "3",
    "step_size": "0.2",
}
SGD = "#/predict?target=h1&x.dim=1000&x.times=0,10,20&x.start=orthogonal"
SGD += "&x.activation=He1&x.constraint=none&x.loss=squared"


def _address(experiment: dict[str, str]) -> str:
    fields = "&".join(f"x.{name}={value}" for name, value in experiment.items() if name != "target")
    return f"#/predict?target={experiment['target']}&{fields}"


def _theory(page: Page, name: str) -> list[float]:
    script = "name => [...document.getElementById('plot-' + name).data.find(one => one.name.endsWith('theory')).y]"
    found: list[float] = page.evaluate(script, name)
    return found


def test_theory_follows_a_slider_and_is_that_of_the_package(opened: Opened) -> None:
    page = opened(_address(BATCH))
    expect(page.locator("#theory-time")).to_be_visible()
    before = _theory(page, "risk")
    assert before == pytest.approx(predict(experiment_from_text(BATCH))["risk"].values.tolist())
    page.locator("#dial-step_size").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"x\.step_size=0\.32"))
    longer = predict(experiment_from_text({**BATCH, "step_size": "0.32"}))["risk"].values.tolist()
    assert longer != pytest.approx(before, rel=1e-3)
    # The answer of the last position of the slider is what is drawn in the end.
    page.wait_for_timeout(300)
    expect(page.locator("#theory-time")).to_be_visible()
    for _ in range(100):
        if _theory(page, "risk") == pytest.approx(longer):
            break
        page.wait_for_timeout(300)
    assert _theory(page, "risk") == pytest.approx(longer)
    page.go_back()
    expect(page.locator("#dial-step_size + .hint, output[for=dial-step_size]").first).to_have_text("0.2")


def test_what_takes_longer_says_how_long_and_a_slider_drags_the_curve_along(opened: Opened) -> None:
    page = opened(_address(BATCH).replace("predict", "race"))
    expect(page.locator("#said math")).to_be_visible()
    held: list[Route] = []
    waiting = [True]
    page.route("**/api/v1/predict", lambda route: held.append(route) if waiting else route.continue_())
    page.locator("nav a[data-view=predict]").click()
    expect(page.locator("#theory-status")).to_have_text(re.compile(r"^Computing the theory … about \d+(\.\d)? s$"))
    expect(page.locator("#theory-status .spinner")).to_be_visible()
    waiting.clear()
    for route in held:
        route.continue_()
    expect(page.locator("#theory-time[data-draft=false]")).to_be_visible()
    # Twenty places of a slider within a second: the curve is drawn again on the way, not only at the end.
    curves = page.evaluate(
        """async () => {
          const slider = document.getElementById("dial-step_size"), plot = document.getElementById("plot-risk");
          let drawn = 0;
          plot.on("plotly_afterplot", () => { drawn += 1; });
          for (let move = 0; move < 20 || (drawn < 2 && move < 2000); move++) {
            slider.value = Number(slider.min) + ((move % 100) + 20) * Number(slider.step);
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((done) => setTimeout(done, 40));
          }
          return drawn;
        }"""
    )
    assert curves >= 2


def test_simulate_pause_cancel_and_simulate_again(opened: Opened) -> None:
    page = opened(SGD.replace("dim=1000", "dim=40000") + "&x.seeds=60")  # long enough to press a button
    expect(page.locator("#theory-time")).to_be_visible()
    status = page.locator("#run-status")
    page.click("#simulate")
    expect(status).to_contain_text(re.compile(r"^\d+ of 60 seeds"))
    page.click("#pause")
    expect(status).to_contain_text("Paused after")
    page.wait_for_timeout(4000)  # a seed that had begun is finished
    count = status.text_content()
    page.wait_for_timeout(1000)
    assert status.text_content() == count
    page.click("#pause")
    expect(page.locator("#pause")).to_have_text("Pause")
    page.click("#cancel")
    expect(status).to_have_text("Cancelled.")
    expect(page.locator("#simulate")).to_be_enabled()

    page.locator("#dial-seeds").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    page.click("#simulate")
    expect(status).to_contain_text("Done: 4 seeds")
    expect(page.locator("#agreement")).to_contain_text(
        re.compile("Theory (agrees|disagrees|and simulation: cannot tell)")
    )
    names = page.evaluate("[...document.getElementById('plot-risk').data].map(one => one.name)")
    assert "theory" in names
    assert "mean of 4 seeds" in names
    page.locator("#picture-risk").get_by_role("button", name="Table").click()
    expect(page.locator("#table-risk tbody tr")).to_have_count(3)


def test_what_a_learner_refuses_is_said(opened: Opened) -> None:
    page = opened(_address({**BATCH, "step_size": "fast"}))
    expect(page.locator("#theory-status .fault")).to_contain_text("step_size")
    page.locator("#more summary").click()
    page.fill("#field-step_size", "0.1")
    page.keyboard.press("Enter")
    expect(page.locator("#theory-time")).to_be_visible()


def test_the_spectrum_of_one_giant_step_has_the_outlier_of_the_theory(opened: Opened) -> None:
    page = opened("#/predict?target=h1&x.learner=giant-steps&x.dim=200&x.samples=2000&x.width=8&x.seeds=1")
    expect(page.locator("#plot-spectrum .main-svg").first).to_be_visible()
    expect(page.locator("#theory-time[data-draft=false]")).to_be_visible()
    drawn = page.evaluate("[...document.getElementById('plot-spectrum').data].map(one => [one.type, one.x[0]])")
    lines = [place for kind, place in drawn if kind == "scatter"]
    asked = {
        "target": "h1",
        "learner": "giant-steps",
        "dim": "200",
        "samples": "2000",
        "width": "8",
        "observe": "spectrum",
    }
    assert max(lines) == pytest.approx(float(predict(experiment_from_text(asked))["spectrum"].values[-1, 0]))
