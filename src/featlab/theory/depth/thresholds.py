"""How many samples each part of a tree target takes, as powers of d: kappa = log n / log d.

For D = d^e directions in a block and P of degree k, with information exponents 1 of g and 2 of P (Dandi et al. 2025,
arXiv:2502.13961): fresh batches of n1 = d^(1 + e + delta) let the first layer find the span of W*; then one
preconditioned step of the second layer on n2 = d^(k e + delta) samples finds h*, with p1 = d^(k e + delta') neurons in
the first layer; then d^delta samples fit the last one. Kernels learn the degrees up to floor(kappa) of the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from featlab.errors import InvalidParameter
from featlab.learners.checks import finite_number
from featlab.targets import TreeTarget
from featlab.theory.depth.limits import checked_tree, tree_limits


@dataclass(frozen=True)
class TreeThresholds:
    """Powers of d. What is proven is that so many samples suffice, up to any delta > 0.

    Attributes:
        directions: 1 + e, samples for the first layer to find W* (theorem).
        hidden: max(1 + e, k e), samples until h* is found (theorem).
        hidden_plain: max(1 + e, 2 k e), the same without the preconditioner (stated beside the theorem).
        first_width: k e, the neurons of the first layer (theorem).
        kernel: degree -> samples for a kernel to learn the part of h* of that degree, 1, ..., k.
    """

    directions: float
    hidden: float
    hidden_plain: float
    first_width: float
    kernel: dict[int, float]


@dataclass(frozen=True)
class TreeRisks:
    """Risks over the variance of the label, as d goes to infinity at n = d^kappa.

    Attributes:
        kernel: of a kernel or of random features, which learn no features (I).
        two_layers: of a two-layer network whose first layer is trained (II); from kappa = (k+1) e on, at most this.
        three_layers: of a three-layer network whose layers are trained one after the other (III).
    """

    kernel: float
    two_layers: float
    three_layers: float


def tree_thresholds(tree: TreeTarget | str) -> TreeThresholds:
    """The powers of d of a tree whose D is a law d^e.

    Source: Dandi et al. 2025, arXiv:2502.13961.

    Args:
        tree: the target, or its text "tree(g, P, D)".

    Examples:
        >>> import featlab
        >>> from featlab.theory import tree_thresholds
        >>> tree_thresholds(featlab.tree_target("tanh(3*h1)", "He2(h1)", exponent=0.5))
        TreeThresholds(directions=1.5, hidden=1.5, hidden_plain=2.0, ...
    """
    exponent, degree = _law(tree)
    return TreeThresholds(
        directions=1 + exponent,
        hidden=max(1 + exponent, degree * exponent),
        hidden_plain=max(1 + exponent, 2 * degree * exponent),
        first_width=degree * exponent,
        kernel={order: float(order) for order in range(1, degree + 1)},
    )


def tree_risks(tree: TreeTarget | str, kappa: float) -> TreeRisks:
    """The risks of the three learners at n = d^kappa (at a threshold: as just above it).

    Statement: a kernel fits h_<=q*, q = floor(kappa); so does a two-layer network in D instead of d dimensions,
    q = floor(kappa / e), once it has found W*; a three-layer network fits g(h*) once it has found h*. None is worse
    than a kernel.

    Source: Dandi et al. 2025, arXiv:2502.13961.

    Args:
        tree: the target, or its text "tree(g, P, D)".
        kappa: log n / log d.

    Raises:
        InvalidParameter: a kappa below 0, or a target that is no tree.

    Examples:
        >>> import featlab
        >>> from featlab.theory import tree_risks
        >>> risks = tree_risks(featlab.tree_target("tanh(3*h1)", "He2(h1)", exponent=0.5), kappa=1.6)
        >>> risks.kernel, round(risks.two_layers, 4), risks.three_layers
        (1.0, 0.2535, 0.0)
    """
    exponent, degree = _law(tree)
    found, at = tree_limits(tree), finite_number("kappa", kappa)
    if at < 0:
        raise InvalidParameter("kappa", kappa, "log n / log d, at least 0")
    thresholds = tree_thresholds(tree)
    kernel = found.of_degree(min(floor(at), degree))
    two = found.of_degree(min(floor(at / exponent + 1e-9), degree)) if at >= thresholds.directions else kernel
    three = 0.0 if at >= thresholds.hidden else two
    return TreeRisks(*(risk / found.variance for risk in (kernel, min(two, kernel), three)))


def _law(tree: TreeTarget | str) -> tuple[float, int]:
    shape = checked_tree(tree).shape
    if shape.exponent is None:
        raise InvalidParameter("tree", shape.text, "a tree whose D is a law in d: tree(g, P, d^e)")
    return shape.exponent, shape.degree
