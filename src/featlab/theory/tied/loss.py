"""The population loss of a network with one shared direction, as a function of its second layer and one cosine.

With m = <theta, theta*> the fields z of the target and u of the network are standard normals of correlation m, and
E[h_j(z) h_k(u)] = m^k [j = k], so that (Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651)

    L(c, m) = E[y^2] - 2 <c, a(m)> + <c, G c> + lambda |c|^2,     a_i(m) = sum_k alpha_k E[phi_i h_k] m^k,

G being the Gram matrix of the neurons. It is quadratic in c; its minimum over c is the projected loss
P(m) = E[y^2] - <a(m), (G + lambda)^{-1} a(m)>.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.checks import positive_number
from featlab.targets import Target
from featlab.targets import target as make_target
from featlab.theory.tied.neurons import LinkSeries, Neurons, link_series

# The series of a piecewise linear link and of relus fall like k^(-5/4): with so many terms a(m) is right to 1e-6, and
# its slope at |m| = 1 to about 1e-3; inside, m^k makes both exact.
ORDERS = 400
# Of an average over one field of smooth functions times relus: a fine grid, and Gauss nodes for the link given it.
_FIELD_REACH, _FIELD_POINTS, _INNER_NODES = 9.0, 20_001, 24
_NEGLIGIBLE = 1e-10  # eigenvalues of the neurons' products below this share of the largest: no data resolve them


@dataclass(frozen=True, eq=False)
class PopulationLoss:
    """L(c, m).

    Attributes:
        label_square: E[y^2], label noise included.
        gram: G (N, N).
        series: alpha_k E[phi_i h_k], (N, K + 1).
        penalty: lambda.
    """

    label_square: float
    gram: Floats
    series: Floats
    penalty: float

    def correlations(self, cosine: float | Floats, order: int = 0) -> Floats:
        """a(m) = E[y phi_i(u)], (N,), or its derivative of this order in m; for M cosines (N, M)."""
        degrees = np.arange(order, self.series.shape[1])
        factors = np.prod([degrees - lowered for lowered in range(order)], axis=0)
        powers = np.asarray(cosine, dtype=np.float64)[..., None] ** (degrees - order)
        return self.series[:, order:] @ (factors * powers).T

    def value(self, second: Floats, cosine: float) -> float:
        """L(c, m)."""
        error = self.label_square - 2 * second @ self.correlations(cosine) + second @ self.gram @ second
        return float(error + self.penalty * second @ second)

    def gradient(self, second: Floats, cosine: float) -> tuple[Floats, float]:
        """(dL/dc, dL/dm). On the sphere the gradient in theta is (dL/dm) (theta* - m theta)."""
        to_second = 2 * (self.gram @ second + self.penalty * second - self.correlations(cosine))
        return to_second, float(-2 * second @ self.correlations(cosine, 1))

    def best_second(self, cosine: float) -> Floats:
        """The c of lowest loss at this cosine, (G + lambda)^{-1} a(m)."""
        return self._solve(self.correlations(cosine))

    def projected(self, cosine: float, order: int = 0) -> float:
        """P(m) = min over c of L(c, m), or its derivative of order 1 or 2 in m.

        P' = -2 <a', (G + lambda)^{-1} a> is dL/dm at the best c, and P'' that of the Schur complement.
        """
        return float(self.projections(np.array([cosine]), order)[0])

    def projections(self, cosines: Floats, order: int = 0) -> Floats:
        """`projected` at many cosines, (M,)."""
        found = self.correlations(cosines)
        best = self._solve(found)
        if order == 0:
            return self.label_square - np.sum(best * found, axis=0)
        slope = self.correlations(cosines, 1)
        if order == 1:
            return -2 * np.sum(best * slope, axis=0)
        return -2 * np.sum(slope * self._solve(slope) + best * self.correlations(cosines, 2), axis=0)

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        return cho_factor(self.gram + self.penalty * np.eye(len(self.gram)))

    def _solve(self, right: Floats) -> Floats:
        return np.asarray(cho_solve(self._factor, right), dtype=np.float64)


def population_loss(
    target: Target | str | LinkSeries, neurons: Neurons, penalty: float, orders: int = ORDERS
) -> PopulationLoss:
    """The loss of these neurons on a target of one direction (or its series, when there are many networks).

    Source: Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651.

    Args:
        target: of one direction, its text, or its series.
        neurons: the activations that share one direction.
        penalty: lambda on |c|^2.
        orders: how many Hermite orders are summed.

    Raises:
        InvalidParameter: a penalty that is not above 0.

    Examples:
        >>> import numpy as np
        >>> from featlab.theory import Neurons, population_loss
        >>> loss = population_loss("h1", Neurons(np.linspace(-1, 1, 8), np.tile([1.0, -1.0], 4)), penalty=0.01)
        >>> loss.penalty
        0.01
    """
    link = target if isinstance(target, LinkSeries) else link_series(make_target(target), orders)
    series = link.coefficients * neurons.coefficients(len(link.coefficients) - 1)
    return PopulationLoss(link.square + link.noise, neurons.gram(), series, positive_number("penalty", penalty))


def ideal_projected_loss(target: Target | str, cosine: float, orders: int = ORDERS) -> float:
    """The projected loss as N -> infinity, then lambda -> 0: E[y^2] - sum_j alpha_j^2 m^(2j).

    Relus with all biases span all functions of one field, so that the best network is E[y | u] and what remains is its
    mean squared error. For a link of unit variance without mean that is 1 + sigma^2 - sum_{j >= s} alpha_j^2 m^(2j).
    """
    link = link_series(make_target(target), orders)
    powers = float(cosine) ** (2 * np.arange(len(link.coefficients)))
    beyond = link.square * link.missing * float(cosine) ** (2 * len(link.coefficients))
    return float(link.square + link.noise - link.coefficients**2 @ powers - beyond)


def refit_cost(target: Target | str, neurons: Neurons, cosine: float) -> float:
    """n' times what least squares on n' fresh samples costs above the projected loss, as n' -> infinity.

    Statement: with phi the neurons' outputs, r = y - <c, phi> the residual at the best c, A = E[phi phi^T] and
    B = E[r^2 phi phi^T], the fitted c has the covariance A^{-1} B A^{-1} / n' (White 1980), so that the excess is
    tr(A^{-1} B) / n'. Only if r^2 does not depend on the field is that N E[r^2] / n'. Here
    E[r^2 | u] = Var(f*(z) | u) + noise + (E[f*(z) | u] - <c, phi(u)>)^2, which grows with u for a polynomial link.
    """
    of = make_target(target)
    field = np.linspace(-_FIELD_REACH, _FIELD_REACH, _FIELD_POINTS)
    weights = np.exp(-(field**2) / 2)
    weights /= weights.sum()
    inner = gauss_pieces((), _INNER_NODES)
    values = of.link((cosine * field[:, None] + np.sqrt(1 - cosine**2) * inner[0]).reshape(-1, 1))
    values = values.reshape(len(field), -1)
    mean = values @ inner[1]
    outputs = neurons.features(field)
    gram = (outputs * weights[:, None]).T @ outputs
    inverse = np.linalg.pinv(gram, rcond=_NEGLIGIBLE, hermitian=True)
    best = outputs @ (inverse @ (outputs.T @ (weights * mean)))
    squares = values**2 @ inner[1] - mean**2 + of.noise + (mean - best) ** 2
    return float(np.trace(inverse @ ((outputs * (weights * squares)[:, None]).T @ outputs)))
