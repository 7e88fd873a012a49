"""What is left of a tree target when only a part of its hidden field is known, as D goes to infinity.

y = (1/sqrt r) sum_i g(h_i*), h* = a . P(z)/sqrt(D), z ~ N(0, I_D) (Dandi et al. 2025, arXiv:2502.13961). For large D
the hidden fields are independent Gaussians of variance v = E[P^2], and so is the part h_<=q* that P's degrees up to q
contribute, of variance v_q. Hence what a polynomial of degree q in the inputs can fit at best is linear in h_<=q*:

    Var y - E[g(h) h]^2 v_q / v^2.

With q = k, the degree of P, that is all that a two-layer network can do that knows W* but has n < D^(k+1) samples; with
q = 2 it is the limit of a quadratic kernel. A third layer that knows h* fits g itself, and nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.quadrature import gauss_pieces, static_breaks
from featlab.learners.checks import positive_integer
from featlab.targets import Target, TreeTarget
from featlab.targets import target as make_target

# Gauss points on each piece of the line, which is also cut at these places: g may be steep anywhere near the origin.
_NODES, _CUTS = 40, (-2.0, -1.0, 0.0, 1.0, 2.0)


@dataclass(frozen=True)
class TreeLimits:
    """The moments of a tree target as D goes to infinity, of one block (with r of them, risks are the same).

    Attributes:
        by_degree: j! c_j^2 for P = sum_j c_j He_j: what each degree adds to Var h*.
        second_moment: E[g(h)^2]. mean: E[g(h)]. slope: E[g(h) h].
    """

    by_degree: tuple[float, ...]
    second_moment: float
    mean: float
    slope: float

    @property
    def hidden_variance(self) -> float:
        """v = Var h*."""
        return sum(self.by_degree)

    @property
    def variance(self) -> float:
        """Var y: the risk of a guess."""
        return self.second_moment - self.mean**2

    @property
    def two_layers(self) -> float:
        """The risk of the best predictor that is linear in h*."""
        return self.of_degree(len(self.by_degree) - 1)

    def of_degree(self, degree: int) -> float:
        """The risk of the best polynomial of this degree in the inputs, up to the degree of P."""
        if not 0 <= degree < len(self.by_degree):
            raise InvalidParameter("degree", degree, f"from 0 to {len(self.by_degree) - 1}, the degree of P")
        return self.variance - self.slope**2 * sum(self.by_degree[: degree + 1]) / self.hidden_variance**2


def tree_limits(tree: TreeTarget | str) -> TreeLimits:
    """The limits of a tree target: its g and P count, not its D.

    Source: Dandi et al. 2025, arXiv:2502.13961.

    Args:
        tree: the target, or its text "tree(g, P, D)".

    Examples:
        >>> from featlab.theory import tree_limits
        >>> round(tree_limits("tree(tanh(3*h1), He2(h1), 8)").slope, 4)
        1.1038
    """
    shape = checked_tree(tree).shape
    by_degree = tuple(float(factorial(j) * c**2) for j, c in enumerate(shape.coefficients))
    size = float(np.sqrt(sum(by_degree)))
    link = make_target(shape.link)
    # h = size z: a kink of g at h lies at h/size in z.
    points, weights = gauss_pieces([*_CUTS, *(place / size for place in static_breaks(link.kinks, 0, 1))], _NODES)
    values = link.link(size * points[:, None])
    return TreeLimits(by_degree, *(np.array([values**2, values, values * size * points]) @ weights).tolist())


def quadratic_ridge(tree: TreeTarget | str, dim: int, samples: int) -> float:
    """The risk of ridge regression on all quadratics of x, kernel (x.y)^2 + x.y + 1, at the best ridge.

    Neglected: what a finite D changes of signal and noise (`featlab.theory.depth.finite` does not), and what
    `ridge_on_quadratics` neglects.
    """
    limits = tree_limits(tree)
    left = limits.of_degree(min(2, len(limits.by_degree) - 1))
    return ridge_on_quadratics(limits.variance - left, left + checked_tree(tree).noise, dim, samples)


def ridge_on_quadratics(signal: float, noise: float, dim: int, samples: int) -> float:
    """The risk of ridge regression on the products of coordinates at the best ridge, for a label of which the variance
    `signal` is quadratic and `noise` is not.

    Statement: the N = d (d+1)/2 products of coordinates behave as N isotropic features, and the label as a linear
    signal s in them and a noise t; with gamma = N/n, the ridge gamma t/s (Dobriban, Wager 2018) and the kappa > 0 with
    ridge = kappa (1 - gamma/(1 + kappa)),

        risk = (s kappa^2/(1 + kappa)^2 + t) / (1 - gamma/(1 + kappa)^2).

    Neglected: the linear features (d of them), and that what is left of y is larger where the products are (at d = 24,
    D = 6 the risk is 10% higher for it).
    """
    ratio = dim * (dim + 1) / 2 / positive_integer("samples", samples)
    ridge = ratio * noise / signal
    half = (ratio + ridge - 1) / 2
    kappa = half + np.sqrt(half**2 + ridge)
    return float((signal * (kappa / (1 + kappa)) ** 2 + noise) / (1 - ratio / (1 + kappa) ** 2))


def checked_tree(tree: Target | str) -> TreeTarget:
    """A tree target from itself or from its text."""
    found = make_target(tree)
    if not isinstance(found, TreeTarget):
        raise InvalidParameter("tree", found.text, "a tree target: tree(g, P, D)")
    return found
