"""A results directory may come from anyone: a hostile report is refused by name, and the old site stands."""

from __future__ import annotations

import copy
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from featlab.errors import Unwritable
from featlab.exhibits import Size, run_exhibit
from featlab.exhibits.report import UnreadableReport, read_report, report_path, write_report
from featlab.reports import gallery
from featlab.reports.exhibits import ReportedExhibit, reproduction
from featlab.reports.gallery import write_gallery
from tests.exhibits.toy import exhibit

SCRIPT = "<script>alert(1)</script>"
# What stands where -> values that must not stand there.
HOSTILE: list[tuple[tuple[Any, ...], list[Any]]] = [
    (("format",), [1, "2", None]),
    (("exhibit",), ["other", 7, "../toy"]),
    (("size",), ["paper", SCRIPT]),
    (("runs",), [SCRIPT, -1, 1.5, True, 10**400]),
    (("seconds",), ["1", -1.0, [], 10**400]),
    (("made",), [SCRIPT, 0, "yesterday"]),
    (("remarks",), ["abc", [1], [["deep"]], ["\x1b[2J"], ["\ud800"], ["x" * 30_000], ["x"] * 20_000]),
    (("checks",), [[], "holds", [{}], [None]]),
    (("checks", 0, "result"), [SCRIPT, None, "HOLDS"]),
    (("checks", 0, "refused"), ["false", 1]),
    (("checks", 0, "statement"), [None, 3, {"html": SCRIPT}]),
    (("checks", 0, "extra"), [1]),
    (("numbers", 0, "measured"), ["0.5", True, [0.5]]),
    (("numbers", 0, "name"), [None]),
    (("machines",), ["here", [[]]]),
    (("machines", 0, "git"), ["abc", {"commit": 3, "changed": True}, {}]),
    (("machines", 0, "packages"), [["jax"], {"jax": 3}]),
    (("looks",), [[1], [2, 1], [0, 1], [1, 1, 1], "11"]),
    (("fixed",), [[[]], [{"digest": "a", "since": "then", "runs": 0}], [{"digest": SCRIPT, "since": 0, "runs": 0}]]),
    (("pictures",), [[], "figure.png", {"png": None}]),
    (("pictures", "png"), ["/etc/passwd", "../../secret.png", "a\\b.png", ".hidden.png", "figure.svg", "x\n.png", ""]),
    (("pictures", "exe"), ["figure.exe"]),
    (("unknown",), [1]),
]
CASES = [(path, value) for path, values in HOSTILE for value in values]
TEXTS = ["", "[]", "null", "{", "\x00", '{"format": 2, "seconds": NaN}', '{"a": Infinity}', "[" * 100_000, "1" * 5000]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one exhibit, made once."""
    results = tmp_path_factory.mktemp("results")
    run_exhibit(exhibit(), Size.QUICK, results)
    return results


@pytest.fixture
def results(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, beside a site that was written from them."""
    shown = exhibit()
    monkeypatch.setattr(gallery, "all_exhibits", lambda: [shown])
    shutil.copytree(made, tmp_path / "results")
    write_gallery(tmp_path / "site", tmp_path / "results")
    return tmp_path / "results"


def site(results: Path) -> dict[str, bytes]:
    directory = results.parent / "site"
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def spoil(path: Path, where: tuple[Any, ...], value: Any) -> None:
    record = json.loads(path.read_text())
    inner = record
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    path.write_text(json.dumps(record))


def refused(results: Path, named: str) -> None:
    """The gallery is refused with the name of the file, and the old one is as it was."""
    before = site(results)
    with pytest.raises(UnreadableReport, match=named):
        write_gallery(results.parent / "site", results)
    assert site(results) == before
    assert sorted(path.name for path in results.parent.iterdir()) == ["results", "site"]


