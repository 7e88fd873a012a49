"""Attacks by what a person or a stranger hands over: command lines, texts of targets, reports, disks that are full."""

from __future__ import annotations

import copy
import json
import os
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.attack import Attack, Limits

_REFUSED = 2
# A command line is stopped after so many seconds: what was announced may take long.
_PATIENCE = 20.0
_MEMORY = 8 * 2**30
_TARGETS = ("He3(h1)", "sign(h1*h2)", "h1 + abs(h2)", "tanh(2*h1)", "-h1**2")
_VALUES = (
    "", "0", "1", "-1", "2", "3", "0.5", "10", "100", "1000", "1e6", "1e9", "1e12", "1e18", "1e999", "nan", "inf",
    "-inf", "2^64", "18446744073709551616", "-9223372036854775809", "1/d", "0.5/d^2", "d^1/0", "1.2.3", "d", "0,1,2",
    "1,,2", "0:9", "tanh", "relu", "He2", "He99", "none", "auto", "virtual", "dense", "orthogonal", "planted", "sphere",
    "\u03b1", "\u0661", "a" * 300, "../x", "/", "/dev/null", "/dev/full", "/proc/self/mem", "x\ny", "\x1b[2J", "'", '"',
    "$(id)", "{}", "%s", "--",
)  # fmt: skip
_NUMBERS = ("0", "1", "-1", "2", "3", "0.5", "10", "100", "1000", "1e6", "1e9", "1e12", "1e18", "1e999", "nan")
# How often a value is at least a number, and an option is that of any learner.
_PLAUSIBLE, _FOREIGN = 0.6, 0.2
# What learners run with; each gets the first that it takes.
_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"samples": 100},
    {"samples": 100, "steps": 2, "step_size": 0.1},
    {"times": [1], "step_size": 0.1},
    {"times": [1], "step_size": 0.1, "inner_step": 0.1},
    {"samples": 100, "steps": 3, "width": 10, "hypercube": 0, "target": "h1*h2"},
    {"readout": 10},
)
_COMMANDS = ("simulate", "predict", "compare", "explain")
# Results, refusals of what was asked, faults of files, interruptions; not 70, nor what a signal leaves.
_FORESEEN = (0, 1, 2, 3, 4, 130)


def sound(learner: str) -> dict[str, Any]:
    """An experiment of a learner that can be run, as a study file would say it."""
    from featlab.errors import FeatlabError
    from featlab.experiments import experiment_from_text
    from featlab.simulation.simulator import check_experiment

    for settings in _SETTINGS:
        said = {"target": "He2(h1)", "learner": learner, "dim": 50, "seeds": 1, **settings}
        try:
            check_experiment(experiment_from_text(said))
        except FeatlabError:
            continue
        return said
    raise AssertionError(learner)


def command_lines(rng: random.Random) -> Iterator[list[str]]:
    """Sound commands to which options are added, mostly such as the learner has, with values that nobody would give."""
    import typer.main

    from featlab.cli.app import app
    from featlab.experiments import known_names
    from featlab.learners.registry import learner_names

    commands: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    fields = set[str]().union(*map(known_names, learner_names()))
    while True:
        name, learner = rng.choice(_COMMANDS), rng.choice(learner_names())
        foreign = set() if rng.random() < _FOREIGN else fields - set(known_names(learner))
        options = [one for one in commands[name].params if one.opts[0].startswith("--") and one.name not in foreign]
        line = [name, rng.choice(_TARGETS)] if name == "explain" else [name, *_as_options(sound(learner))]
        for option in rng.sample([one for one in options if one.name != "help"], rng.choice((1, 1, 1, 2, 3, 4))):
            line.append(option.opts[0])
            if not getattr(option, "is_flag", False):
                line.append(rng.choice(_NUMBERS if rng.random() < _PLAUSIBLE else _VALUES))
        yield line


def _as_options(said: dict[str, Any]) -> Iterator[str]:
    """A target and its options, as on the command line."""
    yield said["target"]
    for key, value in said.items():
        if key != "target":
            yield f"--{key.replace('_', '-')}"
            yield str(value[0] if isinstance(value, list) else value)


