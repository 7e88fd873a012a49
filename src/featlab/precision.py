"""Double precision in JAX for a block of code, never as a global switch."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any


def double_precision() -> AbstractContextManager[Any]:
    """A context in which JAX computes in float64; it ends with the block and is local to the thread."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return import_module("jax.experimental").enable_x64(True)  # where older versions keep it
