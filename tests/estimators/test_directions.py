"""Estimators of directions: the numbers of `simulate` on the same draw, of statsmodels, and how many there are."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import featlab
from featlab import estimators as est
from featlab.errors import InvalidParameter
from featlab.learners import GiantSteps, PreprocessedStep, ReusedBatch, TwoLayer
from featlab.precision import double_precision
from featlab.simulation import simulate
from featlab.simulation.designs.dense import Dense
from featlab.simulation.on_data import _compiled, _run, key_of, stored_problem, trained
from featlab.simulation.problem import Problem
from featlab.simulation.questions import labelled_batch
from featlab.simulation.random import fold, named, normal, root_key, uniform
from featlab.targets import target

DIM, ROWS = 24, 2400
MIXED = target("h1 + He2(h2)", noise=0.1)
SQUARE = target("abs(h1)")


def cosine(found, rows):
    """The smallest cosine between the spans of two sets of rows."""
    bases = [np.linalg.qr(np.asarray(part, float).T)[0] for part in (found, rows)]
    return np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)[-1]


def drawn(goal, learner, dim=DIM, rows=ROWS):
    """X and y of the first seed of a simulation on stored inputs."""
    problem = Problem(goal, None, learner, Dense(dim, goal.rank, 1, rows))
    batch, labels = jax.jit(functools.partial(labelled_batch, problem))(named(fold(root_key(0), 0), "start"))
    return np.array(batch, dtype=float), np.array(labels, dtype=float)


@pytest.mark.parametrize(
    ("estimator", "learner", "goal"),
    [
        (est.SlicedInverseRegression(2, slices=7), featlab.SlicedInverseRegression(7), MIXED),
        (est.SlicedAverageVariance(2, slices=7), featlab.SlicedAverageVariance(7), MIXED),
        (est.PrincipalHessianDirections(2), featlab.PrincipalHessian(), MIXED),
        (est.SpectralDirections(1, link="abs(h1)"), featlab.SpectralEstimator(tolerance=1e-5), SQUARE),
    ],
    ids=["sir", "save", "phd", "spectral"],
)
def test_directions_are_those_of_a_simulation(estimator, learner, goal):
    """Up to float32 and the tolerance of iterations; whitened, the inputs are others, and so are the directions."""
    last = None if learner.clock == "once" else [learner.iterations]
    run = simulate(goal, learner, dim=DIM, samples=ROWS, seeds=2, times=last, design="dense", observe="weights")
    weights = run.weights.values[0, -1]
    X, y = drawn(goal, learner)
    same = estimator.set_params(inputs="isotropic", random_state=0).fit(X, y)
    assert cosine(same.directions_, weights) > 1 - 1e-6
    assert cosine(estimator.set_params(inputs="whiten").fit(X, y).directions_, weights) < 1 - 1e-5


@pytest.mark.parametrize(
    "learner", [GiantSteps(), PreprocessedStep(), ReusedBatch(2, 3.0)], ids=lambda one: type(one).__name__
)
def test_steps_are_those_of_a_simulation(learner):
    """The same samples, the same start from the same key: the same weights, up to float32. Another seed has others."""
    goal, student, dim, rows = target("h1*h2 + h1"), TwoLayer(6, "tanh", "signs", biases="gaussian"), 12, 240
    run = simulate(
        goal,
        learner,
        dim=dim,
        samples=rows,
        student=student,
        seeds=1,
        times=[learner.steps],
        design="dense",
        observe="weights",
    )
    key = fold(root_key(0), 0)
    keys = {
        "GiantSteps": lambda: fold(named(key, "steps"), 0),
        "PreprocessedStep": lambda: named(named(key, "start"), "batch"),
        "ReusedBatch": lambda: named(named(named(key, "start"), "first batch"), "batch"),
    }
    X = np.array(Dense(dim, 2, 6, rows).draw(keys[type(learner).__name__]())[0], dtype=float)
    y = X[:, 0] * X[:, 1] + X[:, 0]
    network = trained(learner, student, X, y, seed=0)[0].network
    assert network.weights.dtype == np.float64
    np.testing.assert_allclose(network.weights, run.weights.values[0, -1], atol=2e-5)
    assert not np.allclose(trained(learner, student, X, y, seed=1)[0].network.weights, network.weights, atol=1e-2)


def test_compiled_and_on_the_host_are_one_algorithm():
    """In float64 from the same start, up to its rounding to float32 on the device; one step less is something else."""
    draw = np.random.default_rng(0)
    X, y = draw.standard_normal((50, 4)), draw.standard_normal(50)
    learner, student = ReusedBatch(3, 2.0, constraint="spherical"), TwoLayer(4, paired=True)
    on_host = _run(stored_problem(learner, student, X, y), key_of(3), 3)[0].network.weights
    with double_precision():
        arrays = [jax.numpy.asarray(part) for part in (X, y, key_of(3))]
        compiled = [
            np.asarray(_compiled(learner, student, *arrays, jax.numpy.int32(k)).network.weights) for k in (3, 2)
        ]
    np.testing.assert_allclose(on_host, compiled[0], atol=1e-6)
    assert np.max(np.abs(on_host - compiled[1])) > 1e-2


def test_random_numbers_on_the_host_are_those_of_a_device():
    key = fold(root_key(7), 3)
    host = fold(np.asarray(root_key(7)), 3)
    assert isinstance(host, np.ndarray)
    np.testing.assert_array_equal(host, key)
    np.testing.assert_array_equal(uniform(host, (5, 67)), uniform(key, (5, 67)))
    np.testing.assert_allclose(normal(host, (5, 67)), normal(key, (5, 67)), rtol=2e-6)


def correlated(rows, dim, seed, link):
    """Inputs with a covariance and a mean, labels of x1 and x2 - x3."""
    draw = np.random.default_rng(seed)
    X = draw.standard_normal((rows, dim)) @ (np.eye(dim) + 0.4 * draw.standard_normal((dim, dim))) + 3
    return X, link(X[:, 0] - 3, X[:, 1] - X[:, 2]) + 0.1 * draw.standard_normal(rows)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_numbers_are_those_of_statsmodels():
    """Directions up to sign and scale, and eigenvalues: SAVE there has no shares p_s = 1/S but slice sizes, PHD a
    covariance divided by n - 1."""
    dimred = pytest.importorskip("statsmodels.regression.dimred")
    X, y = correlated(400, 5, 0, lambda a, b: np.sin(a) + b**2)
    theirs = [
        (dimred.SlicedInverseReg(y, X.copy()).fit(slice_n=40), est.SlicedInverseRegression(2, slices=10), 1.0),
        (dimred.SlicedAverageVarianceEstimation(y, X.copy()).fit(slice_n=40), est.SlicedAverageVariance(2), 40.0),
        (dimred.PrincipalHessianDirections(y, X.copy()).fit(resid=True), est.PrincipalHessianDirections(2), 399 / 400),
    ]
    for result, estimator, scale in theirs:
        fitted = estimator.fit(X, y)
        for k in range(2):
            assert cosine(result.params[:, k][None], fitted.directions_[k][None]) == pytest.approx(1, abs=1e-10)
        np.testing.assert_allclose(result.eigs[:2], scale * fitted.eigenvalues_[:2], rtol=1e-8)


ALL = [
    est.SlicedInverseRegression,
    est.SlicedAverageVariance,
    est.PrincipalHessianDirections,
    est.SpectralDirections,
    est.GradientSpan,
]


@pytest.mark.parametrize("kind", ALL)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000))
def test_directions_do_not_depend_on_the_coordinates(kind, seed):
    """Whitened inputs are the same for all invertible maps of X, up to a rotation; moments are, and so are spans. The
    step of a network starts from random rows, which the rotation turns: its span moves a little."""
    X, y = correlated(300, 4, seed, lambda a, b: a**2 + b)
    turn = np.random.default_rng(seed + 1).standard_normal((4, 4)) + 3 * np.eye(4)
    plain = kind(1, random_state=0).fit(X, y)
    turned = kind(1, random_state=0).fit(X @ turn.T, y)
    along = np.corrcoef(turned.transform(X @ turn.T)[:, 0], plain.transform(X)[:, 0])[0, 1]
    assert abs(along) > (0.98 if kind is est.GradientSpan else 1 - 1e-6)
    assert np.abs(plain.transform(X).std() - 1) < 1e-9


@pytest.mark.parametrize(
    ("kind", "link", "found"),
    [
        (est.SlicedInverseRegression, lambda a, b: np.sin(a) + a, 1),
        (est.SlicedInverseRegression, lambda a, b: a + b**3, 2),
        (est.SlicedAverageVariance, lambda a, b: a**2 + np.sin(b), 2),
        (est.PrincipalHessianDirections, lambda a, b: a**2 - 2 * b**2, 2),
        (est.SpectralDirections, lambda a, b: a * b, 2),
        (est.GradientSpan, lambda a, b: a * b, 2),
    ],
)
def test_as_many_directions_as_there_are(kind, link, found):
    X = np.random.default_rng(3).standard_normal((2000, 6))
    y = link(X[:, 0], X[:, 1])
    fitted = kind(random_state=0).fit(X, y)
    assert fitted.n_significant_ == len(fitted.directions_) == found
    assert len(fitted.p_values_) >= found
    if found == 2:
        assert cosine(fitted.directions_, np.eye(6)[:2]) > 0.95


def test_noise_shows_directions_at_the_stated_level():
    """200 draws of noise: false alarms within three deviations of 5%, sqrt(0.05 * 0.95 / 200) each. A spectrum whose
    permutations are not allowed to change anything is never significant, and one that knows the order always is."""
    draw = np.random.default_rng(0)
    sir = functools.partial(est.SlicedInverseRegression(slices=5)._spectrum, seed=0)
    alarms = [
        est.count_directions(
            sir, draw.standard_normal((60, 3)), draw.standard_normal(60), random_state=np.random.RandomState(k)
        ).number
        > 0
        for k in range(200)
    ]
    assert abs(np.mean(alarms) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 200)
    X, y = draw.standard_normal((60, 3)), draw.standard_normal(60)
    assert est.count_directions(lambda z, y: (np.ones(1), np.eye(3)[:1]), X, y).number == 0
    assert est.count_directions(lambda z, y: (np.abs(z[:1, 0]) * (z[0, 0] == X[0, 0]), np.eye(3)[:1]), X, y).number == 1


def test_noise_is_said_to_be_noise():
    draw = np.random.default_rng(1)
    with pytest.warns(est.NoDirection, match="no direction is more than noise"):
        fitted = est.SlicedInverseRegression(random_state=0).fit(
            draw.standard_normal((80, 3)), draw.standard_normal(80)
        )
    assert fitted.n_significant_ == 0
    assert fitted.transform(np.zeros((1, 3))).shape == (1, 1)


def test_the_estimated_preprocessing_is_as_good_as_the_known_one():
    """At n/d = 6, abs(h1) (threshold about 1.1): the label's own moments find what the link would."""
    draw = np.random.default_rng(0)
    X = draw.standard_normal((600, 100))
    y = np.abs(X[:, 0])
    options = {"inputs": "isotropic", "random_state": 0}
    known = est.SpectralDirections(1, link="abs(h1)", **options).fit(X, y)
    estimated = est.SpectralDirections(1, **options).fit(X, y)
    axis = np.eye(100)[:1]
    assert known.converged_
    assert cosine(estimated.directions_, axis) > 0.9 * cosine(known.directions_, axis) > 0.7


