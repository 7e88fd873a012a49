"""The site's pages have their form, its own pages are made from the source, and the check of the built site refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs.check_site import faults, main
from docs.citation import citation_file
from docs.markdown import page, plain
from docs.refresh import ROOT, documents
from docs.site import AT_THE_ROOT, generated, with_way_back

PAGES = [path for path in documents() if path.parent != ROOT]
MADE = ("reference/commands.md", *AT_THE_ROOT.values())  # the pages that are no files
FIRST_SCREEN = 30  # lines


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return generated()


@pytest.mark.parametrize("name", [*(path.relative_to(ROOT / "docs").as_posix() for path in PAGES), *MADE])
def test_a_page_says_what_it_is_for_shows_it_and_leads_on(name: str, made: dict[str, str]) -> None:
    text = made[name] if name in MADE else (ROOT / "docs" / name).read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0].startswith("# ")
    assert re.match(r"[\w*`]", lines[2] or " "), "the first paragraph says what the page is for"
    assert any(line.startswith("```") for line in lines[:FIRST_SCREEN]), "an example within the first screen"
    assert any(line.startswith("Next: [") for line in lines[-3:]), "the last lines say where to go next"


def test_numbers_of_the_corrections_are_those_of_the_reports() -> None:
    """Every 0.631(1) beside a link to an exhibit is a number that it measured, or stands in one of its checks."""
    found = 0
    for line in (ROOT / "docs" / "corrections.md").read_text(encoding="utf-8").splitlines():
        reports = [_paper_report(name) for name in re.findall(r"reproduction\.md#([\w-]+)", line)]
        for value, error in re.findall(r"(-?\d+(?:\.\d+)?)\((\d+)\)", line) if reports else ():
            assert any(_is_measured(report, value, int(error)) for report in reports), f"{value}({error}) in {line}"
            found += 1
    assert found > 5
    assert not _is_measured(_paper_report("grand-staircase"), "0.641", 1)


def _paper_report(name: str) -> dict:
    return json.loads((ROOT / "docs" / "results" / "paper" / name / "report.json").read_text(encoding="utf-8"))


def _is_measured(report: dict, value: str, error: int) -> bool:
    unit = 10 ** -len(value.partition(".")[2])
    pairs = [(one["measured"], one["error"]) for one in report["numbers"] if one["measured"] is not None]
    return any(
        abs(scale * measured - float(value)) <= 0.51 * unit and abs(scale * spread - error * unit) <= 0.51 * unit
        for measured, spread in pairs
        for scale in (1, 100)  # 100: in percent
    ) or any(value in check["detail"] or value in (check["correction"] or "") for check in report["checks"])


def test_the_gallery_leads_back_to_its_door() -> None:
    assert with_way_back("<body>\n<main>\n<h1>").count('href="../reproduce.html"') == 1


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in PAGES:
        name = path.relative_to(ROOT / "docs").as_posix()
        assert f"- {name}\n" in navigation or f": {name}\n" in navigation or name == "course/index.md", name


def test_the_command_reference_has_every_command_and_learner(made: dict[str, str]) -> None:
    from typer.main import get_command

    from featlab.cli.app import app

    text = made["reference/commands.md"]
    command = get_command(app)
    for name, inner in command.commands.items():  # type: ignore[attr-defined]
        assert f"\n## featlab {name}\n" in text
        for child, one in getattr(inner, "commands", {}).items():
            assert (f"\n## featlab {name} {child}\n" in text) is not one.hidden
    assert "\n### bayes-amp\n" in text
    assert "`--no-simulation`" in text


def test_files_of_the_root_become_pages_whose_links_hold(made: dict[str, str]) -> None:
    for name in ("changelog.md", "contributing.md", "security.md"):
        for address in re.findall(r"\]\(([^)#]+)\)", made[name]):
            assert address.startswith("http") or address in made or (ROOT / "docs" / address).exists(), address
    assert '"title": "featlab explain --json"' in made["schemas/explain.json"]


def test_formulas_are_shown_as_they_are() -> None:
    assert page("f*, sigma* and *this* <w, x*>") == r"f\*, sigma\* and *this* &lt;w, x\*>"
    assert page("`a*b <w, x>` $w* <u, v>$") == "`a*b <w, x>` $w* <u, v>$"
    assert page("<details>") == "<details>"
    assert plain("w* <a, b>\n\n    code*") == "w\\* &lt;a, b>\n\n    code*"


@pytest.mark.parametrize(
    "content",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="preconnect" href="//fonts.example.org">',
        '<img src="missing.png">',
    ],
)
def test_a_page_that_fetches_from_outside_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(content, encoding="utf-8")
    assert main(tmp_path) == 1


def test_links_and_own_files_are_fine_and_nothing_is_not(tmp_path: Path) -> None:
    assert main(tmp_path) == 1
    (tmp_path / "own.css").write_text("a { background: url(data:image/png;base64,x) }", encoding="utf-8")
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="own.css"><a href="https://x.org">', encoding="utf-8"
    )
    assert main(tmp_path) == 0
    (tmp_path / "own.css").write_text("@import 'https://example.org/b.css';", encoding="utf-8")
    assert len(list(faults(tmp_path))) == 1


def test_the_citation_file_is_made_from_the_citations() -> None:
    assert (ROOT / "CITATION.cff").read_text(encoding="utf-8") == citation_file()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
