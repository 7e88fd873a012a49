"""The documentation's examples: how they are found and run, and how their output and pictures are made again.

    python -m docs.refresh

runs every `$ featlab ...` in the console blocks of README.md, docs/*.md and docs/reference/*.md, writes what it prints
below it, and draws docs/images again. Output that is cut by a last line `...` is cut at the same place; output that has
it elsewhere is left as it is. The tests compare all of them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURED = "He4(h1) + sign(h1*h2*h3)"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_DECIMAL = re.compile(r"-?\d+\.\d+")


def documents() -> list[Path]:
    pages = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "reference").glob("*.md"))]
    root = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*root, ROOT / "docs" / "course" / "index.md", *pages]


def blocks(text: str, language: str) -> list[str]:
    """The bodies of the fenced blocks in this language."""
    return [body for name, body in _FENCE.findall(text) if name == language]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """(command, shown output) of each `$ command` in a console block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.rstrip("\n")


def environment() -> dict[str, str]:
    """Where this checkout's featlab is found from any directory, and output is 80 columns wide."""
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": source, "COLUMNS": "80"}


def run(command: str, directory: Path) -> str:
    """What a `featlab ...` command prints in this directory, stderr included."""
    name, *arguments = shlex.split(command)
    if name != "featlab":
        raise ValueError(f"only featlab commands are run, not {command!r}")
    done = subprocess.run(
        [sys.executable, "-m", "featlab", *arguments],
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.rstrip("\n")


def matches(shown: str, printed: str) -> bool:
    """Whether the shown output is what was printed, a line `...` standing for any lines.

    Decimals may differ by two in their last digit: float32 sums round differently on different processors.
    """
    numbers = [number for line in shown.split("\n") if line != "..." for number in _DECIMAL.findall(line)]
    pattern = r"\n".join(r"(?:.*\n)*?.*" if line == "..." else _line_pattern(line) for line in shown.split("\n"))
    found = re.fullmatch(pattern, printed)
    return found is not None and all(map(_nearly, numbers, found.groups()))


def _line_pattern(line: str) -> str:
    return r"(-?\d+\.\d+)".join(map(re.escape, _DECIMAL.split(line)))


def _nearly(shown: str, printed: str) -> bool:
    last_digit = 10.0 ** -len(shown.split(".")[1])
    return abs(float(shown) - float(printed)) < 2.5 * last_digit


def _refreshed(text: str, directory: Path) -> str:
    for block in blocks(text, "console"):
        parts = [_part(command, shown, directory) for command, shown in commands(block)]
        text = text.replace(f"```console\n{block}```", f"```console\n{''.join(parts)}```")
    return text


def _part(command: str, shown: str, directory: Path) -> str:
    """The command with its output, cut where it was cut before: a last line `...` keeps as many lines above it."""
    lines = shown.split("\n")
    if "..." not in lines:
        lines = run(command, directory).split("\n")
    elif lines.index("...") == len(lines) - 1:
        lines = [*run(command, directory).split("\n")[: len(lines) - 1], "..."]
    return "\n".join([f"$ {command}", *lines, ""])


def _draw(path: Path) -> None:
    """Link, staircases and costs of one target, one below the other."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.image import imsave

    import featlab
    from featlab.figures import cost_figure, link_figure, staircase_figure

    analysis = featlab.explain(PICTURED).analysis
    drawn = []
    for figure in (
        link_figure(analysis.target, analysis.energies),
        staircase_figure(analysis),
        cost_figure(analysis.sample_cost, 1000),
    ):
        figure.patch.set(alpha=1.0, facecolor="white")
        figure.set_size_inches(8.0, figure.get_size_inches()[1])
        figure.set_dpi(100)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        drawn.append(np.asarray(canvas.buffer_rgba())[..., :3])
    imsave(path, np.vstack(drawn))


def main() -> None:
    for path in documents():
        path.write_text(_refreshed(path.read_text(encoding="utf-8"), ROOT), encoding="utf-8")
    _draw(ROOT / "docs" / "images" / "explain.png")


if __name__ == "__main__":
    main()
