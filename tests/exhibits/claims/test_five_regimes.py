import jax.numpy as jnp
import numpy as np

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.five_regimes import terms


def test_the_limits_are_the_talks_and_each_regime_learns_its_own_term(shown):
    report = shown("five-regimes")
    assert report.verdict is ClaimVerdict.REPRODUCED
    variances, *gains = report.checks
    assert variances.passed
    assert len(gains) == 2
    assert all(check.refused for check in report.checks)


def test_the_terms_are_orthonormal():
    """To 5 standard errors of 2 * 10^5 samples; the heaviest product has a variance near 2 * 10^4."""
    inputs = np.random.default_rng(0).standard_normal((200_000, 3))
    values = np.asarray(terms(jnp.asarray(inputs)), np.float64)
    products = values[:, :, None] * values[:, None, :]
    errors = products.std(axis=0) / len(inputs) ** 0.5
    assert np.all(np.abs(products.mean(axis=0) - np.eye(5)) < 5 * errors)
    assert not np.all(np.abs(products.mean(axis=0) - np.diag([1.0, 2, 2, 48, 4])) < 5 * errors)
