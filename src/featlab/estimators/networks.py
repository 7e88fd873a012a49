"""Two-layer networks on data: a first layer trained by a learner of featlab or left as it was, a second one fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from featlab.errors import InvalidParameter
from featlab.estimators.frames import frame_of
from featlab.estimators.linear import fit_features
from featlab.estimators.rows import Rows, split_rows
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.learners.first_step import PreprocessedStep
from featlab.learners.protocol import Learner
from featlab.learners.students import TwoLayer
from featlab.simulation.networks import draw_biases, start_network
from featlab.simulation.on_data import key_of, stored_problem, trained
from featlab.simulation.random import named


class FirstLayer(NamedTuple):
    """sigma(<w_i, z> + b_i) / sqrt(p), and what the learner took off the labels before: alpha + <beta, z>."""

    weights: Floats  # (p, q)
    biases: Floats  # (p,)
    slope: Floats  # (q,)


def first_layer(
    learner: Learner | None, student: TwoLayer, inputs: Floats, labels: Floats, seed: int, steps: int | None
) -> FirstLayer:
    """The first layer after its training on these data, with new biases N(0, 1) as `PreprocessedStep` has."""
    key = key_of(seed)
    problem = stored_problem(learner or PreprocessedStep(), student, inputs, labels)
    slope = np.zeros(inputs.shape[1])
    if learner is None:
        weights = np.asarray(start_network(named(key, "start"), problem).weights)
    else:
        state, _ = trained(learner, student, inputs, labels, seed, steps)
        weights, slope = state.network.weights, getattr(state, "slope", slope).reshape(-1)
    redrawn = replace(problem, student=replace(student, biases="gaussian", bias_scale=1.0, paired=False))
    return FirstLayer(weights, draw_biases(named(named(key, "observe"), "readout biases"), redrawn), slope)


class Networks(BaseEstimator):
    """What regressors and classifiers share: labels (n, k) of zero mean and about unit size, p/k neurons trained on
    each, and a second layer for each on top of all neurons. What is not of the second layer, the frame of the inputs
    included, is of the rows of the first."""

    learner: Learner | str | None
    width: int
    activation: str
    ridge: float | str
    fit_intercept: bool
    inputs: str
    steps: int | None
    readout_share: float
    random_state: Any

    def _split(self, groups: NDArray[Any]) -> tuple[Rows, int]:
        """The rows of each layer, by groups that both should have, and the seed of the start."""
        draw = check_random_state(self.random_state)
        seed = int(draw.randint(2**31))
        rows = split_rows(groups, self.readout_share, draw)
        self.readout_rows_ = np.arange(len(groups))[rows.second]
        return rows, seed

    def _fit_outputs(self, X: Floats, labels: Floats, rows: Rows, seed: int) -> None:
        known = X[rows.first]
        self.frame_ = frame_of(known, self.inputs)
        inputs = self.frame_.apply(known)
        width = max(1, self.width // labels.shape[1])
        student = TwoLayer(width, self.activation, "signs", biases="gaussian")
        learner = PreprocessedStep() if self.learner == "preprocessed" else self.learner
        if isinstance(learner, str):
            expected = "'preprocessed', None, or a learner such as featlab.GiantSteps()"
            raise InvalidParameter("learner", learner, expected)
        layers = [
            first_layer(learner, student, inputs, column, (seed + number) % 2**31, self.steps)
            for number, column in enumerate(labels[rows.first].T)
        ]
        self.first_layer_ = FirstLayer(
            np.concatenate([layer.weights for layer in layers]),
            np.concatenate([layer.biases for layer in layers]),
            np.stack([layer.slope for layer in layers]),
        )
        if self.readout_share:
            inputs = self.frame_.apply(X[rows.second])
        features, rest = self._features(inputs), labels[rows.second] - inputs @ self.first_layer_.slope.T
        fits = [fit_features(features, column, self.ridge, self.fit_intercept) for column in rest.T]
        self.coefficients_ = np.stack([fit.coefficients for fit in fits])
        self.intercepts_ = np.array([fit.intercept for fit in fits])
        self.ridges_ = np.array([fit.ridge for fit in fits])
        turned = self.first_layer_.weights @ self.frame_.matrix
        norms = np.linalg.norm(turned, axis=1, keepdims=True)
        self.directions_ = turned / np.where(norms > 0, norms, 1)  # a neuron that no sample excites has no direction

    def _features(self, inputs: Floats) -> Floats:
        layer = self.first_layer_
        values = activation(self.activation).value(inputs @ layer.weights.T + layer.biases)
        return values / np.sqrt(len(layer.weights))

    def _outputs(self, X: Any) -> Floats:
        check_is_fitted(self)
        inputs = self.frame_.apply(validate_data(self, X, dtype=np.float64, reset=False))
        linear = inputs @ self.first_layer_.slope.T + self.intercepts_
        return self._features(inputs) @ self.coefficients_.T + linear


class TwoLayerRegressor(RegressorMixin, Networks):
    """f(x) = c + <beta, z> + sum_i a_i sigma(<w_i, z> + b_i) / sqrt(p), z the standardised inputs: W is trained by a
    learner of featlab, a and c are then fitted by ridge regression, to the same samples or to others.

    Parameters:
        learner: "preprocessed", one step on labels without their linear part beta (`featlab.PreprocessedStep`), which f
            keeps; any learner of a `featlab.TwoLayer` such as `featlab.ReusedBatch(steps=20, step_size=1.0)`,
            `featlab.GiantSteps()`, `featlab.OnlineSgd(0.1)`, `featlab.Adam(0.01, steps=100)`; None, random features.
        width, activation: of the network; rows start on the unit sphere, biases are N(0, 1) and drawn anew for the fit.
        ridge: lambda in (1/n) |y - f|^2 + lambda |a|^2; "leave-one-out", that with the smallest exact error.
        fit_intercept: whether labels are standardised and c is fitted; else labels are taken as they are, and c = 0.
        inputs: "auto", "whiten", "standardise" or "isotropic", see docs/estimators.md.
        steps: how many the learner takes; None, its own number, or one pass over the data.
        readout_share: the share of the samples, drawn at random, that a and c are fitted to, while the others alone
            give z, beta and W, so that these know nothing of the samples of the fit; 0, all samples do both.
        random_state: of the start, and of the samples that are kept for the fit.

    Attributes after `fit`: `first_layer_`, with weights, biases and slope in the coordinates of `frame_`;
    `coefficients_` and `intercepts_` of the second layer; `ridges_`, the lambda used; `readout_rows_`, the samples
    that they were fitted to; `directions_`, the unit rows (p, d) of W in the coordinates of X.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import TwoLayerRegressor
        >>> X = np.random.default_rng(0).standard_normal((400, 5))
        >>> TwoLayerRegressor(width=64, random_state=0).fit(X, X[:, 0] ** 2).score(X, X[:, 0] ** 2) > 0.9
        True
    """

    def __init__(
        self,
        learner: Learner | str | None = "preprocessed",
        *,
        width: int = 512,
        activation: str = "relu",
        ridge: float | str = LEAVE_ONE_OUT,
        fit_intercept: bool = True,
        inputs: str = "auto",
        steps: int | None = None,
        readout_share: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.width = width
        self.activation = activation
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.inputs = inputs
        self.steps = steps
        self.readout_share = readout_share
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train on inputs X (n, d) and labels y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, np.float64)
        rows, seed = self._split(np.zeros(len(y)))
        known = y[rows.first]
        self.level_ = float(known.mean()) if self.fit_intercept else 0.0
        self.scale_ = (float(known.std()) or 1.0) if self.fit_intercept else 1.0
        self._fit_outputs(X, ((y - self.level_) / self.scale_)[:, None], rows, seed)
        return self

    def predict(self, X: Any) -> Floats:
        """f at inputs X (n, d)."""
        outputs = self._outputs(X)[:, 0]
        return self.level_ + self.scale_ * outputs


class TwoLayerClassifier(ClassifierMixin, Networks):
    """The sign, or the largest, of networks as of `TwoLayerRegressor`, fitted to +1 for a class and -1 for the others:
    one for two classes, else one for each class, each with its share of the neurons and a second layer on all of them.

    Parameters and attributes are those of `TwoLayerRegressor`, and `classes_`, each of which has its part of the
    samples that are kept for the fit.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import TwoLayerClassifier
        >>> X = np.random.default_rng(0).standard_normal((400, 5))
        >>> TwoLayerClassifier(width=64, random_state=0).fit(X, X[:, 0] > 0).classes_.tolist()
        [False, True]
    """

    def __init__(
        self,
        learner: Learner | str | None = "preprocessed",
        *,
        width: int = 512,
        activation: str = "relu",
        ridge: float | str = LEAVE_ONE_OUT,
        inputs: str = "auto",
        steps: int | None = None,
        readout_share: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.width = width
        self.activation = activation
        self.ridge = ridge
        self.inputs = inputs
        self.steps = steps
        self.readout_share = readout_share
        self.random_state = random_state

    fit_intercept = True

    def fit(self, X: Any, y: Any) -> Self:
        """Train on inputs X (n, d) and classes y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise InvalidParameter("y", f"{count} class", "at least two classes to tell apart")
        signs = np.where(numbers[:, None] == np.arange(count), 1.0, -1.0)
        self._fit_outputs(X, signs[:, 1:] if count == 2 else signs, *self._split(numbers))
        return self

    def decision_function(self, X: Any) -> Floats:
        """The output for the second of two classes (n,), or for each class (n, k)."""
        found = self._outputs(X)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(self, X: Any) -> Any:
        """The classes at inputs X (n, d)."""
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)]


class RandomFeatures(TwoLayerRegressor):
    """Ridge regression on the features of a first layer that nothing trains: f(x) = c + sum_i a_i sigma(<w_i, z> + b_i)
    / sqrt(p), rows of W uniform on the unit sphere, b_i of N(0, 1).

    Parameters and attributes are those of `TwoLayerRegressor` without a learner.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import RandomFeatures
        >>> X = np.random.default_rng(0).standard_normal((400, 5))
        >>> RandomFeatures(width=64, random_state=0).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
        True
    """

    def __init__(
        self,
        width: int = 512,
        *,
        activation: str = "relu",
        ridge: float | str = LEAVE_ONE_OUT,
        fit_intercept: bool = True,
        inputs: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.inputs = inputs
        self.random_state = random_state

    learner = None
    steps = None
    readout_share = 0.0
