"""How much memory there is: cgroups of both versions, Slurm, `ulimit -v`; files in memory are not in use."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.attack_limits import group_of

from featlab.machine import Memory, memory

GB = 10**9


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": meminfo(64 * GB, 40 * GB), **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="ascii")
    return root


def meminfo(size: int, available: int) -> str:
    return f"MemTotal: {size // 1024} kB\nMemFree: 1000 kB\nMemAvailable: {available // 1024} kB\nCached: 5 kB\n"


def test_the_machine_alone_and_its_page_cache_is_available(tmp_path: Path) -> None:
    assert memory(write(tmp_path, {}), {}) == Memory(64 * GB, 40 * GB)


@pytest.mark.parametrize("place", ["system.slice/job", "system.slice", ""])
def test_a_limit_of_version_two_anywhere_above_counts(tmp_path: Path, place: str) -> None:
    group = "sys/fs/cgroup/" + (f"{place}/" if place else "")
    files = {
        "proc/self/cgroup": "0::/system.slice/job\n",
        "sys/fs/cgroup/system.slice/job/memory.max": "max\n",
        "sys/fs/cgroup/system.slice/memory.max": "max\n",
        group + "memory.max": f"{3 * GB}\n",
        group + "memory.current": f"{2 * GB}\n",
        group + "memory.stat": f"anon {GB // 2}\ninactive_file {GB}\nactive_file {GB // 2}\nshmem 7\n",
    }
    assert memory(write(tmp_path, files), {}) == Memory(3 * GB, 2 * GB + GB // 2)


def test_a_limit_of_version_one_also_where_the_path_is_that_of_the_host(tmp_path: Path) -> None:
    """In a container /proc/self/cgroup may name a place on the host; what is mounted is the container's own."""
    files = {
        "proc/self/cgroup": "12:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{3 * GB // 2}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GB}\n",
        "sys/fs/cgroup/memory/memory.stat": f"cache {GB}\ntotal_inactive_file {GB // 4}\ntotal_active_file 0\n",
    }
    assert memory(write(tmp_path, files), {}) == Memory(3 * GB // 2, 3 * GB // 4)


def test_no_limit_of_version_one_is_a_huge_number(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GB}\n",
    }
    assert memory(write(tmp_path, files), {}) == Memory(64 * GB, 40 * GB)


def test_slurm_without_cgroups(tmp_path: Path) -> None:
    root = write(tmp_path, {})
    assert memory(root, {"SLURM_MEM_PER_NODE": "1500"}).size == 1500 * 2**20
    assert memory(root, {"SLURM_MEM_PER_CPU": "1000", "SLURM_CPUS_ON_NODE": "4"}).size == 4000 * 2**20
    assert memory(root, {"SLURM_MEM_PER_NODE": "0"}).size == 64 * GB


def test_addresses_that_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2 * GB, resource.RLIM_INFINITY))
    root = write(tmp_path, {"proc/self/status": f"Name:\tpython\nVmSize:\t{GB // 2048} kB\n"})
    assert memory(root, {}).size == 2 * GB
    assert memory(root, {}).available == pytest.approx(3 * GB / 2, rel=1e-3)


def test_of_this_process() -> None:
    found = memory()
    assert 0 < found.available <= found.size


def test_a_real_group_within_another_is_read_and_is_enforced() -> None:
    """Not a description of one: the limit of the outer group is seen from the inner, and who takes more is killed."""
    with group_of(2 * 10**8) as group:
        if group is None:
            pytest.xfail("no control group may be made here")
        enter = ["sh", "-c", 'echo 0 > "$0" && exec "$@"', str(group / "cgroup.procs"), sys.executable, "-c"]
        asked = [*enter, "from featlab.machine import memory; print(*memory())"]
        told = subprocess.run(asked, capture_output=True, text=True, check=True)
        greedy = subprocess.run([*enter, "bytearray(3 * 10**8)"], check=False)
    size, available = map(int, told.stdout.split())
    assert 0 <= 2 * 10**8 - size < resource.getpagesize()
    assert 0 < available < size
    assert greedy.returncode == -signal.SIGKILL
