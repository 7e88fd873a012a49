"""Who runs the points. An engine is given runs grouped by shape and yields each record once, in any order."""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "Engine": "protocol",
    "InProcess": "in_process",
    "Pool": "pool",
    "FromExecutor": "executor",
    "Dask": "dask",
}

__all__ = list(_PUBLIC)

__getattr__, __dir__ = public_names(__name__, _PUBLIC)
