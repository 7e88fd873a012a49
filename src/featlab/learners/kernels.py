"""Kernel ridge regression. A description only; the kernels are in `kernel_functions`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from featlab.learners.fields import LEAVE_ONE_OUT, RIDGE, TEST, Kind, is_number, option, read_numbers
from featlab.learners.protocol import Grown, LearnerDescription, Student

if TYPE_CHECKING:
    from featlab.learners.kernel_functions import Kernel

# The n lambda that leave-one-out chooses among, in units of the mean of k(x, x). Unlike lambda itself, n lambda keeps
# its size as n grows: it stands beside the part of k(x, x) that n samples cannot resolve.
KERNEL_RIDGES = tuple(10.0 ** (k / 2) for k in range(-12, 11))


def _check_kernel(name: str, value: Any) -> None:
    from featlab.learners.kernel_functions import kernel_function

    kernel_function(value)


def _read_kernel(name: str, text: str) -> Any:
    return read_numbers(name, text) if is_number(text.split(",")[0]) else text


_KERNEL = Kind(_check_kernel, _read_kernel, "NAME|C,..")


@dataclass(frozen=True)
class KernelRidge(LearnerDescription):
    """Kernel ridge regression on n samples: it minimises (1/n) sum_i (y_i - f(x_i))^2 + lambda |f|^2 over the functions
    of the kernel's space, so that f(x) = sum_i a_i k(x, x_i) with a = (K + n lambda)^{-1} y. There is no intercept;
    kernels with k(0, 0) > 0 contain one.

    lambda is that of `Readout`: with the kernel E[phi phi], random features of growing width tend to this. Papers that
    write (K + L)^{-1} y have lambda = L/n.

    Attributes:
        kernel: a `Kernel` of `featlab.learners.kernel_functions`, its name ("exponential", "polynomial-3",
            "arc-cosine-0", "arc-cosine-1", "relu-ntk"), or the coefficients (c_0, c_1, ...) of g(<x, y>/d).
        ridge: lambda, a number above zero; or "leave-one-out", the one with the smallest exact leave-one-out error
            among those with n lambda in `KERNEL_RIDGES` times the mean of k(x, x). A lambda below 1e-12 of that mean is
            out of reach of float64 and is raised to it; the result says which lambda was used.
        test_samples: the number of fresh samples that the risk is measured on.

    Examples:
        >>> import featlab
        >>> featlab.KernelRidge(kernel="polynomial-3", ridge=0.01)
        KernelRidge(kernel='polynomial-3', ridge=0.01, test_samples=4096)
    """

    clock: ClassVar[str] = "once"
    student_kind: ClassVar[None] = None
    equivariant: ClassVar[bool] = True
    simulator: ClassVar[str] = "featlab.simulation.kernels:SIMULATOR"

    kernel: Kernel | str | tuple[float, ...] = field(default="exponential", metadata=option(_KERNEL, "the kernel"))
    ridge: float | str = field(default=LEAVE_ONE_OUT, metadata=option(RIDGE, "lambda of the ridge regression"))
    test_samples: int = field(default=2**12, metadata=TEST)

    @property
    def function(self) -> Kernel:
        """The kernel itself."""
        from featlab.learners.kernel_functions import kernel_function  # NumPy is loaded with the first kernel

        return kernel_function(self.kernel)

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """samples / d is kept."""
        return None if limit == "samples" else Grown(self, student, factor)
