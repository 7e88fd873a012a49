"""Classical dimension reduction: against explicit matrices by NumPy, and against the bytes of X that must move."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

from benchmarks.measuring import Cubic, Row, Timing, copy_bandwidth, time_best, time_run
from featlab.learners import PrincipalHessian, SlicedAverageVariance, SlicedInverseRegression
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.problem import Problem

_SLICES = 10
_ITERATIONS = 10


def rows(small: bool) -> list[Row]:
    """SIR at two dimensions, one of them far beyond a stored X; an iteration of PHD and of SAVE on a stored X."""
    dim, samples = (40, 100) if small else (1000, 20_000)
    repeats = 1 if small else 3
    inputs, labels = _data(dim, samples)
    setting = f"d={dim} n={samples}"
    sir = time_run(_task(SlicedInverseRegression(_SLICES), dim, samples, "virtual"), 1, 1, repeats)
    found = [
        Row("SIR, NumPy", setting, _sir(inputs, labels, repeats).seconds / sir.seconds, "times faster", sir),
    ]
    if not small:
        far = time_run(_task(SlicedInverseRegression(_SLICES), 10**6, 10**6, "virtual"), 1, 1, repeats)
        found.append(Row("SIR", "d=1e6 n=1e6", 10**6 / far.seconds / 1e6, "million samples/s", far))
    explicit = _phd(inputs, labels, repeats)
    bandwidth = copy_bandwidth(1 if small else 256) / 2
    for name, learner, reads in (
        ("PHD", PrincipalHessian(_ITERATIONS, 1e-30), 2),
        ("SAVE", SlicedAverageVariance(_SLICES, _ITERATIONS, 1e-30), 4),
    ):
        whole = time_run(_task(learner, dim, samples, "dense"), _ITERATIONS, 1, repeats, from_start=False)
        each = Timing(whole.seconds / _ITERATIONS, whole.compile_seconds)
        share = reads * inputs.nbytes / bandwidth / each.seconds
        found.append(Row(f"{name} iteration, of reading X {reads} times", setting, share, "", each))
        if name == "PHD":
            faster = explicit.seconds / whole.seconds
            found.append(Row("PHD, d x d matrix and eigsh", setting, faster, "times faster", whole))
    return found


def _task(learner: Any, dim: int, samples: int, kind: str) -> Problem:
    wanted = demand(learner, None, Cubic(), Sizes(dim, Cubic.rank, samples, np.dtype(np.float32)))
    return Problem(Cubic(), None, learner, choose(wanted, True, kind).design)  # type: ignore[arg-type]


def _data(dim: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    inputs = np.random.default_rng(0).standard_normal((samples, dim), dtype=np.float32)
    return inputs, inputs[:, 0] ** 3 - 3 * inputs[:, 0]


def _sir(inputs: np.ndarray, labels: np.ndarray, repeats: int) -> Timing:
    """Drawing X, as ours does, and the means over slices."""

    def once() -> None:
        _data(inputs.shape[1], len(labels))
        parts = np.array_split(np.argsort(labels), _SLICES)
        np.linalg.svd(np.array([inputs[part].mean(axis=0) for part in parts]), full_matrices=False)

    return time_best(once, repeats)


def _phd(inputs: np.ndarray, labels: np.ndarray, repeats: int) -> Timing:
    """The explicit matrix and its leading eigenvector."""

    def once() -> None:
        residuals = labels - labels.mean() - inputs @ (labels @ inputs / len(labels))
        eigsh((residuals[:, None] * inputs).T @ inputs / len(labels), k=1, which="LM")

    return time_best(once, repeats)