def test_labels_of_few_values_are_their_own_slices():
    draw = np.random.default_rng(0)
    X = draw.standard_normal((300, 4))
    y = np.digitize(X[:, 0], [-0.3, 1.0])
    order = draw.permutation(300)
    fitted, other = (est.SlicedInverseRegression(1).fit(X[rows], y[rows]) for rows in (np.arange(300), order))
    np.testing.assert_allclose(fitted.directions_, other.directions_, atol=1e-12)
    assert len(fitted.eigenvalues_) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_directions": 0}, "n_directions: got 0"),
        ({"n_directions": 9}, "from 1 to 4"),
        ({"slices": 3, "n_directions": 3}, "at most 2"),
        ({"inputs": "white"}, "'whiten', 'standardise', 'isotropic'"),
        ({"permutations": 5}, "at least 1 / level - 1"),
    ],
)
def test_misuse_is_refused(options, words):
    X, y = correlated(60, 4, 0, lambda a, b: a)
    with pytest.raises(InvalidParameter, match=words):
        est.SlicedInverseRegression(**options).fit(X, y)


def test_what_cannot_be_whitened_is_refused():
    draw = np.random.default_rng(0)
    with pytest.raises(InvalidParameter, match="'standardise'"):
        est.SlicedInverseRegression(1).fit(draw.standard_normal((20, 30)), draw.standard_normal(20))
    with pytest.raises(InvalidParameter, match="constant"):
        est.SlicedInverseRegression(1).fit(np.ones((20, 2)), draw.standard_normal(20))
    X = draw.standard_normal((200, 3))
    dependent = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(200)])
    fitted = est.SlicedInverseRegression(1).fit(dependent, X[:, 2])
    np.testing.assert_allclose(fitted.directions_[0], [0, 0, 1, 0, 0], atol=0.2)
    assert fitted.directions_[0][4] == 0
