"""The page: self-contained, well-formed, escaped, accessible."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from featlab.reports import Explanation

Explained = Callable[..., Explanation]

VOID = {"meta", "br", "img", "input", "hr", "link"}
FETCHING = {"src", "data", "poster", "srcset", "action"}


class Reader(HTMLParser):
    """Collects what matters and insists that every tag is closed by its own."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(explained: Explained) -> Reader:
    return Reader(explained("He4(h1) + sign(h1*h2*h3)", dim=1000).to_html())


def test_nothing_is_fetched(page: Reader) -> None:
    assert not page.named("script")
    assert not page.named("link")
    for tag, attributes in page.tags:
        assert not FETCHING & set(attributes), tag
        for name in ("href", "xlink:href"):
            address = attributes.get(name) or ""
            allowed = address.startswith("https://arxiv.org/abs/") if tag == "a" else address.startswith(("#", "data:"))
            assert not address or allowed, address
        assert not re.search(r"url\((?!#)", attributes.get("style") or "")


def test_pictures_are_described(page: Reader) -> None:
    pictures = page.named("svg")
    assert len(pictures) == 4
    assert all(picture["role"] == "img" and len(picture["aria-label"] or "") > 20 for picture in pictures)
    assert len(page.named("figcaption")) == 4


def test_ids_are_unique(page: Reader) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_language_title_headings(page: Reader) -> None:
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("title")) == len(page.named("main")) == len(page.named("h1")) == 1
    assert len(page.named("table")) == len(page.named("caption"))
    assert all(header.get("scope") in ("col", "row") for header in page.named("th"))


def test_narrow_pages_name_the_column_of_every_cell_and_break_no_word(page: Reader) -> None:
    """Below 40rem cells stand below each other, each after the name of its column; formulas are MathML."""
    cells = page.named("td")
    assert cells
    assert all(cell.get("data-column") for cell in cells)
    assert len(page.named("math")) > 1
    assert "anywhere" not in page.text
    assert "break-all" not in page.text


def test_says_what_it_must(page: Reader) -> None:
    for words in (
        "EASY: n = O(d) samples suffice",
        "theorem (lower bound)",
        "conjecture",
        "lower bounds for AMP",
        "Share of the variance left after one giant step",
        "How two-layer neural networks learn, one (giant) step at a time",
        "conjectured best among efficient ones",
    ):
        assert words in page.text


def test_residuals_of_one_giant_step(explained: Explained) -> None:
    """h1 + abs(h2): a step on d samples finds h1 and leaves Var|h| of 1 + Var|h|; one on d^2 finds both."""
    text = Reader(explained("h1 + abs(h2)").to_html()).text
    share = (1 - 2 / 3.141592653589793) / (2 - 2 / 3.141592653589793)
    assert f"n ~ d11{100 * share:.4g}%" in text  # the power is a formula
    assert "n ~ d220%" in text


def test_everything_is_escaped(explained: Explained) -> None:
    hostile = "<script>alert('1')</script>\"&"
    explanation = explained("He3(h1)")
    target = replace(explanation.target, typed=hostile, remarks=(hostile,))
    analysis = replace(explanation.analysis, target=target, doubts=(hostile,))
    for html in (Explanation(analysis).to_html(), Explanation(analysis)._repr_html_()):
        reader = Reader(html)
        assert not reader.named("script")
        assert reader.text.count(hostile) >= 3


def test_notebook_display(explained: Explained) -> None:
    reader = Reader(explained("h1 + abs(h2)")._repr_html_())
    assert explained("h1 + abs(h2)").verdict_sentence in reader.text
    assert len(reader.named("table")) == 3
    assert not reader.named("html")


def test_page_is_the_same_twice(explained: Explained) -> None:
    assert explained("He3(h1)").to_html() == explained("He3(h1)").to_html()


def test_exhibits_are_linked_to_a_gallery(explained: Explained) -> None:
    explanation = explained("He3(h1)")
    without, linked = (Reader(explanation.to_html(gallery)) for gallery in (None, "a&b/gallery/"))
    addresses = [attributes.get("href") for tag, attributes in linked.tags if tag == "a"]
    assert "a&b/gallery/extragradient.html" in addresses
    assert not any("extragradient" in (attributes.get("href") or "") for tag, attributes in without.tags if tag == "a")
    for read in (without, linked):
        assert "featlab exhibit run ID" in read.text
        assert "Extragradient breaks the information exponent" in read.text
