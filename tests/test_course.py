"""The course: chapters run at small size as plain Python, their assertions hold, and built pages show their code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from docs.course.agreement import chance, in_the_limit
from docs.course_build import BUILT, chapters, page

CHAPTERS = chapters()


def _cells(source: Path) -> list[tuple[str, str]]:
    """(head, body) of the cells of a py:percent source."""
    return re.findall(r"^# %%(.*)\n((?:(?!^# %%).*\n)*)", source.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("source", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_runs(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its assertions are the tests; figures are drawn, and there are some."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.setenv("FEATLAB_COURSE", "small")
    monkeypatch.syspath_prepend(source.parent)  # as for a script: chapters share a file
    try:
        runpy.run_path(str(source), run_name="__main__")
        assert pyplot.get_fignums()
    finally:
        pyplot.close("all")


def test_the_rule_of_agreement_refuses_one_case_in_a_hundred_and_takes_out_a_bias() -> None:
    """5 points, 12 runs at d/2 and d whose means are off by 3/d: what is allowed is exceeded in 1% of 2000 cases."""
    draw, dim, cases = np.random.default_rng(0), 100, 2000
    runs = [draw.standard_normal((cases, 5, 12)) / d**0.5 + 3 / d for d in (dim // 2, dim)]
    mean, error = in_the_limit(*runs)
    refused = np.mean(np.any(np.abs(mean) > chance(5, 12) * error, axis=1))
    assert refused < 0.01 + 3 * (0.01 / cases) ** 0.5  # Student's law with 11 degrees of freedom is more than is needed
    assert np.mean(np.any(np.abs(mean - 0.5) > chance(5, 12) * error, axis=1)) > 0.9


def test_headings_are_words() -> None:
    """A navigation and a search show them as they are: no formulas."""
    for source in CHAPTERS:
        assert not re.search(r"^# #.*\$", source.read_text(encoding="utf-8"), flags=re.MULTILINE), source


def test_there_are_ten_chapters() -> None:
    assert [path.stem[:2] for path in CHAPTERS] == [f"{number:02}" for number in range(1, 11)]


@pytest.mark.parametrize("source", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_has_its_parts(source: Path) -> None:
    """Three exercises, each followed by a solution that asserts something, and what is open; only public doors."""
    text, cells = source.read_text(encoding="utf-8"), _cells(source)
    solutions = [body for head, body in cells if '"solution"' in head]
    assert len(re.findall(r"^# \*\*[123]\.\*\*", text, flags=re.MULTILINE)) == 3
    assert len(solutions) == 3
    assert all(re.search(r"^\s*assert ", body, flags=re.MULTILINE) for body in solutions)
    assert "# ## What is still open" in text
    assert re.search(r"Next:\s+(?:# )?\[", text[text.index("# ## What is still open") :]), (
        "it ends with where to go next"
    )
    doors = "theory|study|exhibits|estimators|figures|gaussian|testing|extending"
    assert not re.search(rf"^(?:from|import) featlab\.(?!(?:{doors}) )", text, flags=re.MULTILINE)


@pytest.mark.parametrize("source", CHAPTERS, ids=lambda path: path.stem)
def test_built_page_is_of_this_source(source: Path) -> None:
    """Every cell is on the page as it is in the source, with every picture; links lead to files or other pages."""
    built = (BUILT / f"{source.stem}.md").read_text(encoding="utf-8")
    unindented = re.sub(r"^ {4}", "", built, flags=re.MULTILINE)
    for head, body in _cells(source):
        if "[markdown]" in head:
            assert re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip() in built
        else:
            assert f"```python\n{body.strip()}\n```" in (unindented if "solution" in head else built)
    assert built.count('??? note "Solution"') == 3
    for address in re.findall(r"\]\(([^)#]+)\)", built):
        if not address.startswith("http"):
            assert (BUILT / address).exists(), address


def test_page_hides_solutions_and_refuses_warnings() -> None:
    """A page from cells made by hand: text, output, a picture, two solution cells in one block."""
    said_before = {"cell_type": "markdown", "metadata": {}, "source": "# A title\n\n## What is seen\n\nIt is."}
    code = {"cell_type": "code", "metadata": {}, "source": "1\n\n2"}
    said = {"output_type": "stream", "name": "stdout", "text": "a\n"}
    drawn = {"output_type": "display_data", "data": {"image/png": "QUJD", "text/plain": "<Figure>"}}
    hidden = {**code, "metadata": {"tags": ["solution"]}, "outputs": [said]}
    text, pictures = page({"cells": [said_before, {**code, "outputs": [drawn]}, hidden, hidden]}, "one")
    assert pictures == {"one-1.png": b"ABC"}
    assert "![Picture 1, of the section: What is seen](one-1.png)" in text
    block = "    ```python\n    1\n\n    2\n    ```\n\n    ```text\n    a\n    ```"
    assert text.endswith(f'??? note "Solution"\n\n{block}\n\n{block}\n')
    with pytest.raises(ValueError, match="writes to stderr: careful"):
        page({"cells": [{**code, "outputs": [{**said, "name": "stderr", "text": "careful"}]}]}, "one")
