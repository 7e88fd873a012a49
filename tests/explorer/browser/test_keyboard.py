"""Every view by the keyboard alone: Tab reaches each control that can be seen, and the keys of its kind operate it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

Opened = Callable[..., Page]
READY = {
    "function": "#verdict .word",
    "predict": "#theory-time",
    "race": "#race-start",
    "diagnose": "#csv",
    "gallery": ".exhibits li >> nth=0",
    "home": "#home-command",
}
# What a person can operate, and sees: each gets a number that the walk of Tab is compared with.
_MARK = """() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const seen = [...document.querySelectorAll(kinds)].filter((one) => one.checkVisibility() && !one.disabled);
  seen.forEach((one, place) => { one.dataset.place = place; });
  return seen.length;
}"""
_WHERE = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  return { place: one.dataset?.place ?? null, shown: style.outlineStyle !== "none" || one.matches(".skip") };
}"""


@pytest.mark.parametrize("view", READY)
def test_tab_reaches_every_control_and_shows_where_it_is(opened: Opened, view: str) -> None:
    page = opened(f"#/{view}?target=h1*h2&x.learner=reused-batch&x.dim=300&x.samples=900")
    expect(page.locator(READY[view])).to_be_visible()
    if view == "predict":
        expect(page.locator("#theory-time[data-draft=false]")).to_be_visible()  # nothing changes any more
    for box in page.locator("details:visible").all():
        box.locator("summary").focus()
        page.keyboard.press("Enter")
        expect(box).to_have_attribute("open", "")
    if page.locator("#catalogue[open]").count():
        expect(page.locator(".catalogue tbody button").first).to_be_visible()
    count = page.evaluate(_MARK)
    assert count >= 10
    page.evaluate("document.activeElement.blur()")
    reached: set[str] = set()
    for _ in range(count + 5):
        page.keyboard.press("Tab")
        where: dict[str, Any] = page.evaluate(_WHERE)
        if where["place"] is not None:
            assert where["shown"], f"nothing shows that control {where['place']} has the focus"
            reached.add(where["place"])
    missed = "reached => [...document.querySelectorAll('[data-place]')].filter(one => !reached.includes("
    missed += "one.dataset.place)).map(one => one.outerHTML.slice(0, 120))"
    assert page.evaluate(missed, sorted(reached)) == []


@pytest.mark.parametrize("view", ["function", "predict"])
def test_the_keys_of_each_kind_operate_it(opened: Opened, view: str) -> None:
    """Arrows move sliders and choose in lists, Space ticks boxes, Enter presses buttons: and something changes."""
    page = opened(f"#/{view}?target=h1*h2&x.learner=reused-batch&x.dim=300&x.samples=900")
    expect(page.locator(READY[view])).to_be_visible()
    if page.locator("#more").count():
        page.locator("#more summary").focus()
        page.keyboard.press("Enter")
    for slider in page.locator("input[type=range]:visible").all():
        slider.focus()
        before = slider.input_value(), slider.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowRight")
        if slider.input_value() == before[0]:  # it was at its end
            page.keyboard.press("ArrowLeft")
        assert slider.input_value() != before[0]
        assert slider.get_attribute("aria-valuetext") != before[1]
    for box in page.locator("input[type=checkbox]:visible").all():
        box.focus()
        before_tick = box.is_checked()
        page.keyboard.press("Space")
        assert box.is_checked() != before_tick
        page.keyboard.press("Space")
    law = page.locator("#law")
    law.focus()
    page.keyboard.press("ArrowDown")
    expect(law).to_have_value("spike")
    expect(page.locator("#spike")).to_be_visible()
    table = page.locator("figure.picture:visible").first.get_by_role("button", name="Table")
    table.focus()
    page.keyboard.press("Enter")
    expect(table).to_have_attribute("aria-expanded", "true")


def test_a_simulation_and_a_race_are_started_and_stopped_by_enter(opened: Opened) -> None:
    page = opened("#/predict?target=He3(h1)&x.learner=reused-batch&x.dim=300&x.samples=900&x.steps=2&x.step_size=0.2")
    expect(page.locator("#theory-time[data-draft=false]")).to_be_visible()
    page.locator("#dial-seeds").focus()
    page.keyboard.press("Home")
    page.locator("#simulate").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#run-status")).to_contain_text("Done: 1 seeds")
    page.locator("nav a[data-view=race]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.locator("#race-budget").fill("30")
    page.locator("#race-start").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#race-start")).to_have_text("Stop")
    page.keyboard.press("Enter")
    expect(page.locator("#race-status")).to_have_text("Stopped.")
