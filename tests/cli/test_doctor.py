"""`featlab doctor` tells what is there, what is missing for what, and how to get it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import featlab
from featlab.cli import doctor
from featlab.cli.app import app


def test_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "one-cache").write_bytes(b"x" * 2**20)
    monkeypatch.setenv("FEATLAB_COMPILED", str(tmp_path / "compiled"))
    found = doctor.examined()
    assert found["featlab"] == featlab.__version__
    assert all(found["packages"].values())
    assert {"jax", "numpy", "typer"} <= set(found["packages"])
    assert any(device.startswith(("cpu", "gpu")) for device in found["devices"])
    assert 0 < found["memory"]["available"] <= found["memory"]["size"]
    assert found["cache"] == {"folder": str(tmp_path / "compiled"), "writable": True, "bytes": 2**20}


def test_a_folder_of_the_cache_that_is_removed_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each process has one of its own, which goes when it ends; it is listed, but not there any more."""
    for name, size in {"kept": 1000, "process-7": 10}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "one-cache").write_bytes(b"x" * size)
    listed = os.scandir

    def gone(path: str) -> object:
        if os.fspath(path).endswith("process-7"):
            raise FileNotFoundError(path)
        return listed(path)

    monkeypatch.setenv("FEATLAB_COMPILED", str(tmp_path))
    monkeypatch.setattr(os, "scandir", gone)
    assert doctor.examined()["cache"]["bytes"] == 1000


def test_what_is_missing_is_said_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "scikit-learn" else "1.0")
    text = CliRunner().invoke(app, ["doctor"]).stdout
    assert "missing    for featlab.estimators, featlab diagnose: scikit-learn" in text
    assert 'pip install "featlab[sklearn]"' in text
    assert "dask" not in text


def test_nothing_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda name: "1.0")
    assert "missing    nothing" in CliRunner().invoke(app, ["doctor"]).stdout


def test_a_cache_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEATLAB_COMPILED", "off")
    assert "not kept" in CliRunner().invoke(app, ["doctor"]).stdout


def test_a_jax_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    def broken() -> None:
        raise RuntimeError("no backend")

    monkeypatch.setattr(jax, "devices", broken)
    assert doctor.examined()["devices"] == ["JAX does not start: no backend"]


@pytest.mark.parametrize("folder", ["a" * 300, "file", "file/within"])
def test_a_cache_folder_that_cannot_be_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FEATLAB_COMPILED", str(tmp_path / folder))
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0
    assert "cannot be written to: give another one" in done.stdout
