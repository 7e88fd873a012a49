"""Learning curves: the error on held-out rows of estimators of four kinds, against the number of samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featlab import interruption
from featlab.analysis.budget import doing
from featlab.diagnosis.curve_theory import (
    RiskAt,
    directions_theory,
    features_theory,
    fitted_energies,
    kernel_theory,
    linear_theory,
    split_theory,
)
from featlab.diagnosis.orders import Orders
from featlab.diagnosis.responses import MOST_CLASSES, rows_for_tails
from featlab.errors import InvalidParameter
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

MOST_TRAINED, MOST_TESTED = 1536, 2048
_SPLITS = 3
_SIZES = 4
_LEAST = 16
_RIDGES = np.logspace(-4, 5, 28)
LINEAR, KERNEL, FEATURES, DIRECTIONS = "linear", "kernel", "random features", "directions"
LEARNING, SPLIT = "feature learning", "split feature learning"
_SHARE = 0.5  # of the samples, which a split network keeps for its second layer

# Why there is no theory.
_FEW = "samples are too few for the covariance of the columns"
_ELSEWHERE = "it is known for inputs that may be N(0, I), and a label of which something is seen along a direction"
_NO_LINK = "the tails of the label, or rows that are held out, are not enough for a smooth link"
_KNOWN_NOISE = "its readout is fitted to the samples that trained its first layer, whose noise this knows"
_NO_SIR = "it is known for directions of sliced inverse regression, and labels that are no classes"

Places = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class Curve:
    """Errors of an estimator.

    Attributes:
        kind: "linear", "kernel", "random features", "feature learning" (all samples train both layers), "split feature
            learning" (half of them are kept for the second layer) or "directions".
        sizes: how many samples it was fitted to.
        errors: mean squared error over the variance of the label, by split and size (splits, sizes).
        gains: how much smaller it is, of the most samples, than that of their mean, on the same rows (splits,).
        gain_error: one standard error of these, by the rows of one split, as splits share rows.
        theory: what theory says at these sizes, where it exists, else None; `without`: why there is none, else "".
        tested: how many rows were held out of each split.
        tails_shown: whether so many rows show the tails, or the rarest values, of the label; else errors rest on
            a few of them, and nothing can be told.
    """

    kind: str
    estimator: str
    sizes: tuple[int, ...]
    errors: Floats
    gains: Floats
    gain_error: float
    theory: Floats | None
    without: str
    tested: int
    tails_shown: bool

    @property
    def mean(self) -> Floats:
        return self.errors.mean(axis=0)

    @property
    def error(self) -> Floats:
        """One standard error."""
        return self.errors.std(axis=0, ddof=1) / np.sqrt(len(self.errors))


def learning_curves(
    inputs: Floats,
    labels: Floats,
    found: int,
    even: bool,
    seed: int,
    draw: np.random.Generator,
    *,
    whitened: bool,
    fitted: Orders | None,
) -> tuple[Curve, ...]:
    """Each kind of estimator on the same splits of the first rows, which are in random order.

    Args:
        inputs: standardised columns (n, d).
        found: how many directions were found, and `even`, whether one of them at the second order.
        seed: of the estimators; `draw`: of the splits.
        whitened: whether samples are enough for a theory of the linear curve.
        fitted: what is seen of the label, if the inputs are isotropic and Gaussian: there is theory of the kernel, of
            random features and of directions too; else None.
    """
    count = min(len(inputs), MOST_TRAINED + MOST_TESTED)
    tested = min(MOST_TESTED, max(count // 4, 1))
    largest = min(MOST_TRAINED, count - tested)
    sizes = tuple(sorted({max(_LEAST, largest >> power) for power in range(_SIZES)}))
    splits = [draw.permutation(count) for _ in range(_SPLITS)]
    variance = labels[:count].var()
    tails_shown = tested >= rows_for_tails(labels[:count])
    linear = linear_theory(inputs[:count], labels[:count]) if whitened else None
    theories: dict[str, RiskAt | str] = {LINEAR: linear or _FEW, LEARNING: _KNOWN_NOISE}
    if fitted is not None:
        classes = len(np.unique(labels[:count])) <= MOST_CLASSES
        theories |= _isotropic_theories(fitted, inputs.shape[1], 0 if even or classes else found)
    curves = []
    for kind, (name, build) in _estimators(found, even, seed).items():
        doing(f"learning curve: {kind}")
        errors, apart = np.zeros((_SPLITS, len(sizes))), np.zeros((_SPLITS, tested))
        for row, split in enumerate(splits):
            test = split[:tested]
            for column, size in enumerate(sizes):
                interruption.check()
                train = split[tested : tested + size]
                missed = _missed(build(), inputs, labels, train, test) / variance
                errors[row, column] = missed.mean()
                of_mean = (labels[test] - labels[train].mean()) ** 2 / variance
                apart[row] = of_mean - missed  # that of the last size stays
        theory = theories.get(kind, _ELSEWHERE)
        if isinstance(theory, str):
            said, without = None, theory
        else:
            said, without = np.array([theory(size) for size in sizes]), ""
        gains, gain_error = apart.mean(axis=1), float(np.sqrt(apart.var(axis=1, ddof=1).mean() / tested))
        curves.append(Curve(kind, name, sizes, errors, gains, gain_error, said, without, tested, tails_shown))
    return tuple(curves)


def _isotropic_theories(fitted: Orders, dim: int, found: int) -> dict[str, RiskAt | str]:
    """Of kernels, random features and split networks, and along `found` directions of SIR if there are any."""
    energies, smooth, features = fitted_energies(fitted), fitted.smooth, RandomFeatures()
    theories: dict[str, RiskAt | str] = {}
    if energies is not None:
        theories[KERNEL] = kernel_theory(KernelRidge().kernel, energies, dim)
        theories[FEATURES] = features_theory(features.activation, features.width, energies, dim)
    if smooth is None:
        return theories | {SPLIT: _NO_LINK, DIRECTIONS: _NO_LINK}
    theories[SPLIT] = split_theory(smooth, dim, TwoLayerRegressor().learner, _SHARE)
    sliced = SlicedInverseRegression()
    theories[DIRECTIONS] = directions_theory(smooth, found, sliced.slices, dim) if found else _NO_SIR
    return theories


def _estimators(found: int, even: bool, seed: int) -> dict[str, tuple[str, Callable[[], Any]]]:
    from sklearn.linear_model import RidgeCV

    kinds: dict[str, tuple[str, Callable[[], Any]]] = {
        LINEAR: ("sklearn.linear_model.RidgeCV", lambda: RidgeCV(alphas=_RIDGES)),
        KERNEL: ("featlab.estimators.KernelRidge", KernelRidge),
        FEATURES: ("featlab.estimators.RandomFeatures", lambda: RandomFeatures(random_state=seed)),
        LEARNING: ("featlab.estimators.TwoLayerRegressor", lambda: TwoLayerRegressor(random_state=seed)),
        SPLIT: (
            f"featlab.estimators.TwoLayerRegressor(readout_share={_SHARE})",
            lambda: TwoLayerRegressor(readout_share=_SHARE, random_state=seed),
        ),
    }
    if found:
        directions = SlicedAverageVariance if even else SlicedInverseRegression
        name = f"featlab.estimators.MultiIndexRegressor({directions.__name__}({found}))"
        kinds[DIRECTIONS] = (name, lambda: _MultiIndex(directions, found, seed))
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


def _missed(model: Any, inputs: Floats, labels: Floats, train: Places, test: Places) -> Floats:
    """The squared errors of rows; after rows so few that no column varies, those of their mean."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDirection)
        try:
            found = model.fit(inputs[train], labels[train]).predict(inputs[test])
        except InvalidParameter as fault:
            if fault.name != "X":
                raise
            found = labels[train].mean()
    return np.asarray((labels[test] - found) ** 2)
