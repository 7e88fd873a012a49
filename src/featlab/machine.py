"""How much memory this process may use: that of the machine, or less where a cgroup, Slurm or `ulimit -v` says so.

Containers and Slurm's --mem end a process without a word when it takes more than its cgroup allows, so that a limit
counts like the size of the machine. What files occupy in memory is given back when it is asked for: it is not in use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_MEGABYTE = 2**20
# Files of a control group: its limit, what is in use, and in its statistics what of that are files. Versions 2 and 1.
_VERSIONS = {
    "": ("sys/fs/cgroup", "memory.max", "memory.current", ("inactive_file", "active_file")),
    "memory": (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
}


class Memory(NamedTuple):
    """Bytes: `size`, which is the same whenever it is asked; `available`, what of it is not in use at this moment."""

    size: int
    available: int


def memory(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> Memory:
    """The memory of this process; `root` is where /proc and /sys are."""
    limits = [_of_machine(root), *_of_groups(root), *_of_slurm(environment), *_of_process(root)]
    return Memory(min(one.size for one in limits), max(0, min(one.available for one in limits)))


def _of_machine(root: Path) -> Memory:
    """All of it; MemAvailable is what can be had without swapping, files in memory included."""
    found = _statistics(root / "proc/meminfo")  # in kB
    if "MemTotal" in found:
        return Memory(1024 * found["MemTotal"], 1024 * found.get("MemAvailable", found["MemTotal"]))
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Memory(size, size)


def _of_groups(root: Path) -> Iterator[Memory]:
    """The limits of the process's control groups and of all that they are in.

    In a container the path of a group may be that on the host, which is not seen here; its root always is.
    """
    for line in _lines(root / "proc/self/cgroup"):
        _, _, named = line.partition(":")
        controllers, _, path = named.partition(":")
        for controller in {"", "memory"} & set(controllers.split(",")):
            mount, limit, usage, files = _VERSIONS[controller]
            group = Path(path.lstrip("/"))
            for place in (root / mount / part for part in (group, *group.parents)):
                size = _number(place / limit)
                if size is not None:
                    statistics = _statistics(place / "memory.stat")
                    used = (_number(place / usage) or 0) - sum(statistics.get(name, 0) for name in files)
                    yield Memory(size, size - max(0, used))


def _of_slurm(environment: Mapping[str, str]) -> Iterator[Memory]:
    """What --mem or --mem-per-cpu asked for: where Slurm has no cgroups it looks at jobs at times and ends some."""
    whole, share, cores = (
        environment.get(f"SLURM_{name}", "") for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE")
    )
    found = int(whole) if whole.isdigit() else int(share) * int(cores) if share.isdigit() and cores.isdigit() else 0
    if found:  # --mem=0 is all of the machine
        yield Memory(found * _MEGABYTE, found * _MEGABYTE)


def _of_process(root: Path) -> Iterator[Memory]:
    """`ulimit -v`, which counts addresses."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield Memory(limit, limit - 1024 * _statistics(root / "proc/self/status").get("VmSize", 0))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:  # another system, or a part of it that may not be read
        return []


def _number(file: Path) -> int | None:
    """What a file of one number holds; None for "max", and where there is none."""
    text = "".join(_lines(file)[:1]).strip()
    return int(text) if text.isdigit() else None


def _statistics(file: Path) -> dict[str, int]:
    """A file of lines `name value` or `name: value kB`."""
    parts = (line.replace(":", " ").split() for line in _lines(file))
    return {part[0]: int(part[1]) for part in parts if len(part) > 1 and part[1].isdigit()}
