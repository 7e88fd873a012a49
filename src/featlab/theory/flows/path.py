"""The population flow of a neuron, by the same arcs and the same backtracking as on a batch.

Gradients of the population loss lie in the span of the target's direction beta and of the spike mu, so a neuron's path
stays on a sphere of one dimension more: its coordinates are those on the known axes (beta, and the part of mu off beta
if there is one) and the length of the rest, whose direction never changes.

With S = I + theta mu mu^T, kappa = 1 + theta <mu, beta>^2 and h = <x, beta> / sqrt(kappa), the loss is a function of
q = Var(u) and c = Cov(u, h) of the field u alone:

    spherical flow, u = <w, x>, |w| = norm:         q = norm^2 + theta <w, mu>^2,  c = <w, S beta> / sqrt(kappa),
    normalised flow, u = <v, z>, z = S^{-1/2} x:    q = norm^2,                    c = <v, S^{1/2} beta> / sqrt(kappa).

(Mousavi-Hosseini et al. 2023, arXiv:2309.03843.) In the spherical flow q grows with <w, mu>: that is the force that
may drive w away from mu, hence from beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.learners.flows import NormalisedFlow, SphericalFlow
from featlab.outcome import Outcome
from featlab.targets.inputs import Inputs, Isotropic, Spiked
from featlab.theory.flows.averages import Averages

_SHRINK = (0.1, 0.5)  # how far a step may shrink from one try to the next


@dataclass(frozen=True)
class Spike:
    """theta, and mu on the known axes, the first of which is beta."""

    strength: float
    axis: Floats

    @classmethod
    def of(cls, inputs: Inputs) -> Spike:
        """That of a law of inputs for a target of one direction; isotropic inputs have one of strength zero."""
        if isinstance(inputs, Isotropic):
            return cls(0.0, np.ones(1))
        if not isinstance(inputs, Spiked):
            raise InvalidParameter(
                "inputs", inputs, "Isotropic() or Spiked(strength, overlap); a law of spikes .at(dim)"
            )
        return cls(inputs.strength, np.array(inputs.spike))

    @property
    def target_scale(self) -> float:
        """sqrt(kappa), the standard deviation of <x, beta>."""
        return float(np.sqrt(1 + self.strength * self.axis[0] ** 2))

    def scaled(self, rows: Floats, power: float) -> Floats:
        """rows S^power, for rows (..., known + 1) of coordinates on the known axes and of the rest."""
        known = self.axis.size
        along = rows[..., :known] @ self.axis
        change = (1 + self.strength) ** power - 1
        result = rows.copy()
        result[..., :known] += change * along[..., None] * self.axis
        return result


@dataclass(frozen=True, eq=False)
class Landscape:
    """The population loss of a neuron a sigma(u + b) on its sphere.

    Attributes:
        averages: of the target and of sigma(. + b).
        second: a.
        norm: the radius of the sphere.
        spike: of the inputs.
        learner: which flow, and which loss.
    """

    averages: Averages
    second: float
    norm: float
    spike: Spike
    learner: SphericalFlow

    @property
    def normalised(self) -> bool:
        """Whether the points are v = S^{1/2} w, else w."""
        return isinstance(self.learner, NormalisedFlow)

    @property
    def target_axis(self) -> Floats:
        """The vector t with c = <point, t>."""
        beta = np.zeros(self.spike.axis.size + 1)
        beta[0] = 1.0
        return self.spike.scaled(beta, 0.5 if self.normalised else 1.0) / self.spike.target_scale

    def moments(self, point: Floats) -> tuple[float, float]:
        """q and c."""
        along = 0.0 if self.normalised else float(point[:-1] @ self.spike.axis)
        return self.norm**2 + self.spike.strength * along**2, float(point @ self.target_axis)

    def correlation(self, point: Floats) -> float:
        """rho = c / sqrt(q), the correlation of the neuron's field with the target's."""
        variance, covariance = self.moments(point)
        return covariance / float(np.sqrt(variance))

    def loss(self, point: Floats) -> float:
        """E[(y - f)^2] / 2, label noise included, or -E[y f]."""
        if self.learner.loss == "squared":
            return self.risk(point) / 2
        return -self.second * self.averages.correlation(*self.moments(point)).value

    def risk(self, point: Floats) -> float:
        """E[(y - f)^2], label noise included."""
        variance, covariance = self.moments(point)
        product = self.second * self.averages.correlation(variance, covariance).value
        return self.averages.label_square - 2 * product + self.second**2 * self.averages.square(variance).value

    def descent(self, point: Floats) -> Floats:
        """Minus the gradient on the sphere."""
        variance, covariance = self.moments(point)
        by = self.averages.correlation(variance, covariance)
        velocity = self.second * by.by_covariance * self.target_axis
        if not self.normalised:
            by_variance = -self.second * by.by_variance
            if self.learner.loss == "squared":
                by_variance += self.second**2 * self.averages.square(variance).by_variance / 2
            known = self.spike.axis
            velocity[:-1] -= by_variance * 2 * self.spike.strength * (point[:-1] @ known) * known
        return self._tangent(point, velocity)

    def steered(self, point: Floats, tangent: Floats) -> Floats:
        """The velocity of the flow for that descent: the same, or S times it on the sphere without preconditioning."""
        if isinstance(self.learner, NormalisedFlow) and not self.learner.preconditioned:
            return self._tangent(point, self.spike.scaled(tangent, 1.0))
        return tangent

    def weights(self, points: Floats) -> Floats:
        """w of points (..., known + 1), in the same coordinates."""
        return self.spike.scaled(points, -0.5) if self.normalised else points

    def point(self, weights: Floats) -> Floats:
        """The point of weights of any length."""
        rows = self.spike.scaled(weights, 0.5) if self.normalised else weights
        return self.norm * rows / np.linalg.norm(rows)

    def _tangent(self, point: Floats, vector: Floats) -> Floats:
        return vector - (vector @ point) / self.norm**2 * point


class Slope(Protocol):
    """What a step along a great circle asks of a loss on a sphere."""

    @property
    def norm(self) -> float:
        """The radius of the sphere."""

    @property
    def learner(self) -> SphericalFlow:
        """Which flow: the angles that are tried."""

    def loss(self, point: Floats) -> float:
        """At a point."""


@dataclass(frozen=True)
class Path:
    """Where a neuron goes.

    Attributes:
        points: (taken + 1, known + 1): at the start and after every step until it rests.
        losses: (taken + 1,).
        iterations: the number of gradients that were asked for.
        outcome: "ok", at rest; "stalled", no slope or no lower loss; "not converged", still moving.
    """

    points: Floats
    losses: Floats
    iterations: int
    outcome: Outcome

    def after(self, steps: ArrayLike) -> Floats:
        """The points after these numbers of steps."""
        return self.points[np.minimum(np.asarray(steps, dtype=np.intp), len(self.points) - 1)]

    def arc_from(self, step: int) -> float:
        """The angle between the point after that many steps and the last one."""
        here, last = self.points[min(step, len(self.points) - 1)], self.points[-1]
        return float(np.arccos(np.clip(here @ last / (np.linalg.norm(here) * np.linalg.norm(last)), -1, 1)))


def walk(landscape: Landscape, weights: Floats, steps: int | None = None) -> Path:
    """The path from weights (known + 1,) of any length, for the learner's number of steps or for so many.

    Arcs, backtracking and endings are those of `featlab.learners.SphericalFlow`.
    """
    learner = landscape.learner
    points = [landscape.point(weights)]
    losses = [landscape.loss(points[0])]
    most, steepest = learner.steps if steps is None else steps, 0.0

    def path(taken: int, outcome: Outcome) -> Path:
        return Path(np.array(points), np.array(losses), taken, outcome)

    for number in range(1, most + 1):
        tangent = landscape.descent(points[-1])
        direction = landscape.steered(points[-1], tangent)
        direction = landscape.norm * direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
        slope = float(tangent @ direction)
        steepest = max(steepest, slope)
        if 0 < slope <= learner.tolerance * steepest:
            return path(number, Outcome.OK)
        found = along_arc(landscape, points[-1], losses[-1], direction, slope) if slope > 0 else None
        if found is None:
            return path(number, Outcome.STALLED)
        points.append(found[0])
        losses.append(found[1])
    return path(most, Outcome.NOT_CONVERGED)


def along_arc(
    landscape: Slope, point: Floats, loss: float, direction: Floats, slope: float
) -> tuple[Floats, float] | None:
    """The next point and its loss, the first on the great circle that is lower; None, there is none."""
    arc = landscape.learner.arc
    while arc >= landscape.learner.floor:
        ahead = np.cos(arc) * point + np.sin(arc) * direction
        value = landscape.loss(ahead)
        if value < loss:
            return landscape.norm * ahead / np.linalg.norm(ahead), value
        promise = slope * arc
        arc *= float(np.clip(promise / (2 * (value - loss + promise)), *_SHRINK))
    return None
