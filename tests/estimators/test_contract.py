"""scikit-learn's own checks, for every estimator as it comes."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from featlab import estimators

ESTIMATORS = [
    estimators.SlicedInverseRegression(),
    estimators.SlicedAverageVariance(),
    estimators.PrincipalHessianDirections(),
    estimators.SpectralDirections(),
    estimators.GradientSpan(),
    estimators.TwoLayerRegressor(),
    estimators.TwoLayerClassifier(),
    estimators.RandomFeatures(),
    estimators.KernelRidge(),
    estimators.MultiIndexRegressor(),
    estimators.BayesAmpDirections(),
]


@pytest.mark.filterwarnings("ignore::featlab.estimators.NoDirection")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_contract(estimator, check, monkeypatch):
    """Those of its array API included, which it skips without that variable; they are given NumPy's arrays."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)
