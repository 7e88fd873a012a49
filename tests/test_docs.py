"""Every example in README and docs is run: Python blocks, interactive sessions, and commands with their output."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from docs.refresh import ROOT, blocks, commands, documents, environment, matches, run
from typer.testing import CliRunner

from featlab.cli.app import app

DOCUMENTS = documents()
OWN_PROCESS = ("studies.md", "adding-a-learner.md")
COMMANDS = [
    pytest.param(command, shown, id=f"{path.name}: {command}")
    for path in DOCUMENTS
    for block in blocks(path.read_text(encoding="utf-8"), "console")
    for command, shown in commands(block)
]


def _having(language: str) -> list[Path]:
    return [path for path in DOCUMENTS if blocks(path.read_text(encoding="utf-8"), language)]


def test_there_are_examples() -> None:
    assert len(COMMANDS) >= 4
    assert (ROOT / "README.md") in _having("console")


@pytest.mark.parametrize("path", _having("python"), ids=lambda path: path.name)
def test_python_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one document run one after the other; those with worker processes in a process of their own, which
    keeps what it compiles as a command does."""
    program = "\n".join(blocks(path.read_text(encoding="utf-8"), "python"))
    if path.name not in OWN_PROCESS:
        monkeypatch.chdir(tmp_path)
        exec(compile(program, path.name, "exec"), {"__name__": "__main__"})  # noqa: S102 - the project's own documents
        return
    kept = "import featlab.compiled\n\nfeatlab.compiled.keep()\n"
    (tmp_path / "blocks.py").write_text(kept + program, encoding="utf-8")
    command = [sys.executable, "-W", "error", "blocks.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", _having("pycon"), ids=lambda path: path.name)
def test_sessions_show_what_happens(path: Path) -> None:
    session = "\n".join(blocks(path.read_text(encoding="utf-8"), "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_commands_print_what_is_shown(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a terminal of 80 columns; some in a process of their own, the others spared the start of Python and JAX.

    A flow in the middle of its way from a saddle makes rounding large: it is compiled as for users, not as for tests.
    """
    if command.startswith(("featlab study", "featlab --")) or "-flow " in command:
        monkeypatch.setenv("XLA_FLAGS", "")
        printed = run(command, tmp_path)
    else:
        monkeypatch.chdir(tmp_path)
        printed = CliRunner(env={"COLUMNS": "80"}).invoke(app, shlex.split(command)[1:]).output.rstrip("\n")
    assert matches(shown, printed), printed


def test_matching_rejects() -> None:
    assert matches("a\n...\nd", "a\nb\nc\nd")
    assert not matches("a\n...\nd", "a\nb\nc")
    assert not matches("a", "a\nb")
    assert not matches("1.5", "1x5")
    assert matches("a 0.150 b", "a 0.152 b")
    assert not matches("a 0.150 b", "a 0.153 b")
    assert not matches("a 0.150 b", "a 0.150 c")
    assert not matches("n = 12", "n = 13")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Links to files of the project, or to the page that is made when the site is built; nothing is fetched."""
    made = ROOT / "docs" / "reference" / "commands.md"
    for address in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if not address.startswith("http"):
            place = (path.parent / address).resolve()
            assert place.exists() or place == made, address


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_and_make_targets_named_in_the_text_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z]+)\b(?=`|\s*(?:#|$))", text, flags=re.MULTILINE)) <= targets
    for name in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
