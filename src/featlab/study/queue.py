"""Slurm's queue, as it concerns a store: whoever submits or starts over asks it first."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

from featlab.study.faults import EngineFault
from featlab.study.store_file import cluster_directory


def jobs(store: str | Path) -> dict[str, Counter[str]]:
    """Slurm's states of the tasks of each submitted array that is still in its queue, by job id.

    None are known on a machine that has no Slurm, such as the laptop to which the results were copied.
    """
    if shutil.which("squeue") is None:
        return {}
    submitted = [path.read_text(encoding="ascii").strip() for path in cluster_directory(store).glob("*/job")]
    states = {job: _states(job) for job in sorted(submitted)}
    return {job: found for job, found in states.items() if found}


def refuse_if_queued(store: str | Path, then: str) -> None:
    """Tasks in the queue go on writing: what they do would be done twice, or be set aside while it is written."""
    for job, states in jobs(store).items():
        shown = ", ".join(f"{count} {state.lower()}" for state, count in states.items())
        raise EngineFault(
            f"{store}: job {job} of this study is in Slurm's queue ({shown}); "
            f"wait for it or `scancel {job}`, then {then}"
        )


def ask_slurm(command: str, *arguments: str) -> str:
    """What a command of Slurm's prints."""
    try:
        done = subprocess.run([command, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise EngineFault(f"there is no {command} on this machine; call it where jobs are submitted to Slurm") from None
    if done.returncode != 0:
        raise EngineFault(f"{command} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _states(job: str) -> Counter[str]:
    try:
        return Counter(ask_slurm("squeue", "--noheader", "--array", "--format=%T", "--jobs", job).split())
    except EngineFault as fault:
        if "Invalid job id" in str(fault):  # so long finished that Slurm has forgotten it
            return Counter()
        raise
