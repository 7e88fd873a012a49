"""What is proved of projected gradient flow on networks with one shared direction: scalings, up to constants and
logarithms (Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651). They are sufficient: less may do."""

from __future__ import annotations

import math

from featlab.errors import InvalidParameter
from featlab.learners.checks import positive_integer, positive_number


def sufficient_samples(dim: int, exponent: int) -> float:
    """max(d^s, d^((s+3)/2)): with so many samples the direction is recovered with probability 0.49 at least, for
    lambda of order 1 and N of order 1/lambda; s is the information exponent.

    Source: Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651; up to constants and logarithms, sufficient.

    Args:
        dim: d.
        exponent: s.

    Raises:
        InvalidParameter: numbers that are no positive whole ones.

    Examples:
        >>> from featlab.theory import sufficient_samples
        >>> sufficient_samples(dim=100, exponent=1)
        10000.0
    """
    d, s = positive_integer("dim", dim), positive_integer("exponent", exponent)
    return max(float(d) ** s, float(d) ** ((s + 3) / 2))


def recovery_error(dim: int, samples: int) -> float:
    """max(d/n, d^4/n^2): then 1 - |m| is of this order at most.

    Source: Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651; up to constants and logarithms, sufficient.

    Args:
        dim: d.
        samples: n.

    Raises:
        InvalidParameter: numbers that are no positive whole ones.

    Examples:
        >>> from featlab.theory import recovery_error
        >>> recovery_error(dim=100, samples=10**6)
        0.0001
    """
    d, n = positive_integer("dim", dim), positive_integer("samples", samples)
    return max(d / n, float(d) ** 4 / float(n) ** 2)


def warm_up_time(dim: int, exponent: int) -> float:
    """d^(s/2 - 1): the order of the time T0 for which c is kept."""
    d, s = positive_integer("dim", dim), positive_integer("exponent", exponent)
    return float(d) ** (s / 2 - 1)


def tuning_exponent(bias_scale: float) -> float:
    """beta / (beta + 1) with beta = (1 - 1/tau^2) / (3 + 1/tau^2), below 1/4 for every tau: after fine-tuning on n'
    fresh samples, with the right lambda and width, the excess risk is of order max(d/n, d^4/n^2) + n'^(-beta/(beta+1)).

    Source: Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651.

    Args:
        bias_scale: tau, the standard deviation of the biases.

    Raises:
        InvalidParameter: for tau <= 1, where the theorem says nothing.

    Examples:
        >>> from featlab.theory import tuning_exponent
        >>> round(tuning_exponent(bias_scale=2.0), 4)
        0.1875
    """
    tau = positive_number("bias_scale", bias_scale)
    if tau <= 1:
        raise InvalidParameter(
            "bias_scale", bias_scale, "above 1: the kernel's biases must spread more than the fields"
        )
    inverse = 1 / math.pow(tau, 2)
    beta = (1 - inverse) / (3 + inverse)
    return beta / (beta + 1)
