"""Files are whole or not there: written beside, then moved; links followed, devices written to, permissions kept."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from featlab.files import check_writable, make_directory, whole, write_bytes, write_text


def leftovers(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.name.startswith(".featlab-")]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_text(path, "old")

    def killed() -> None:
        with whole(path) as beside:
            beside.write_text("half of the ne")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        killed()
    assert path.read_text() == "old"
    assert leftovers(tmp_path) == []


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "real" / "page.html")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "real" / "page.html").read_text() == "new"


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for attempt in (check_writable, lambda path: write_text(path, "x")):
        with pytest.raises(OSError, match="symbolic links"):
            attempt(tmp_path / "a")


def test_permissions_are_kept_and_never_wide(tmp_path: Path) -> None:
    secret, new = tmp_path / "secret", tmp_path / "new"
    secret.touch()
    secret.chmod(0o600)
    old = os.umask(0)
    try:
        write_text(secret, "x")
        write_text(new, "x")
        make_directory(tmp_path / "a" / "b")
        make_directory(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")} == {0o775}
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.stat().st_mode) & (stat.S_IWOTH | stat.S_IXUSR | stat.S_IXOTH) == 0


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"through it")
    reader.join(10)
    assert heard == [b"through it"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_device_is_an_error() -> None:
    with pytest.raises(OSError, match="No space left"):
        write_text(Path("/dev/full"), "x")


@pytest.mark.parametrize("name", ["a" * 300, "no/such/directory/x", "."])
def test_what_cannot_be_written_is_noticed_before(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError):
        check_writable(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_name_as_long_as_may_be(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 250 + ".html")
    check_writable(path)
    write_text(path, "x")
    assert path.read_text() == "x"
