"""The server: a socket, uvicorn, and an end in which nobody is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable, Iterator

import uvicorn

from featlab import interruption
from featlab.explorer.app import create_app
from featlab.explorer.guard import ANYWHERE
from featlab.explorer.workers import Workers

_LISTEN_SECONDS, _CLOSE_SECONDS = 0.1, 1
_MOST_CONNECTIONS, _HEADER_BYTES = 256, 32 * 2**10
# Workers run side by side: threads of their linear algebra would wait for each other, ten times as long as they work.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free.

    Raises:
        OSError: the address is taken, or none of this machine.
    """
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


def serve(listening: socket.socket, host: str, *, shared: bool, browser: bool, tell: Callable[[str], None]) -> None:
    """Serve until a signal comes; `shared` asks for a token. `tell` is given the address once it can be opened."""
    token = secrets.token_urlsafe(24) if shared else None
    address = f"http://{_name(host)}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    workers = Workers()
    app = create_app(workers, host=host, token=token)
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    server = _Server(config)

    def opened() -> None:
        tell(address)
        if browser:
            webbrowser.open(address)

    asyncio.run(_until_signal(server, workers, listening, opened))


def _name(host: str) -> str:
    """The host in an address; where it is every one of the machine's, the machine's name."""
    shown = socket.gethostname() if host in ANYWHERE else host
    return f"[{shown}]" if ":" in shown else shown


class _Server(uvicorn.Server):
    """Signals are featlab's: see `featlab.interruption`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _until_signal(
    server: _Server, workers: Workers, listening: socket.socket, opened: Callable[[], None]
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(_LISTEN_SECONDS / 10)
    await asyncio.to_thread(opened)
    while interruption.caught() is None and not serving.done():
        await asyncio.sleep(_LISTEN_SECONDS)
    await workers.close()  # open streams end with a word, so that uvicorn need not wait for them
    server.should_exit = True
    await serving
