"""Compiled programs are kept between processes: several at once, killed ones, and entries that lost their end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from featlab import compiled

RUN = """
import logging, sys
from featlab.compiled import keep
keep()
import jax, jax.numpy as jnp
heard = []
jax.monitoring.register_event_listener(lambda name, **more: heard.append(name))
jax.jit(lambda x: jnp.sin(x) @ x.T + 1)(jnp.ones((3, 3))).block_until_ready()
print(heard.count("/jax/compilation_cache/cache_hits"), heard.count("/jax/compilation_cache/cache_misses"))
"""


def environment(place: Path, **more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "FEATLAB_"))}
    return clean | {compiled.VARIABLE: str(place), "JAX_PLATFORMS": "cpu"} | more


def started(place: Path, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", RUN]
    return subprocess.Popen(command, env=environment(place, **more), text=True, stdout=-1, stderr=-1)


def counts(process: subprocess.Popen[str]) -> tuple[int, int]:
    """Programs found, and compiled; nothing was warned of."""
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    found, made = map(int, out.split())
    return found, made


def entries(place: Path) -> list[Path]:
    return sorted(place.glob("*/*-cache"))


def test_what_one_process_compiled_others_find(tmp_path: Path) -> None:
    """Three at once, all of which write; then one that finds all; then one that meets half an entry."""
    together = [started(tmp_path) for _ in range(3)]
    made = [counts(process)[1] for process in together]
    assert max(made) > 0
    assert {path.is_dir() for path in tmp_path.glob("*/*")} == {False}, "folders of processes are gone"
    found, made_again = counts(started(tmp_path))
    assert (found, made_again) == (max(made), 0)
    for path in entries(tmp_path):
        path.write_bytes(path.read_bytes()[:-20])
    assert counts(started(tmp_path)) == (0, found), "what lost its end is compiled again"
    assert counts(started(tmp_path)) == (found, 0), "and has been replaced"


def test_off_and_a_folder_of_jax_stay(tmp_path: Path) -> None:
    assert counts(started(Path("off")))[0] == 0
    given = tmp_path / "given"
    settings = {"JAX_COMPILATION_CACHE_DIR": str(given), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    counts(started(tmp_path / "ours", **settings))
    assert list(given.iterdir())
    assert not (tmp_path / "ours").exists()


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiled.VARIABLE, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.folder() == tmp_path / "featlab" / "compiled"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compiled.folder() == tmp_path / ".cache" / "featlab" / "compiled"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert compiled.folder() == tmp_path / "Library" / "Caches" / "featlab" / "compiled"
    monkeypatch.setenv(compiled.VARIABLE, "off")
    assert compiled.folder() is None


def test_a_folder_that_cannot_be_made_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert counts(started(tmp_path / "file" / "below"))[0] == 0


def test_what_is_too_much_or_abandoned_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_MOST_BYTES", 100)
    for place in range(4):
        path = tmp_path / f"40-{place}-cache"
        path.write_bytes(b"x" * 40)
        os.utime(path, (place, place))
    old = tmp_path / "process-1-a"
    old.mkdir()
    os.utime(old, (0, 0))
    (tmp_path / "process-2-b").mkdir()
    compiled._clear(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["40-3-cache", "process-2-b"]
