"""Networks, random features, kernels and multi-index models on data: the numbers of `simulate`, exact leave-one-out,
who learns what, and scikit-learn's tools around them."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import featlab
from featlab import estimators as est
from featlab.errors import InvalidParameter
from featlab.estimators.linear import fit_features, fit_kernel_matrix
from featlab.estimators.networks import first_layer
from featlab.gaussian.activations import activation
from featlab.learners import KernelRidge, PreprocessedStep, TwoLayer
from featlab.learners.readout import LEAVE_ONE_OUT_GRID
from featlab.precision import double_precision
from featlab.simulation import simulate
from featlab.simulation.blocked import block_size
from featlab.simulation.designs.dense import Dense
from featlab.simulation.kernel_points import LARGEST_BLOCK, training_points
from featlab.simulation.kernels import kernel_fit
from featlab.simulation.problem import Problem
from featlab.simulation.questions import labelled_batch
from featlab.simulation.random import fold, named, root_key
from featlab.simulation.ridge import fit_kernel
from featlab.targets import target


def with_intercept(features, labels, ridge):
    """Ridge regression whose intercept is not penalised, from its normal equations, at a total penalty."""
    wide = np.column_stack([features, np.ones(len(labels))])
    penalty = np.diag([*[ridge] * features.shape[1], 0.0])
    return np.linalg.solve(wide.T @ wide + penalty, wide.T @ labels)


def left_out(features, labels, ridge):
    """The mean squared error of every sample, predicted from the others, at the total penalty n lambda."""
    missed = []
    for left in range(len(labels)):
        kept = np.arange(len(labels)) != left
        fit = with_intercept(features[kept], labels[kept], len(labels) * ridge)
        missed.append(labels[left] - features[left] @ fit[:-1] - fit[-1])
    return np.mean(np.square(missed))


@pytest.mark.parametrize(("samples", "width"), [(30, 8), (12, 20)], ids=["primal", "dual"])
def test_leave_one_out_with_an_intercept_is_brute_force(samples, width):
    """The ridge that is chosen has the smallest error of all refits, and the fit is that of the normal equations."""
    draw = np.random.default_rng(0)
    features = draw.standard_normal((samples, width)) + 2
    labels = features[:, 0] - features[:, 1] + 5 + draw.standard_normal(samples)
    fitted = fit_features(features, labels, "leave-one-out", True)
    expected = with_intercept(features, labels, samples * fitted.ridge)
    np.testing.assert_allclose(fitted.coefficients, expected[:-1], rtol=1e-6, atol=1e-9)
    assert fitted.intercept == pytest.approx(expected[-1], rel=1e-6)
    centred = features - features.mean(axis=0)
    ridges = np.array(LEAVE_ONE_OUT_GRID) * np.sum(centred**2) / samples
    errors = [left_out(features, labels, ridge) for ridge in ridges]
    assert fitted.ridge == pytest.approx(ridges[np.argmin(errors)], rel=1e-9)
    # Errors that forget the intercept's own leverage choose as if the mean were known: they are too small.
    assert np.argmin(errors) not in (0, len(errors) - 1)
    given = fit_features(features, labels, 0.3, True)
    np.testing.assert_allclose(given.coefficients, with_intercept(features, labels, samples * 0.3)[:-1], rtol=1e-9)


def test_a_kernel_of_features_is_the_fit_of_the_features():
    draw = np.random.default_rng(1)
    features = draw.standard_normal((25, 4)) + 1
    labels = features[:, 0] + 3 + 0.1 * draw.standard_normal(25)
    fitted = fit_kernel_matrix(features @ features.T, labels, 0.2)
    expected = fit_features(features, labels, 0.2, True)
    np.testing.assert_allclose(features.T @ fitted.coefficients, expected.coefficients, rtol=1e-9)
    assert fitted.intercept == pytest.approx(expected.intercept)


def test_kernel_ridge_is_that_of_a_simulation():
    """The same points: the coefficients and the ridge of `simulate`, which has no intercept, up to rounding."""
    learner, dim, rows = KernelRidge(), 6, 60
    problem = Problem(target("h1**2"), None, learner, Dense(dim, 1, 1, rows))
    size = block_size(rows, LARGEST_BLOCK)
    with double_precision():
        points, outcome = training_points(problem, named(root_key(0), "x"), size)
        theirs = jax.jit(lambda p, y: kernel_fit(problem, p, y, size))(points, outcome)
        X, y = np.asarray(points.coordinates, float)[:rows], np.asarray(outcome)
    estimator = est.KernelRidge(inputs="isotropic").fit(X, y)
    kernel = estimator._kernel(X)
    ridges = np.array(featlab.learners.kernels.KERNEL_RIDGES) * np.trace(kernel) / rows**2
    solved, used = fit_kernel(kernel / rows, y, ridges)
    assert used == pytest.approx(float(theirs.ridge), rel=1e-6)
    np.testing.assert_allclose(solved / rows, np.asarray(theirs.coefficients), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(estimator.predict(X).mean(), y.mean(), rtol=1e-9)  # what the intercept is for


def test_two_layers_are_those_of_a_simulation():
    """One preprocessed step and its readout on the same draw: the same ridge, and a risk that fresh samples confirm
    within four standard errors. Random features have another."""
    goal, dim, rows = target("h1*h2 + h1"), 12, 600
    learner, student = PreprocessedStep(), TwoLayer(32, "relu", "signs", biases="gaussian")
    run = simulate(goal, learner, dim=dim, samples=rows, student=student, seeds=1, design="dense", observe="risk")
    problem = Problem(goal, student, learner, Dense(dim, 2, 33, rows))
    batch, labels = jax.jit(functools.partial(labelled_batch, problem))(named(fold(root_key(0), 0), "start"))
    X, y = np.array(batch, float), np.array(labels, float)
    fresh = np.random.default_rng(0).standard_normal((2**14, dim))
    clean = fresh[:, 0] * fresh[:, 1] + fresh[:, 0]

    def risk(step):
        layer = first_layer(step, student, X, y, seed=0, steps=None)
        linear = [y.mean() * (step is not None) + part @ layer.slope for part in (X, fresh)]
        features = [activation("relu").value(part @ layer.weights.T + layer.biases) / 32**0.5 for part in (X, fresh)]
        fitted = fit_features(features[0], y - linear[0], "leave-one-out", False)
        squares = (clean - linear[1] - features[1] @ fitted.coefficients) ** 2
        return fitted.ridge, squares.mean(), squares.std() / len(squares) ** 0.5

    ridge, found, error = risk(learner)
    assert ridge == pytest.approx(run.ridge.values[0, 1], rel=1e-3)
    spread = np.hypot(error, run.risk_error.values[0, 1])
    assert abs(found - run.risk.values[0, 1]) < 4 * spread
    assert abs(risk(None)[1] - run.risk.values[0, 1]) > 4 * spread


def test_random_features_are_those_of_a_simulation_in_law():
    """Simulated features are drawn without an X that could be given: means over seeds agree within four standard
    errors. Half as many features have another."""
    goal, dim, rows, width, seeds = target("h1*h2 + h1"), 12, 300, 64, 24
    student = TwoLayer(width, "relu", "signs", biases="gaussian")
    run = simulate(goal, featlab.RandomFeatures(rows), dim=dim, student=student, seeds=seeds, observe="risk")
    theirs = run.risk.values[:, -1]

    def risk(seed, features):
        draw = np.random.default_rng(seed)
        X, fresh = draw.standard_normal((rows, dim)), draw.standard_normal((2**13, dim))
        options = {"inputs": "isotropic", "fit_intercept": False, "random_state": seed}
        fitted = est.RandomFeatures(features, **options).fit(X, X[:, 0] * X[:, 1] + X[:, 0])
        return np.mean((fresh[:, 0] * fresh[:, 1] + fresh[:, 0] - fitted.predict(fresh)) ** 2)

    def apart(features):
        ours = np.array([risk(seed, features) for seed in range(seeds)])
        return abs(ours.mean() - theirs.mean()) / np.hypot(ours.std(ddof=1), theirs.std(ddof=1)) * seeds**0.5

    assert apart(width) < 4 < apart(width // 2)


def multi_index(rows, dim, seed):
    draw = np.random.default_rng(seed)
    X = draw.standard_normal((rows, dim))
    return X, X[:, 0] * X[:, 1] + X[:, 0] + 0.1 * draw.standard_normal(rows)


def test_features_learned_beat_features_drawn():
    """1000 samples in 60 dimensions of a quadratic form, which has 1830 coefficients, and a linear one, which everybody
    learns: on fresh samples those who find the two directions miss less than those who do not look for any."""
    X, y = multi_index(1000, 60, 0)
    fresh, truth = multi_index(1000, 60, 1)
    learning = [est.MultiIndexRegressor(est.SlicedInverseRegression(2)), est.TwoLayerRegressor(random_state=0)]
    fixed = [est.KernelRidge(), est.RandomFeatures(random_state=0)]
    found, missed = ([one.fit(X, y).score(fresh, truth) for one in group] for group in (learning, fixed))
    assert min(found) > max(missed) + 0.05


LEARNERS = {
    "giant": featlab.GiantSteps(scale=5.0),
    "reused": featlab.ReusedBatch(5, 1.0),
    "online": featlab.OnlineSgd(0.05, batch=4),
    "extragradient": featlab.Extragradient(0.05, 0.02),
    "adam": featlab.Adam(0.05, steps=10),
    "flow": featlab.SphericalFlow(20),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_any_learner_trains_the_first_layer(learner):
    """Its rows turn towards the one direction of the data, more than those that were drawn."""
    X = np.random.default_rng(0).standard_normal((200, 5))
    y = X[:, 0] + 0.2 * X[:, 0] ** 2
    trained, drawn = (est.TwoLayerRegressor(one, width=16, random_state=0).fit(X, y) for one in (learner, None))
    along = [np.mean(np.abs(one.directions_[:, 0])) for one in (trained, drawn)]
    assert along[0] > along[1] + 0.05
    assert trained.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (featlab.RandomFeatures(50), "its first learner alone"),
        (featlab.NormalisedFlow(5), "SphericalFlow"),
        (featlab.SphericalFlow(5, positive_start=True), "positive_start"),
        (featlab.BayesAmp(), "TwoLayer"),
        ("adam", "'preprocessed'"),
        (featlab.ReusedBatch(30, 1e9), "diverged"),
    ],
)
def test_learners_that_do_not_fit_are_refused(learner, words):
    X, y = multi_index(40, 3, 0)
    with pytest.raises(InvalidParameter, match=words):
        est.TwoLayerRegressor(learner, width=4, random_state=0).fit(X, y)


def test_a_classifier_of_three_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    fitted = est.TwoLayerClassifier(random_state=0).fit(X[::2], names[::2])
    assert fitted.decision_function(X).shape == (150, 3)
    assert fitted.score(X[1::2], names[1::2]) > 0.9


def test_rows_that_are_kept_for_the_second_layer_are_not_used_by_the_first():
    """Other labels and inputs of these rows leave the first layer as it is, of any other row they do not; the second
    layer is the fit to these rows alone, with their exact leave-one-out."""
    X, y = multi_index(200, 6, 0)
    options = {"width": 24, "readout_share": 0.4, "random_state": 3}
    fitted = est.TwoLayerRegressor(**options).fit(X, y)
    own = fitted.readout_rows_
    others = np.setdiff1d(np.arange(200), own)
    assert len(own) == 80

    def changed(rows):
        inputs, labels = X.copy(), y.copy()
        inputs[rows] += 1
        labels[rows] = 5 - 2 * labels[rows]
        return est.TwoLayerRegressor(**options).fit(inputs, labels)

    for first, second in zip(fitted.first_layer_, changed(own).first_layer_, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.allclose(fitted.first_layer_.weights, changed(others[:1]).first_layer_.weights)
    inputs, layer = fitted.frame_.apply(X), fitted.first_layer_
    features = np.maximum(inputs @ layer.weights.T + layer.biases, 0) / 24**0.5
    rest = (y - fitted.level_) / fitted.scale_ - inputs @ layer.slope[0]
    alone, together = (fit_features(features[rows], rest[rows], "leave-one-out", True) for rows in (own, slice(None)))
    np.testing.assert_allclose(fitted.coefficients_[0], alone.coefficients, rtol=1e-6, atol=1e-9)
    assert fitted.ridges_[0] == pytest.approx(alone.ridge)
    assert not np.allclose(alone.coefficients, together.coefficients)
    assert list(est.TwoLayerRegressor(width=8).fit(X, y).readout_rows_) == list(range(200))


def test_every_class_has_its_share_of_the_rows_that_are_kept():
    X, y = load_iris(return_X_y=True)
    kept = np.array([*range(50), *range(50, 60), *range(100, 103)])
    fitted = est.TwoLayerClassifier(width=32, readout_share=0.5, random_state=0).fit(X[kept], y[kept])
    counts = np.bincount(y[kept][fitted.readout_rows_])
    assert np.all(np.abs(counts - np.array([50, 10, 3]) / 2) <= 1)
    assert fitted.score(X[kept], y[kept]) > 0.9


@pytest.mark.parametrize("share", [1, -0.1, "half", True, float("nan"), 0.001, 0.999])
def test_shares_that_leave_a_layer_without_rows_are_refused(share):
    with pytest.raises(InvalidParameter, match="readout_share"):
        est.TwoLayerRegressor(width=4, readout_share=share).fit(*multi_index(40, 3, 0))


def test_bayes_amp_knows_the_link():
    draw = np.random.default_rng(0)
    X = draw.standard_normal((300, 60))
    y = np.abs(X[:, 0])
    fitted = est.BayesAmpDirections("abs(h1)", inputs="isotropic", random_state=0).fit(X, y)
    assert fitted.outcome_ == featlab.Outcome.OK
    assert abs(fitted.directions_[0, 0]) > 0.99
    save = est.SlicedAverageVariance(1, inputs="isotropic").fit(X, y)
    assert abs(save.directions_[0, 0]) < 0.9
    with pytest.raises(InvalidParameter, match="those of the link"):
        est.BayesAmpDirections("abs(h1)", n_directions=2).fit(X, y)
    with pytest.raises(InvalidParameter, match="on its scale"):
        est.BayesAmpDirections("h1**2", random_state=0).fit(X, -1 - y)


def test_bayes_amp_is_that_of_a_simulation():
    """The same draw and start, in float32 there and in float64 here: the same fixed point."""
    goal, learner, dim, rows = target("abs(h1)"), featlab.BayesAmp(start="spectral"), 60, 300
    run = simulate(goal, learner, dim=dim, samples=rows, seeds=1, times=[200], design="dense", observe="weights")
    problem = Problem(goal, None, learner, Dense(dim, 1, 1, rows))
    batch, labels = jax.jit(functools.partial(labelled_batch, problem))(named(fold(root_key(0), 0), "start"))
    options = {"inputs": "isotropic", "random_state": 0}
    fitted = est.BayesAmpDirections("abs(h1)", **options).fit(np.array(batch, float), np.array(labels, float))
    weights = run.weights.values[0, -1, 0]
    assert abs(fitted.components_[0] @ weights) / np.linalg.norm(weights) ** 2 == pytest.approx(1, abs=1e-3)


def test_tools_of_scikit_learn():
    """A pipeline in a grid search, clones, names of columns, and data frames out."""
    X, y = multi_index(300, 6, 0)
    pipeline = make_pipeline(StandardScaler(), est.PrincipalHessianDirections(), est.RandomFeatures(64, random_state=0))
    search = GridSearchCV(pipeline, {"principalhessiandirections__n_directions": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"principalhessiandirections__n_directions": 2}
    learners = {"learner": [None, featlab.GiantSteps(), "preprocessed"]}
    found = GridSearchCV(est.TwoLayerRegressor(width=32, random_state=0), learners, cv=3).fit(X, y)
    assert clone(found.best_estimator_).learner == found.best_params_["learner"]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    fitted = est.PrincipalHessianDirections(2).set_output(transform="pandas").fit(frame, y)
    assert list(fitted.get_feature_names_out()) == [f"principalhessiandirections{k}" for k in range(2)]
    assert list(fitted.transform(frame).columns) == list(fitted.get_feature_names_out())
    assert list(fitted.feature_names_in_) == list("abcdef")


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    import importlib

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"featlab\[sklearn\]"):
        importlib.reload(est)
    monkeypatch.undo()
    importlib.reload(est)
