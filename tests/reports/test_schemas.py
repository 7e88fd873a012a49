"""What commands print as JSON keeps the published schema; a schema refuses what it does not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator, ValidationError
from typer.testing import CliRunner

from featlab.cli.app import app
from featlab.exhibits import Size
from featlab.exhibits.report import read_report, report_record
from featlab.reports.schemas import SCHEMAS, schema_name, schema_of

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RUN = [
    "--learner",
    "online-sgd",
    "--dim",
    "100",
    "--times",
    "0,1",
    "--step-size",
    "0.01",
]  # as in docstrings: it is compiled once
# Cheap calls, with the sizes of the examples in docstrings: these are compiled once. `study submit` and `collect` need
# Slurm: what they print is held by tests/study/test_slurm.py.
CALLS = {
    "explain": ["explain", "h1**2", "--no-simulation", "--dim", "100"],
    "simulate": ["simulate", "tanh(h1)", *RUN, "--seeds", "3"],
    "predict": ["predict", "tanh(h1)", *RUN],
    "compare": ["compare", "tanh(h1)", *RUN, "--seeds", "3", "--sizes", "1"],
    "race": [
        "race",
        "tanh(h1)",
        "--dim",
        "20",
        "--ratios",
        "2,4",
        "--seeds",
        "2",
        "--entrants",
        "sir,kernel-ridge,spectral",  # with a theory, without directions, without a theory
    ],
    "learners": ["learners"],
    "learners NAME": ["learners", "bayes-amp"],
    "diagnose": ["diagnose", "data.npz", "--label", "y"],
    "study plan": ["study", "plan", "tiny.toml", "--no-probe"],
    "study run": ["study", "run", "tiny.toml"],
    "study status": ["study", "status", "tiny.toml"],
    "study check": ["study", "check", "tiny.toml"],
    "exhibit list": ["exhibit", "list"],
    "doctor": ["doctor"],
}
NOT_CALLED = {"study submit", "study collect", "exhibit run"}
STUDY = """\
kind = "predict"
axes.samples = [40, 80]
fixed.target = "tanh(h1)"
fixed.learner = "inverse-regression"
fixed.dim = 20
"""


def valid(command: str, record: Any) -> None:
    Draft202012Validator(schema_of(command)).validate(record)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each of the calls prints, in a directory with data and a study."""
    place = tmp_path_factory.mktemp("calls")
    (place / "tiny.toml").write_text(STUDY, encoding="utf-8")
    inputs = np.random.default_rng(0).standard_normal((200, 4))
    np.savez(place / "data.npz", X=inputs, y=np.tanh(inputs[:, 0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return {name: _printed([*call, "--json"]) for name, call in CALLS.items()}


def _printed(call: list[str]) -> Any:
    done = CliRunner().invoke(app, call)
    assert done.stdout, f"{call} printed nothing, exit code {done.exit_code}: {done.stderr} {done.exception!r}"
    return json.loads(done.stdout)


def test_every_command_with_json_has_a_schema() -> None:
    from typer.main import get_command

    def walk(command: Any, name: str) -> set[str]:
        inner = getattr(command, "commands", {})
        own = {name} if any("--json" in one.opts for one in command.params) else set()
        return own.union(*(walk(child, f"{name} {key}".strip()) for key, child in inner.items()))

    assert walk(get_command(app), "") == set(SCHEMAS) - {"learners NAME"}
    assert set(CALLS) | NOT_CALLED == set(SCHEMAS)


@pytest.mark.parametrize("command", CALLS)
def test_what_is_printed_keeps_the_schema(command: str, printed: dict[str, Any]) -> None:
    valid(command, printed[command])


def test_reports_keep_the_schema() -> None:
    report = read_report(RESULTS, "classification", Size.PAPER)
    assert report is not None
    record = {"reports": [report_record(report)], "failures": [], "waiting": []}
    valid("exhibit run", {"schema": schema_name("exhibit run"), **record})


@pytest.mark.parametrize("command", ["explain", "race", "diagnose", "study run", "doctor"])
def test_a_key_more_or_less_is_refused(command: str, printed: dict[str, Any]) -> None:
    record = printed[command]
    with pytest.raises(ValidationError):
        valid(command, {**record, "unheard_of": 1})
    with pytest.raises(ValidationError):
        valid(command, {key: value for key, value in record.items() if key != list(record)[1]})


@pytest.mark.parametrize("command", CALLS)
def test_what_is_printed_says_its_schema_first_and_no_other_passes(command: str, printed: dict[str, Any]) -> None:
    record = printed[command]
    assert next(iter(record)) == "schema"
    assert record["schema"] == f"featlab.{command.replace(' ', '-')}/{schema_of(command)['version']}"
    for other in (f"featlab.{command}/0", None):
        with pytest.raises(ValidationError):
            valid(command, {**record, "schema": other})


def test_a_schema_is_one_and_is_printed() -> None:
    for command in SCHEMAS:
        Draft202012Validator.check_schema(schema_of(command))
        assert json.loads(CliRunner().invoke(app, ["schema", *command.split()]).stdout) == schema_of(command)
    assert "explain" in CliRunner().invoke(app, ["schema"]).stdout
    assert CliRunner().invoke(app, ["schema", "nonsense"]).exit_code == 2
