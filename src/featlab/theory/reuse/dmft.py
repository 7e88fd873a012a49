"""Full-batch descent on one batch of n = alpha d samples as d -> infinity: the dynamical mean-field recursion.

Statement. Let w_i <- w_i + gamma (1/n) sum_nu D_i^nu x^nu, where the *force* D_i = r a_i sigma'(lambda_i + b_i) knows a
sample through its fields lambda = W x and its label only. As d -> infinity the samples of the batch become independent
copies of one process, and W lives in a small frame: the target's directions, the span of W_0, and for each step the
p new directions along which X^T D_t leaves what was known. On orthonormal axes of the frame,

    coordinates of a sample    on the target's axes h ~ N(0, I_r), on those of W_0 noise N(0, I),
                               on those of step s: U_s / sqrt(alpha) + noise N(0, I);
    fields                     lambda_t = W_t (coordinates);
    pull-back, known axes      (1/n) D_t^T X -> E[D_t coordinate];
    pull-back, new axes        (1/n) D_t^T X -> L_t / sqrt(alpha), L_t L_t^T = E[D'_t D'_t^T], D'_t = L_t U_t,

where D'_t is D_t less its projection on all earlier forces (in L2 over the samples), so that the U_s are orthonormal.

Derivation. The frame holds every X^T D_s with s < t, so on the axes outside it X is a Gaussian matrix conditioned on
D_s^T X = 0. Hence D_t^T X is there a p x d Gaussian matrix with row covariance n E[D'_t D'_t^T]: its rows are L_t times
p orthogonal vectors of length sqrt(n d), the new axes. A sample's coordinate on them is D'_t regressed on that product,
U_t sqrt(d/n), plus the part of X that no product has shown yet. It is the argument of Bolthausen (2014) for message
passing, and of Celentano, Cheng and Montanari (2021, arXiv:2112.07572) for gradient methods.

Relation to the usual form (Dandi et al. 2024, arXiv:2402.03220). There fields are lambda_t = M_t h + z_t + (1/alpha)
sum_{s<t} G_ts D_s, G_ts = d w_t / d u_s, with Gaussian z_t whose covariance is W_t W_s^T off the target's span, and

    w_{t+1} = w_t + gamma (u_t + sum_{s<=t} F_ts w_s),   F_ts = E[d D_t / d z_s],   E[u_t u_s] = E[D_t D_s] / alpha.

By Gaussian integration by parts E[D_t z_s] = sum_v F_tv E[z_v z_s]: the responses are correlations of the forces with
the noises, which is all that is used here. For a kinked activation F_ts contains E[r a delta(lambda_t - kink) ...]. The
correlation includes it by itself; responses from sigma'' away from the kink miss it, by a finite amount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.outcome import DIVERGED_NORM
from featlab.targets import Target
from featlab.theory.online.averages import Path, Student

# A force whose part outside the earlier forces has less than this share of its variance brings no new direction.
_NOTHING_NEW = 1e-12


@dataclass(frozen=True, eq=False)
class Descent(Student):
    """Full-batch gradient steps of a student f = (1/p) sum_i a_i sigma(<w_i, x> + b_i) on a target.

    Attributes:
        second, biases: a (p,), b (p,).
        step: gamma, per neuron, for the gradient of the mean loss.
        ratio: alpha = n/d.
        loss: "squared" or "correlation"; constraint: "none", "projected" or "spherical", at norm `norm`.
        samples: n, where rare samples are to be counted; None, as many as it takes.
    """

    target: Target
    activation: Activation
    second: Floats
    biases: Floats
    step: float
    ratio: float
    loss: str = "squared"
    constraint: str = "none"
    norm: float = 1.0
    samples: int | None = None

    def moved(self, weights: Floats, change: Floats) -> Floats:
        """Rows of weights after a change: projected on the sphere, along its tangent first if "spherical", or free."""
        if self.constraint == "spherical":
            along = np.sum(change * weights, axis=1, keepdims=True) / self.norm**2
            change = change - along * weights
        weights = weights + change
        if self.constraint == "none":
            return weights
        return weights * (self.norm / np.linalg.norm(weights, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Points:
    """Weighted samples of the effective process.

    Attributes:
        coordinates: (N, K) on the axes of the frame known so far; the target's directions come first.
        labels: (N,).
        weights: (N,), of sum 1.
        forces: (N, q), an orthonormal basis U of the forces of earlier steps.
        spare: (N, s), independent N(0, 1) not used yet; a quadrature rule has none.
    """

    coordinates: Floats
    labels: Floats
    weights: Floats
    forces: Floats
    spare: Floats

    def mean(self, left: Floats, right: Floats) -> Floats:
        """E[left right^T], (a, b) from (N, a) and (N, b)."""
        return (left * self.weights[:, None]).T @ right


class Source(Protocol):
    """Where weighted samples come from: a quadrature rule, or a random sample."""

    def begin(self, axes: int, noisy: bool) -> Points:
        """Samples of the target's fields and of the label (`noisy`: with its additive noise), before a first step;
        noise along at most `axes` axes will be asked for."""

    def grow(self, points: Points, weights: Floats, axes: int) -> Points:
        """The points with independent N(0, 1) added to their last `axes` coordinates. The integrand is rough where a
        field, coordinates times weights, meets a kink of the activation."""


def walk(
    descent: Descent,
    source: Source,
    overlap: Floats,
    gram: Floats,
    steps: Iterable[int],
    uses: int,
    watch: Callable[[Floats, Floats, Floats], None] = lambda weights, forces, squares: None,
) -> Path:
    """The order parameters of T steps from M, Q, every batch being used `uses` times.

    A new batch knows nothing of W but M and Q, so that the frame is the target's directions and those of W again.
    Once norms exceed 1e6 the rest is NaN. `watch` is shown weights (N,) and forces (N, p) of every step, and
    squared norms (p,) before it.
    """
    rank, asked = overlap.shape[1], sorted(set(steps))
    uses = max(1, min(uses, asked[-1]))
    found = {}
    with np.errstate(over="ignore", invalid="ignore"):  # a divergence is an outcome
        for number in range(asked[-1] + 1):
            if number in asked:
                found[number] = (overlap, gram, risk(descent, source, overlap, gram))
            if number == asked[-1]:
                break
            if number % uses == 0:
                weights, axes = frame(overlap, gram)
                points = _embedded(source.begin(axes + (uses - 1) * len(overlap), noisy=True), axes)
            points = source.grow(points, weights, axes)
            force = descent.force(points.coordinates @ weights.T, points.labels)
            watch(points.weights, force, np.diag(gram))
            weights, points, axes = _step(descent, weights, points, force)
            overlap, gram = weights[:, :rank], weights @ weights.T
            if not np.all(np.diag(gram) < DIVERGED_NORM**2):
                nothing = (np.full_like(overlap, np.nan), np.full_like(gram, np.nan), np.nan)
                found |= {later: nothing for later in asked if later > number}
                break
    return Path(*(np.array([found[number][part] for number in asked]) for part in range(3)))


def risk(descent: Descent, source: Source, overlap: Floats, gram: Floats) -> float:
    """E[(y - f)^2] of a student with order parameters M, Q on a fresh sample, the additive noise entering exactly."""
    weights, axes = frame(overlap, gram)
    points = source.grow(_embedded(source.begin(axes, noisy=False), axes), weights, axes)
    errors = points.labels - descent.output(points.coordinates @ weights.T)
    return float(points.weights @ errors**2) + descent.target.noise


def frame(overlap: Floats, gram: Floats) -> tuple[Floats, int]:
    """W in a frame of the target's directions and as few others as it takes, and how many those are."""
    rest = gram - overlap @ overlap.T
    root = lower_root(rest, np.diag(gram))
    return np.hstack([overlap, root]), root.shape[1]


