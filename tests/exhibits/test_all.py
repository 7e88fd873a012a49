"""All exhibits together: each has its test, and the gallery of all of them is whole."""

from pathlib import Path

import pytest

from featlab.exhibits import Size, all_exhibits, find_exhibit
from featlab.exhibits.find import exhibit_ids
from featlab.exhibits.running import places
from featlab.reports.gallery import write_gallery
from featlab.reports.links import _LETTERS
from featlab.study.identity import runs_of
from tests.reports.gallery_checks import faults

HERE = Path(__file__).parent


def test_every_exhibit_has_its_test_and_every_test_its_exhibit():
    tests = {path.stem.removeprefix("test_").replace("_", "-") for path in (HERE / "claims").glob("test_*.py")}
    assert tests == set(exhibit_ids())


@pytest.mark.parametrize("size", Size)
@pytest.mark.parametrize("id", exhibit_ids())
def test_its_studies_can_be_run_at_every_size(id, size, tmp_path):
    for place in places(find_exhibit(id), size, tmp_path):
        assert runs_of(place.part.study, place.runner)


@pytest.mark.parametrize("exhibit", all_exhibits(), ids=lambda exhibit: exhibit.id)
def test_it_says_what_a_reader_needs(exhibit):
    assert exhibit.claim.endswith(".")
    assert len(exhibit.claim) <= 240
    assert len(exhibit.protocol) >= 80
    assert exhibit.papers


def test_the_gallery_of_all_is_whole(shown, results, tmp_path):
    for id in reversed(exhibit_ids()):  # from the end: the other process, at their own tests, comes from the beginning
        shown(id)
    written = write_gallery(tmp_path / "site", results)
    assert written.shown == written.total == len(exhibit_ids())
    assert faults(tmp_path / "site") == []


def test_there_is_a_letter_for_every_exhibit():
    """Those that lines of an explanation name; one without a letter would end it with a fault."""
    assert len(set(_LETTERS)) == len(_LETTERS) >= len(exhibit_ids())
