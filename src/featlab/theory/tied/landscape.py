"""The critical points of the population loss of a network with one shared direction, found and classified numerically.

At a critical point c is the best one for its cosine m, and either dL/dm = 0 or |m| = 1, where the sphere ends. The
theorem of Bietti, Bruna, Sanford, Song 2022 (arXiv:2210.15651), for lambda small and N of order 1/lambda at least, has
two kinds: *bad*, m = 0 with c = 0, and *good*, m = +-1. At finite N and lambda there may be others; here they are
looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from featlab.gaussian.hermite import Floats
from featlab.theory.tied.loss import PopulationLoss

# Critical points off the equator are looked for from here on: nearer to it, slopes of order m^(2s-1) drown in rounding.
LEAST_COSINE = 0.02
_SCAN = 400
_ZERO = 1e-7


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A point where the loss has no slope in c nor along the sphere.

    Attributes:
        cosine: m.
        second: c.
        loss: L(c, m).
        kind: "good" (|m| = 1), "bad" (m = 0 and c = 0) or "other".
        curvature: the second derivative of the loss along a great circle through theta and theta*, c following at its
            best: -m dL/dm at a pole (in all d - 1 directions), (1 - m^2) P''(m) elsewhere. L being convex in c, the
            Hessian is positive where this is. It vanishes at the equator for information exponents above 1.
        stable: whether it is a local minimum: by the curvature, and where that vanishes by the loss nearby.
    """

    cosine: float
    second: Floats
    loss: float
    kind: str
    curvature: float
    stable: bool


def critical_points(loss: PopulationLoss) -> tuple[CriticalPoint, ...]:
    """All critical points with |m| = 0, |m| = 1 or 0.02 < |m| < 1, in the order of their cosines.

    Source: Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651.

    Args:
        loss: as `population_loss` gives it.

    Examples:
        >>> import numpy as np
        >>> from featlab.theory import Neurons, critical_points, population_loss
        >>> loss = population_loss("h1", Neurons(np.linspace(-1, 1, 8), np.tile([1.0, -1.0], 4)), penalty=0.01)
        >>> [round(point.cosine, 3) for point in critical_points(loss)]
        [-1.0, 0.0, 1.0]
    """
    found = [-1.0, 1.0]
    if abs(loss.projected(0.0, 1)) <= _ZERO * loss.label_square:
        found.append(0.0)
    grid = np.linspace(LEAST_COSINE, 1.0, _SCAN)
    for side in (-1.0, 1.0):
        slopes = loss.projections(side * grid, 1)
        for index in np.flatnonzero(slopes[:-1] * slopes[1:] < 0):
            found.append(float(brentq(loss.projected, *sorted(side * grid[index : index + 2]), args=(1,))))
    return tuple(_classified(loss, cosine) for cosine in sorted(found))


def _classified(loss: PopulationLoss, cosine: float) -> CriticalPoint:
    second = loss.best_second(cosine)
    value = loss.projected(cosine)
    if abs(cosine) == 1:
        curvature, kind = -cosine * loss.projected(cosine, 1), "good"
    else:
        curvature = (1 - cosine**2) * loss.projected(cosine, 2)
        kind = "bad" if cosine == 0 and np.linalg.norm(second) <= _ZERO else "other"
    if abs(curvature) > _ZERO * loss.label_square:
        stable = curvature > 0
    else:
        stable = min(loss.projected(side * LEAST_COSINE) for side in (-1.0, 1.0)) > value
    return CriticalPoint(cosine, second, value, kind, float(curvature), bool(stable))
