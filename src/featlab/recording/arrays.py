"""Arrays of any framework as NumPy's. None is imported: an array is asked by DLPack, by the array API, or by the way to
the host that its own framework has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats

# JAX's arrays and those of CPUs come by the first two. `cpu` is PyTorch's way off a GPU, `get` CuPy's, `to_device` that
# of the array API; `float` is for PyTorch's bfloat16, which NumPy does not know.
_WAYS: tuple[Callable[[Any], Any], ...] = (
    np.from_dlpack,
    np.asarray,
    lambda array: array.cpu(),
    lambda array: array.get(),
    lambda array: array.to_device("cpu"),
    lambda array: array.float().cpu(),
)
_FAULTS = (TypeError, ValueError, RuntimeError, BufferError, AttributeError)
_REAL = "fiubV"  # V: the short floats of JAX


def plain(name: str, value: Any) -> tuple[Floats, str]:
    """A copy in float64, and the name of the type that it had; a list of arrays is stacked.

    Raises:
        InvalidParameter: what is no array of real numbers.
    """
    if isinstance(value, list | tuple) and value and hasattr(value[0], "shape"):
        parts = [plain(name, part) for part in value]
        try:
            return np.stack([array for array, _ in parts]), parts[0][1]
        except ValueError:
            shapes = sorted({array.shape for array, _ in parts})
            raise InvalidParameter(name, f"arrays of the shapes {shapes}", "arrays of one shape") from None
    value = value.detach() if hasattr(value, "detach") else value  # PyTorch: off the tape of derivatives
    for way in _WAYS:
        try:
            found = np.asarray(way(value))
            if found.dtype.kind in _REAL:
                return np.array(found, dtype=np.float64), found.dtype.name
        except _FAULTS:
            continue
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise InvalidParameter(name, f"a {kind}", "an array of real numbers (NumPy, JAX, PyTorch, CuPy, by DLPack)")
