"""What was computed is never lost, what cannot be written is noticed before, and nothing ends in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from matplotlib.figure import Figure
from rich.text import Text
from typer.testing import CliRunner, Result

from featlab import cli
from featlab.cli import app as application
from featlab.cli.app import app
from featlab.cli.errors import exit_cleanly
from featlab.cli.showing import deliver
from featlab.exhibits import Size, pictures
from featlab.exhibits import find as finding
from tests.exhibits.toy import exhibit

STUDY = """
kind = "tests.study.tiny:run_point"
[axes]
x = [1, 2, 3]
"""
SIMULATION = """
kind = "simulate"
{top}
[fixed]
target = "h1"
learner = "online-sgd"
step_size = 0.001
times = [0, 1]
{fixed}
"""
FULL = Path("/dev/full")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of the program itself, last line of defence included. What the tests compile is kept elsewhere."""
    monkeypatch.setenv("FEATLAB_COMPILED", "off")
    monkeypatch.setattr(sys, "argv", ["featlab", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code or 0


def said(path: Path, *, quiet: bool = False, as_json: bool = False) -> None:
    deliver(
        "simulate",
        figure=path,
        draw=Figure,
        as_json=as_json,
        record=lambda: {"risk": 0.5},
        quiet=quiet,
        text=lambda: Text("risk 0.5"),
    )


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_result_is_shown_when_its_picture_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: bool, as_json: bool
) -> None:
    with pytest.raises(typer.Exit) as left:
        said(tmp_path / "gone" / "run.png", quiet=quiet, as_json=as_json)
    assert left.value.exit_code == 4
    shown = capsys.readouterr()
    assert "0.5" in shown.out
    assert "cannot be written: No such file or directory" in shown.err


def test_an_old_picture_survives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "run.png"
    path.write_bytes(b"old")

    def broken() -> Figure:
        raise ValueError("no picture")

    with pytest.raises(ValueError, match="no picture"):
        deliver("simulate", figure=path, draw=broken, as_json=False, record=dict, quiet=True, text=lambda: Text(""))
    assert path.read_bytes() == b"old"
    said(path, quiet=True)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.png"]


@pytest.mark.parametrize("name", ["a" * 300 + ".html", "missing/page.html", "."])
def test_a_page_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("it was computed")

    monkeypatch.setattr("featlab.reports.explain", never)
    done = run("explain", "h1", "--html", tmp_path / name)
    assert done.exit_code == 2
    assert "--html: got" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_full_disk_leaves_the_table_and_says_so() -> None:
    done = run("explain", "h1", "--no-simulation", "--html", FULL)
    assert done.exit_code == 4
    assert "TRIVIAL" in done.stdout
    assert "No space left on device" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_full_standard_output_is_said_and_no_columns_are_no_matter() -> None:
    """In processes of their own: Python itself complains at its end about what it could not write."""
    command = [sys.executable, "-m", "featlab", "--version"]
    listing = [sys.executable, "-m", "featlab", "exhibit", "table", "--results", "nowhere"]
    environment = {**os.environ, "COLUMNS": "0"}
    with FULL.open("w") as full:
        done = subprocess.run(listing, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (4, "featlab: the output: No space left on device\n")
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert shown.stdout.startswith("featlab ")


def test_no_columns_are_no_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert ended(monkeypatch, "explain", "h1", "--no-simulation") == 0
    assert "TRIVIAL" in capsys.readouterr().out


def test_what_nobody_foresaw_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(**_: Any) -> None:
        raise ZeroDivisionError("by\nzero " + "x" * 1000)

    monkeypatch.setattr(application, "app", broken)
    assert ended(monkeypatch, "explain", "h1") == 70
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert message.startswith("featlab: a fault of featlab itself: ZeroDivisionError: by zero xxx")
    assert "featlab --debug" in message
    assert ended(monkeypatch, "--debug", "explain", "h1") == 70
    assert "Traceback" in capsys.readouterr().err


def test_debug_is_an_option_of_every_command() -> None:
    assert run("--debug", "--version").exit_code == 0


def test_faults_of_files_have_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    @exit_cleanly
    def command() -> None:
        raise OSError(30, "Read-only file system", "/mnt/page.html")

    with pytest.raises(typer.Exit) as left:
        command()
    assert left.value.exit_code == 4
    assert capsys.readouterr().err == "featlab: /mnt/page.html: Read-only file system\n"


@pytest.mark.parametrize(
    "text", ["tree(h1, h1, d^1.2.3)", "tree(h1, h1, d^1/0)", "tree(h1, h1, d^.)", "tree(h1, h1, " + "9" * 5000 + ")"]
)
def test_trees_that_are_none(text: str) -> None:
    done = run("explain", text, "--no-simulation")
    assert done.exit_code == 2
    assert "is no number of directions" in done.output


@pytest.mark.parametrize("kind", ["../x:f", ":f", "x..y:f", "/etc/x:f", "a b:f", "tests.study.tiny:"])
def test_a_kind_that_is_no_module(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("tests.study.tiny:run_point", kind))
    done = run("study", "plan", path, "--no-probe")
    assert done.exit_code == 2
    assert "kind: got" in done.output


def test_a_module_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "featlab_broken_kind.py").write_text("def f(:\n")
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("tests.study.tiny:run_point", "featlab_broken_kind:f"))
    done = run("study", "plan", path, "--no-probe")
    assert done.exit_code == 2
    assert "whose import fails: SyntaxError" in done.output


