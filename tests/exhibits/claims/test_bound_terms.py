import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.bound_terms import CUBIC, labels


def test_no_term_of_the_bound_is_exceeded(shown):
    report = shown("bound-terms")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    assert len(report.checks) == 5


@pytest.mark.parametrize("kappa", [1.0, 4.0])
def test_the_hessian_has_the_condition_number(kappa):
    """H_kk = E[f He2(x_k)]: by Gauss and Hermite on a grid of two fields; and variance 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    x = np.stack([axis.ravel() for axis in np.meshgrid(nodes, nodes, indexing="ij")], axis=1)
    mass = np.outer(weights, weights).ravel() / (2 * np.pi)
    y = labels(x, 2, kappa)
    first, second = (mass @ (y * (x[:, k] ** 2 - 1)) for k in range(2))
    assert second / first == pytest.approx(kappa)
    assert first**2 + second**2 == pytest.approx(2 * (1 - CUBIC))
    assert mass @ y**2 == pytest.approx(1)
