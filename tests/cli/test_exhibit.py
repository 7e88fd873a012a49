import json

import pytest
from typer.testing import CliRunner

from featlab.cli.app import app
from tests.exhibits import toy
from tests.reports.gallery_checks import faults


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A place for results, and a world with one exhibit in it."""
    shown = toy.exhibit(moving=True)
    for module in ("featlab.exhibits.find", "featlab.reports.gallery"):
        monkeypatch.setattr(f"{module}.all_exhibits", lambda: [shown])
    monkeypatch.setattr("featlab.exhibits.find.find_exhibit", lambda id: {"toy": shown}[id])
    return tmp_path / "results"


def test_list_run_and_table(results):
    assert "not run" in run("exhibit", "list", "--results", results).output
    done = run("exhibit", "run", "toy", "--results", results)
    assert "REPRODUCED at size quick" in done.output
    assert "measured (s.e.)" in done.output
    assert "prototype" not in done.output
    assert "reproduced (quick)" in run("exhibit", "list", "--results", results).output
    (entry,) = json.loads(run("exhibit", "list", "--json", "--results", results).output)["exhibits"]
    assert (entry["id"], entry["verdict"], entry["size"]) == ("toy", "reproduced", "quick")
    table = run("exhibit", "table", "--results", results).output
    assert "1 of 1 exhibits were run: 1 reproduced" in table
    assert "not run" in run("exhibit", "table", "--size", "paper", "--results", results).output


def test_all_as_json(results):
    record = json.loads(run("exhibit", "run", "all", "--json", "--results", results).output)
    assert [report["verdict"] for report in record["reports"]] == ["reproduced"]
    assert record["failures"] == record["waiting"] == []


def test_failed_runs_have_their_exit_code(results, monkeypatch):
    monkeypatch.setattr("featlab.exhibits.find.find_exhibit", lambda id: toy.exhibit(mean=-1.0))
    done = run("exhibit", "run", "toy", "--results", results, code=1)
    assert "no such coin" in done.stderr


def test_gallery(results, tmp_path):
    there = f"--results {results}"
    assert f"`featlab exhibit run all {there}` does it." in run("gallery", tmp_path / "empty", *there.split()).output
    next_step = run("exhibit", "run", "toy", *there.split()).output
    assert f"Reports and pictures: {results / 'quick'}. Next: `featlab gallery site {there}`" in next_step
    done = run("gallery", tmp_path / "site", *there.split())
    assert "1 of 1 exhibits shown, at size quick" in done.output
    assert f"Reports and pictures: {results / 'quick'}. Next: `featlab gallery site {there}`" in (
        run("exhibit", "table", *there.split()).stderr
    )
    other = run("exhibit", "table", "--size", "paper", *there.split()).stderr
    assert f"`featlab exhibit run all --size paper {there}` does it. There are runs of size quick" in other
    assert faults(tmp_path / "site") == []
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("x")
    assert "no gallery" in run("gallery", tmp_path / "mine", "--results", results, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "extragradeint"], "did you mean 'extragradient'?"),
        (["run", "extragradient", "--size", "huge"], "expected one of quick, paper, large"),
        (["run", "extragradient", "--engine", "magic"], "expected one of in-process, pool, dask"),
    ],
)
def test_misuse(arguments, words, tmp_path):
    assert words in run("exhibit", *arguments, "--results", tmp_path, code=2).stderr
