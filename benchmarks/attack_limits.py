"""Runs in control groups of their own, which have little memory: what featlab takes must not be ended by the system.

limits: a command that asks for far too much is refused, with how many samples would fit; that many are then run in the
same group, and must fit. The group is real: a process of it that takes more is killed without a word. An inner group
without a limit is in it, as in containers. Needs the right to make control groups, as root has on many machines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.attack import Attack, Limits

SIZES = (6 * 10**8, 15 * 10**8, 3 * 10**9)  # bytes
_FAR_TOO_MANY = "2e9"
# The design is named: another one might fit more samples, and take hours.
_COMMON = ("--seeds", "1", "--quiet", "--design", "virtual")
COMMANDS: dict[str, tuple[str, ...]] = {
    "reused batch": ("He3(h1)", "--learner", "reused-batch", "--dim", "1e6", "--step-size", "0.1", "--steps", "2"),
    "one pass": ("h1", "--learner", "online-sgd", "--dim", "1e4", "--step-size", "0.5/d", "--times", "1e-4"),
    "kernel": ("He2(h1)", "--learner", "kernel-ridge", "--dim", "3e9", "--ridge", "1e-3"),
    "message passing": ("h1", "--learner", "bayes-amp", "--noise", "0.1", "--dim", "1e6", "--iterations", "2"),
    "inverse regression": ("He2(h1)+h2", "--learner", "inverse-regression", "--dim", "1e5"),
}
_BATCHED = ("one pass",)
_LIMITS = ("memory.max", "memory.limit_in_bytes")
_REFUSED, _KILLED, _STOPPED, _PATIENCE = 2, -9, 143, 120.0


def run_in_little_memory(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Each command in each group: too much, and then what was said to fit."""
    found = Counter[str]()
    tries = [(size, name) for size in SIZES for name in COMMANDS]
    for _, (size, name) in zip(limits.rounds(), tries, strict=False):
        with group_of(size) as group:
            if group is None:
                found["no group could be made"] += 1
                continue
            first = _run(group, name, _FAR_TOO_MANY)
            fitting = re.search(r"([\d,]+) samples would fit", first.stderr)
            verdict = "refused without what would fit"
            if first.returncode == _REFUSED and fitting:
                verdict = _ended(_run(group, name, fitting[1].replace(",", "")))
        found[verdict] += 1
        if verdict != "what was said to fit, did":
            print(f"{name} in {size:,} bytes: {verdict}; {first.stderr.strip()[-300:]}", file=sys.stderr)
    return found


def _run(group: Path, name: str, samples: str) -> subprocess.CompletedProcess[str]:
    option = "--batch" if name in _BATCHED else "--samples"
    command = [sys.executable, "-m", "featlab", "simulate", *COMMANDS[name], option, samples, *_COMMON]
    enter = partial((group / "cgroup.procs").write_text, "0")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=enter)
    try:
        _, words = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.terminate()
        _, words = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, "", words)


def _ended(run: subprocess.CompletedProcess[str]) -> str:
    known = {0: "what was said to fit, did", _KILLED: "killed", _STOPPED: "still running when stopped"}
    return known.get(run.returncode, "refused after all")


@contextmanager
def group_of(size: int) -> Iterator[Path | None]:
    """A group without a limit in one that has it; None where the system does not let us."""
    name = f"featlab-{os.getpid()}"
    try:
        inner = _made(name, size)
    except OSError:  # no right to, read-only, or no control groups at all
        inner = None
    try:
        yield inner
    finally:
        for one in (_place() / name / "inner", _place() / name):
            if one.exists():
                one.rmdir()


def _made(name: str, size: int) -> Path | None:
    inner = _place() / name / "inner"
    inner.mkdir(parents=True)
    limit = next((inner.parent / file for file in _LIMITS if (inner.parent / file).exists()), None)
    if limit is None:
        return None
    limit.write_text(str(size), encoding="ascii")
    return inner


def _place() -> Path:
    """Version 1: in the process's own group. Version 2: at the top, for a group with processes may have no others."""
    groups = Path("/proc/self/cgroup")
    for line in groups.read_text(encoding="ascii").splitlines() if groups.exists() else ():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory") / path.lstrip("/")
    return Path("/sys/fs/cgroup")


ATTACKS = (
    Attack(
        "limits",
        "runs in real control groups of 0.6 to 3 GB: too much is asked for, then what was said to fit",
        run_in_little_memory,
        ("killed", "refused without what would fit", "refused after all"),
    ),
)
