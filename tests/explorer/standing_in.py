"""Workers that are threads of the test's own process: the same protocol, no process to start, nothing to import."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from fastapi import FastAPI

from featlab.explorer.app import create_app
from featlab.explorer.lanes import Lane, Limits
from featlab.explorer.worker import serve
from featlab.explorer.workers import Workers

HERE = "http://127.0.0.1:8765"


class Thread:
    """In the place of a process."""

    pid = None

    def __init__(self, pipe: Connection) -> None:
        self._line = socket.socket(fileno=os.dup(pipe.fileno()))
        self._thread = threading.Thread(target=self._live, args=(pipe,), daemon=True)
        self._thread.start()

    def _live(self, pipe: Connection) -> None:
        with pipe:
            serve(pipe, lambda: None)

    def is_alive(self) -> bool:
        return self._line.fileno() >= 0

    def kill(self) -> None:
        """The pipe breaks, as that of a dead process does."""
        if self._line.fileno() >= 0:
            self._line.shutdown(socket.SHUT_RDWR)
            self._line.close()

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)


def in_thread(lane: Lane) -> tuple[Thread, Connection]:
    ours, theirs = Pipe()
    return Thread(theirs), ours


def standing_in(lanes: tuple[Lane, ...] | None = None, limits: Limits | None = None) -> Workers:
    """Threads of a test process, which is as large as its other tests have made it: that is not their fault."""
    return Workers(lanes, limits or Limits(retire=2**60), in_thread)


@dataclass
class Answer:
    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8")

    def json(self) -> Any:
        return json.loads(self.content)


class Client:
    """Asks an application that runs in an event loop of its own; nothing lies between the two."""

    def __init__(self, app: FastAPI) -> None:
        self.app, self._loop = app, asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        self._life = self.app.router.lifespan_context(self.app)
        self.run(self._life.__aenter__())
        return self

    def __exit__(self, *fault: object) -> None:
        self.run(self._life.__aexit__(None, None, None))
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What comes of it, in the loop of the application."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        path, _, query = path.partition("?")
        given = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()]
        scope = scope_of(path, method, given, query=query.encode("latin-1"))
        return self.run(answered(self.app, scope, body))

    def get(self, path: str, **more: Any) -> Answer:
        return self.request("GET", path, **more)

    def post(self, path: str, json: Any = None, **more: Any) -> Answer:
        return self.request("POST", path, **({"body": b"" if json is None else dumps(json)} | more))


def dumps(content: Any) -> bytes:
    return json.dumps(content).encode("ascii")


def opened(workers: Workers | None = None, **settings: Any) -> Client:
    """An application with workers that are threads."""
    return Client(create_app(workers or standing_in(), **settings))


def events(text: str) -> list[tuple[str, str]]:
    """(name, data) of each event of a stream."""
    parts = [part.split("\n") for part in text.strip().split("\n\n")]
    return [(lines[0][7:], lines[1][6:]) for lines in parts if lines[0].startswith("event: ")]


async def answered(app: FastAPI, scope: dict[str, Any], body: bytes = b"") -> Answer:
    """The answer of an application to a request, which may be one that no client would send."""
    sent: list[Any] = []
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if not left:
            await asyncio.Event().wait()  # who asks here never leaves
        return left.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))


def scope_of(
    path: str, method: str = "POST", headers: Sequence[tuple[bytes, bytes]] = (), query: bytes = b""
) -> dict[str, Any]:
    named = {name.lower() for name, _ in headers}
    usual = [(b"host", b"127.0.0.1:8765"), (b"content-type", b"application/json")]
    given = [*(one for one in usual if one[0] not in named), *headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "query_string": query,
        "root_path": "",
        "headers": given,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8765),
    }
