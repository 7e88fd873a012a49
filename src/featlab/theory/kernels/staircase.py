"""Which degrees of a target a kernel learns, as d -> infinity: the staircases in the number of samples and in a spike.

Isotropic inputs, n = d^k with k not whole: the risk tends to ||P_{>k} f||^2 for every ridge that is not too large, and
no ridge does better (Ghorbani et al. 2021; Mei, Misiakiewicz, Montanari 2022, arXiv:2101.10588). A degree that the
kernel does not have, c_j = 0 as for the odd degrees above 1 of the relu kernel, is never learned.

Inputs with a spike theta = d^g along the target's direction: degree j of the normalised coordinate has an eigenvalue of
order (theta/d)^j, and counts when n (theta/d)^j >> 1. So at n ~ d and g between 1 - 1/l and 1 - 1/(l + 1) the risk
tends to ||P_{>l} f||^2 (Ba et al. 2023). The width of a step is of order 1/log d: at d = 1000 no plateau is to be seen.
"""

from __future__ import annotations

import math

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.verdict import check_size
from featlab.errors import InvalidParameter
from featlab.learners.checks import finite_number, positive_number
from featlab.learners.kernel_functions import Kernel
from featlab.targets import Target
from featlab.targets import target as make_target


def learned_degree(sample_exponent: float, spike_exponent: float = 0.0) -> float:
    """The largest degree that is learned from n = d^k samples under an aligned spike theta = d^g: j < k / (1 - g).

    At k / (1 - g) whole, the edge of a step, that degree is learned in part and not counted. For g = 1 all are learned.

    Source: Ghorbani et al. 2021; Mei, Misiakiewicz, Montanari 2022, arXiv:2101.10588; Ba et al. 2023 for the spike.

    Args:
        sample_exponent: k.
        spike_exponent: g.

    Raises:
        InvalidParameter: k not above 0, or g outside [0, 1].

    Examples:
        >>> from featlab.theory import learned_degree
        >>> learned_degree(1.5), learned_degree(1.0, spike_exponent=0.7)
        (1, 3)
    """
    samples = positive_number("sample_exponent", sample_exponent)
    spike = finite_number("spike_exponent", spike_exponent)
    if not 0 <= spike <= 1:
        raise InvalidParameter("spike_exponent", spike_exponent, "g from 0 to 1, in theta = d^g")
    return math.inf if spike == 1 else math.ceil(samples / (1 - spike)) - 1


def kernel_floor(target: Target | str, kernel: Kernel, degree: int) -> float:
    """What is left of E[f^2] when all degrees up to `degree` that the kernel has are learned: ||P_{>degree} f||^2, if
    it has all of them. Additive label noise does not count.

    Source: Ghorbani et al. 2021; Mei, Misiakiewicz, Montanari 2022, arXiv:2101.10588.

    Args:
        target: a `Target`, or its text.
        kernel: its series says which degrees it has.
        degree: up to which they are learned.

    Examples:
        >>> from featlab.learners.kernel_functions import kernel_function
        >>> from featlab.theory import kernel_floor
        >>> round(kernel_floor("He1(h1) + He3(h1)", kernel_function("exponential"), degree=2), 6)  # E[He3^2] = 3!
        6.0
    """
    of = make_target(target)
    check_size(of)
    energies = hermite_energies(build_grids(of), degree)
    has = kernel.series(degree + 1) > 0
    return energies.variance + float(energies.per_degree[0]) - float(energies.per_degree[has].sum())
