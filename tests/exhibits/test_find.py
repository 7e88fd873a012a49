"""Exhibits are found by name, also those of other packages, and their texts are read at little cost."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from featlab.errors import InvalidParameter
from featlab.exhibits import Document, all_exhibits, find, find_exhibit
from tests.exhibits.toy import exhibit

HEAVY = ("jax", "matplotlib", "xarray")
# Exhibits that are not declarations yet load what they use as soon as their titles are read.
DECLARED = (
    "online-sgd",
    "extragradient",
    "search-time",
    "amp-two-parity",
    "depth",
    "dmft-of-reuse",
    "tied-recovery",
    "spiked-krr-staircase",
)
OUTSIDE = exhibit(id="coin", document=Document("coins", "On coins", "A note on coins."))
NO_EXHIBIT = 3


@pytest.fixture
def outside(monkeypatch):
    """Entry points of a package that is not featlab; what was found before is found again afterwards."""

    def install(**values):
        entries = [EntryPoint(name, f"{__name__}:{value}", find.GROUP) for name, value in values.items()]
        monkeypatch.setattr(find, "entry_points", lambda group: entries if group == find.GROUP else [])
        _forget()

    yield install
    monkeypatch.undo()
    _forget()


def _forget():
    for cached in (find._from_packages, find.find_exhibit, find.all_exhibits):
        cached.cache_clear()


def test_reading_titles_loads_nothing_heavy():
    modules = ", ".join(id.replace("-", "_") for id in DECLARED)
    program = (
        f"import sys\nfrom featlab.exhibits.claims import {modules}\nprint([x for x in {HEAVY} if x in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exhibits_of_other_packages_are_listed_after_ours_and_found(outside):
    outside(coin="OUTSIDE")
    assert find_exhibit("coin") is OUTSIDE
    assert all_exhibits()[-1] is OUTSIDE
    assert "coin" in find.exhibit_ids()


def test_an_entry_point_that_is_no_exhibit_says_so(outside):
    outside(coin="NO_EXHIBIT")
    with pytest.raises(TypeError, match=r"'coin' of featlab.exhibits gives a int, expected an Exhibit"):
        find_exhibit("coin")


def test_names_must_agree(outside):
    outside(penny="OUTSIDE")
    with pytest.raises(ValueError, match="'penny' gives the exhibit 'coin'"):
        find_exhibit("penny")


def test_a_name_of_ours_is_taken(outside):
    outside(**{"online-sgd": "OUTSIDE"})
    with pytest.raises(InvalidParameter, match="no exhibit of featlab has"):
        find.exhibit_ids()


def test_a_name_that_is_nearly_one_is_hinted_at():
    with pytest.raises(InvalidParameter, match="did you mean 'online-sgd'"):
        find_exhibit("online-sdg")
