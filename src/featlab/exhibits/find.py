"""From an id to its exhibit: a file of `claims` with an `EXHIBIT`, or an entry point of an installed package.

An entry point of the group "featlab.exhibits" has the exhibit's id as its name and an `Exhibit` as its value.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from featlab.errors import InvalidParameter, or_meant
from featlab.exhibits import claims
from featlab.exhibits.documents import DOCUMENTS
from featlab.exhibits.protocol import Exhibit

GROUP = "featlab.exhibits"


def exhibit_ids() -> list[str]:
    """The ids, from the names of files and entry points alone: nothing is imported."""
    return sorted({*_own_ids(), *_from_packages()})


@cache
def find_exhibit(id: str) -> Exhibit:
    """The exhibit of this id."""
    if id in _own_ids():
        exhibit = importlib.import_module(f"{claims.__name__}.{id.replace('-', '_')}").EXHIBIT
    elif id in _from_packages():
        exhibit = _from_packages()[id].load()
    else:
        raise InvalidParameter("exhibit", id, f"one that `featlab exhibit list` shows{or_meant(id, exhibit_ids())}")
    if not isinstance(exhibit, Exhibit):
        raise TypeError(f"the entry point {id!r} of {GROUP} gives a {type(exhibit).__name__}, expected an Exhibit")
    if exhibit.id != id:
        raise ValueError(
            f"{id!r} gives the exhibit {exhibit.id!r}: its id and the name of file or entry point must agree"
        )
    return exhibit


@cache
def all_exhibits() -> list[Exhibit]:
    """Every exhibit in the order of the documents, ours first, then by id."""
    order = {document: place for place, document in enumerate(DOCUMENTS)}

    def place(exhibit: Exhibit) -> tuple[int, str, str]:
        return order.get(exhibit.document, len(order)), exhibit.document.key, exhibit.id

    return sorted(map(find_exhibit, exhibit_ids()), key=place)


@cache
def _own_ids() -> frozenset[str]:
    names = (module.name for module in pkgutil.iter_modules(claims.__path__))
    return frozenset(name.replace("_", "-") for name in names if not name.startswith("_"))


@cache
def _from_packages() -> Mapping[str, EntryPoint]:
    """Those of other packages; one with the name of one of ours would never be found."""
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if taken := sorted(_own_ids() & set(found)):
        raise InvalidParameter("entry point", taken[0], f"a name in {GROUP} that no exhibit of featlab has")
    return found
