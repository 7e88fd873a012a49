"""Lanes, turns, limits, and what becomes of work that is not wanted, lasts too long, or whose worker dies."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from multiprocessing import Pipe
from typing import Any
from unittest.mock import Mock

import pytest

from featlab import interruption
from featlab.explorer import questions
from featlab.explorer.answers import Answers
from featlab.explorer.faults import Fault
from featlab.explorer.lanes import Lane, Limits
from featlab.explorer.workers import Workers
from tests.explorer.standing_in import standing_in

ONE = (Lane(("parse", "analyse"), 1, 60.0),)


def run(work: Callable[[Workers], Awaitable[Any]], workers: Workers) -> Any:
    async def all_of_it() -> Any:
        workers.open()
        try:
            return await asyncio.wait_for(work(workers), 60)
        finally:
            await workers.close()

    return asyncio.run(all_of_it())


class Held:
    """In the place of a task: it waits until it is let go, and hears when it is to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, deaf: bool = False) -> None:
        self.begun, self.order, self.let_go, self._deaf = threading.Semaphore(0), [], threading.Event(), deaf
        self.stopped = threading.Event()
        monkeypatch.setattr(questions, "parse", self)

    def __call__(self, said: Any) -> dict[str, Any]:
        self.order.append(said["text"])
        self.begun.release()
        while not self.let_go.wait(0.005):
            try:
                interruption.check()
            except KeyboardInterrupt:
                if not self._deaf:
                    self.stopped.set()
                    raise
        return {"text": said["text"]}

    async def until_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=30)


def test_clients_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has asked much waits for who has asked little."""
    held = Held(monkeypatch)

    async def work(workers: Workers) -> None:
        first = asyncio.ensure_future(workers.run("parse", {"text": "first"}, "a"))
        await held.until_begun()
        asks = [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c")]
        rest = [asyncio.ensure_future(workers.run("parse", {"text": text}, client)) for text, client in asks]
        await asyncio.sleep(0)
        assert workers.place("parse") == 6
        held.let_go.set()
        await asyncio.gather(first, *rest)

    run(work, standing_in(ONE))
    assert held.order == ["first", "a1", "b1", "c1", "a2", "a3"]


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def status(workers: Workers, client: str) -> int:
        with pytest.raises(Fault) as caught:
            await workers.run("parse", {"text": "x"}, client)
        return caught.value.status

    async def work(workers: Workers) -> None:
        mine = [asyncio.ensure_future(workers.run("parse", {"text": str(k)}, "a")) for k in range(2)]
        await asyncio.sleep(0)
        assert await status(workers, "a") == 429
        other = asyncio.ensure_future(workers.run("parse", {"text": "b"}, "b"))
        await asyncio.sleep(0)
        assert await status(workers, "c") == 503
        held.let_go.set()
        await asyncio.gather(*mine, other)
        assert json.loads(await workers.run("parse", {"text": "again"}, "a"))["text"] == "again"

    run(work, standing_in(ONE, Limits(of_client=2, of_all=3, retire=2**60)))


def test_work_that_nobody_wants_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def work(workers: Workers) -> None:
        ask = asyncio.ensure_future(workers.run("parse", {"text": "x"}, "a"))
        await held.until_begun()
        worker = workers.workers[0]
        ask.cancel()
        assert await asyncio.to_thread(held.stopped.wait, 30)
        held.let_go.set()
        await workers.run("parse", {"text": "y"}, "a")
        assert workers.workers == [worker]  # it goes on with the same one

    run(work, standing_in(ONE))


def test_a_deaf_worker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch, deaf=True)

    async def work(workers: Workers) -> None:
        ask = asyncio.ensure_future(workers.run("parse", {"text": "x"}, "a"))
        await held.until_begun()
        worker = workers.workers[0]
        ask.cancel()
        other = asyncio.ensure_future(workers.run("parse", {"text": "y"}, "b"))
        await held.until_begun()
        assert workers.workers != [worker]
        held.let_go.set()
        assert json.loads(await other)["text"] == "y"

    run(work, standing_in(ONE, Limits(grace=0.05, retire=2**60)))


def test_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch, deaf=True)

    async def work(workers: Workers) -> Fault:
        with pytest.raises(Fault) as caught:
            await workers.run("parse", {"text": "x"}, "a")
        held.let_go.set()
        assert json.loads(await workers.run("parse", {"text": "y"}, "a"))["text"] == "y"
        return caught.value

    fault = run(work, standing_in((Lane(("parse",), 1, 0.2),)))
    assert (fault.status, fault.record["kind"]) == (503, "time")


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    taken = iter([10, 10, 1000])
    monkeypatch.setattr("featlab.explorer.handed.Worker.memory", property(lambda worker: next(taken, 0)))

    async def work(workers: Workers) -> Fault:
        with pytest.raises(Fault) as caught:
            await workers.run("parse", {"text": "x"}, "a")
        held.let_go.set()
        return caught.value

    fault = run(work, standing_in(ONE, Limits(memory=100, retire=2**60)))
    assert (fault.status, fault.record["kind"]) == (503, "memory")


def test_a_worker_that_has_grown_is_replaced() -> None:
    async def work(workers: Workers) -> None:
        await workers.run("parse", {"text": "h1"}, "a")
        assert workers.workers == []
        assert json.loads(await workers.run("parse", {"text": "h2"}, "a"))["rank"] == 1

    run(work, standing_in(ONE, Limits(retire=1)))


def test_a_worker_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def work(workers: Workers) -> Fault:
        ask = asyncio.ensure_future(workers.run("parse", {"text": "x"}, "a"))
        await held.until_begun()
        workers.workers[0].process.kill()
        with pytest.raises(Fault) as caught:
            await ask
        held.let_go.set()
        assert json.loads(await workers.run("parse", {"text": "y"}, "a"))["text"] == "y"
        return caught.value

    fault = run(work, standing_in(ONE))
    assert (fault.status, fault.record["kind"]) == (503, "worker")


def test_who_waits_is_told_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def work(workers: Workers) -> list[Any]:
        asks = [asyncio.ensure_future(workers.run("parse", {"text": str(k)}, "a")) for k in range(3)]
        await held.until_begun()
        await workers.close()
        held.let_go.set()
        return await asyncio.gather(*asks, return_exceptions=True)

    assert [fault.record["kind"] for fault in run(work, standing_in(ONE))] == ["ending"] * 3


def test_what_nobody_foresaw_is_said_and_the_worker_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(said: Any) -> dict[str, Any]:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(questions, "parse", broken)

    async def work(workers: Workers) -> Fault:
        with pytest.raises(Fault) as caught:
            await workers.run("parse", {"text": "x"}, "a")
        assert len(workers.workers) == 1
        return caught.value

    fault = run(work, standing_in(ONE))
    assert fault.status == 500
    assert "ZeroDivisionError: by nought" in str(fault)


def test_an_answer_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.explorer.worker.MOST_BYTES", 100)

    async def work(workers: Workers) -> None:
        with pytest.raises(Fault, match="more than 100"):
            await workers.run("parse", {"text": "h1"}, "a")

    run(work, standing_in(ONE))


def test_an_answer_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For all who ask while it is computed, and for all who ask later; but not for another question."""
    held = Held(monkeypatch)

    async def work(workers: Workers) -> None:
        answers = Answers(workers)
        asks = [asyncio.ensure_future(answers.to("parse", {"text": "x"}, client)) for client in "abc"]
        await held.until_begun()
        asks[0].cancel()  # the others still wait
        await asyncio.sleep(0.05)
        held.let_go.set()
        assert (await asks[1]) == (await asks[2])
        assert await answers.to("parse", {"text": "x"}, "d") == await asks[1]
        assert held.order == ["x"]
        await answers.to("parse", {"text": "y"}, "d")
        assert held.order == ["x", "y"]

    run(work, standing_in(ONE))


