"""A small real package from outside: its learner, its predictor and its exhibit work without editing a file of featlab.

The package is installed by pip into a folder of its own, which a fresh interpreter then has on its path.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "outside"
version = "1.0"

[project.entry-points."featlab.learners"]
normalised-sgd = "outside.learner:NormalisedSgd"

[project.entry-points."featlab.predictors"]
normalised-sgd = "outside.theory:PREDICTOR"

[project.entry-points."featlab.exhibits"]
two-steps = "outside.claim:EXHIBIT"
"""
THEORY = '''
"""A toy: a neuron that starts off the direction of the target does not move."""

import numpy as np

from featlab import extending as fx


def predict(question, start):
    steps = len(question.steps)
    overlap = np.broadcast_to(start.overlap, (steps, *start.overlap.shape))
    gram = np.broadcast_to(start.gram, (steps, *start.gram.shape))
    return fx.Prediction({"overlap": overlap, "gram": gram}, "A toy of an outside package.")


PREDICTOR = fx.Predictor(predict, fx.student_starts)
'''


def _block(document: str, marker: str) -> str:
    """The first Python block of a document that has the marker."""
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if marker in block)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an interpreter that has the package: made of what the documents show, word for word."""
    source, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    package = source / "src" / "outside"
    package.mkdir(parents=True)
    claim = _block("adding-an-exhibit.md", "EXHIBIT =").partition("\nreport = ")[0]
    files = {
        package / "__init__.py": "",
        package / "learner.py": _block("adding-a-learner.md", "class NormalisedSgd"),
        package / "theory.py": THEORY,
        package / "claim.py": claim,
        source / "pyproject.toml": PROJECT,
    }
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), *sys.path])}


# Commands one after the other by the entry point of the command line, a line apart.
APART = "-- next --"
COMMANDS = f"""
import json, sys
from featlab.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as leaving:
        if leaving.code:
            raise
    print({APART!r})
"""


def _featlab(environment: dict[str, str], directory: Path, *commands: tuple[str, ...]) -> list[str]:
    """What each of the commands prints, in one process: to start one takes longer than what they do."""
    command = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    *printed, rest = done.stdout.split(APART)
    assert (len(printed), rest) == (len(commands), "\n")
    return printed


RUN = ("--dim", "200", "--times", "0,0.1", "--start", "orthogonal", "--json")


def test_the_learner_has_a_name_and_an_address(environment: dict[str, str], tmp_path: Path) -> None:
    ask = ("simulate", "tanh(h1)", "--seeds", "2", "--step-size", "1/d", *RUN)
    names = ("normalised-sgd", "outside.learner:NormalisedSgd")
    printed = _featlab(environment, tmp_path, *((*ask, "--learner", name) for name in names))
    named, addressed = map(json.loads, printed)
    assert named["data"] == addressed["data"]
    assert named["data"]["outcome"]["values"] == ["ok", "ok"]


def test_the_predictor_answers_for_it(environment: dict[str, str], tmp_path: Path) -> None:
    ask = ("predict", "tanh(h1)", "--learner", "normalised-sgd", "--step-size", "1/d", *RUN)
    predicted = json.loads(*_featlab(environment, tmp_path, ask))
    assert predicted["data"]["overlap"]["values"] == [[[0.0]], [[0.0]]]


def test_a_study_runs_it(environment: dict[str, str], tmp_path: Path) -> None:
    study = """
kind = "simulate"
[fixed]
target = "tanh(h1)"
learner = "normalised-sgd"
step_size = "1/d"
times = [0.1]
seeds = 2
[axes]
dim = [100, 200]
"""
    (tmp_path / "sweep.toml").write_text(study, encoding="utf-8")
    _featlab(environment, tmp_path, ("study", "run", "sweep.toml", "--quiet"))
    program = "import featlab; print(featlab.study.open('sweep.toml')['cosine'].notnull().all().item())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    assert done.stdout.strip() == "True"


def test_the_exhibit_is_listed_and_run(environment: dict[str, str], tmp_path: Path) -> None:
    commands = ("exhibit", "list"), ("exhibit", "run", "two-steps", "--size", "quick")
    listed, run = _featlab(environment, tmp_path, *commands)
    assert "two-steps" in listed
    assert "REPRODUCED" in run
