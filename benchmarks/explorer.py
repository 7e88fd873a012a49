"""The explorer under load: clients that type, ask and simulate at once, and some that leave in the middle.

    python -m benchmarks.explorer                          # 20 clients for a minute
    python -m benchmarks.explorer --clients 4 --seconds 10

Each client asks again as soon as it is answered: mostly analyses of targets that were analysed before, as in a lecture;
then texts and links that nobody has asked for, predictions as a slider moves, new analyses, short simulations, streams
that are closed after their first event. Times are by the clock, on whatever else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.measuring import Row, show
from featlab.explorer.worker import resident

CACHED_SECONDS, MOST_MEGABYTES = 0.2, 6000.0
TARGETS = ("He3(h1)", "h1 + abs(h2)", "sign(h1*h2)", "tanh(h1)", "h1**2", "h1 + h1*h2", "relu(h1)", "He4(h1)")
RUN = {"target": "He3(h1)", "learner": "reused-batch", "dim": 1000, "samples": 3000, "steps": 2, "step_size": 0.2}
WAIT = 300.0


class Load:
    """What clients saw: seconds by kind of question, statuses, and how much of it each of them had."""

    def __init__(self, address: str) -> None:
        self.address, self.draw = address, random.Random(0)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[int] = Counter()
        self.answers: Counter[int] = Counter()
        self.numbers = iter(range(10**9))
        kinds: list[tuple[int, str, Callable[[httpx.AsyncClient], Awaitable[int]]]] = [
            (60, "analysis, cached", self._cached),
            (15, "text", self._text),
            (8, "link", self._link),
            (8, "prediction", self._prediction),
            (2, "analysis, new", self._new),
            (4, "simulation of 3 seeds", self._simulation),
            (3, "stream that is left", self._left),
        ]
        self._weights, self._names, self._asks = zip(*kinds, strict=True)

    async def client(self, number: int, until: float) -> None:
        """One of them, until its time is over."""
        header = {"x-featlab-client": f"client-{number}"}
        async with httpx.AsyncClient(base_url=self.address, headers=header, timeout=WAIT) as client:
            while time.monotonic() < until:
                (place,) = self.draw.choices(range(len(self._asks)), self._weights)
                begin = time.monotonic()
                self.statuses[await self._asks[place](client)] += 1
                self.seconds[self._names[place]].append(time.monotonic() - begin)
                self.answers[number] += 1

    async def warm(self) -> None:
        """Every target is analysed once, and every kind of question asked, before the time begins."""
        async with httpx.AsyncClient(base_url=self.address, timeout=WAIT) as client:
            for target in TARGETS:
                (await client.post("/api/v1/analyse", json={"target": target})).raise_for_status()
            for ask in self._asks:
                await ask(client)

    async def _post(self, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> int:
        return (await client.post(f"/api/v1/{path}", json=body)).status_code

    async def _cached(self, client: httpx.AsyncClient) -> int:
        return await self._post(client, "analyse", {"target": self.draw.choice(TARGETS)})

    async def _text(self, client: httpx.AsyncClient) -> int:
        return await self._post(client, "parse", {"text": f"He3(h1) + {next(self.numbers)}*h2"})

    async def _link(self, client: httpx.AsyncClient) -> int:
        return await self._post(client, "link", {"target": f"h1 + {next(self.numbers)}*h2**2", "axes": ["h1", "h2"]})

    async def _new(self, client: httpx.AsyncClient) -> int:
        return await self._post(client, "analyse", {"target": f"He2(h1) + {next(self.numbers)}*He3(h1)"})

    async def _prediction(self, client: httpx.AsyncClient) -> int:
        asked = {**RUN, "start": "orthogonal", "step_size": 0.2 + 1e-4 * next(self.numbers)}
        return await self._post(client, "predict", {"experiment": asked})

    async def _simulation(self, client: httpx.AsyncClient) -> int:
        return await self._streamed(client, 10**6)

    async def _left(self, client: httpx.AsyncClient) -> int:
        return await self._streamed(client, 1)

    async def _streamed(self, client: httpx.AsyncClient, most: int) -> int:
        asked = {"experiment": {**RUN, "seeds": 3, "key": next(self.numbers)}}
        async with client.stream("POST", "/api/v1/simulate", json=asked) as stream:
            seen = 0
            async for line in stream.aiter_lines():
                seen += line.startswith("event:")
                if line.startswith("event: error"):
                    return 599
                if seen >= most:
                    break
            return stream.status_code


def megabytes(server: int) -> float:
    """Of the server and all its workers, which its threads have started."""
    lists = Path(f"/proc/{server}/task").glob("*/children")
    children = [int(process) for one in lists for process in one.read_text().split()]
    return sum(resident(process) for process in (server, *children)) / 2**20


def processor_seconds(server: int) -> float:
    """That the server itself has used, without its workers."""
    parts = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


async def measured(address: str, server: int, clients: int, seconds: float) -> list[Row]:
    """The table."""
    load = Load(address)
    await load.warm()
    until, memory, before = time.monotonic() + seconds, [megabytes(server)], processor_seconds(server)
    work = asyncio.gather(*(load.client(number, until) for number in range(clients)))
    while not work.done():
        await asyncio.sleep(0.5)
        memory.append(megabytes(server))
    await work
    setting = f"{clients} clients, {seconds:g} s"
    rows = []
    for kind, times in sorted(load.seconds.items()):
        goal = CACHED_SECONDS if kind == "analysis, cached" else None
        middle, most = np.quantile(times, [0.5, 1.0])
        words = f"p95 of {len(times)}, median {middle:.3f} s, longest {most:.2f} s"
        rows.append(Row(kind, words, float(np.quantile(times, 0.95)), "s", at_most=goal))
    each = 1000 * (processor_seconds(server) - before) / sum(load.answers.values())
    rows.append(
        Row(
            "server itself",
            f"processor time for each answer, on {os.cpu_count()} cores with load {os.getloadavg()[0]:.0f}",
            each,
            "ms",
        )
    )
    fewest = min(load.answers[number] for number in range(clients))
    refused = sum(count for status, count in load.statuses.items() if status != 200)
    rows.append(
        Row("answers", f"{setting}, the client with the fewest of {sum(load.answers.values())}", fewest, "", at_least=1)
    )
    rows.append(Row("answers that were none", f"statuses {dict(load.statuses)}", refused, "", at_most=0))
    words = f"server and workers, at most; {memory[0]:.0f} at the beginning, {memory[-1]:.0f} at the end"
    rows.append(Row("memory", words, max(memory), "MB", at_most=MOST_MEGABYTES))
    return rows


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args(arguments)
    command = [sys.executable, "-m", "featlab", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = re.findall(r"http://\S+", server.stdout.readline())[0]
        try:
            print(show(asyncio.run(measured(address, server.pid, chosen.clients, chosen.seconds))))
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main(sys.argv[1:])
