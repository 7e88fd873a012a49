"""scikit-learn's own checks, for every estimator as it comes."""

from __future__ import annotations

import os
import subprocess
import sys

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


def _needs_array_api(check) -> bool:
    return "array_api" in getattr(check, "func", check).__name__


@pytest.mark.filterwarnings("ignore::featlab.estimators.NoDirection")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_contract(estimator, check):
    if not _needs_array_api(check) or "SCIPY_ARRAY_API" in os.environ:
        check(estimator)


def test_the_checks_that_need_the_array_api_of_scipy():
    """SciPy reads that when it is imported, so that they are run in a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-k", "scikit_learns and array_api", __file__]
    done = subprocess.run(
        command, env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(ESTIMATORS)} passed" in done.stdout
