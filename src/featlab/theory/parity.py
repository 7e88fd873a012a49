"""What is proved of mean-field Langevin dynamics on sparse parities: upper bounds, and where they come from.

Inputs x = A z on the hypercube, z uniform on {+-1/sqrt d}^d, A = d^(alpha/2) on the k coordinates of the support.
Suzuki et al. 2023 (alpha = 0) and Nitanda, Oko, Suzuki, Wu 2024 prove that n of order d^(1-alpha) samples suffice,
whatever k, with a width and a number of steps exp(O(d^(1-alpha))). Constants are not known; no lower bound is claimed.

Where d^(1-alpha) comes from: `ParityNetwork` represents the parity with k kinds of neurons, and against the prior
exp(-lambda1 |X|^2) they cost lambda1 |X|^2 of order d^(1-alpha), since a neuron must turn coordinates of size
d^((alpha-1)/2) into fields of order 1. The temperature has to balance that cost, lambda of order d^-(1-alpha); the
bound on the number of samples is the cost itself, and the log-Sobolev constant exp(-O(1/lambda)) makes time and width
exponential in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from featlab.citations import Citation, cite
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.learners.checks import finite_number, positive_integer, positive_number

_PAPERS = cite("suzuki2023", "nitanda2024")


@dataclass(frozen=True)
class ParityBounds:
    """Exponents of d in upper bounds for learning a k-parity, the same for every k.

    Attributes:
        samples: of n.
        log_width: of log N.
        log_steps: of log T.
        citations: the papers.
    """

    samples: float
    log_width: float
    log_steps: float
    citations: tuple[Citation, ...] = _PAPERS


def parity_bounds(anisotropy: float = 0.0) -> ParityBounds:
    """n = O(d^(1-alpha)), N = exp(O(d^(1-alpha))), T = exp(O(d^(1-alpha))) (Suzuki et al. 2023 for alpha = 0; Nitanda
    et al. 2024). Sufficient: practice needs far fewer neurons and steps, and at a finite T more samples.

    Examples:
        >>> from featlab.theory import parity_bounds
        >>> parity_bounds(anisotropy=0.25).samples
        0.75
    """
    exponent = 1 - _checked(anisotropy)
    return ParityBounds(exponent, exponent, exponent)


def effective_dimension(dim: int, anisotropy: float = 0.0) -> float:
    """d^(1-alpha): what stands in the place of d when the support's coordinates are d^(alpha/2) times larger.

    Source: Suzuki et al. 2023; Nitanda, Oko, Suzuki, Wu 2024.

    Args:
        dim: d.
        anisotropy: alpha.

    Raises:
        InvalidParameter: an anisotropy outside of what is proved.

    Examples:
        >>> from featlab.theory import effective_dimension
        >>> effective_dimension(100, anisotropy=0.5)
        10.0
    """
    return float(positive_integer("dim", dim)) ** (1 - _checked(anisotropy))


@dataclass(frozen=True)
class ParityNetwork:
    """A network (1/N) sum R [tanh(<w, x> + b) + 2 tanh(c)] / 3 that computes the k-parity; neurons come in k kinds.

    The parity depends on s = h_1 + .. + h_k only, and changes sign between neighbouring values of s, k times. One kind
    of neuron takes each change, tanh(+-steepness (s - t)) at the thresholds t = k-1, k-3, .., 1-k with alternating
    signs; the sum of these steps, plus 1 if k is even, which the offsets c supply, is the parity for steep neurons.

    Attributes:
        order: k.
        dim, anisotropy: d and alpha of the inputs.
        steepness: the slope of a step in s.
    """

    order: int
    dim: int
    anisotropy: float = 0.0
    steepness: float = 2.0

    def __post_init__(self) -> None:
        if positive_integer("order", self.order) > positive_integer("dim", self.dim):
            raise InvalidParameter("order", self.order, f"at most the dimension {self.dim}")
        _checked(self.anisotropy)
        positive_number("steepness", self.steepness)

    @property
    def weights(self) -> Floats:
        """w on the support, (k, k): one row for each kind of neuron; zero elsewhere. <w, x> = +-steepness s."""
        size = self.steepness * self.dim ** ((1 - self.anisotropy) / 2)
        return np.outer(self._signs, np.full(self.order, size))

    @property
    def biases(self) -> Floats:
        """b of each kind: -w's threshold."""
        thresholds = np.arange(self.order - 1, -self.order, -2, dtype=np.float64)
        return -self.steepness * self._signs * thresholds

    @property
    def offset(self) -> float:
        """c, the same for all: 2 tanh(c) = 1/k if k is even, 0 if it is odd."""
        return 0.0 if self.order % 2 else float(np.arctanh(0.5 / self.order))

    def margin(self, output_scale: float) -> float:
        """The smallest y f over all signs of the support. For steep neurons R/(3k): R has to grow like k."""
        signs = np.array(list(product((-1.0, 1.0), repeat=self.order)))
        inputs = signs * self.dim ** ((self.anisotropy - 1) / 2)
        steps = np.tanh(inputs @ self.weights.T + self.biases).mean(axis=1)
        outputs = positive_number("output_scale", output_scale) / 3 * (steps + 2 * np.tanh(self.offset))
        return float(np.min(np.prod(signs, axis=1) * outputs))

    def cost(self, prior_rate: float) -> float:
        """lambda1 E|X|^2 over the neurons: what the prior charges, lambda1 steepness^2 k d^(1-alpha) and a constant."""
        squares = np.sum(self.weights**2, axis=1) + self.biases**2 + self.offset**2
        return positive_number("prior_rate", prior_rate) * float(squares.mean())

    @property
    def _signs(self) -> Floats:
        return np.where(np.arange(self.order) % 2, -1.0, 1.0)


def _checked(anisotropy: float) -> float:
    if not 0 <= finite_number("anisotropy", anisotropy) <= 1:
        raise InvalidParameter("anisotropy", anisotropy, "alpha from 0 to 1")
    return float(anisotropy)
