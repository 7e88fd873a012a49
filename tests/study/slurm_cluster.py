"""A real Slurm of one node for the tests: munge, controller and node daemon, private in every file and port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
_START_SECONDS = 60
_CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=1
SchedulerParameters=batch_sched_delay=0,sched_interval=1,defer
{node} State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    missing = [command for command in _COMMANDS if shutil.which(command, path=_path()) is None]
    if missing:
        return f"no {', '.join(missing)}: install Slurm and munge (Debian: slurm-wlm, munge)"
    return None if os.geteuid() == 0 else "a Slurm of one's own needs root"


@contextmanager
def slurm(home: Path) -> Iterator[dict[str, str]]:
    """The environment in which sbatch and the others speak to it, for as long as it runs."""
    for name in ("state", "spool"):
        (home / name).mkdir(parents=True)
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(home / "slurm.conf")}
    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(_munge(home))
        node = subprocess.run(["slurmd", "-C"], capture_output=True, text=True, check=True, env=environment).stdout
        content = _CONFIGURATION.format(
            host=socket.gethostname(),
            home=home,
            controller_port=_free_port(),
            node_port=_free_port(),
            node=node.splitlines()[0] + " NodeAddr=127.0.0.1",
        )
        (home / "slurm.conf").write_text(content, encoding="utf-8")
        for daemon in (["slurmctld", "-D", "-c"], ["slurmd", "-D", "-c"]):
            with (home / f"{daemon[0]}.out").open("wb") as out:
                running.append(subprocess.Popen(daemon, env=environment, stdout=out, stderr=out))
        _wait_until_idle(home, environment)
        yield environment
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _munge(home: Path) -> subprocess.Popen[bytes]:
    """munged with a key of its own, which nobody else may read."""
    key = home / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    options = [f"--socket={home}/munge.socket", f"--pid-file={home}/munged.pid", f"--seed-file={home}/munge.seed"]
    command = ["munged", "--foreground", "--force", f"--key-file={key}", f"--log-file={home}/munged.log", *options]
    with (home / "munged.out").open("wb") as out:
        process = subprocess.Popen(command, env={**os.environ, "PATH": _path()}, stdout=out, stderr=out)
    _wait(lambda: (home / "munge.socket").exists(), process, home / "munged.out")
    return process


def _wait_until_idle(home: Path, environment: dict[str, str]) -> None:
    def idle() -> bool:
        asked = ["sinfo", "--noheader", "--format=%T"]
        done = subprocess.run(asked, capture_output=True, text=True, env=environment, timeout=_START_SECONDS)
        return done.stdout.strip() == "idle"

    _wait(idle, None, home / "slurmctld.log")


def _wait(happened: object, process: subprocess.Popen[bytes] | None, log: Path) -> None:
    assert callable(happened)
    deadline = time.monotonic() + _START_SECONDS
    while not happened():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            raise RuntimeError(f"Slurm did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _path() -> str:
    """Debian keeps the daemons where only root looks."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
