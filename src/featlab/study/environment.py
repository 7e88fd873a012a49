"""Where a number came from: versions, platform, device, git state. Asked once in each process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib import metadata
from typing import Any

import featlab

_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "sympy", "xarray")
_GIT_SECONDS = 10


def environment() -> dict[str, Any]:
    """The environment of this process, as JSON knows it. The device is known once JAX has been used."""
    return {**_machine(), "device": _device()}


@cache
def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "cores": os.cpu_count(),
        "packages": {"featlab": featlab.__version__, **_installed(_PACKAGES)},
        "git": _git_state(),
    }


def _installed(packages: tuple[str, ...]) -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _device() -> str:
    """What JAX runs on, if the runner has loaded JAX; a study itself has no use for it."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "devices"):
        return platform.machine()
    return str(jax.devices()[0].device_kind)


def _git_state() -> dict[str, Any] | None:
    """The commit of the working directory and whether anything was changed since; None outside a repository."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed": None if changes is None else bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
