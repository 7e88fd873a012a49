"""Arrays of any framework are read as they are; stand-ins behave as PyTorch's and CuPy's do on a GPU."""

from __future__ import annotations

import subprocess
import sys

import array_api_strict
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.recording.arrays import plain

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3) / 7


class Plain:
    """An array without a way to NumPy of its own."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape = array, array.shape


class ByDlpack(Plain):
    """One of a library that speaks nothing but DLPack."""

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnGpu(Plain):
    """What every framework does for an array that is not in the memory of the host."""

    def __array__(self, *arguments, **options):
        raise TypeError("cannot be converted to a NumPy array implicitly")

    def __dlpack__(self, **options):
        raise BufferError("not on this device")

    def __dlpack_device__(self):
        return (2, 0)


class TorchOnGpu(OnGpu):
    def cpu(self):
        return self.array


class CupyOnGpu(OnGpu):
    def get(self):
        return self.array


class StandardOnGpu(OnGpu):
    def to_device(self, device):
        assert device == "cpu"
        return self.array


class Bfloat16(OnGpu):
    """PyTorch's: NumPy has no such numbers, on no device."""

    def cpu(self):
        return self

    def float(self):
        return TorchOnGpu(self.array)


class Tracked(Plain):
    """PyTorch's while derivatives are recorded."""

    def detach(self):
        return ByDlpack(self.array)


KINDS = (
    np.asarray,
    jnp.asarray,
    array_api_strict.asarray,
    np.ndarray.tolist,
    list,
    ByDlpack,
    TorchOnGpu,
    CupyOnGpu,
    StandardOnGpu,
    Bfloat16,
    Tracked,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_numbers_of_every_framework(kind) -> None:
    array, dtype = plain("weights", kind(NUMBERS))
    assert array.dtype == np.float64
    assert np.array_equal(array, NUMBERS.astype(np.float64))
    assert dtype == ("float64" if kind is np.ndarray.tolist else "float32")


def test_short_floats_of_jax() -> None:
    array, dtype = plain("weights", jnp.asarray(NUMBERS, jnp.bfloat16))
    assert dtype == "bfloat16"
    assert np.allclose(array, NUMBERS, rtol=2**-8)


def test_arrays_of_pytorch_where_it_is_loaded() -> None:
    """Its own arrays where it is installed; the stand-ins above do what they do."""
    try:
        import torch
    except ImportError:
        return
    weights = torch.tensor(NUMBERS, requires_grad=True)
    assert np.array_equal(plain("weights", weights)[0], NUMBERS)
    assert np.allclose(plain("weights", weights.bfloat16())[0], NUMBERS, rtol=2**-8)


def test_nothing_is_kept_of_an_array_that_goes_on_changing() -> None:
    weights = np.ones((2, 3))
    seen, _ = plain("weights", weights)
    weights += 1
    assert np.all(seen == 1)


@pytest.mark.parametrize("wrong", ["text", ["1.0", "2.0"], None, object(), NUMBERS * 1j, [[1.0], [1.0, 2.0]], {"a": 1}])
def test_what_is_no_array_of_numbers_is_refused(wrong) -> None:
    with pytest.raises(InvalidParameter, match=r"weights: got .*array of real numbers"):
        plain("weights", wrong)


def test_arrays_of_several_shapes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"\(1, 3\), \(2, 3\).*one shape"):
        plain("weights", [NUMBERS, NUMBERS[:1]])


def test_no_framework_is_loaded_for_arrays_of_another() -> None:
    program = """
import sys
import numpy as np
import featlab
featlab.observe(np.eye(2, 5), np.eye(1, 5))
print(*sorted({"jax", "torch", "cupy", "array_api_strict"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
