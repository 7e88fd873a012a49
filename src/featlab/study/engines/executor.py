"""Any `concurrent.futures.Executor`: thread pools, MPI pools, your own; and Dask's.

Runs of one shape travel in bundles. A bundle holds one run at first, then as many as take about `_BUNDLE_SECONDS`, so
that slow runs are acknowledged one by one and fast ones do not drown in messages.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featlab.errors import InvalidParameter
from featlab.study.engines.protocol import MOST_ATTEMPTS, TICK_SECONDS, Records
from featlab.study.faults import EngineFault
from featlab.study.identity import Run
from featlab.study.records import Record, lost, perform_all
from featlab.study.runner import RunPoint

_BUNDLE_SECONDS = 1.0
_LARGEST_BUNDLE = 256
_BUNDLES_PER_WORKER = 2
_CONNECT_SECONDS = 30


@dataclass
class FromExecutor:
    """Runs the points on an executor, which stays open. `workers`: how many it has, so that none waits for work.

    Examples:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from featlab.study import FromExecutor, Study, run
        >>> study = Study(axes={"x": [1, 2]})
        >>> with ThreadPoolExecutor(2) as executor:
        ...     progress = run(study, lambda point, key: [{"y": 1}], "two.sqlite", engine=FromExecutor(executor))
        ...
        >>> progress.done
        2
    """

    executor: Executor
    workers: int = 8

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InvalidParameter("workers", self.workers, "a whole number, at least 1")

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """The records as the executor finishes bundles of them."""
        waiting = _Bundles(groups, self.workers)
        flying: dict[Future[list[Record]], list[Run]] = {}
        try:
            while waiting.left or flying:
                while waiting.left and len(flying) < _BUNDLES_PER_WORKER * self.workers:
                    bundle = waiting.next()
                    flying[self._submitted(run_point, bundle)] = bundle
                landed, _ = wait(flying, TICK_SECONDS, FIRST_COMPLETED)
                if not landed:
                    yield None
                for future in landed:
                    yield from waiting.landed(flying.pop(future), future)
        finally:
            for future in flying:
                future.cancel()

    def _submitted(self, run_point: RunPoint, bundle: list[Run]) -> Future[list[Record]]:
        try:
            return self.executor.submit(perform_all, run_point, bundle)
        except (BrokenExecutor, RuntimeError) as fault:
            raise _broken(fault) from fault


class _Bundles:
    """What is still to be submitted, and how often each run was lost."""

    def __init__(self, groups: Sequence[list[Run]], workers: int) -> None:
        self._groups = deque(deque(group) for group in groups if group)
        self._workers = workers
        self._losses: dict[str, int] = {}
        self._seconds = _BUNDLE_SECONDS

    @property
    def left(self) -> bool:
        """Whether there is any."""
        return bool(self._groups)

    def next(self) -> list[Run]:
        """The next runs of one shape, shared out among the workers."""
        group = self._groups[0]
        fair = -(-len(group) // self._workers)
        size = max(1, min(fair, int(_BUNDLE_SECONDS / self._seconds), _LARGEST_BUNDLE))
        bundle = [group.popleft() for _ in range(min(size, len(group)))]
        if not group:
            self._groups.popleft()
        return bundle

    def landed(self, bundle: list[Run], future: Future[list[Record]]) -> Records:
        """The records of a bundle; or its runs back in the queue, one by one, if it was lost on the way."""
        fault = future.exception() if not future.cancelled() else CancelledError()
        if fault is None:
            records = future.result()
            mean = sum(record.seconds for record in records) / len(records)
            # Half old, half new: one slow run (a compilation) does not make every later bundle small.
            self._seconds = max((self._seconds + mean) / 2, 1e-4)
            yield from records
            return
        if isinstance(fault, BrokenExecutor | CancelledError):
            raise _broken(fault) from fault
        for run in bundle:
            self._losses[run.id] = self._losses.get(run.id, 0) + 1
            if self._losses[run.id] >= MOST_ATTEMPTS:
                yield lost(run, f"the executor lost it {MOST_ATTEMPTS} times: {type(fault).__name__}: {fault}")
            else:
                self._groups.append(deque([run]))


def _broken(fault: BaseException) -> EngineFault:
    reason = str(fault) or type(fault).__name__
    return EngineFault(f"the executor cannot work on: {reason}; what is acknowledged is safe, run again to resume")


@dataclass
class Dask:
    """Runs the points on a Dask cluster.

    Attributes:
        scheduler: an address such as "tcp://host:8786", or the path of a scheduler file; None makes a local cluster.
        workers: of a local cluster; as many as there are cores unless given.

    Examples:
        >>> from featlab.study import Dask
        >>> Dask(scheduler="tcp://host:8786")
        Dask(scheduler='tcp://host:8786', workers=None)
    """

    scheduler: str | None = None
    workers: int | None = None

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """The records as the cluster finishes them. Dask itself runs again what a dead worker had in hand."""
        with self._client() as client:
            executor = client.get_executor(pure=False, retries=MOST_ATTEMPTS)
            threads = sum(client.nthreads().values())
            yield from FromExecutor(executor, max(1, threads)).records(run_point, groups)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise EngineFault('Dask is not installed; pip install "featlab[cluster]"') from None
        with ExitStack() as stack:
            if self.scheduler is None:
                count = self.workers or os.cpu_count() or 1
                cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
                options: dict[str, Any] = {"address": stack.enter_context(cluster)}
            else:
                place = "scheduler_file" if Path(self.scheduler).is_file() else "address"
                options = {place: self.scheduler}
            try:
                # Not the default client: the rest of the process has nothing to do with it, least of all if it fails.
                client = Client(**options, timeout=_CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError) as fault:
                raise EngineFault(f"no Dask scheduler answers at {self.scheduler!r}: {fault}") from fault
            yield stack.enter_context(client)
