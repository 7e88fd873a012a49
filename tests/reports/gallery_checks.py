"""What must hold of every page of a site: links resolve, nothing is fetched from outside, pictures have words."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

_FETCHED = {"img": "src", "source": "srcset", "script": "src", "link": "href", "iframe": "src", "video": "src"}


class Page(HTMLParser):
    """The links of a page, what it fetches, and its pictures without words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.wordless: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a":
            self.links.append(given["href"])
        if _FETCHED.get(tag) in given:
            self.fetched.append(given[_FETCHED[tag]])
        if tag == "img" and not (given.get("alt") or "").strip():
            self.wordless.append(given.get("src", ""))
        if "id" in given:
            self.ids.add(given["id"])


def faults(directory: Path) -> list[str]:
    """What is wrong with a site, in words; nothing if all is well."""
    found = []
    for path in sorted(directory.glob("*.html")):
        text = path.read_text(encoding="utf-8")
        page = Page(text)
        found += [f"{path.name}: a picture without words: {source}" for source in page.wordless]
        for address in page.fetched:
            if not address.startswith("data:") and not _is_here(directory, address):
                found.append(f"{path.name}: fetches {address}")
        for address in page.links:
            if not address.startswith("https://arxiv.org/") and not _is_here(directory, address):
                found.append(f"{path.name}: a link to nowhere: {address}")
        if "@import" in text or "url(" in text:
            found.append(f"{path.name}: a style sheet that fetches")
    return found


def _is_here(directory: Path, address: str) -> bool:
    parts = urlparse(address)
    return not parts.scheme and not parts.netloc and (directory / unquote(parts.path)).is_file()
