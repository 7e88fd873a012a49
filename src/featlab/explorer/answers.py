"""Answers that are kept, by the content of the question; who asks what is being computed waits for the same answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from featlab import __version__
from featlab.explorer.workers import Workers

_KEPT_BYTES = 64 * 2**20


class Answers:
    """What workers have answered, as far as it fits; the longest unasked goes first."""

    def __init__(self, workers: Workers, most_bytes: int = _KEPT_BYTES) -> None:
        self.workers, self._most = workers, most_bytes
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._flying: dict[str, _Flight] = {}

    def known(self, task: str, said: Mapping[str, Any]) -> bytes | None:
        """The answer, if it is kept."""
        key = _key(task, said)
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    async def to(
        self, task: str, said: Mapping[str, Any], client: str, begun: Callable[[], None] | None = None
    ) -> bytes:
        """The answer: kept, or being computed, or computed now. Cancelling it stops the work, unless others wait.

        Raises:
            Fault: it was refused, or failed.
        """
        found, key = self.known(task, said), _key(task, said)
        if found is not None:
            return found
        flight = self._flying.get(key)
        if flight is None:
            flight = self._flying[key] = _Flight(
                asyncio.ensure_future(self.workers.run(task, said, client, None, begun))
            )
            flight.work.add_done_callback(lambda work: self._landed(key, work))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.work)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.work.done():
                flight.work.cancel()
                self._flying.pop(key, None)

    def _landed(self, key: str, work: asyncio.Future[bytes]) -> None:
        flight = self._flying.get(key)
        if flight is not None and flight.work is work:
            del self._flying[key]
        if work.cancelled() or work.exception() is not None:
            return
        answer = work.result()
        self._bytes += len(answer) - len(self._kept.pop(key, b""))
        self._kept[key] = answer
        while self._bytes > self._most:
            self._bytes -= len(self._kept.popitem(last=False)[1])


class _Flight:
    """An answer that is being computed, and how many wait for it."""

    def __init__(self, work: asyncio.Future[bytes]) -> None:
        self.work, self.waiting = work, 0


def _key(task: str, said: Mapping[str, Any]) -> str:
    content = json.dumps([__version__, task, said], sort_keys=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()
