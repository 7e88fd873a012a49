"""Every view for everybody: without a mouse, on a phone, in the dark, for a screen reader; files and copies of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

Opened = Callable[..., Page]
VIEWS = {
    "function": "#verdict .word",
    "predict": "#theory-time",
    "race": "#race-start",
    "diagnose": "#csv",
    "gallery": ".exhibits li >> nth=0",
    "home": "#home-command",
}


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_in_light_and_dark_and_nothing_is_cut_off_on_a_phone(opened: Opened, view: str) -> None:
    page = opened(f"#/{view}?target=h1*h2&x.learner=reused-batch&x.dim=1000&x.samples=3000", color_scheme="light")
    expect(page.locator(VIEWS[view])).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for box in page.locator(f"#view-{view} details:not([open]) > summary").all():
            box.click()
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_keyboard_alone_goes_everywhere(opened: Opened) -> None:
    page = opened("#/function?target=h1*h2")
    expect(page.locator("#verdict .word")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    _tab_to(page, "#target")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("End")
    page.keyboard.type(" + h1")
    expect(page.locator("#verdict .word")).to_have_text("TRIVIAL")
    _tab_to(page, "#costs #dim")
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile("dim="))
    page.keyboard.press("Home")
    page.evaluate("document.querySelector('nav a').focus()")
    _tab_to(page, "nav a[data-view=gallery]")
    page.keyboard.press("Enter")
    expect(page.locator("#view-gallery")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the key Tab does not lead to {selector}")


def test_colours_are_switched_and_kept_and_motion_is_reduced(opened: Opened) -> None:
    page = opened("#/diagnose", color_scheme="light", reduced_motion="reduce")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    for words in ("light", "dark"):
        page.click("#theme")
        expect(page.locator("#theme")).to_have_text(f"Colours: {words}")
    dark = page.evaluate(paper)
    assert dark != light
    page.reload()
    assert page.evaluate(paper) == dark
    spinner = "document.body.insertAdjacentHTML('beforeend', '<i class=spinner>');"
    spinner += "getComputedStyle(document.body.lastElementChild).animationName"
    assert page.evaluate(spinner) == "none"


def test_a_picture_is_saved(opened: Opened) -> None:
    page = opened("#/function?target=h1*h2")
    expect(page.locator("#plot-link .main-svg").first).to_be_visible()
    for form, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as waited:
            page.locator("#picture-link").get_by_role("button", name=form).click()
        assert Path(waited.value.path()).read_bytes().startswith(start)


def test_a_csv_that_is_dropped_is_diagnosed(opened: Opened, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    inputs = draw.standard_normal((120, 3))
    rows = np.c_[inputs, inputs[:, 0] + 0.1 * draw.standard_normal(120)]
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",", header="age,size,view,price", comments="")
    page = opened("#/diagnose")
    # As a person drops it: a file in a DataTransfer, over the page and then let go.
    text = (tmp_path / "data.csv").read_text(encoding="utf-8")
    dragged = page.evaluate_handle(
        "text => { const all = new DataTransfer(); all.items.add(new File([text], 'data.csv', {type: 'text/csv'})); "
        "return all; }",
        text,
    )
    for event in ("dragenter", "dragover"):
        page.dispatch_event(".drop", event, {"dataTransfer": dragged})
    expect(page.locator(".drop")).to_have_class("drop over")
    page.dispatch_event(".drop", "drop", {"dataTransfer": dragged})
    expect(page.locator(".drop")).to_have_class("drop")
    # Beside its place a browser would leave the page and open the file instead.
    beside = "() => document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true }))"
    assert page.evaluate(beside) is False
    expect(page.locator("#diagnose-status")).to_contain_text("data.csv: 4 columns, 120 rows")
    expect(page.locator("#label")).to_have_value("price")
    page.uncheck("#with-curves")
    page.click("#diagnose-start")
    expect(page.locator("#diagnose-status")).to_have_text("Done.")
    expect(page.locator("#report pre")).to_contain_text("'price' from 3 columns, 120 rows")


def test_a_race_is_run_and_taken_home(opened: Opened) -> None:
    page = opened("#/race?target=h1&race.dim=50&race.ratios=1,4&race.seeds=2&race.entrants=sir&race.budget=30")
    expect(page.locator("#said math")).to_be_visible()
    page.click("#race-start")
    expect(page.locator("#race-status")).to_have_text("The race is over.")
    expect(page.locator("#standings tbody tr")).to_have_count(1)
    assert [box.is_checked() for box in (page.locator("#runs-sir"), page.locator("#runs-bayes-amp"))] == [True, False]
    page.locator("#picture-race").get_by_role("button", name="Table").click()
    expect(page.locator("#table-race tbody tr", has_text="mean of runs")).to_have_count(2)
    words = page.evaluate(
        """async () => {
          const { arrival } = await import("/static/js/race.js");
          const curve = { ratios: [1, 2, 4], found: [[[0.1]], [[0.6]], [[null]]] };
          const at = (ratio, low, high) => arrival({ ratio, low, high }, curve);
          return [at(null, 2, null), at(0, 0, 1), at(1.5, 1, 2), at(1.5, 1, null), arrival(null, {})];
        }"""
    )
    assert words == ["not up to 2", "below 1", "1.5 (1 to 2)", "1.5 (1 to beyond 2)", "–"]
    page.locator("nav a[data-view=home]").click()
    expect(page.locator("#home-command")).to_have_text(re.compile("^featlab race h1 .*--entrants sir"))
    expect(page.locator("#home-python")).to_contain_text("featlab.race(")
    page.select_option("#what", "explain")
    expect(page.locator("#home-command")).to_contain_text("featlab explain h1")
    with page.expect_download() as waited:
        page.click("#page")
    assert "Written by featlab" in Path(waited.value.path()).read_text(encoding="utf-8")
    page.go_back()
    expect(page.locator("#standings")).to_be_visible()
    page.check("#runs-bayes-amp")  # what others have run is not shown as if it were theirs
    expect(page).to_have_url(re.compile("entrants=sir,bayes-amp"))
    expect(page.locator("#standings")).to_be_hidden()
    expect(page.locator("#race-status")).to_contain_text("start the race")


def test_the_same_is_copied_as_a_command_as_python_and_as_json(opened: Opened) -> None:
    page = opened("#/home?target=He3(h1)", permissions=["clipboard-read", "clipboard-write"])
    for title, block in (("Command line", "command"), ("Python", "python"), ("JSON", "json"), ("Address", "address")):
        shown = page.locator(f"#home-{block}").text_content()
        button = page.get_by_role("button", name=f"Copy: {title}")
        button.click()
        expect(button).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == shown
    assert "target=He3(h1)" in (shown or "")


def test_an_exhibit_is_opened_here(opened: Opened) -> None:
    page = opened("#/gallery")
    page.fill("#gallery-search", "reused-batch")
    button = page.locator(".exhibits button").first
    button.click()
    expect(page.locator("#gallery-search")).not_to_be_visible()
    expect(page.locator("#said math")).to_be_visible()
    page.go_back()
    expect(page.locator("#view-gallery")).to_be_visible()