def test_an_answer_that_nobody_waits_for_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def work(workers: Workers) -> None:
        answers = Answers(workers)
        asks = [asyncio.ensure_future(answers.to("parse", {"text": "x"}, client)) for client in "ab"]
        await held.until_begun()
        for ask in asks:
            ask.cancel()
        assert await asyncio.to_thread(held.stopped.wait, 30)
        held.let_go.set()
        await answers.to("parse", {"text": "x"}, "c")
        assert held.order == ["x", "x"]  # what was stopped is not kept

    run(work, standing_in(ONE))


def test_what_is_kept_is_bounded() -> None:
    async def work(workers: Workers) -> None:
        size = len(await workers.run("parse", {"text": "h1**4"}, "a"))
        answers = Answers(workers, most_bytes=2 * size)
        for text in ("h1", "h1**2", "h1**3", "h1**4"):
            await answers.to("parse", {"text": text}, "a")
        assert answers.known("parse", {"text": "h1"}) is None
        assert answers.known("parse", {"text": "h1**4"}) is not None

    run(work, standing_in(ONE))


def test_lanes_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def work(workers: Workers) -> float:
        slow = asyncio.ensure_future(workers.run("parse", {"text": "x"}, "a"))
        await held.until_begun()
        begin = time.monotonic()
        await workers.run("catalogue", {}, "a")
        assert not slow.done()
        held.let_go.set()
        await slow
        return time.monotonic() - begin

    run(work, standing_in((Lane(("parse",), 1, 60.0), Lane(("catalogue",), 1, 60.0))))


def test_workers_that_die_at_once_are_not_started_for_ever() -> None:
    started = []

    def stillborn(lane: Lane) -> Any:
        ours, theirs = Pipe()
        theirs.close()
        started.append(Mock(pid=None))
        return started[-1], ours

    async def work(workers: Workers) -> Fault:
        with pytest.raises(Fault) as caught:
            await workers.run("parse", {"text": "h1"}, "a")
        return caught.value

    fault = run(work, Workers(ONE, None, stillborn))
    assert "before they can begin" in str(fault)
    assert len(started) == 3


def test_a_worker_that_died_while_it_waited_is_not_asked() -> None:
    async def work(workers: Workers) -> None:
        await workers.run("parse", {"text": "h1"}, "a")
        workers.workers[0].process.kill()  # nobody has heard of it yet
        assert json.loads(await workers.run("parse", {"text": "h2"}, "a"))["rank"] == 1

    run(work, standing_in(ONE))
