"""What full-batch steps on a reused batch do in the limit d -> infinity at n = alpha d (Dandi et al. 2024).

The recursion is in `dmft`. Its averages are taken by quadrature where few dimensions allow it (one neuron's first
two or three steps, fresh batches), by randomised Sobol points beyond; either way with a stated error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from time import monotonic

import numpy as np

from featlab.errors import MissingParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import REACH, Rule, gauss_pieces, gaussian_lines, nested_rule
from featlab.gaussian.sobol import sobol_normals
from featlab.learners.reuse import ReusedBatch
from featlab.learners.steps import step_at
from featlab.outcome import Outcome
from featlab.targets import Target
from featlab.targets.inputs import Isotropic
from featlab.telling import duration, tell
from featlab.theory.online.averages import Path
from featlab.theory.online.rare import MOST_RARE, RUNS, rare_share
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.reuse.dmft import Descent, Points, frame, walk

_PANELS = (-2.5, -1.0, 0.0, 1.0, 2.5)
# From fine to coarse: nodes on an axis of the link, of the label's noise, of a new axis; cuts of a new axis. Each is
# coarser than the one before on every axis, or their difference would not see the error of that axis.
_RESOLUTIONS = (
    ((24, 12, 12), _PANELS),
    ((16, 9, 8), _PANELS),
    ((12, 7, 6), _PANELS),
    ((9, 5, 5), (-1.5, 0.0, 1.5)),
)
_MOST_POINTS = 1_200_000
_MOST_AXES = 600
# Quadrature that is worse than this in an overlap is weighed against sampling.
_GOOD_ENOUGH = 2e-4
SAMPLES = 2**14
REPEATS = 16
_WORTH_TELLING = 20.0
_SMOOTH = 3  # a whole line without kinks gets the nodes of this many pieces
_WIDTH = 2.0**0.5


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Rules that grow axis by axis, each new axis cut where a field meets a kink of the activation.

    Attributes:
        kinks: (p, k): the values of each field at which the activation has a kink.
        nodes: Gauss points on each piece of an axis of the link's fields, of the label's noise, of a new axis.
        panels: where the line of a new axis is cut besides: after later steps, kinks are smoothed but still steep.
    """

    target: Target
    kinks: Floats
    nodes: tuple[int, int, int]
    panels: tuple[float, ...]

    @cached_property
    def _link(self) -> tuple[Rule, Floats]:
        rule = nested_rule(self.target.kinks, self.target.rank + self.target.hidden, self.nodes[0])
        return rule, self.target.link(rule.points)

    def begin(self, axes: int, noisy: bool) -> Points:
        """The rule of the target's fields, cut at the link's kinks, times one for the noise of the label."""
        rank, noise = self.target.rank, self.target.noise
        rule, labels = self._link
        fields, weights = rule.points[:, :rank], rule.weights
        if noisy and noise > 0:
            x, w = gauss_pieces((), self.nodes[1])
            fields = np.repeat(fields, x.size, axis=0)
            labels = (labels[:, None] + np.sqrt(noise) * x).ravel()
            weights = np.outer(weights, w).ravel()
        none = np.zeros((len(labels), 0))
        return Points(fields, labels, weights, forces=none, spare=none)

    def grow(self, points: Points, weights: Floats, axes: int) -> Points:
        """Each of the last axes in turn, its line through every point cut where a field that ends there has a kink."""
        known = weights.shape[1] - axes
        for axis in range(known, known + axes):
            ending = np.flatnonzero((weights[:, axis] != 0) & np.all(weights[:, axis + 1 :] == 0, axis=1))
            offsets = points.coordinates @ weights[ending].T
            cuts = (self.kinks[ending] - offsets[:, :, None]) / weights[ending, axis][:, None]
            line, x, w = self._lines(cuts.reshape(len(offsets), -1))
            coordinates = points.coordinates[line]
            coordinates[:, axis] += x
            points = Points(
                coordinates, points.labels[line], points.weights[line] * w, points.forces[line], points.spare[line]
            )
        return points

    def points(self, axes: int) -> int:
        """How many points the rule will have when noise has been added along so many axes (at most)."""
        # Axes are cut at the origin at least: a rule that is far too large is not laid out to be counted.
        least = (2 * self.nodes[0]) ** (self.target.rank + self.target.hidden)
        if least > _MOST_POINTS:
            return least
        begun = len(self.begin(axes, noisy=True).labels)
        pieces = len(self.panels) + 1 + self.kinks.shape[1] if self.kinks.shape[1] else _SMOOTH
        return begun * (pieces * self.nodes[2]) ** axes  # a whole number of any length: no float holds 500 axes

    def _lines(self, cuts: Floats) -> tuple[Integers, Floats, Floats]:
        """Numbers of lines, positions and weights of a rule for N(0, 1) on each of the lines, cut at its own places."""
        count = len(cuts)
        if cuts.shape[1] == 0:
            x, w = gauss_pieces((), _SMOOTH * self.nodes[2])
            return np.repeat(np.arange(count), x.size), np.tile(x, count), np.tile(w, count)
        return gaussian_lines((-REACH, *self.panels, REACH), cuts, self.nodes[2])


