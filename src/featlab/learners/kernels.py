"""Kernel ridge regression. A description only; the kernels are in `kernel_functions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from featlab.learners.kernel_functions import Kernel, kernel_function
from featlab.learners.readout import LEAVE_ONE_OUT, check_ridge, check_test_samples

# The n lambda that leave-one-out chooses among, in units of the mean of k(x, x). Unlike lambda itself, n lambda keeps
# its size as n grows: it stands beside the part of k(x, x) that n samples cannot resolve.
KERNEL_RIDGES = tuple(10.0 ** (k / 2) for k in range(-12, 11))


@dataclass(frozen=True)
class KernelRidge:
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
    """

    clock: ClassVar[str] = "once"
    student_kind: ClassVar[None] = None

    kernel: Kernel | str | tuple[float, ...] = "exponential"
    ridge: float | str = LEAVE_ONE_OUT
    test_samples: int = 2**12

    def __post_init__(self) -> None:
        kernel_function(self.kernel)
        check_ridge("ridge", self.ridge)
        check_test_samples(self.test_samples)

    @property
    def function(self) -> Kernel:
        """The kernel itself."""
        return kernel_function(self.kernel)