def test_a_mark_at_the_beginning_of_a_file_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + STUDY.encode())
    assert run("study", "plan", path, "--no-probe").exit_code == 0


@pytest.mark.parametrize(
    ("top", "fixed", "words"),
    [
        ("", "dim = 100\ndesign = 'magic'", "design: got 'magic'"),
        ("observe = ['nonsense']", "dim = 100", "observe: got 'nonsense'"),
        ("observe = ['accuracy']", "dim = 100", "observe: got 'accuracy'"),
        ("", "dim = 100\ndtype = 'float13'", "dtype: got 'float13'"),
        ("", "dim = 100\nmemory = -3", "memory: got -3"),
        ("", "dim = 100\nmemory = 100", "100 are available"),
        ("", "dim = 1e18", "at most 2,147,483,647 steps, time 2.15e-09: a simulation of 1e+18 takes 1.6e+05 years"),
        ("", "dim = 1e18\ndesign = 'dense'\nlearner2 = 1", "unknown parameter"),
    ],
)
def test_values_are_checked_before_anything_runs(tmp_path: Path, top: str, fixed: str, words: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(SIMULATION.format(top=top, fixed=fixed))
    done = run("study", "run", path)
    assert done.exit_code == 2
    assert words in done.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(
    "line",
    [
        *("learner = 3", "learner = [1]", "learner = 'json:loads'", "learner = '../x:f'", "target = [1]", "target = 3"),
        *("noise = [1]", "noise = true", "spike = [1]", "alignment = 'x'", "seeds = ['a']", "seeds = [nan]"),
        *("times = ['a']", "times = [[1]]", "times = []", "step_size = 'd^1/0'", "design = 3", "dtype = ['float32']"),
        *("memory = 1.5", "width = [1]", "activation = 3"),
    ],
)
def test_values_of_a_wrong_type_are_no_tracebacks(tmp_path: Path, line: str) -> None:
    """Reproduces a campaign of 195 odd invocations, of which 13 ended in one."""
    name = line.partition(" ")[0]
    given = {"target": "'h1'", "learner": "'online-sgd'", "dim": "9", "step_size": "0.1", "times": "[0]"}
    lines = [f"{key} = {value}" for key, value in given.items() if key != name]
    path = tmp_path / "study.toml"
    path.write_text("\n".join(["kind = 'simulate'", "[fixed]", *lines, line]))
    done = run("study", "plan", path, "--no-probe")
    assert done.exit_code == 2, done.exception
    assert done.output.startswith("featlab: ")


def test_a_study_without_an_end_is_not_read() -> None:
    done = run("study", "plan", "/dev/zero", "--no-probe")
    assert done.exit_code == 2
    assert "larger than" in done.output


def test_observing_a_number(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("observe = 3\n" + STUDY)
    assert "observe: got 3, expected a list of names" in run("study", "plan", path, "--no-probe").output


def test_a_dimension_beyond_whole_floats_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(SIMULATION.format(top="", fixed="dim = 1e18").replace("[0, 1]", "[0]"))
    assert run("study", "plan", path, "--no-probe").exit_code == 0


def test_an_export_of_an_unfinished_study_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    assert run("study", "run", path).exit_code == 0
    assert run("study", "export", path, tmp_path / "all.csv").exit_code == 0
    path.write_text(STUDY.replace("[1, 2, 3]", "[1, 2, 3, 4, 5]"))
    done = run("study", "export", path, tmp_path / "some.csv")
    assert done.exit_code == 3
    assert "of 5 runs 2 missing; the file holds 3" in done.output
    assert len((tmp_path / "some.csv").read_text().splitlines()) == 4


def test_results_that_cannot_be_written_are_noticed_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    done = run("exhibit", "run", "extragradient", "--results", tmp_path / "taken")
    assert done.exit_code == 4
    assert "results cannot be written: Not a directory" in done.output


def test_a_gallery_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    done = run("gallery", tmp_path / "taken" / "site", "--results", tmp_path)
    assert done.exit_code == 4
    assert "the gallery cannot be written" in done.output


def test_a_verdict_is_said_though_its_report_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(finding, "find_exhibit", lambda id: exhibit())
    monkeypatch.setattr(pictures, "write_bytes", no_room)
    done = run("exhibit", "run", "toy", "--results", tmp_path, "--size", Size.QUICK)
    assert done.exit_code == 4
    assert "REPRODUCED at size quick" in done.output
    assert "the runs are safe" in done.output


def test_options_of_sbatch_in_quotes_that_do_not_close() -> None:
    done = run("exhibit", "run", "extragradient", "--engine", "slurm", "--sbatch", "--time='1")
    assert done.exit_code == 2
    assert "--sbatch: got" in done.output
