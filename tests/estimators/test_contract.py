"""scikit-learn's own checks, for every estimator as it comes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from featlab import estimators

# All that are public, so that none is forgotten.
NAMED = (getattr(estimators, name) for name in estimators.__all__)
KINDS = [kind for kind in NAMED if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
ESTIMATORS = [kind() for kind in KINDS]


def test_every_estimator_of_the_package_is_checked():
    assert len(KINDS) >= 11
    assert {"TwoLayerClassifier", "BayesAmpDirections", "MultiIndexRegressor"} < {kind.__name__ for kind in KINDS}


@pytest.mark.filterwarnings("ignore::featlab.estimators.NoDirection")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_contract(estimator, check, monkeypatch):
    """Those of its array API included, which it skips without that variable; they are given NumPy's arrays."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.mark.filterwarnings("ignore::featlab.estimators.NoDirection")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not is_classifier(kind())])
def test_labels_that_are_all_alike(kind):
    """A fold of rare values may have nothing else; what is predicted is that value."""
    X = np.random.default_rng(0).standard_normal((60, 4))
    model = kind()
    model.set_params(**({"random_state": 0} if "random_state" in model.get_params() else {})).fit(X, np.full(60, 2.0))
    if is_regressor(model):
        np.testing.assert_allclose(model.predict(X), 2.0)
    else:
        assert np.all(np.isfinite(model.transform(X)))


@pytest.mark.filterwarnings("ignore::featlab.estimators.NoDirection")
@pytest.mark.parametrize("kind", KINDS)
def test_random_state_fixes_everything(kind):
    """The same numbers from the same state; where there is one, others from another, if chance has a part in them."""
    draw = np.random.default_rng(1)
    X = draw.standard_normal((80, 5))
    y = (X[:, 0] > 0).astype(int) if is_classifier(kind()) else np.abs(X[:, 0])
    seeded = "random_state" in kind().get_params()

    def outputs(seed):
        model = kind(**({"random_state": seed} if seeded else {})).fit(X, y)
        named = "decision_function" if is_classifier(model) else "predict" if is_regressor(model) else "transform"
        return getattr(model, named)(X)

    first = outputs(0)
    np.testing.assert_array_equal(first, outputs(0))
    if kind.__name__ in ("TwoLayerRegressor", "TwoLayerClassifier", "RandomFeatures", "GradientSpan"):
        assert not np.allclose(first, outputs(1))
