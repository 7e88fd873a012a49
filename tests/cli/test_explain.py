"""The command line: what goes to stdout, what to stderr, exit codes, and how fast the help comes."""

from __future__ import annotations

import json
import re
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import featlab
from featlab.cli.app import app
from featlab.cli.explain import EXPLAIN_EPILOG
from featlab.reports import Explanation
from tests.processes import HEARING_CTRL_C

PROGRAM = [sys.executable, "-m", "featlab"]


def run(*arguments: str) -> Result:
    """Without the simulation at the end, which has a test of its own."""
    quick = ["--no-simulation"] if arguments[0] == "explain" and "--help" not in arguments else []
    return CliRunner().invoke(app, [*arguments, *quick])


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    quick = ["--no-simulation"] if arguments[0] == "explain" else []
    return subprocess.run([*PROGRAM, *arguments, *quick], capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]


def test_explains_as_text(explained: Callable[..., Explanation]) -> None:
    result = run("explain", "He3(h1)")
    assert result.exit_code == 0
    assert result.stdout.rstrip("\n") == str(explained("He3(h1)"))
    assert result.stderr == ""


def test_ends_with_theory_over_simulation(tmp_path: Path) -> None:
    """The one test that runs it: the screen, the JSON object and the page tell of the same comparison."""
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["explain", "tanh(h1)", "--budget", "10min", "--html", str(page)])
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    found = re.search(r"then ([\d.]+) predicted, ([\d.]+) \+- ([\d.]+) measured", words)
    assert found is not None
    predicted, measured, error = map(float, found.groups())
    assert 0.9 < predicted < 1
    assert abs(measured - predicted) < 1e-3 + 5 * error < 0.05
    assert "Theory and simulation: agrees. Largest |z|" in words
    html = page.read_text(encoding="utf-8")
    assert "Theory over simulation</h2>" in html
    assert html.count("<svg") == 5
    result = CliRunner().invoke(app, ["explain", "tanh(h1)", "--budget", "10min", "--json"])
    record = json.loads(result.stdout)["demonstration"]
    assert (record["algorithm"], record["verdict"]) == ("one-pass SGD", "agrees")
    assert record["quantities"]["overlap"]["theory"][-1][0][0] == pytest.approx(predicted, abs=1e-3)


def test_json_is_the_record(explained: Callable[..., Explanation]) -> None:
    result = run("explain", "He3(h1)", "--dim", "1e6", "--json")
    assert result.exit_code == 0
    record = {"schema": "featlab.explain/1", **explained("He3(h1)", dim=10**6).to_dict()}
    assert json.loads(result.stdout) == record


def test_noise_reaches_the_target() -> None:
    assert json.loads(run("explain", "h1", "--noise", "0.5", "--json").stdout)["noise"] == 0.5


def test_html_page_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("explain", "He3(h1)", "--html", str(page))
    assert result.exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(page) in result.stderr
    assert str(page) not in result.stdout


@pytest.mark.parametrize("expression", ["-h1", "-h1**2 + h2", "-(h1)", "-2*h1"])
def test_a_leading_minus_is_no_option(expression: str) -> None:
    result = run("explain", expression, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rank"] >= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["foo(h1)"], "unknown function 'foo'"),
        (["h1 +"], "column"),
        ([""], "empty"),
        (["3"], "constant"),
        (["h1", "--noise", "-1"], "noise: got -1.0"),
        (["h1", "--noise", "nan"], "noise: got nan"),
        (["h1", "--dim", "1.5"], "dim: got 1.5"),
        (["h1*h2*h3", "--dim", "2"], "at least the number of directions"),
        (["max(h1, h2, h3, h4, h5)"], "at most 4"),
        (["h1", "--dim", "many"], "--dim"),
        (["h1", "--jsno"], "--jsno"),
        ([], "EXPR"),
    ],
)
def test_misuse_exits_with_2_on_stderr(arguments: list[str], words: str) -> None:
    result = run("explain", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("name", [".", "missing/page.html"])
def test_unwritable_page(tmp_path: Path, name: str) -> None:
    result = run("explain", "h1", "--html", str(tmp_path / name))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_version() -> None:
    assert run("--version").stdout == f"featlab {featlab.__version__}\n"


def test_help_is_fast_and_light() -> None:
    """Half a second of processor time (a busy machine stretches the clock's), and nothing heavy loaded."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "explain" in done.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5
    command = [sys.executable, "-X", "importtime", "-m", "featlab", "--help"]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "typer" in imported
    assert not re.search(r"\| +(numpy|scipy|sympy|jax|matplotlib)$", imported, flags=re.MULTILINE)


def _examples() -> list[str]:
    return [line for line in EXPLAIN_EPILOG.splitlines() if line.startswith("featlab ")]


def test_help_shows_the_examples() -> None:
    shown = " ".join(run("explain", "--help").stdout.split())
    assert len(_examples()) >= 3
    for example in _examples():
        assert example in shown


@pytest.mark.parametrize("example", _examples())
def test_examples_of_the_help_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, *arguments = shlex.split(example)
    result = run(*arguments)
    assert name == "featlab"
    assert result.exit_code == 0, result.stderr


def test_runs_as_a_module_without_colour_in_a_pipe() -> None:
    done = process("explain", "He3(h1)")
    assert done.returncode == 0
    assert done.stdout.startswith("He3(h1)")
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_a_closed_pipe_is_no_traceback() -> None:
    running = subprocess.Popen(
        [*PROGRAM, "explain", "He3(h1)", "--no-simulation"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    errors = running.stderr.read()
    running.stderr.close()
    running.wait(timeout=60)
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_interrupt_exits_with_130() -> None:
    """The program tells when its work begins; only then is it interrupted."""
    program = (
        "import featlab.reports.explanation as e, time\n"
        "def slow(*args, **kwargs):\n"
        "    print('working', flush=True)\n"
        "    time.sleep(60)\n"
        "e.analyse = slow\n"
        "from featlab.cli import main\n"
        "main()\n"
    )
    command = [*HEARING_CTRL_C, sys.executable, "-c", program, "explain", "h1", "--no-simulation"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "working\n"
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert errors == "featlab: interrupted\n"


def test_narrow_output_follows_columns() -> None:
    widths = {}
    for columns in ("100", "60"):
        shown = CliRunner(env={"COLUMNS": columns}).invoke(app, ["explain", "He3(h1)", "--no-simulation"]).stdout
        widths[columns] = max(map(len, shown.splitlines()))
    assert widths["100"] > 80
    assert widths["60"] <= 60


def test_gallery_is_linked_from_where_the_page_lies(tmp_path: Path) -> None:
    page = tmp_path / "pages" / "page.html"
    page.parent.mkdir()
    assert run("explain", "He3(h1)", "--html", str(page), "--gallery", str(tmp_path / "gallery")).exit_code == 0
    assert 'href="../gallery/extragradient.html"' in page.read_text(encoding="utf-8")
    result = run("explain", "He3(h1)", "--gallery", "https://example.org/gallery")
    assert result.exit_code == 2
    assert "--html" in result.output


def test_a_budget_that_is_spent_is_a_doubt() -> None:
    record = json.loads(run("explain", "h1*h2", "--analysis-budget", "1e-9s", "--json").stdout)
    assert record["verdict"] == "UNDECIDED"
    assert all("s of processor time" in doubt for doubt in record["doubts"])
    for option in ("--budget", "--analysis-budget"):
        for time in ("0", "-1s", "10 days", "1..2s", "inf"):
            refused = run("explain", "h1", option, time)
            assert (refused.exit_code, refused.stderr.count(f"{option}: got")) == (2, 1)