class SobolPoints:
    """Weighted scrambled Sobol points; every batch has its own scrambling.

    The fields of the link are drawn from N(0, 2) and weighted back: forces grow with them as fast as the link does, and
    the rare large ones carry the average (for He3 the error falls five-fold, for bounded links it hardly changes). The
    weights are normalised to sum 1, so averages are right up to O(1/count), and errors are far below 1/sqrt(count) for
    smooth functions (Owen 1997).
    """

    def __init__(self, target: Target, count: int, generator: np.random.Generator) -> None:
        self.target, self.count, self.generator = target, count, generator

    def begin(self, axes: int, noisy: bool) -> Points:
        """Fields and label of `count` samples; the noises of the axes to come are drawn with them."""
        rank, known = self.target.rank, self.target.rank + self.target.hidden
        normals = sobol_normals(known + 1 + axes, self.count, self.generator)
        fields = _WIDTH * normals[:, :known]
        weights = np.exp(-0.5 * (1 - _WIDTH**-2) * np.sum(fields**2, axis=1))
        labels = self.target.link(fields)
        if noisy:
            labels = labels + np.sqrt(self.target.noise) * normals[:, known]
        no_forces = np.zeros((self.count, 0))
        return Points(fields[:, :rank], labels, weights / weights.sum(), no_forces, spare=normals[:, known + 1 :])

    def grow(self, points: Points, weights: Floats, axes: int) -> Points:
        """The next `axes` of the noises drawn at the beginning."""
        coordinates = points.coordinates.copy()
        coordinates[:, coordinates.shape[1] - axes :] += points.spare[:, :axes]
        return replace(points, coordinates=coordinates, spare=points.spare[:, axes:])


@dataclass(frozen=True, eq=False)
class Estimate:
    """Order parameters, their numerical errors, and how they were computed."""

    path: Path
    errors: Path
    method: str
    rare: tuple[float, ...]  # of each step, the share of the squared norm after it that rests on rare samples

    @property
    def worst(self) -> float:
        """The largest error of an overlap (NaN if the descent diverged)."""
        return float(np.max(self.errors.overlap))


def by_quadrature(descent: Descent, overlap: Floats, gram: Floats, steps: Sequence[int], uses: int) -> Estimate | None:
    """The order parameters after `steps`, each batch used `uses` times, by quadrature; None where it is not affordable.

    The error is the difference between the rule and a coarser one.
    """
    _, axes = frame(overlap, gram)
    axes += (min(uses, max(1, *steps)) - 1) * len(overlap)
    kinks = np.array(descent.activation.kinks)[None, :] - descent.biases[:, None]
    rules = [Quadrature(descent.target, kinks, *resolution) for resolution in _RESOLUTIONS]
    for fine, coarse in pairwise(rules):
        if fine.points(axes) <= _MOST_POINTS:
            rare: list[float] = []
            path = walk(descent, fine, overlap, gram, steps, uses, _counting(descent, rare))
            rough = walk(descent, coarse, overlap, gram, steps, uses)
            return Estimate(path, path.distance(rough), "by quadrature", tuple(rare))
    return None


def by_sampling(
    descent: Descent,
    overlap: Floats,
    gram: Floats,
    steps: Sequence[int],
    uses: int,
    *,
    samples: int = SAMPLES,
    repeats: int = REPEATS,
) -> Estimate:
    """The same by `repeats` independent scramblings of `samples` Sobol points, the whole recursion run on each: their
    mean, and its standard error. The random numbers are always the same. `samples` must be a power of 2."""
    paths, rare = [], []
    for repeat in range(repeats):
        source = SobolPoints(descent.target, samples, np.random.default_rng([*b"reused batch", repeat]))
        shares: list[float] = []
        begin = monotonic()
        paths.append(walk(descent, source, overlap, gram, steps, uses, _counting(descent, shares)))
        rare.append(shares)
        if repeat == 0 and (left := (repeats - 1) * (monotonic() - begin)) > _WORTH_TELLING:
            tell(f"the recursion of {max(steps):,} steps takes about {duration(left)} more")
    parts = [np.array(part) for part in zip(*paths, strict=True)]
    mean = Path(*(part.mean(axis=0) for part in parts))
    error = Path(*(part.std(axis=0, ddof=1) / np.sqrt(repeats) for part in parts))
    shares = np.mean([one[: min(map(len, rare))] for one in rare], axis=0).tolist()
    return Estimate(mean, error, f"by {repeats} x {samples:,} Sobol points", tuple(shares))


