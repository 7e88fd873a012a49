"""The gallery in a browser: thumbnails, filters, a phone, the dark; nothing is asked of anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from featlab.exhibits import STRUCTURED_DATA, Size, find_exhibit, run_exhibit
from featlab.reports import gallery
from featlab.reports.gallery import write_gallery
from tests.exhibits.toy import exhibit

RESULTS = Path(__file__).parents[3] / "docs" / "results"
# With tables, formulas, wide figures and long words in what is published.
PUBLISHED = ("five-regimes", "langevin-parity", "one-giant-step")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two exhibits that were run, of two documents, and one that was not."""
    place = tmp_path_factory.mktemp("gallery")
    first = replace(exhibit(), shows=("amp",), settled="The coin was weighed afterwards.")
    second = replace(exhibit(), id="other", title="Another coin", document=STRUCTURED_DATA, shows=("kernels",))
    third = replace(exhibit(), id="idle", title="A coin at rest")
    for one in (first, second):
        run_exhibit(one, Size.QUICK, place / "results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "all_exhibits", lambda: [second, first, third])
        write_gallery(place / "site", place / "results", Size.QUICK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "all_exhibits", lambda: [find_exhibit(id) for id in PUBLISHED])
        write_gallery(place / "site" / "published", RESULTS, Size.PAPER)
    return place / "site"


@pytest.fixture
def opened_page(browser: Browser, site: Path) -> Iterator[Callable[..., Page]]:
    """Opens a page of the site; every request must stay in its directory."""
    asked: list[str] = []
    contexts = []

    def opened(name: str = "index.html", **settings: Any) -> Page:
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / name).as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    home = site.as_uri()
    assert asked
    assert [url for url in asked if not url.startswith((home, "data:"))] == []


def test_thumbnails_are_pictures_and_filters_choose(opened_page: Callable[..., Page]) -> None:
    page = opened_page()
    images = page.locator(".card img")
    expect(images).to_have_count(2)
    for place in range(2):
        images.nth(place).scroll_into_view_if_needed()
        page.wait_for_function("image => image.naturalWidth === 400", arg=images.nth(place).element_handle())
    cards = page.locator(".card:visible")
    expect(cards).to_have_count(3)
    page.get_by_label("structured data").check()
    expect(cards).to_have_count(1)
    expect(cards.first).to_contain_text("Another coin")
    page.get_by_text("topic", exact=True).first.click()
    page.get_by_label("amp").check()
    expect(cards).to_have_count(0)
    page.get_by_role("button", name="show all").click()
    page.get_by_label("✓ reproduced", exact=False).first.check()
    expect(cards).to_have_count(2)
    expect(page.locator(".card", has_text="weighed afterwards")).to_contain_text("featlab exhibit run toy --size quick")


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "toy.html",
        "document-multi-index.html",
        *(f"published/{name}.html" for name in ("index", "document-giant-steps", *PUBLISHED)),
    ],
)
def test_on_a_phone_nothing_is_wider_than_the_screen(opened_page: Callable[..., Page], name: str) -> None:
    page = opened_page(name, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_in_the_dark_text_is_light_on_dark(opened_page: Callable[..., Page]) -> None:
    def brightness(scheme: str, of: str) -> float:
        page = opened_page(color_scheme=scheme)
        colour = page.evaluate(f"getComputedStyle(document.body).{of}")
        return sum(map(float, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    assert brightness("dark", "backgroundColor") < 200 < 500 < brightness("dark", "color")
    assert brightness("light", "color") < 200 < 500 < brightness("light", "backgroundColor")
