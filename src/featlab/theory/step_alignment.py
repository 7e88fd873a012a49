"""Where neurons point after one step on labels without their linear part, at finite d and n.

The step is that of Damian, Lee, Soltanolkotabi 2022 (arXiv:2206.15144), for relu: g = mean(r sigma'(<w, x>) x), with
r = y - alpha - <beta, x>, alpha and beta being means over the same samples. Derived here, to relative order 1/d:

Statement: given the target's fields h, <w, x> = <m, h> + s z with s^2 = 1 - |m|^2, m being the cosines of w. So the
mean of g is E[r h Phi(<m, h>/s)] along the directions, to leading order H m / sqrt(2 pi), and E[r phi(<m, h>/s)] along
w. Its fluctuation: sigma' = 1/2 +- 1/2, and as beta is fitted to the same samples, mean(r x) = (I - mean(x x^T)) beta
is left of the first half. The covariance is (E[r^2 h h^T] + Cov[<beta, h> h]) / (4n) along the directions, and
(E[r^2] + |beta|^2) / (4n) across them: half of what it would be without that fit, for small beta. r also contains the
errors of alpha and beta, of mean square (E[y^2 |x|^2] - |beta|^2 + E[y^2]) / n. The mean label alpha is taken to be
zero, and the fluctuation Gaussian, which for polynomials of high degree it becomes only from n ~ 4 d^2 on.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import nested_rule
from featlab.learners.checks import positive_integer
from featlab.targets import Target
from featlab.targets import target as make_target

_NODES = 40
_MOST_DIRECTIONS = 2
_ZERO = 1e-9


def step_alignment(target: Target | str, cosines: Floats, dim: int, samples: int) -> Floats:
    """E[|g_h|^2 / |g|^2], (p,): which share of each neuron's squared norm lies in the target's directions afterwards.

    Args:
        target: of at most two directions and mean zero, or its text; integrated by Gauss-Hermite quadrature of 40
            nodes, which is for polynomials and smooth links.
        cosines: m (p, r) of the neurons before the step.
        dim, samples: d and n.
    """
    of = make_target(target)
    if of.rank > _MOST_DIRECTIONS or of.hidden:
        raise InvalidParameter("target", of.text, "a target of at most two directions without noise inside its link")
    positive_integer("dim", dim)
    positive_integer("samples", samples)
    rule = nested_rule((), of.rank, _NODES, ())
    fields, weight = rule.points, rule.weights
    labels = of.link(fields)
    if abs(weight @ labels) > _ZERO * np.sqrt(weight @ labels**2):
        raise InvalidParameter("target", of.text, f"a mean of zero: subtract {weight @ labels:.6g}")
    slope = fields.T @ (weight * labels)
    linear = fields @ slope
    rest = labels - linear
    ratio = cosines @ fields.T / np.sqrt(1 - np.sum(cosines**2, axis=1, keepdims=True))  # (neuron, node)
    along = norm.cdf(ratio) @ ((weight * rest)[:, None] * fields)
    by_itself = norm.pdf(ratio) @ (weight * rest)
    square = labels**2 + of.noise
    misfit = weight @ (square * (dim - of.rank + 1 + np.sum(fields**2, axis=1))) - slope @ slope
    size = weight * (rest**2 + of.noise + misfit / samples + linear**2)
    count = 4 * samples
    spread = np.linalg.cholesky((fields.T @ (size[:, None] * fields) - np.outer(slope, slope)) / count)
    across = by_itself**2 + (dim - of.rank) * size.sum() / count
    found = np.sum((along[:, None] + fields @ spread.T) ** 2, axis=-1)  # (neuron, fluctuation)
    return np.asarray(found / (found + across[:, None]) @ weight)
