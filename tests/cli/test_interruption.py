"""Ctrl-C and SIGTERM end a command wherever it is, with the exit code of the signal, and leave nothing half written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from featlab import interruption
from tests.processes import HEARING_CTRL_C

# What JAX does with an exception in its callbacks, for as long as the test lasts: it is swallowed, and work goes on.
STUCK = """
import sys, time
from pathlib import Path
import featlab.cli.app, featlab.interruption as interruption
from featlab.files import whole

def stuck(prog_name):
    with whole(Path(sys.argv[1])) as beside{saving}:
        beside.write_text("half")
        print("said", end="")
        print("working", file=sys.stderr, flush=True)
        begin = time.monotonic()
        while time.monotonic() - begin < 60:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                print("swallowed", file=sys.stderr, flush=True)

featlab.cli.app.app = stuck
{listening}
featlab.cli.main()
"""


def start(page: Path, *, saving: bool = False, listening: str = "") -> subprocess.Popen[str]:
    program = STUCK.format(saving=", interruption.saving()" if saving else "", listening=listening)
    command = [*HEARING_CTRL_C, sys.executable, "-c", program, str(page)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "working\n"
    return process


@pytest.mark.parametrize(("sent", "times"), [(signal.SIGINT, 2), (signal.SIGTERM, 1)])
def test_nothing_can_hold_up_the_end(tmp_path: Path, sent: signal.Signals, times: int) -> None:
    """At once where nothing is to be saved, and at the second signal where something is."""
    page = tmp_path / "page.html"
    page.write_text("old")
    with start(page, saving=times == 2) as process:
        for _ in range(times):
            process.send_signal(sent)
            assert process.poll() is None or times == 1
        out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + sent
    assert (out, err) == ("said", "featlab: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "old"


def test_without_it_the_signal_is_swallowed(tmp_path: Path) -> None:
    """The control: what the attack is, and that the tests above would notice."""
    with start(tmp_path / "page.html", listening="interruption.listen = lambda: None") as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == "swallowed\n"
        assert process.poll() is None
        process.kill()
    assert len(list(tmp_path.iterdir())) == 1, "what a kill leaves behind, an interruption does not"


def test_long_work_stops_where_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    interruption.check()
    monkeypatch.setattr(interruption, "_caught", signal.SIGTERM)
    assert interruption.caught() == signal.SIGTERM
    with pytest.raises(KeyboardInterrupt):
        interruption.check()
