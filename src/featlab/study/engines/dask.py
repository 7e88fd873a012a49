"""Dask: a scheduler that is running, or a cluster of this machine's cores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featlab.study.engines.executor import FromExecutor
from featlab.study.engines.protocol import MOST_ATTEMPTS, Records
from featlab.study.faults import EngineFault
from featlab.study.identity import Run
from featlab.study.runner import RunPoint

_CONNECT_SECONDS = 30


@dataclass
class Dask:
    """Runs the points on a Dask cluster.

    Attributes:
        scheduler: an address such as "tcp://host:8786", or the path of a scheduler file; None makes a local cluster.
        workers: of a local cluster; as many as there are cores unless given.
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
