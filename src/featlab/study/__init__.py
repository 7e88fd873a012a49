"""Grids of runs that survive anything: points, seeds, store, resume; on a laptop, on Dask, on Slurm.

A study knows no science. It is given points and a function `run_point(point, key) -> rows`, and returns every row
exactly once. The public names are loaded when they are first asked for.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "Study": "description",
    "Runner": "runner",
    "read_study": "toml",
    "run": "drive",
    "plan": "estimate",
    "open": "dataset",
    "export": "tables",
    "provenance": "dataset",
    "InProcess": "engines.in_process",
    "Pool": "engines.pool",
    "FromExecutor": "engines.executor",
    "Dask": "engines.dask",
    "submit": "slurm",
    "collect": "slurm",
    "InvalidStudy": "faults",
    "StoreFault": "faults",
    "StudyInUse": "faults",
    "NewerStore": "faults",
    "EngineFault": "faults",
}

__all__ = list(_PUBLIC)

__getattr__, __dir__ = public_names(__name__, _PUBLIC)
