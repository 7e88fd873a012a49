"""Tables of measurements in pages of the documents."""

from __future__ import annotations


def with_table(page: str, head: str, new: str) -> str:
    """A page with one table replaced: the lines from its head on that begin with a bar."""
    lines = page.split("\n")
    begin = next(place for place, line in enumerate(lines) if line.startswith(head))
    end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
    return "\n".join([*lines[:begin], new, *lines[end:]])
