"""The view of a function: typed, wrong, mended, explained; the address holds the state."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from featlab.reports import Explanation

Opened = Callable[..., Page]
EASY = "#/function?target=h1%2Bh1*h2"


def test_an_error_stands_under_its_character_and_is_mended_to_a_verdict(
    opened: Opened, explained: Callable[..., Explanation]
) -> None:
    page = opened(EASY)
    page.fill("#target", "tanh(h1) + rellu(h2)")
    error = page.locator("#parse-error")
    expect(error).to_contain_text("rellu")
    expect(page.locator("#target")).to_have_attribute("aria-invalid", "true")
    # As many blanks as there are characters before it, in the same font and with the same inset.
    pointer = page.locator(".pointer").text_content() or ""
    assert pointer.index("^") == len("tanh(h1) + ")
    font = "element => getComputedStyle(element).fontFamily + getComputedStyle(element).fontSize"
    assert page.locator(".pointer").evaluate(font) == page.locator("#target").evaluate(font)
    inset = "element => element.getBoundingClientRect().x + parseFloat(getComputedStyle(element).paddingLeft)"
    border = page.locator("#target").evaluate("element => parseFloat(getComputedStyle(element).borderLeftWidth)")
    apart = page.locator(".pointer").evaluate(inset) - page.locator("#target").evaluate(inset)
    assert abs(apart - border) <= 1

    page.get_by_role("button", name="relu", exact=True).click()
    expect(page.locator("#target")).to_have_value("tanh(h1) + relu(h2)")
    expect(error).to_have_count(0)
    expect(page.locator("#said math")).to_be_visible()
    page.fill("#target", "sign(h1*h2)")
    record = explained("sign(h1*h2)").to_dict()
    expect(page.locator("#verdict .word")).to_have_text(record["verdict"])
    numbers = page.locator(".number b")
    expect(numbers.nth(0)).to_have_text(str(record["information_exponent"]))
    expect(numbers.nth(2)).to_have_text(str(record["generative_exponent"]))
    expect(numbers.nth(3)).to_contain_text(f"{record['alpha_c']:.4f}"[:5])


def test_a_step_of_a_staircase_tells_of_itself_and_every_cost_has_its_paper(opened: Opened) -> None:
    page = opened(EASY)
    flight = page.locator(".flight").filter(has_text="Giant steps")
    flight.locator(".stair").nth(1).click()
    expect(flight.locator(".told")).to_contain_text("Step 2: h2")
    expect(flight.locator(".stair").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".flight")).to_have_count(3)
    rows = page.locator("#costs tbody tr:not(.group)")
    assert rows.count() >= 6
    for line in (*rows.all(), *page.locator(".flight").all(), *page.locator(".number").all(), page.locator("#verdict")):
        assert line.locator("a[href*='arxiv']").count()
        assert line.locator("a[href*='gallery']").count()
    # In the picture every algorithm is named once, and no two lines of algorithms lie on each other.
    drawn: list[list[Any]] = page.evaluate(
        "[...document.getElementById('plot-costs').data].map(one => [one.name, one.line.dash, String([...one.y])])"
    )
    named = " ".join(name for name, _, _ in drawn)
    assert all(named.count(row.locator("th").text_content() or "?") == 1 for row in rows.all())
    reached = [values for _, dash, values in drawn if dash != "dot"]
    assert len(set(reached)) == len(reached) < rows.count()


def test_the_costs_follow_the_slider_of_d(opened: Opened, explained: Callable[..., Explanation]) -> None:
    page = opened("#/function?target=h1*h2")
    sgd = page.locator("#costs tbody tr").filter(has_text="one-pass SGD").locator("td").nth(1)
    expect(sgd).to_be_visible()
    page.locator("#dim").focus()
    for dim, shown, key in ((10, "10", "Home"), (10**6, "1e6", "End")):
        page.keyboard.press(key)
        expect(page.locator("#costs th").filter(has_text="at d =")).to_have_text(f"at d = {shown}")
        power = explained("h1*h2", dim=dim).to_dict()["sample_cost_details"]["one_pass_sgd"]["log10_samples"]
        samples = float((sgd.text_content() or "").removeprefix("~ ").replace(",", ""))
        assert samples == pytest.approx(10**power, rel=5e-3)  # three digits are shown
    expect(page).to_have_url(re.compile("dim=1000000"))


def test_a_map_has_a_slice_that_is_dragged(opened: Opened) -> None:
    page = opened(EASY)
    plot = page.locator("#plot-link")
    expect(plot.locator("image")).to_have_count(1)
    expect(page.locator("#plot-slice .main-svg").first).to_be_visible()
    expect(page.locator("#costs tbody tr").first).to_be_visible()  # all is there: nothing moves any more
    before = _curve(page, "slice")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.7, steps=4)
    page.mouse.up()
    assert float(page.input_value("#slice")) < 0
    after = _curve(page, "slice")
    # h1 + h1 h2 along h1 has the slope 1 + h2.
    assert _slope(before) > 1.5
    assert _slope(after) < 1


def test_a_slice_is_not_drawn_through_a_jump(opened: Opened) -> None:
    page = opened("#/function?target=sign(h1*h2)")
    expect(page.locator("#plot-slice .main-svg").first).to_be_visible()
    for _ in range(100):  # first the row of the map, then the slice itself
        if None in (values := _curve(page, "slice")["y"]):
            break
        page.wait_for_timeout(100)
    assert len(values) > 300
    neighbours = [pair for pair in pairwise(values) if None not in pair]
    assert all(one == other for one, other in neighbours)
    assert {one for one, _ in neighbours} == {-1, 1}


def _curve(page: Page, name: str) -> dict[str, Any]:
    curve = "({x: [...one.x], y: [...one.y]})"
    script = f"name => (one => {curve})(document.getElementById('plot-' + name).data[0])"
    found: dict[str, Any] = page.evaluate(script, name)
    return found


def _slope(curve: dict[str, Any]) -> float:
    slope: float = (curve["y"][-1] - curve["y"][0]) / (curve["x"][-1] - curve["x"][0])
    return slope


def test_a_function_of_the_catalogue_is_taken_with_its_noise(opened: Opened) -> None:
    page = opened(EASY)
    page.locator("#catalogue summary").click()
    page.fill("#catalogue-search", "parity")
    first = page.locator(".catalogue tbody button").first
    text = first.text_content()
    first.click()
    expect(page.locator("#target")).to_have_value(text or "")
    expect(page.locator("#parse-error")).to_have_count(0)


def test_the_address_is_the_state_and_back_and_forward_go_through_it(opened: Opened) -> None:
    page = opened(EASY)
    expect(page.locator("#verdict .word")).to_have_text("TRIVIAL")
    page.fill("#target", "He2(h1)")
    expect(page).to_have_url(re.compile("He2"))
    page.select_option("#law", "spike")
    page.locator("#spike").focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("spike=0.55"))
    page.locator("nav a[data-view=race]").click()
    there = page.url
    other = opened(there[there.index("#") :])
    expect(other.locator("#target")).to_have_value("He2(h1)")
    expect(other.locator("#spike")).to_have_value("0.55")
    expect(other.locator("#view-race")).to_be_visible()

    page.go_back()
    expect(page.locator("#view-function")).to_be_visible()
    expect(page.locator("#target")).to_have_value("He2(h1)")
    page.go_back()
    page.go_back()
    expect(page.locator("#law")).to_have_value("isotropic")
    page.go_back()
    expect(page.locator("#target")).to_have_value("h1+h1*h2")
    page.go_forward()
    expect(page.locator("#target")).to_have_value("He2(h1)")
