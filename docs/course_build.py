"""The course's pages: every chapter of docs/course executed, with its outputs and pictures, as Markdown.

    python -m docs.course_build [--size small|full] [NAME ...]

executes docs/course/NAME.py (all chapters unless named; a part of a name is enough) in a fresh kernel and writes
docs/course/built/NAME.md beside its pictures. Cells tagged "solution" are put into a block that is closed at first. It
needs `pip install "featlab[docs]"`. A chapter that fails writes nothing, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parent / "course"
BUILT = SOURCES / "built"
_SECONDS = 900
_INDENT = "    "


def chapters(names: Iterable[str] = ()) -> list[Path]:
    """The sources in their order; those whose names contain one of the given ones, if any are given."""
    names = list(names)
    found = sorted(SOURCES.glob("[0-9]*.py"))
    for name in names:
        if not any(name in path.stem for path in found):
            raise SystemExit(f"got {name!r}: no such chapter; expected a part of {', '.join(p.stem for p in found)}")
    return [path for path in found if not names or any(name in path.stem for name in names)]


def executed(source: Path, size: str) -> Any:
    """The notebook of a chapter with its outputs, run in a kernel of its own. Raises what a cell raises."""
    import jupytext
    from nbclient import NotebookClient

    notebook = jupytext.read(source)
    os.environ["FEATLAB_COURSE"] = size  # read by the kernel's process
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(SOURCES.parents[1] / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3", coalesce_streams=True).execute(cwd=str(SOURCES))
    return notebook


def page(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """The Markdown of an executed notebook, and its pictures by file name."""
    pictures: dict[str, bytes] = {}
    section, parts = name, []
    for hidden, cells in groupby(notebook["cells"], key=_is_solution):
        written = []
        for cell in cells:
            section = _last_heading(cell) or section
            written += _cell(cell, section, name, pictures)
        body = "\n\n".join(written)
        parts.append('??? note "Solution"\n\n' + _indented(body) if hidden else body)
    return "\n\n".join(parts) + "\n", pictures


def _is_solution(cell: Any) -> bool:
    return "solution" in cell["metadata"].get("tags", [])


def _last_heading(cell: Any) -> str | None:
    """The words of the last heading in a cell of text."""
    found = re.findall(r"^#+ (.+)$", cell["source"], flags=re.MULTILINE) if cell["cell_type"] == "markdown" else []
    return found[-1] if found else None


def _cell(cell: Any, section: str, name: str, pictures: dict[str, bytes]) -> Iterator[str]:
    if cell["cell_type"] == "markdown":
        yield cell["source"]
        return
    yield f"```python\n{cell['source']}\n```"
    for output in cell["outputs"]:
        yield from _output(output, section, name, pictures)


def _output(output: Any, section: str, name: str, pictures: dict[str, bytes]) -> Iterator[str]:
    if output["output_type"] == "stream":
        if output["name"] == "stderr":
            raise ValueError(f"{name} writes to stderr: {output['text']}")
        yield f"```text\n{output['text'].rstrip()}\n```"
        return
    data = output["data"]
    if "image/png" in data:
        file = f"{name}-{len(pictures) + 1}.png"
        pictures[file] = base64.b64decode(data["image/png"])
        yield f"![Picture {len(pictures)}, of the section: {section}]({file})"
    elif data["text/plain"].strip():  # before a table rich shows an empty line by itself
        yield f"```text\n{data['text/plain']}\n```"


def _indented(text: str) -> str:
    return re.sub(r"^(?=.)", _INDENT, text, flags=re.MULTILINE)


def build(source: Path, size: str) -> None:
    """Execute one chapter and write its page and pictures; pictures of an earlier build are removed."""
    text, pictures = page(executed(source, size), source.stem)
    BUILT.mkdir(exist_ok=True)
    for old in BUILT.glob(f"{source.stem}-*.png"):
        old.unlink()
    for file, content in pictures.items():
        (BUILT / file).write_bytes(content)
    (BUILT / f"{source.stem}.md").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute the chapters of the course and write their pages.")
    parser.add_argument("names", nargs="*", help="chapters, by a part of their names; all of them if none is given")
    parser.add_argument("--size", choices=["small", "full"], default="full", help="small: seconds, for a look")
    arguments = parser.parse_args()
    for source in chapters(arguments.names):
        print(source.stem, flush=True)
        build(source, arguments.size)


if __name__ == "__main__":
    sys.exit(main())
