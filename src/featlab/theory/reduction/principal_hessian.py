"""The leading eigenvectors of PHD's matrix mean(r x x^T) at n = alpha d samples.

Statement, derived here: r = y - <b, x> with centred labels y and b = mean(y x), read off the same samples. Let s^2 be
Var y and beta = E[y h]. Off the target's directions b is a vector of length s / sqrt(alpha), and along it a sample has
the coordinate c = y / (s sqrt(alpha)) + zeta, zeta ~ N(0, 1): the average was taken over the sample itself. So

    r = (1 - 1/alpha) y - <beta, h> - (s / sqrt(alpha)) zeta,

and on all other coordinates the samples are Gaussian, but for being orthogonal (as columns of X) to y. Hence, with
weights 1 / (1 - u r) and axes a = (h, c),

    z(u) = 1 / (alpha u) + E[r / (1 - u r)],
    B(u) = E[r a a^T / (1 - u r)] - u v v^T / E[y^2 / (1 - u r)],   v = E[r y a / (1 - u r)],

up to u = 1 / max r (Lu, Li 2020, for weights that are a function of the label; the last term is the orthogonality).
The other end of the spectrum is that of -r. As alpha -> infinity B becomes E[r h h^T].

zeta is unbounded, so that for n/d fixed and d -> infinity single samples stand above everything in the end: n of them
have a maximum that grows with log n. What is told is for n samples, the law of r without what is rarer than one in n;
if u reaches 1 / max r, single samples are what stands at the edge, and they know nothing of h as d grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.theory.inverse_regression import labelled_points
from featlab.theory.reduction.outliers import Outlier, Outliers, outliers

_JUST_BELOW = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class WeightedBulk:
    """z and B of mean(r x x^T), from points of the law of a sample.

    Attributes:
        weights: r (N,). axes: a (N, s). labels: y (N,), centred.
        alpha: n / d.
    """

    weights: Floats
    axes: Floats
    labels: Floats
    alpha: float

    @property
    def largest(self) -> float:
        """1 / max r."""
        return float(_JUST_BELOW / self.weights.max())

    @property
    def typical(self) -> float:
        """A thousandth of it."""
        return self.largest / 1000

    def value(self, u: float) -> float:
        """z(u)."""
        return float(1 / (self.alpha * u) + np.mean(self.weights / (1 - u * self.weights)))

    def block(self, u: float) -> Floats:
        """B(u)."""
        count, heavy = len(self.weights), 1 / (1 - u * self.weights)
        along = (self.weights * self.labels * heavy) @ self.axes / count
        spread = (self.axes * (self.weights * heavy)[:, None]).T @ self.axes / count
        return spread - u * np.outer(along, along) / np.mean(self.labels**2 * heavy)


def phd_outliers(target: Target, alpha: float, samples: int, key: int) -> tuple[Outliers, Outliers]:
    """What stands above the bulk, and below it (there the values are negative); vectors on the axes (h, c).

    By one scrambled Sobol sequence, which `key` tells from others.
    """
    fields, labels, (noise,) = labelled_points(target, key, spare=1)
    labels = labels - labels.mean()
    size = float(np.sqrt(np.mean(labels**2)))
    slope = labels @ fields / len(labels)
    weights = (1 - 1 / alpha) * labels - fields @ slope - size / np.sqrt(alpha) * noise
    axes = np.column_stack([fields, labels / (size * np.sqrt(alpha)) + noise])
    above = _one_side(weights, axes, labels, alpha, samples)
    below = _one_side(-weights, axes, labels, alpha, samples)
    return above, Outliers(-below.edge, tuple(Outlier(-one.value, one.vector) for one in below.found))


def _one_side(weights: Floats, axes: Floats, labels: Floats, alpha: float, samples: int) -> Outliers:
    """Of weights r, without the largest of them that are rarer than one in n."""
    rare = len(weights) // samples
    kept = np.argsort(weights)[: len(weights) - rare]
    return outliers(WeightedBulk(weights[kept], axes[kept], labels[kept], alpha))
