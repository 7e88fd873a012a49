"""Formulas that run compiled in a simulation, and at once on stored data, are written once: what they are made of."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

# NumPy's arrays where data are stored on the host, where nothing is compiled for a new shape; else JAX's.
AnyArray = Array | np.ndarray


def ops_of(array: Any) -> Any:
    """`numpy` for an array of NumPy, `jax.numpy` for any other."""
    return np if isinstance(array, np.ndarray) else jnp
