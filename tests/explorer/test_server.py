"""`featlab explore` as a process: what it prints, workers that are killed, clients that leave, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from featlab.cli.app import app
from tests.processes import HEARING_CTRL_C

# Four directions and no structure: a minute of analysis.
LONG = {"target": "tanh(h1*h2*h3) + sin(h2*h3*h4) + abs(h1*h4)"}


class Server:
    def __init__(self) -> None:
        command = [*HEARING_CTRL_C, sys.executable, "-m", "featlab", "explore", "--port", "0", "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        self.port = int(re.findall(r"http://127\.0\.0\.1:(\d+)/", self.said)[0])

    def ask(self, path: str, body: Any = None, client: str = "test") -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"content-type": "application/json", "x-featlab-client": client}
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        connection.close()
        return answer.status, content

    def workers(self) -> dict[int, str]:
        """The processes that it has started and that are not there for Python's own sake."""
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                line = (place / "cmdline").read_text()
            except (OSError, IndexError):
                continue
            if parent == self.process.pid and "spawn_main" in line:
                found[int(place.name)] = line
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.process.kill()
    server.process.communicate()


def _until(holds: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _seconds(server: Server) -> dict[int, float]:
    """Of its workers, the processor time of each."""
    parts = {pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in server.workers()}
    return {pid: (int(one[11]) + int(one[12])) / os.sysconf("SC_CLK_TCK") for pid, one in parts.items()}


def test_it_says_where_it_is(server: Server) -> None:
    assert "Ctrl-C" in server.said
    assert server.ask("/api/v1/health")[0] == 200
    status, found = server.ask("/api/v1/parse", {"text": "He3(h1)"})
    assert (status, found["rank"]) == (200, 1)


def test_a_killed_worker_is_an_error_and_is_replaced(server: Server) -> None:
    answers: list[tuple[int, Any]] = []
    assert server.ask("/api/v1/analyse", {"target": "h1"})[0] == 200
    before = _seconds(server)
    asking = threading.Thread(target=lambda: answers.append(server.ask("/api/v1/analyse", LONG)))
    asking.start()
    _until(lambda: any(taken > before.get(pid, taken) + 0.3 for pid, taken in _seconds(server).items()))
    killed = server.workers()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    asking.join(60)
    status, content = answers[0]
    assert (status, content["error"]["kind"]) == (503, "worker")
    # A process takes a moment to die: what is given to one that is dying is answered by "ask again".
    _until(lambda: server.ask("/api/v1/parse", {"text": "h1*h2"})[0] == 200)
    assert not set(server.workers()) & set(killed)


def test_clients_that_leave_take_their_work_along(server: Server) -> None:
    """As many as one may have open: while they wait the next is refused, and once they have left it is answered."""
    sockets = []
    for place in range(8):
        asked = json.dumps({**LONG, "noise": 0.1 * (place + 1)})
        line = socket.create_connection(("127.0.0.1", server.port))
        head = f"POST /api/v1/analyse HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Featlab-Client: leaving\r\n"
        line.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(asked)}\r\n\r\n{asked}".encode())
        sockets.append(line)
    _until(lambda: server.ask("/api/v1/parse", {"text": "h1 + 2*h2"}, "leaving")[0] == 429)
    for line in sockets:
        line.close()
    _until(lambda: server.ask("/api/v1/parse", {"text": "h1 + 3*h2"}, "leaving")[0] == 200)


def test_ctrl_c_ends_it_with_its_workers(server: Server) -> None:
    workers = server.workers()
    assert workers
    begin = time.monotonic()
    server.process.send_signal(signal.SIGINT)
    _, complaints = server.process.communicate(timeout=30)
    assert server.process.returncode == 130
    assert "Traceback" not in complaints
    assert time.monotonic() - begin < 15
    _until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers), 10)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port))


def test_an_address_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(app, ["explore", "--port", port, "--no-browser"])
    assert result.exit_code == 4
    assert f"--port: got '{port}'" in result.stderr
    assert "Traceback" not in result.stderr


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.cli.explore.find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["explore"])
    assert result.exit_code == 2
    assert 'pip install "featlab[web]"' in result.stderr


def test_an_address_of_another_machine_is_said() -> None:
    result = CliRunner().invoke(app, ["explore", "--host", "203.0.113.7", "--port", "0", "--no-browser"])
    assert result.exit_code == 4
    assert "--host: got '203.0.113.7'" in result.stderr
    assert "an address of this machine is expected" in result.stderr
