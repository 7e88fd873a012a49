"""Learning curves: the error on held-out rows of estimators of four kinds, against the number of samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from featlab import interruption
from featlab.analysis.budget import doing
from featlab.estimators import (
    KernelRidge,
    MultiIndexRegressor,
    NoDirection,
    RandomFeatures,
    SlicedAverageVariance,
    SlicedInverseRegression,
    TwoLayerRegressor,
)
from featlab.gaussian.hermite import Floats
from featlab.theory.ridge import spectrum_risk

MOST_TRAINED, MOST_TESTED = 1536, 2048
_SPLITS = 3
_SIZES = 4
_LEAST = 16
_RIDGES = np.logspace(-4, 5, 28)
LINEAR = "linear"

Places = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class Curve:
    """Errors of an estimator.

    Attributes:
        kind: "linear", "kernel", "random features", "feature learning" or "directions".
        sizes: how many samples it was fitted to.
        errors: mean squared error over the variance of the label, by split and size (splits, sizes).
        theory: what theory says at these sizes, where it exists, else None.
    """

    kind: str
    estimator: str
    sizes: tuple[int, ...]
    errors: Floats
    theory: Floats | None

    @property
    def mean(self) -> Floats:
        return self.errors.mean(axis=0)

    @property
    def error(self) -> Floats:
        """One standard error."""
        return self.errors.std(axis=0, ddof=1) / np.sqrt(len(self.errors))


def learning_curves(
    inputs: Floats, labels: Floats, found: int, even: bool, seed: int, correlations: Floats | None
) -> tuple[Curve, ...]:
    """Each kind of estimator on the same splits of the first rows, which are in random order.

    Args:
        inputs: standardised columns (n, d).
        found: how many directions were found, and `even`, whether one of them at the second order.
        correlations: eigenvalues of the correlations, if theory is to be drawn over the linear curve; else None.
    """
    count = min(len(inputs), MOST_TRAINED + MOST_TESTED)
    tested = min(MOST_TESTED, max(count // 4, 1))
    largest = min(MOST_TRAINED, count - tested)
    sizes = tuple(sorted({max(_LEAST, largest >> power) for power in range(_SIZES)}))
    draw = np.random.default_rng(seed)
    splits = [draw.permutation(count) for _ in range(_SPLITS)]
    variance = labels[:count].var()
    curves = []
    for kind, (name, build) in _estimators(found, even, seed).items():
        doing(f"learning curve: {kind}")
        errors = np.zeros((_SPLITS, len(sizes)))
        for row, split in enumerate(splits):
            test = split[:tested]
            for column, size in enumerate(sizes):
                interruption.check()
                train = split[tested : tested + size]
                errors[row, column] = _missed(build(), inputs, labels, train, test) / variance
        theory = None
        if kind == LINEAR and correlations is not None:
            theory = _ridge_theory(inputs[:count], labels[:count], correlations, sizes)
        curves.append(Curve(kind, name, sizes, errors, theory))
    return tuple(curves)


def _estimators(found: int, even: bool, seed: int) -> dict[str, tuple[str, Callable[[], Any]]]:
    from sklearn.linear_model import RidgeCV

    kinds: dict[str, tuple[str, Callable[[], Any]]] = {
        LINEAR: ("sklearn.linear_model.RidgeCV", lambda: RidgeCV(alphas=_RIDGES)),
        "kernel": ("featlab.estimators.KernelRidge", KernelRidge),
        "random features": ("featlab.estimators.RandomFeatures", lambda: RandomFeatures(random_state=seed)),
        "feature learning": ("featlab.estimators.TwoLayerRegressor", lambda: TwoLayerRegressor(random_state=seed)),
    }
    if found:
        directions = SlicedAverageVariance if even else SlicedInverseRegression
        name = f"featlab.estimators.MultiIndexRegressor({directions.__name__}({found}))"
        kinds["directions"] = (name, lambda: _MultiIndex(directions, found, seed))
    return kinds


class _MultiIndex:
    """Directions, whitened where the samples are enough, as many of them as so few samples can tell apart."""

    def __init__(self, directions: Any, found: int, seed: int) -> None:
        self.directions, self.found, self.seed = directions, found, seed

    def fit(self, inputs: Floats, labels: Floats) -> _MultiIndex:
        values = len(np.unique(labels))
        most = inputs.shape[1] if self.directions is SlicedAverageVariance else min(9, values - 1, inputs.shape[1])
        frame = "whiten" if len(inputs) >= 2 * inputs.shape[1] else "standardise"
        kind = self.directions(max(1, min(self.found, most)), inputs=frame)
        self.model = MultiIndexRegressor(kind, random_state=self.seed).fit(inputs, labels)
        return self

    def predict(self, inputs: Floats) -> Floats:
        return self.model.predict(inputs)


def _missed(model: Any, inputs: Floats, labels: Floats, train: Places, test: Places) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDirection)
        fitted = model.fit(inputs[train], labels[train])
    return float(np.mean((labels[test] - fitted.predict(inputs[test])) ** 2))


def _ridge_theory(inputs: Floats, labels: Floats, eigenvalues: Floats, sizes: tuple[int, ...]) -> Floats | None:
    """The error of ridge regression with its best ridge (`theory.ridge.spectrum_risk`), over the variance of the label.

    The covariance is that of the samples, the linear part of the label is that of least squares on all of them, without
    bias: its energy r^2 = 1 - (1 - R^2)(n - 1)/(n - d - 1) is spread over the eigenvectors as it is found there.
    """
    count, dim = inputs.shape
    if count < 4 * dim:
        return None
    standard = (labels - labels.mean()) / labels.std()
    values, vectors = np.linalg.eigh(inputs.T @ inputs / count)
    along = (vectors.T @ (inputs.T @ standard) / count) ** 2 / values
    left = (1 - along.sum()) * (count - 1) / (count - dim - 1)
    energies = np.maximum(along - left / count, 0)
    linear = max(0.0, 1 - left)
    energies *= linear / energies.sum() if energies.sum() > 0 else 0

    def risk(size: int) -> float:
        parts = (values, np.ones(dim), energies, left)
        found = minimize_scalar(
            lambda power: spectrum_risk(parts, size, float(np.exp(power)))[0], bounds=(-9, 9), method="bounded"
        )
        return float(found.fun) * (1 + 1 / size)  # the mean of the label is fitted, too

    return np.array([risk(size) for size in sizes])
