"""Does the built site ask anybody for anything? `python -m docs.check_site site` looks at every page and style sheet.

Links to other places are fine; what a browser fetches by itself must lie in the folder: scripts, styles, pictures,
fonts, frames. Exit code 1 if something does not.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

# What a browser fetches without being asked, by tag; of a link it depends on its `rel`.
_FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
_FETCHED_LINKS = {
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
}
_OUTSIDE = re.compile(r"^(?:[a-z]+:)?//", flags=re.IGNORECASE)
_IN_STYLES = re.compile(r"(?:url\(|@import )\s*['\"]?([^'\")\s;]+)")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and _FETCHED_LINKS & set((given.get("rel") or "").split()):
            self.fetched.append(given.get("href") or "")
        elif tag in _FETCHED and given.get(_FETCHED[tag]):
            self.fetched.append(given[_FETCHED[tag]] or "")


def fetched(path: Path) -> list[str]:
    """What a browser fetches for a page or a style sheet."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return _IN_STYLES.findall(text)
    page = _Page()
    page.feed(text)
    return page.fetched


def faults(site: Path) -> Iterator[str]:
    """What comes from outside, and what is not there."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for address in fetched(path):
            place = address.partition("#")[0].partition("?")[0]
            if _OUTSIDE.match(address):
                yield f"{path}: fetches {address}"
            elif place and not place.startswith(("data:", "/")) and not (path.parent / place).exists():
                yield f"{path}: {address} is not there"


def main(site: Path) -> int:
    found = list(faults(site))
    pages = sum(1 for _ in site.rglob("*.html"))
    if not pages:
        found = [f"{site}: no page is there; `make docs` builds them"]
    print("\n".join(found) or f"{pages} pages, none of which fetches anything from outside")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
