"""From an id to its exhibit: every file of `claims` with an `EXHIBIT` is one."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

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


@dataclass(frozen=True)
class Label:
    """What is written on an exhibit, and the lines of `featlab explain` that it shows."""

    id: str
    title: str
    shows: tuple[str, ...]


@cache
def exhibit_labels() -> Mapping[str, Label]:
    """Id -> label, read from the files as text: importing them all would cost an explanation seconds."""
    return {id: _label(id) for id in exhibit_ids()}


def _label(id: str) -> Label:
    source = files(claims).joinpath(f"{id.replace('-', '_')}.py").read_text(encoding="utf-8")
    for statement in ast.parse(source).body:
        names = [getattr(target, "id", "") for target in getattr(statement, "targets", ())]
        if names == ["EXHIBIT"] and isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            given = {keyword.arg: keyword.value for keyword in statement.value.keywords}
            return Label(id, *(_literal(id, part, given.get(part)) for part in ("title", "shows")))
    raise ValueError(f"{id.replace('-', '_')}.py: expected a line EXHIBIT = Exhibit(...)")


def _literal(id: str, name: str, value: ast.expr | None) -> Any:
    """A part of an exhibit that is written out in its file; lines that it shows are none unless given."""
    if value is None:
        return ()
    try:
        return ast.literal_eval(value)
    except ValueError as fault:
        raise ValueError(f"exhibit {id}: {name} must be written out, without names or formulas") from fault
