"""Compiled programs kept between processes, in the user's cache folder, by the cache that JAX has for it.

JAX writes an entry in place, so that another process may read half of it, and one that was killed leaves half for good;
with a limit to its size it takes locks, and then a kill between two of its files stops all later writing. So each
process is given a folder of its own, with hard links to all kept entries; its new ones are linked back when they are
complete, under names that tell their size. Nobody waits, nobody sees half an entry, one that lost its end is removed.

Only the command line turns it on, by JAX's own environment variables and before JAX is imported: `import featlab`
changes nothing.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import secrets
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

VARIABLE = "FEATLAB_COMPILED"
_OFF = ("off", "0", "no")
_JAX_FOLDER = "JAX_COMPILATION_CACHE_DIR"
# All programs are kept, however fast they compile; none of XLA's own caches, whose path would be part of every key.
_JAX_SETTINGS: dict[str, Any] = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_enable_xla_caches": "none",
}
_ENTRY, _PROCESS = "-cache", "process-"
_MOST_BYTES = 2**30
_ABANDONED_SECONDS = 7 * 86400.0
_READ_BYTES = 2**13


def keep() -> None:
    """Keep what this process compiles, and use what others have kept, unless told otherwise.

    FEATLAB_COMPILED=off turns it off, another value is the folder. A folder that was given to JAX stays as it is. Where
    the folder cannot be written to, or knows no hard links, nothing is kept.
    """
    root, given = _root(), os.environ.get(_JAX_FOLDER)
    if root is None or (given and not _is_ours(Path(given))):
        return
    with suppress(OSError):
        _begin(root)


def keep_as_parent() -> None:
    """In a process that this one's driver has started: keep what it compiles if the driver does."""
    if _is_ours(Path(os.environ.get(_JAX_FOLDER, ""))):
        keep()


def hand_over() -> None:
    """Give the entries of this process to the others; nothing, where none are kept."""
    own = Path(os.environ.get(_JAX_FOLDER, ""))
    if not _is_ours(own) or not own.name.startswith(_own_name()):
        return
    with suppress(OSError):  # the folder was removed, or the disk is full: then others compile for themselves
        for entry in os.scandir(own):
            if entry.name.endswith(_ENTRY) and entry.stat().st_nlink == 1:
                _link(own / entry.name, own.parent / f"{entry.stat().st_size}-{entry.name}")


def folder() -> Path | None:
    """The user's folder for compiled programs; None, they are not to be kept."""
    said = os.environ.get(VARIABLE, "")
    if said.lower() in _OFF:
        return None
    if said:
        return Path(said).expanduser().absolute()
    if sys.platform == "darwin":
        caches = Path("~/Library/Caches")
    elif sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return caches.expanduser() / "featlab" / "compiled"


def _root() -> Path | None:
    """That of this kind of processor: programs of another may crash, and home folders are shared between machines."""
    place = folder()
    if place is None:
        return None
    words = platform.machine() + platform.processor()
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as text:
        words += next(
            (line for line in text.read(_READ_BYTES).splitlines() if line.startswith(("flags", "Features"))), ""
        )
    return place / f"{platform.machine() or 'machine'}-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _begin(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    own = root / f"{_own_name()}{secrets.token_hex(4)}"
    own.mkdir(mode=0o700)
    _clear(root)
    for entry in os.scandir(root):
        size, _, name = entry.name.partition("-")
        if not (size.isdecimal() and name.endswith(_ENTRY)):
            continue
        if entry.stat().st_size == int(size):
            _link(root / entry.name, own / name)
        else:
            (root / entry.name).unlink(missing_ok=True)
    _use(own)
    atexit.register(_end, own)


def _use(own: Path) -> None:
    """Let JAX keep its programs there, in this process and, until they have their own, in its children."""
    os.environ[_JAX_FOLDER] = str(own)
    for name, value in _JAX_SETTINGS.items():
        os.environ[name.upper()] = str(value)
    if "jax" in sys.modules:  # it has read its environment
        import jax

        for name, value in {_JAX_FOLDER.lower(): str(own), **_JAX_SETTINGS}.items():
            jax.config.update(name, value)


def _end(own: Path) -> None:
    hand_over()
    shutil.rmtree(own, ignore_errors=True)


def _link(source: Path, place: Path) -> None:
    """Another name for a file, unless it is taken, or another process has just removed the file."""
    with suppress(FileExistsError, FileNotFoundError):
        place.hardlink_to(source)


def _clear(root: Path) -> None:
    """Remove what killed processes left, and of too many entries those that were not read for longest."""
    kept = []
    for entry in os.scandir(root):
        with suppress(FileNotFoundError):
            about = entry.stat()
            if entry.is_dir() and time.time() - about.st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.is_file():
                kept.append((max(about.st_atime, about.st_mtime), about.st_size, entry.path))
    total = sum(size for _, size, _ in kept)
    if total <= _MOST_BYTES:
        return
    for _, size, path in sorted(kept):
        if total <= _MOST_BYTES // 2:
            return
        Path(path).unlink(missing_ok=True)
        total -= size


def _is_ours(path: Path) -> bool:
    """Whether a folder is one that this module made for a process."""
    root = _root()
    return root is not None and path.parent == root and path.name.startswith(_PROCESS)


def _own_name() -> str:
    """How the name of this process's folder begins: a child inherits its parent's environment, not its folder."""
    return f"{_PROCESS}{os.getpid()}-"
