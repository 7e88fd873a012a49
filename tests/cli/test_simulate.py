"""`featlab simulate`: options become the learner they name, results come as table, JSON and picture, misuse is said."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

import featlab
import featlab.learners
import featlab.simulation.run
from featlab.cli.app import app
from featlab.cli.simulate import SIMULATE_EPILOG
from featlab.experiments.text import COMMON_NAMES, READOUT_NAMES, option_table
from featlab.learners import StepLaw
from featlab.learners.registry import learner_names

# One small run, compiled once for all tests of this file.
SMALL = ["tanh(h1)", "--learner", "online-sgd", "--dim", "30", "--step-size", "0.5/d", "--seeds", "3"]
LOOKS = ["--times", "0,1,2"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_json_is_the_dataset() -> None:
    result = run(*SMALL, *LOOKS, "--key", "7", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    record = json.loads(result.stdout)
    learner = featlab.OnlineSgd(StepLaw(0.5, 1))
    dataset = featlab.simulate("tanh(h1)", learner, dim=30, seeds=3, key=7, times=[0, 1, 2])
    assert record["target"] == "tanh(h1)"
    assert record["time"] == [0, 1, 2]
    assert record["step"] == [0, 30, 60]
    overlap = record["data"]["overlap"]
    assert overlap["axes"] == ["seed", "time", "neuron", "direction"]
    np.testing.assert_array_equal(np.array(overlap["values"], np.float32), dataset["overlap"].values)
    assert record["data"]["outcome"]["values"] == ["ok"] * 3


def test_table_says_what_ran() -> None:
    result = run(*SMALL, *LOOKS)
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "d = 30, 3 seeds" in words
    assert "learner OnlineSgd(step_size=0.5/d)" in words
    assert "design virtual, 4.19 kB a seed; float32" in words
    assert "Outcome: 3 ok." in words
    assert len(re.findall(r"^ +[012]  .* \+- ", result.stdout, flags=re.MULTILINE)) == 3
    assert "\x1b" not in result.stdout


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    result = run(*SMALL, *LOOKS, "--quiet", "--figure", str(picture))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_an_interrupted_run_shows_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = featlab.simulation.run.advance
    calls = []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(featlab.simulation.run, "advance", interrupted)
    result = run(*SMALL, *LOOKS)
    assert result.exit_code == 130
    assert "Outcome: 3 interrupted." in result.stdout
    assert re.search(r"^ +2 +- +- +-$", result.stdout, flags=re.MULTILINE)
    assert result.stderr == "featlab: interrupted; what was done until then is shown\n"


def test_a_diverged_run_is_null_in_json_and_told_in_the_table() -> None:
    arguments = ["He3(h1)", "--learner", "online-sgd", "--dim", "40", "--step-size", "50", "--activation", "He3"]
    record = json.loads(run(*arguments, "--times", "0,1", "--seeds", "2", "--json").stdout)
    assert record["data"]["outcome"]["values"] == ["diverged"] * 2
    assert [row[1] for row in record["data"]["risk"]["values"]] == [None, None]
    shown = run(*arguments, "--times", "0,1", "--seeds", "2").stdout
    assert re.search(r"Outcome: 2 diverged \(first at step \d+\)\.", shown)


RUN = shlex.split("--learner online-sgd --dim 9 --step-size 1 --times 1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--learner", "online-sgd"], "--dim"),
        (["--learner", "onlinesgd", "--dim", "10"], "did you mean 'online-sgd'?"),
        (["--learner", "online-sgd", "--dim", "10"], "--step-size: online-sgd needs it: step per neuron"),
        (
            ["--learner", "reused-batch", "--dim", "10", "--step-size", "1"],
            "--steps: reused-batch needs it: number of steps",
        ),
        ([*RUN, "--key", "18446744073709551616"], "--key: got 18446744073709551616, expected a whole number from 0 to"),
        ([*RUN, "--key=-1"], "--key: got -1, expected a whole number from 0 to 2^64 - 1"),
        (["--stepsize", "1"], "no such option: --stepsize; did you mean --step-size (step per neuron"),
        (["--learner", "giant-steps", "--dim", "9", "--inner-step", "1"], "it belongs to extragradient"),
        (["--learner", "random-features", "--dim", "9", "--steps", "1"], "which takes --readout, --ridge"),
        (
            ["--learner", "random-features", "--dim", "9"],
            "--readout: random-features needs it",
        ),
        (
            ["--learner", "online-sgd", "--dim", "9", "--step-size", "1", "--ridge", "1"],
            "--ridge: got '1', expected a readout beside it",
        ),
        (["--learner", "online-sgd", "--dim", "9", "--step-size", "1/n"], "--step-size: got '1/n'"),
        (["--learner", "online-sgd", "--dim", "9", "--step-size", "-1"], "a step size above 0"),
        (["--learner", "online-sgd", "--dim", "9", "--step-size", "nan"], "--step-size: got 'nan'"),
        (["--learner", "online-sgd", "--dim", "9.5", "--step-size", "1"], "--dim: got '9.5'"),
        (["--learner", "online-sgd", "--dim", "0", "--step-size", "1", "--times", "1"], "dim: got 0"),
        (["--learner", "online-sgd", "--dim", "9", "--step-size", "1", "--times", "1,x"], "--times: got 'x'"),
        (
            ["--learner", "online-sgd", "--dim", "9", "--step-size", "1"],
            "--samples: online-sgd needs it: how many samples in all, or --times",
        ),
        (["--learner", "online-sgd", "--dim", "9", "--step-size", "1", "--activation", "reul"], "reul"),
        (["--learner", "online-sgd", "--dim", "9", "--step-size", "1", "--loss", "log"], "loss: got 'log'"),
        (
            ["--learner", "online-sgd", "--dim", "9", "--step-size", "1", "--times", "1", "--design", "dic"],
            "design: got 'dic'",
        ),
        (
            shlex.split("--learner reused-batch --dim 1e6 --samples 3e6 --steps 2 --step-size 1 --design dense"),
            "bytes",
        ),
        ([*RUN, "--figure", "run.txt"], "ends in .png"),
        ([*RUN, "--figure", "no/such/run.png"], "no directory"),
    ],
)
def test_misuse_exits_with_2_on_stderr(arguments: list[str], words: str) -> None:
    result = run("h1", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_a_leading_minus_is_no_option() -> None:
    assert "'-foo(h1)'" in run("-foo(h1)", "--learner", "online-sgd", "--dim", "9", "--step-size", "1").stderr


def test_every_field_is_an_option() -> None:
    """Of every learner and student that has a name, and of an experiment: nothing is left to be listed by hand."""
    options = {name for parameter in get_command(app).commands["simulate"].params for name in parameter.opts}
    for name in [*option_table(), *COMMON_NAMES[1:], *READOUT_NAMES]:
        assert f"--{name.replace('_', '-')}" in options, name


def test_help_names_every_learner() -> None:
    option = next(one for one in get_command(app).commands["simulate"].params if "--learner" in one.opts)
    for name in (*learner_names(), "random-features"):
        assert name in re.split(r"[,;.]? (?:or )?|\.$", option.help), name


def test_fields_by_name() -> None:
    ask = ("h1", "--learner", "online-sgd", "--dim", "9", "--step-size", "1")
    for given, words in (
        ("nothing", "expected FIELD=VALUE"),
        ("step-size=3", "--step-size is given too"),
        ("wibble=3", "nothing of that name for online-sgd"),
    ):
        result = run(*ask, "--with", given)
        assert result.exit_code == 2
        assert words in " ".join(result.stderr.split())


def _examples() -> list[str]:
    return [line for line in SIMULATE_EPILOG.splitlines() if line.startswith("featlab ")]


def test_help_shows_the_examples() -> None:
    shown = " ".join(run("--help").stdout.split())
    assert len(_examples()) >= 5
    for example in _examples():
        assert " ".join(example.split()) in shown


@pytest.mark.parametrize("example", _examples())
def test_examples_of_the_help_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, *arguments = shlex.split(example)
    result = CliRunner().invoke(app, arguments)
    assert name == "featlab"
    assert result.exit_code == 0, result.stderr
    if "--figure" in arguments:
        assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
