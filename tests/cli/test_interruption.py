"""Ctrl-C and SIGTERM end a command wherever it is, with the exit code of the signal, and leave nothing half written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
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
        for number in range(60):
            try:
                if number == 0:
                    print("working", file=sys.stderr, flush=True)
                time.sleep(1)
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


ENDLESS = """
import sys, time, types
from featlab import interruption
from featlab.interruption import in_time
{late}

def endless(*args):
    print("demonstrating", file=sys.stderr, flush=True)
    in_time(lambda: time.sleep(60), 50)

sys.modules["featlab.comparison.demonstration"] = types.SimpleNamespace(demonstrate=endless)
from featlab.cli import main
main()
"""
# The thread that hears of signals gets its turn when the main one has shown everything; or the main one is that slow.
LATE = {
    "in time": "",
    "late hearing": """
hear = interruption._next
def hear_late(inbox, deadline=None):
    number = hear(inbox, deadline)
    time.sleep(0.5)
    return number
interruption._next = hear_late
from featlab.cli import errors
leave = errors.leave_interrupted
def leave_slowly(words=""):
    time.sleep(1)
    leave(words)
errors.leave_interrupted = leave_slowly
""",
    "late end": """
end = interruption.end
def end_late(code):
    time.sleep(interruption.PATIENCE_SECONDS + 1)
    end(code)
import featlab.cli
featlab.cli.interruption = types.SimpleNamespace(**{**vars(interruption), "end": end_late})
""",
}


@pytest.mark.parametrize("late", list(LATE))
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["screen", "JSON"])
def test_the_analysis_is_there_before_the_demonstration(options: list[str], late: str) -> None:
    """And that it was interrupted is said once, in the words of who knows what is there, whoever comes first."""
    program = ENDLESS.format(late=LATE[late])
    command = [*HEARING_CTRL_C, sys.executable, "-c", program, "explain", "He3(h1)", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "demonstrating\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "featlab: interrupted; the analysis was finished, its demonstration was not\n"
    if options:
        assert (json.loads(out)["verdict"], json.loads(out)["demonstration"]) == ("TRIVIAL", None)
    else:
        assert out.startswith("He3(h1)")
        assert "Papers (arXiv numbers)" in out


def test_work_is_stopped_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done by then comes back, if the work says so; what does not look at the clock is left alone."""
    monkeypatch.setattr(interruption, "_GRACE_SECONDS", 0.05)
    released = threading.Event()

    def counted() -> int:
        count = 0
        try:
            while True:
                interruption.check()
                count += 1
        except KeyboardInterrupt:
            return count

    assert interruption.in_time(lambda: 3, 10) == 3
    assert interruption.in_time(counted, 0.05) > 0
    interruption.check()
    with pytest.raises(ZeroDivisionError):
        interruption.in_time(lambda: 1 / 0, 10)
    with pytest.raises(TimeoutError):
        interruption.in_time(lambda: released.wait(60), 0.05)
    assert interruption.somebody_works()
    released.set()


def test_long_work_stops_where_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    interruption.check()
    monkeypatch.setattr(interruption, "_caught", signal.SIGTERM)
    assert interruption.caught() == signal.SIGTERM
    with pytest.raises(KeyboardInterrupt):
        interruption.check()