def test_hostile_values_are_refused_by_name(results: Path) -> None:
    path = report_path(results, "toy", Size.QUICK)
    good = path.read_bytes()
    assert len(CASES) >= 43
    for where, value in CASES:
        spoil(path, where, copy.deepcopy(value))
        with pytest.raises(UnreadableReport, match=r"report\.json: not a report"):
            read_report(results, "toy", Size.QUICK)
        path.write_bytes(good)
    assert read_report(results, "toy", Size.QUICK) is not None


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_files_are_refused_by_name(results: Path, text: str) -> None:
    report_path(results, "toy", Size.QUICK).write_text(text)
    refused(results, r"report\.json: not a report")


def test_a_report_of_eight_megabytes_is_not_read(results: Path) -> None:
    report_path(results, "toy", Size.QUICK).write_text(" " * 9_000_000 + "{}")
    refused(results, r"report\.json.*bytes")


def test_a_pipe_and_a_link_are_no_reports(results: Path, tmp_path: Path) -> None:
    path = report_path(results, "toy", Size.QUICK)
    path.rename(path.with_name("elsewhere.json"))
    path.symlink_to("elsewhere.json")
    refused(results, r"report\.json.*plain file")
    path.unlink()
    os.mkfifo(path)
    refused(results, r"report\.json.*plain file")


def test_an_old_site_survives_a_missing_picture(results: Path) -> None:
    (report_path(results, "toy", Size.QUICK).parent / "figure.png").unlink()
    refused(results, r"figure\.png: cannot be read")


def test_a_picture_that_is_a_link_is_not_copied(results: Path) -> None:
    picture = report_path(results, "toy", Size.QUICK).parent / "figure.png"
    picture.unlink()
    picture.symlink_to("/etc/passwd")
    refused(results, r"figure\.png.*plain file")


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<rect onload="alert(1)"/>',
        '<image href="https://example.org/x.png"/>',
        '<use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="https://example.org/#x"/>',
        "<style>@import 'https://example.org/x.css'</style>",
        '<rect style="fill: url( https://example.org/x )"/>',
        "<foreignObject/>",
        '<a href="javascript:alert(1)"/>',
        "<unclosed>",
    ],
)
def test_a_drawing_that_does_more_is_refused(results: Path, inside: str) -> None:
    picture = report_path(results, "toy", Size.QUICK).parent / "figure.svg"
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>')
    refused(results, r"figure\.svg: not a picture")


def test_entities_and_other_files_are_no_pictures(results: Path) -> None:
    directory = report_path(results, "toy", Size.QUICK).parent
    svg = directory / "figure.svg"
    good = svg.read_bytes()
    svg.write_text('<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg>&b;</svg>')
    refused(results, r"figure\.svg: not a picture")
    svg.write_bytes(good)
    (directory / "figure.png").write_text("root:x:0:0")
    refused(results, r"figure\.png: not a picture")


def test_markdown_holds_no_elements(results: Path) -> None:
    shown, report = exhibit(), read_report(results, "toy", Size.QUICK)
    assert report is not None
    spoil(report_path(results, "toy", Size.QUICK), ("remarks",), [f"<u, v> {SCRIPT} <img src=x> <!-- x"])
    text = reproduction([ReportedExhibit(shown, read_report(results, "toy", Size.QUICK))], Size.QUICK)
    assert "<u, v>" in text
    assert not any(mark in text for mark in ("<script", "</script", "<img", "<!--"))


def test_what_was_written_is_read(results: Path) -> None:
    report = read_report(results, "toy", Size.QUICK)
    assert report is not None
    write_report(results, report)
    assert read_report(results, "toy", Size.QUICK) == report


@pytest.mark.parametrize("failing", ["rename", "write"])
def test_an_old_site_survives_a_disk(results: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    before = site(results)
    if failing == "write":

        def no_room(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(gallery, "write_bytes", no_room)
    else:
        rename = Path.rename

        def once_only(self: Path, goal: Path) -> Path:
            if not self.name.endswith("-old") and self.name.startswith(".featlab-"):
                raise OSError(5, "Input/output error")
            return rename(self, goal)

        monkeypatch.setattr(Path, "rename", once_only)
    with pytest.raises(Unwritable, match="cannot be written"):
        write_gallery(results.parent / "site", results)
    assert site(results) == before
    assert sorted(path.name for path in results.parent.iterdir()) == ["results", "site"]
