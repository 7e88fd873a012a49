"""Flows of a neuron: a step against the same in NumPy and against reading the inputs twice; whitening against its
flops; a population path.

A step of a flow on a stored X must read X twice: for the gradient, and for the fields of the direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.baselines import gaussian_batch
from benchmarks.measuring import Row, copy_bandwidth, problem, time_best, time_run
from featlab.gaussian.activations import activation
from featlab.learners import NormalisedFlow, SphericalFlow
from featlab.targets import Spiked, target
from featlab.theory.flows.averages import Averages
from featlab.theory.flows.path import Landscape, Spike, walk


@dataclass(frozen=True)
class Size:
    """Sizes of a measurement."""

    dim: int
    rows: int
    steps: int
    repeats: int
    megabytes: int


FULL, SMALL = Size(1000, 8000, 20, 5, 256), Size(20, 60, 2, 1, 1)


def rows(small: bool) -> list[Row]:
    """Steps on a stored X and on a virtual one, whitening, a population path."""
    size = SMALL if small else FULL
    return [*_steps(size), _whitening(size), _population(size)]


def _steps(size: Size) -> list[Row]:
    setting = f"d={size.dim} n={size.rows}, a step"
    learner = SphericalFlow(size.steps, tolerance=1e-12)  # it must not rest while it is timed
    batch = gaussian_batch(size.rows, size.dim)
    slow = time_best(lambda: plain_steps(batch, size.steps), size.repeats)
    base = slow.seconds / size.steps
    result = [Row("flow, NumPy", setting, base, "s", slow)]
    for kind in ("dense", "virtual"):
        task = problem(learner, dim=size.dim, width=1, kind=kind, samples=size.rows)
        timing = time_run(task, size.steps, 1, size.repeats, from_start=False)
        each = timing.seconds / size.steps
        result.append(Row(f"flow, {kind}", f"{setting}, against NumPy", base / each, "x", timing))
        if kind == "dense":
            moved = 2 * 4 * size.rows * size.dim / each
            share = moved / copy_bandwidth(size.megabytes)
            result.append(Row("flow, dense", f"{setting}, X read twice, of a copy's speed", share, "x", timing))
    return result


def _whitening(size: Size) -> Row:
    """The start of the normalised flow: X^T X, its Cholesky factor and a triangular solve, 2 n d^2 + ... flops."""
    learner = NormalisedFlow(size.steps, tolerance=1e-12)
    task = problem(learner, dim=size.dim, width=1, kind="dense", samples=size.rows)
    whole = time_run(task, 1, 1, size.repeats)
    flops = 3 * size.rows * size.dim**2 + size.dim**3 / 3
    square = np.ones((size.dim, size.dim), np.float32)
    best = time_best(lambda: square @ square, size.repeats)
    share = flops / whole.seconds / (2 * size.dim**3 / best.seconds)
    setting = f"d={size.dim} n={size.rows}, drawing and whitening, of a matrix product's flops"
    return Row("normalised flow, start", setting, share, "x", whole)


def _population(size: Size) -> Row:
    pair = Averages(target("He3(h1)"), activation("He3"))
    scape = Landscape(pair, 1 / 6, 1.0, Spike.of(Spiked(10.0, 0.3)), NormalisedFlow())
    timing = time_best(lambda: walk(scape, np.array([1e-3, 1e-3, 1.0])), size.repeats)
    return Row("population flow", "He3, d=10^6, spike at an angle, to its end", timing.seconds * 1e3, "ms", timing)


def plain_steps(batch: np.ndarray, steps: int) -> np.ndarray:
    """The spherical flow of a relu neuron in NumPy, float32, by arcs of 0.1 that are halved until the loss falls."""
    count, dim = batch.shape
    labels = batch[:, 0] ** 3 - 3 * batch[:, 0]
    weights = np.ones(dim, np.float32) / np.float32(dim) ** 0.5
    fields = batch @ weights
    for _ in range(steps):
        active = fields > 0
        gradient = ((labels - fields * active) * active) @ batch / count
        gradient -= (gradient @ weights) * weights
        direction = gradient / np.linalg.norm(gradient)
        ahead, arc = batch @ direction, 0.1
        before = np.mean((labels - fields * active) ** 2)
        while arc > 1e-5:
            moved = (np.cos(arc) * fields + np.sin(arc) * ahead).astype(np.float32)
            if np.mean((labels - np.maximum(moved, 0)) ** 2) < before:
                break
            arc /= 2
        fields = moved
        weights = np.cos(arc) * weights + np.sin(arc) * direction
    return weights