def _counting(descent: Descent, found: list[float]) -> Callable[[Floats, Floats, Floats], None]:
    """Adds to a list, for each step, the share that rests on samples which ten batches are not likely to have."""
    scale = descent.step**2 / descent.ratio
    rarer_than = 0.0 if descent.samples is None else 1 / (RUNS * descent.samples)

    def watch(weights: Floats, forces: Floats, squares: Floats) -> None:
        found.append(rare_share(weights, forces, squares, scale, rarer_than))

    return watch


def estimate(descent: Descent, overlap: Floats, gram: Floats, steps: Sequence[int], uses: int) -> Estimate:
    """The order parameters by the more accurate of the two methods."""
    exact = by_quadrature(descent, overlap, gram, steps, uses)
    if exact is not None and not exact.worst > _GOOD_ENOUGH:
        return exact
    sampled = by_sampling(descent, overlap, gram, steps, uses)
    return sampled if exact is None or sampled.worst < exact.worst else exact


def predict_reuse(question: Question, start: Start) -> Prediction:
    """The order parameters of a `ReusedBatch` learner as d -> infinity at n/d = samples/dim.

    Raises:
        InvalidParameter: without a number of samples in a batch.
        NoPrediction: for inputs that are not isotropic, and for students too wide for so many steps on one batch.
    """
    learner = question.learner
    descent = describe(question, start)
    axes = len(start.overlap) * min(learner.uses, int(question.steps[-1]))
    if axes > _MOST_AXES:
        raise NoPrediction(
            f"{len(start.overlap)} neurons and {learner.uses} steps on one batch make {axes} directions, and the "
            f"recursion takes {_MOST_AXES} at most; ask for earlier times, fewer neurons, or a smaller steps_per_batch"
        )
    found = estimate(descent, start.overlap, start.gram, question.steps.tolist(), learner.uses)
    diverged = bool(np.any(np.isnan(found.path.risk)))
    rare = next((step for step, share in enumerate(found.rare) if share > MOST_RARE), None)
    if rare is not None and rare < question.steps[-1]:
        return _resting_on_rare(question, descent, found, rare)
    return Prediction(
        values=found.path._asdict(),
        errors=found.errors._asdict(),
        words=(
            f"Dynamical mean field of full-batch steps at n/d = {descent.ratio:g}, {found.method}; it neglects the "
            "fluctuations of a finite d, of order 1/sqrt(d) in a single run."
        ),
        outcome=Outcome.DIVERGED if diverged else Outcome.OK,
        remedy="the norm of a neuron exceeds 1e6: take a smaller step_size or a constraint" if diverged else "",
    )


def _resting_on_rare(question: Question, descent: Descent, found: Estimate, step: int) -> Prediction:
    """What is known before the step that rests on samples which no batch of this size has.

    For polynomial students the force of a reused batch is a polynomial of a high degree in the sample: its mean square
    is finite, but is made by samples that only far larger batches contain. Runs then scatter around something else.
    """
    early = question.steps <= step

    def kept(path: Path) -> dict[str, Floats]:
        return {
            name: np.where(early.reshape(-1, *(1,) * (value.ndim - 1)), value, np.nan)
            for name, value in path._asdict().items()
        }

    return Prediction(
        values=kept(found.path),
        errors=kept(found.errors),
        words=(
            f"Dynamical mean field of full-batch steps at n/d = {descent.ratio:g}, {found.method}; after step "
            f"{step + 1}, {found.rare[step]:.0%} of a squared norm rests on samples that {RUNS} batches of n = "
            f"{descent.samples:,} do not contain: no run of this size shows it."
        ),
        outcome=Outcome.RARE_INPUTS,
        remedy="take more samples, smaller steps, or a student whose slope is bounded, such as relu, tanh or erf",
    )


def describe(question: Question, start: Start) -> Descent:
    """The descent that a question is about."""
    target, learner = question.target, question.learner
    if not isinstance(learner, ReusedBatch):
        raise NoPrediction(f"the recursion of a reused batch is for ReusedBatch, not for {learner!r}")
    if not isinstance(target.inputs, Isotropic):
        raise NoPrediction(f"batch reuse is solved for isotropic inputs only, not for {target.inputs!r}; simulate it")
    if question.samples is None:
        raise MissingParameter("samples", "the number n of samples in a batch")
    return Descent(
        target=target,
        activation=activation(question.student.activation),
        second=start.second,
        biases=start.biases,
        step=step_at(learner.step_size, question.dim),
        ratio=question.samples / question.dim,
        loss=learner.loss,
        constraint=learner.constraint,
        norm=question.student.norm,
        samples=question.samples,
    )