def mistype_options(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Each in a process of its own, with bounded memory: it ends in a result or in a message."""
    lines = command_lines(random.Random(seed))
    workers = os.cpu_count() or 1
    found: Counter[str] = Counter()
    with ThreadPoolExecutor(workers) as pool:
        for _ in limits.rounds():
            batch = [next(lines) for _ in range(workers)]
            for line, kind in zip(batch, pool.map(lambda one: _ended(one, directory), batch), strict=True):
                found[kind] += 1
                if kind in ("tracebacks", "unforeseen"):
                    print(f"{kind}: featlab {line}", file=sys.stderr)
    return found


def _ended(line: list[str], directory: Path) -> str:
    """How a command line ended."""
    command = [sys.executable, "-m", "featlab", *(part.replace("\x00", "") for part in line)]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, cwd=directory, check=False, preexec_fn=_bounded
        )
    except subprocess.TimeoutExpired:
        return "still running when stopped"
    if "Traceback" in run.stderr:
        return "tracebacks"
    if run.returncode not in _FORESEEN:
        return "unforeseen"
    return "results" if run.returncode == 0 else "messages"


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def forge_reports(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """A sound report with a few values exchanged for others: it is read or refused, and the file is named."""
    from featlab.exhibits import Size
    from featlab.exhibits.report import UnreadableReport, read_report, report_path

    sound = json.loads(_any_report().read_text(encoding="utf-8"))
    path = report_path(directory, sound["exhibit"], Size(sound["size"]))
    path.parent.mkdir(parents=True)
    rng, found = random.Random(seed), Counter[str]()
    for _ in limits.rounds():
        record = copy.deepcopy(sound)
        for _ in range(rng.randint(1, 3)):
            _exchange(rng, record)
        path.write_text(json.dumps(record), encoding="utf-8")
        try:
            read_report(directory, sound["exhibit"], Size(sound["size"]))
            found["read"] += 1
        except UnreadableReport as refusal:
            found["refused" if str(path) in str(refusal) else "refused without a name"] += 1
        except Exception as fault:  # noqa: BLE001  # whatever it is, it is counted
            found["raw errors"] += 1
            print(f"{fault!r}", file=sys.stderr)
    return found


def _any_report() -> Path:
    return min((Path(__file__).parents[1] / "docs" / "results").rglob("report.json"))


def _exchange(rng: random.Random, record: Any) -> None:
    """Put something else at a random place of a record, or take it away."""
    values = (
        None,
        True,
        -1,
        10**400,
        1e308,
        "",
        "<script>",
        "\x1b[2J",
        "../../x.png",
        [],
        {},
        [[]],
        {"a": 1},
        "x" * 30_000,
    )
    at = record
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = rng.choice(keys)
        below = at[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.7:
            at = below
            continue
        if rng.random() < 0.2:
            del at[key]
        else:
            at[key] = rng.choice(values)
        return


def fuzz_language(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Texts of targets, made by the grammar and mutated: a target or a refusal, within seconds."""
    from benchmarks.fuzz_language import attempt, inputs

    found: Counter[str] = Counter()
    texts = inputs(limits.tries, seed)
    for _, text in zip(limits.rounds(), texts, strict=False):
        try:
            outcome = attempt(text)
        except Exception as fault:  # noqa: BLE001  # whatever it is, it is counted
            found["raw errors"] += 1
            print(f"{text!r}: {fault!r}", file=sys.stderr)
            continue
        found["targets" if outcome.kind.startswith("target") else "refused"] += 1
        found["over 5 s"] += outcome.seconds > 5
    return found


def fill_disks(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Outputs of which only so many bytes can be written: nothing is left half written, and the answer is printed."""
    rng, found = random.Random(seed), Counter[str]()
    for number in limits.rounds():
        most, path = rng.choice([0, 1, 1000, 20_000, 10**7]), directory / f"{number}.html"
        before = b"the earlier one"
        path.write_bytes(before)
        command = [sys.executable, "-m", "featlab", "explain", "He3(h1)", "--no-simulation", "--html", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=partial(_short, most))
        whole = path.read_bytes() == before or run.returncode == 0
        found["half written"] += not whole
        refused = run.returncode == _REFUSED and "cannot be written" in run.stderr  # before anything was computed
        found["answers lost"] += not refused and "information exponent" not in run.stdout
        found["tracebacks"] += "Traceback" in run.stderr
        found["told" if run.returncode else "written"] += 1
    return found


def _short(most: int) -> None:
    """Files of this process end after so many bytes."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


ATTACKS = (
    Attack(
        "options", "command lines with values that nobody would give", mistype_options, ("tracebacks", "unforeseen")
    ),
    Attack("language", "texts of targets, made and mutated", fuzz_language, ("raw errors", "over 5 s")),
    Attack("reports", "forged reports", forge_reports, ("raw errors", "refused without a name")),
    Attack("disks", "files that end early", fill_disks, ("half written", "answers lost", "tracebacks")),
)
