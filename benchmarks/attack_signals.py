"""Attacks by Ctrl-C and SIGTERM: commands are interrupted at random moments, from their first line to their last.

signals: a command is started and, once it listens, interrupted after a random time; every third try twice, every
fifth by SIGTERM. It must end within three seconds with the exit code of the signal, leave no process and nothing half
written: no file under another name, no torn picture, page or JSON, no damaged store. Needs /proc, as on Linux.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.attack import Attack, Limits
from featlab.study import check

MOST_SECONDS = 3.0
LONGEST_LIFE_SECONDS = 12.0
_IN_TIME = "with the signal's code within 3 s"
_HANGS_SECONDS = 60.0
_STUDY = """kind = "simulate"
[fixed]
target = "tanh(h1)"
learner = "online-sgd"
step_size = "0.5/d"
dim = 1000
times = [0, 1, 2]
seeds = 2
[axes]
noise = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
"""
_ONE_PASS = ("tanh(h1)", "--learner", "online-sgd", "--dim", "1e4", "--step-size", "0.5/d", "--start", "orthogonal")
COMMANDS: dict[str, tuple[str, ...]] = {
    "explain": ("explain", "h1 + h1*h2", "--html", "page.html"),
    "one pass": ("simulate", *_ONE_PASS, "--times", "0,1,2,4,400", "--figure", "run.png"),
    "message passing": ("simulate", "sign(h1*h2)", "--learner", "bayes-amp", "--dim", "600", "--samples", "4500"),
    "readout": (
        *("simulate", "h1 + He2(h2)", "--learner", "random-features", "--dim", "50", "--width", "100"),
        *("--readout", "1e9", "--seeds", "3", "--json"),
    ),
    "compare": ("compare", *_ONE_PASS, "--times", "0,1,2,4,8", "--figure", "both.png"),
    "study": ("study", "run", "sweep.toml", "--fresh"),
    "predict": (
        *("predict", "He3(h1)", "--learner", "reused-batch", "--dim", "1000", "--samples", "3000"),
        *("--step-size", "0.1", "--steps", "100", "--figure", "theory.png"),
    ),
    "race": ("race", "h1 + h1*h2", "--dim", "100", "--budget", "40s", "--store", "race", "--figure", "race.png"),
    "diagnose": ("diagnose", "data.csv", "--label", "y", "--html", "diagnosis.html"),
    "exhibit": ("exhibit", "run", "extragradient", "--results", "results"),
    "explore": ("explore", "--port", "0", "--no-browser"),
    "study, pool": ("study", "run", "sweep.toml", "--engine", "pool", "--workers", "2", "--fresh"),
}


def interrupt(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """One command after the other, each interrupted once."""
    chance, found = random.Random(seed), Counter[str]()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started here is not to ignore it
    (directory / "sweep.toml").write_text(_STUDY, encoding="utf-8")
    (directory / "data.csv").write_text(_data(chance), encoding="ascii")
    for number in limits.rounds():
        name, arguments = list(COMMANDS.items())[number % len(COMMANDS)]
        sent = signal.SIGTERM if number % 5 == 4 else signal.SIGINT
        out = directory / "out"
        with out.open("wb") as stdout, (directory / "err").open("wb") as stderr:
            command = [sys.executable, "-m", "featlab", *arguments]
            started = subprocess.Popen(command, cwd=directory, stdout=stdout, stderr=stderr, start_new_session=True)
        outcome, seconds = _interrupted(started, sent, chance, twice=number % 3 == 2)
        found[outcome] += 1
        found["slowest, ms"] = max(found["slowest, ms"], round(1000 * seconds))
        found["processes left"] += _left(started.pid)
        torn = _half_written(directory, out if "--json" in arguments else None)
        found["half written"] += len(torn)
        if torn or outcome not in (_IN_TIME, "finished before"):
            print(f"{number}, {name}: {outcome} after {seconds:.2f} s; {torn}", (directory / "err").read_text()[-300:])
    print(f"signals: load average {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} cores")
    return found


def _data(chance: random.Random) -> str:
    """Samples of a label that needs some time to diagnose."""
    rows = [[chance.gauss(0, 1) for _ in range(20)] for _ in range(1000)]
    lines = [",".join([*(f"{value:.4f}" for value in row), f"{row[0] * row[1] + row[0]:.4f}"]) for row in rows]
    return "\n".join([",".join([*(f"x{number}" for number in range(20)), "y"]), *lines]) + "\n"


def _interrupted(
    started: subprocess.Popen[bytes], sent: signal.Signals, chance: random.Random, *, twice: bool
) -> tuple[str, float]:
    """How it ended, and how long after the signal."""
    while not _listens(started.pid) and started.poll() is None:
        time.sleep(0.005)
    try:
        started.wait(chance.uniform(0, LONGEST_LIFE_SECONDS))
    except subprocess.TimeoutExpired:
        pass
    else:
        return "finished before", 0.0
    begin = time.monotonic()
    os.killpg(started.pid, sent)
    if twice:
        time.sleep(0.2)
        if started.poll() is None:
            os.killpg(started.pid, sent)
    try:
        code = started.wait(_HANGS_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        return "hangs", _HANGS_SECONDS
    seconds = time.monotonic() - begin
    if code == -signal.SIGSEGV:
        return "SIGSEGV", seconds
    if code != 128 + sent:
        # Between its last line and its end a command is done: nothing is interrupted any more.
        return ("finished before" if code == 0 else "other exit codes"), seconds
    return (_IN_TIME if seconds <= MOST_SECONDS else "late"), seconds


def _listens(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM, which Python alone has not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return False
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def _left(group: int) -> int:
    """Whether a process of the group is still alive after the time that all have to end; it is ended then."""
    deadline = time.monotonic() + MOST_SECONDS
    try:
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _half_written(directory: Path, as_json: Path | None) -> list[str]:
    """Names of what is neither whole nor absent."""
    ends: dict[str, Callable[[bytes], bool]] = {
        ".png": lambda content: content.endswith(b"IEND\xaeB`\x82"),
        ".html": lambda content: content.rstrip().endswith(b"</html>"),
    }
    everything = list(directory.rglob("*"))
    torn = [path.name for path in everything if path.name.startswith(".")]
    for path in everything:
        if path.suffix in ends and not ends[path.suffix](path.read_bytes()):
            torn.append(path.name)
        if path.suffix == ".sqlite" and not check(path).good:
            torn.append(path.name)
    if as_json is not None and (content := as_json.read_bytes()):
        try:
            json.loads(content)
        except ValueError:
            torn.append(as_json.name)
    return torn


ATTACKS = (
    Attack(
        "signals",
        f"{len(COMMANDS)} commands are interrupted at random moments, every third twice, every fifth by SIGTERM",
        interrupt,
        ("SIGSEGV", "hangs", "late", "other exit codes", "half written", "processes left"),
    ),
)
