"""Grids of runs that survive anything: points, seeds, store, resume; on a laptop, on Dask, on Slurm.

A study knows no science. It is given points and a function `run_point(point, key) -> rows`, and returns every row
exactly once.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
