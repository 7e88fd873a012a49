"""From an id to its exhibit: every file of `claims` with an `EXHIBIT` is one."""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches
from functools import cache

from featlab.errors import InvalidParameter
from featlab.exhibits import claims
from featlab.exhibits.documents import DOCUMENTS
from featlab.exhibits.protocol import Exhibit


def exhibit_ids() -> list[str]:
    """The ids, from the names of the files alone: nothing is imported."""
    names = (module.name for module in pkgutil.iter_modules(claims.__path__))
    return sorted(name.replace("_", "-") for name in names if not name.startswith("_"))


@cache
def find_exhibit(id: str) -> Exhibit:
    """The exhibit of this id."""
    if id not in exhibit_ids():
        close = get_close_matches(id, exhibit_ids(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InvalidParameter("exhibit", id, f"one that `featlab exhibit list` shows{hint}")
    exhibit = importlib.import_module(f"{claims.__name__}.{id.replace('-', '_')}").EXHIBIT
    if exhibit.id != id:
        raise ValueError(f"{id.replace('-', '_')}.py holds the exhibit {exhibit.id!r}: file and id must agree")
    return exhibit


def all_exhibits() -> list[Exhibit]:
    """Every exhibit, in the order of the documents, then by id."""
    order = {key: place for place, key in enumerate(DOCUMENTS)}
    return sorted(map(find_exhibit, exhibit_ids()), key=lambda exhibit: (order[exhibit.document], exhibit.id))
