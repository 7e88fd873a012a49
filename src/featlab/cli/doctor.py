"""`featlab doctor`: versions, devices, memory, the cache folder, and what is missing for what."""

from __future__ import annotations

import errno
import os
import platform
import re
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import typer

import featlab
from featlab.cli.errors import exit_cleanly
from featlab.cli.showing import AsJson, examples, print_json

DOCTOR_EPILOG = examples("featlab doctor", "featlab doctor --json")
# What an extra is for, in words. Extras of development are not asked about.
_SERVES = {
    "cluster": "studies on Dask, Parquet files",
    "sklearn": "featlab.estimators, featlab diagnose",
    "web": "featlab explore",
    "cuda12": "NVIDIA GPUs, CUDA 12",
    "cuda13": "NVIDIA GPUs, CUDA 13",
}


@exit_cleanly
def doctor(as_json: AsJson = False) -> None:
    """Tell what featlab finds here: versions, devices, memory, the cache folder, and what is missing for what."""
    found = examined()
    if as_json:
        print_json("doctor", found)
    else:
        typer.echo(_text(found))


def examined() -> dict[str, Any]:
    """All of it as data."""
    from featlab.machine import memory

    needed = _requirements()
    return {
        "featlab": featlab.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _installed(name) for name in needed.get("", ())},
        "devices": _devices(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory": memory()._asdict(),
        "cache": _cache(),
        "missing": [
            {"for": words, "packages": absent, "install": f'pip install "featlab[{extra}]"'}
            for extra, words in _SERVES.items()
            if (absent := [name for name in needed.get(extra, ()) if _installed(name) is None])
        ],
    }


def _requirements() -> dict[str, list[str]]:
    """The packages that featlab asks for, by extra; "" are those that it always needs."""
    found: dict[str, list[str]] = {}
    for text in requires("featlab") or ():
        name, extra = re.match(r"[\w.-]+", text), re.search(r"extra == ['\"]([\w-]+)", text)
        cuda = re.search(r"\[(cuda\d+)", text)  # what has to be there is a plugin of JAX
        if name is not None:
            found.setdefault(extra[1] if extra else "", []).append(f"jax-{cuda[1]}-plugin" if cuda else name[0])
    return found


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _devices() -> list[str]:
    """What JAX computes on; a fault of its start is what a user came to see."""
    try:
        import jax

        return [f"{device.platform}: {device.device_kind}" for device in jax.devices()]
    except (ImportError, RuntimeError) as fault:
        return [f"JAX does not start: {fault}"]


def _cache() -> dict[str, Any]:
    from featlab.compiled import folder

    place = folder()
    if place is None:
        return {"folder": None, "writable": False, "bytes": 0}
    there = next((one for one in (place, *place.parents) if os.path.exists(one)), Path("/"))
    usable = os.path.isdir(there) and os.access(there, os.W_OK) and _can_be_named(place)
    return {"folder": str(place), "writable": usable, "bytes": _bytes(place)}


def _can_be_named(place: Path) -> bool:
    try:
        os.stat(place)
    except OSError as fault:
        return fault.errno == errno.ENOENT
    return True


def _bytes(place: Path) -> int:
    """Of all compiled programs below a folder; other processes may remove files and folders at this moment."""
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            if name.endswith("-cache"):
                with suppress(OSError):
                    total += os.stat(os.path.join(folder, name)).st_size
    return total


def _text(found: dict[str, Any]) -> str:
    cache, memory = found["cache"], found["memory"]
    lines = [
        f"featlab    {found['featlab']}",
        f"python     {found['python']}, {found['system']}, {sys.executable}",
        f"packages   {', '.join(' '.join(map(str, one)) for one in found['packages'].items())}",
        f"devices    {', '.join(found['devices'])}",
        f"cores      {found['cores']}",
        f"memory     {memory['size'] / 2**30:.1f} GiB, of which {memory['available'] / 2**30:.1f} are available",
        f"cache      {_cache_text(cache)}",
    ]
    for gap in found["missing"]:
        lines.append(f"missing    for {gap['for']}: {', '.join(gap['packages'])}; {gap['install']}")
    return "\n".join(lines if found["missing"] else [*lines, "missing    nothing"])


def _cache_text(cache: dict[str, Any]) -> str:
    if cache["folder"] is None:
        return "compiled programs are not kept (FEATLAB_COMPILED=off)"
    state = "" if cache["writable"] else "; it cannot be written to: give another one by FEATLAB_COMPILED"
    return f"{cache['folder']}, {cache['bytes'] / 2**20:.0f} MiB of compiled programs{state}"
