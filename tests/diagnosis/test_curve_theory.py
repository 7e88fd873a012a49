"""Theory of a network whose second layer has samples of its own, against such networks."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

from featlab.diagnosis.curve_theory import split_theory
from featlab.estimators import TwoLayerRegressor
from featlab.targets import target
from featlab.theory.ridge import effective_ridge

DIM, SAMPLES, RUNS, TESTED = 20, 512, 8, 6000
LINKS = {"even": "He2(h1)/sqrt(2)", "order one": "tanh(2*h1) + 0.5*h1*h2"}


def drawn(name: str, count: int, draw: np.random.Generator):
    of = target(LINKS[name], noise=0.15)
    inputs = draw.standard_normal((count, DIM))
    return inputs, of.link(inputs[:, : of.rank]) + of.noise**0.5 * draw.standard_normal(count)


def neglected(model: TwoLayerRegressor, inputs: np.ndarray, labels: np.ndarray) -> float:
    """Cov(q, u^2) / (n E[u^2]) + Var(q) / n^2 of `theory.kernels.given_layer`, by rows that the model has not seen."""
    coordinates = model.frame_.apply(inputs)
    features, labels = model._features(coordinates), labels - model.scale_ * coordinates @ model.first_layer_.slope[0]
    features, labels, count = features - features.mean(axis=0), labels - labels.mean(), len(model.readout_rows_)
    values, vectors = np.linalg.eigh(features.T @ features / len(features))
    values = np.maximum(values, 0)
    kappa = effective_ridge(lambda at: np.sum(values / (values + at)), values.sum(), count, model.ridges_[0])
    along = features @ vectors
    left = (labels - along @ ((along.T @ labels / len(labels)) / (values + kappa))) ** 2
    leverage = along**2 @ (1 / (values + kappa))
    return float(abs(np.cov(leverage, left)[0, 1]) / (count * left.mean()) + leverage.var() / count**2)


@cache
def measured(name: str, **options: object):
    """Errors over the variance of the label (runs,), and what theory neglects of them."""
    errors, shares = [], []
    for seed in range(RUNS):
        draw = np.random.default_rng([5, seed])
        model = TwoLayerRegressor(readout_share=0.5, random_state=seed, **options).fit(*drawn(name, SAMPLES, draw))
        inputs, labels = drawn(name, TESTED, draw)
        errors.append(np.mean((labels - model.predict(inputs)) ** 2) / labels.var())
        shares.append(neglected(model, inputs, labels))
    return np.array(errors), float(np.mean(shares))


@pytest.mark.parametrize("name", LINKS)
def test_a_readout_on_samples_of_its_own_is_predicted(name: str) -> None:
    """Within four standard errors of runs and what theory says that it neglects. Features that nothing trained, all
    samples for the readout, or as few as half of them are all refused."""
    errors, share = measured(name)
    theory = partial(split_theory, target(LINKS[name], noise=0.15), DIM)
    expected = theory("preprocessed", 0.5)(SAMPLES)
    allowed = 4 * errors.std(ddof=1) / RUNS**0.5 + share * expected
    assert abs(errors.mean() - expected) < allowed
    for other in (theory(None, 0.5)(SAMPLES), theory("preprocessed", 0.5)(SAMPLES // 2)):
        assert abs(errors.mean() - other) > allowed