def lower_root(matrix: Floats, scale: Floats) -> Floats:
    """L (p, q) with L L^T = matrix, lower trapezoidal: Cholesky's factor without the columns of dependent rows.

    A row is dependent if the rows above leave less than 1e-12 `scale` of its variance.
    """
    columns: list[Floats] = []
    rest = matrix.copy()
    for row in range(len(matrix)):
        if rest[row, row] > _NOTHING_NEW * scale[row]:
            column = np.where(np.arange(len(matrix)) < row, 0.0, rest[:, row]) / np.sqrt(rest[row, row])
            columns.append(column)
            rest = rest - np.outer(column, column)
    return np.array(columns).reshape(len(columns), len(matrix)).T


def _embedded(points: Points, axes: int) -> Points:
    """Points with `axes` more coordinates, zero so far."""
    return replace(points, coordinates=np.pad(points.coordinates, ((0, 0), (0, axes))))


def _step(descent: Descent, weights: Floats, points: Points, force: Floats) -> tuple[Floats, Points, int]:
    """One step: the new weights; points with the mean of their coordinates on the new axes; how many axes are new."""
    known = points.mean(force, points.coordinates)
    new = force - points.forces @ points.mean(points.forces, force)
    root = lower_root(points.mean(new, new), np.diag(points.mean(force, force)))
    units = new @ np.linalg.pinv(root).T
    pull = np.hstack([known, root / np.sqrt(descent.ratio)])
    axes = root.shape[1]
    weights = descent.moved(np.pad(weights, ((0, 0), (0, axes))), descent.step * pull)
    grown = replace(
        points,
        coordinates=np.hstack([points.coordinates, units / np.sqrt(descent.ratio)]),
        forces=np.hstack([points.forces, units]),
    )
    return weights, grown, axes
