"""What a batch of n samples does to a flow, to leading order: its gradient has noise that the population's has not.

The gradient on a batch, -(1/n) sum_j D_j x_j with D = -(d loss / d field), differs from its mean by a vector whose part
off the known axes has the squared length

    N^2 = (d / n) E[D^2],

in a direction nu of chance, the same for the whole path, as the batch is. So a flow on a batch is followed as one on
the population's loss less N <nu, w>, with nu orthogonal to all that is known and N as large as it is at each step. It
is behind the population's, by 1/n where N is small next to the slope. Where it is not, at a start that hardly anything
drives or where the path crosses such a point, the noise decides, and the two are far apart at any n that is run.

That is no prediction at n (the noise of a batch also depends on w), but says how large what is neglected is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.learners.flows import SphericalFlow
from featlab.outcome import Outcome
from featlab.theory.flows.path import Landscape, Path, along_arc


@dataclass(frozen=True, eq=False)
class Tilted:
    """The population's loss less N <nu, w>, in the coordinates of `Landscape` and one more, that along nu."""

    inner: Landscape
    noise: float

    @property
    def norm(self) -> float:
        """The radius of the sphere."""
        return self.inner.norm

    @property
    def learner(self) -> SphericalFlow:
        """Which flow."""
        return self.inner.learner

    def loss(self, point: Floats) -> float:
        """Of a point (known + 2,)."""
        return self.inner.loss(folded(point)) - self.noise * float(point[-1])

    def descent(self, point: Floats) -> Floats:
        """Minus the gradient on the sphere."""
        found, rest = self.inner.descent(folded(point)), point[-2:]
        length = np.linalg.norm(rest)
        across = found[-1] * (rest / length if length > 0 else np.array([1.0, 0.0]))
        pull = -self.noise * point[-1] / self.norm**2 * point
        pull[-1] += self.noise
        return np.concatenate([found[:-1], across]) + pull


def folded(points: Floats) -> Floats:
    """Points (..., known + 2) in the coordinates of the population: of the rest and of nu only the length counts."""
    return np.concatenate([points[..., :-2], np.linalg.norm(points[..., -2:], axis=-1, keepdims=True)], axis=-1)


def noise_at(landscape: Landscape, point: Floats, dim: int, samples: int) -> float:
    """N at a point (known + 1,) of the population."""
    force = landscape.averages.force_square(*landscape.moments(point), landscape.second, landscape.learner.loss)
    return float(np.sqrt(dim / samples * force))


@dataclass(frozen=True)
class NoisyPath:
    """A path under the noise of a batch: its points, folded, and at each step taken the slope of the population's loss
    and N."""

    path: Path
    slopes: Floats
    noises: Floats


def noisy_walk(landscape: Landscape, weights: Floats, steps: int, dim: int, samples: int) -> NoisyPath:
    """The path from weights (known + 1,) for so many steps at most on a batch of n samples in d dimensions."""
    points, slopes, noises, steepest = [np.append(landscape.point(weights), 0.0)], [], [], 0.0
    for _ in range(steps):
        here = folded(points[-1])
        tilted = Tilted(landscape, noise_at(landscape, here, dim, samples))
        slopes.append(float(landscape.norm * np.linalg.norm(landscape.descent(here))))
        noises.append(landscape.norm * tilted.noise)
        tangent = tilted.descent(points[-1])
        direction = landscape.steered(points[-1], tangent)
        direction = landscape.norm * direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
        slope = float(tangent @ direction)
        steepest = max(steepest, slope)
        if slope <= landscape.learner.tolerance * steepest:
            break
        found = along_arc(tilted, points[-1], tilted.loss(points[-1]), direction, slope)
        if found is None:
            break
        points.append(found[0])
    path = Path(folded(np.array(points)), np.full(len(points), np.nan), len(slopes), Outcome.OK)
    return NoisyPath(path, np.array(slopes), np.array(noises))
