"""Dimension reduction at n ~ d: limits, what is known in closed form, what stands in which order, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import featlab
from featlab.analysis.thresholds import label_table
from featlab.errors import InvalidParameter
from featlab.learners import PrincipalHessian, SlicedAverageVariance, SlicedInverseRegression, SpectralEstimator
from featlab.targets import target
from featlab.theory import NoPrediction, phd_matrix, predict, save_matrix, sir_cosine, sir_matrix, spectral_cosine
from featlab.theory.inverse_regression import slice_moments
from featlab.theory.reduction.average_variance import save_outliers
from featlab.theory.reduction.optimal import leading_mode
from featlab.theory.reduction.outliers import outliers
from featlab.theory.reduction.principal_hessian import phd_outliers


def covariances(text, slices):
    means, seconds = slice_moments(target(text), slices, 0)
    return seconds - means[:, :, None] * means[:, None, :]


class Wishart:
    """X^T X / n with one direction of variance v: z = 1/u + 1/(1 - u c) and B = v / (1 - u c), c = d/n."""

    def __init__(self, ratio, variance):
        self.ratio, self.variance, self.largest, self.typical = ratio, variance, 1 / ratio, 0.01

    def value(self, u):
        return 1 / u + 1 / (1 - u * self.ratio)

    def block(self, u):
        return np.array([[self.variance / (1 - u * self.ratio)]])


@pytest.mark.parametrize(("ratio", "variance"), [(0.5, 4.0), (0.1, 2.0), (2.0, 6.0)])
def test_a_spiked_covariance_has_the_known_outlier(ratio, variance):
    """Baik, Ben Arous, Peche 2005 and Paul 2007: above v = 1 + sqrt(c) the eigenvalue is v + c v / (v - 1), and
    cos^2 = (1 - c / (v - 1)^2) / (1 + c / (v - 1)); below there is none. The edge is (1 + sqrt(c))^2."""
    found = outliers(Wishart(ratio, variance))
    assert found.edge == pytest.approx((1 + ratio**0.5) ** 2, rel=1e-6)
    (one,) = found.found
    assert one.value == pytest.approx(variance + ratio * variance / (variance - 1), rel=1e-9)
    expected = (1 - ratio / (variance - 1) ** 2) / (1 + ratio / (variance - 1))
    assert one.vector[0] ** 2 == pytest.approx(expected, rel=1e-5)
    assert outliers(Wishart(ratio, 0.9 * (1 + ratio**0.5))).found == ()


@pytest.mark.parametrize("text", ["h1**2", "h1 + He2(h2)"])
def test_with_many_samples_save_is_its_population_matrix(text):
    found = save_outliers(covariances(text, 6), 1e5)
    assert [one.value for one in found.found] == pytest.approx(save_matrix(text, 6).eigenvalues.tolist(), rel=2e-3)
    assert [one.vector @ one.vector for one in found.found] == pytest.approx([1.0] * len(found.found), abs=1e-3)
    assert found.edge < 1e-3


def test_with_many_samples_phd_is_the_hessian():
    above, below = phd_outliers(target("h1*h2 + h1"), 1e5, 10**9, 0)
    values = sorted(one.value for one in (*above.found, *below.found))
    assert values == pytest.approx(sorted(phd_matrix("h1*h2 + h1").eigenvalues), abs=5e-3)
    for one in (*above.found, *below.found):
        assert one.vector[:2] @ one.vector[:2] == pytest.approx(1.0, abs=1e-3)
        assert abs(one.vector[2]) < 1e-2  # the direction that was subtracted


def test_more_samples_show_more_and_few_show_nothing():
    for text, outlying in (
        ("abs(h1)", lambda alpha: save_outliers(covariances("abs(h1)", 5), alpha).found),
        ("abs(h1)", lambda alpha: phd_outliers(target("abs(h1)"), alpha, 10**4, 0)[0].found),
    ):
        lengths = [sum(float(one.vector @ one.vector) for one in outlying(alpha)) for alpha in (0.5, 8, 20, 60)]
        assert lengths[0] == 0, text
        assert np.all(np.diff(lengths[1:]) > 0), text


def test_of_one_direction_the_spectral_method_is_the_closed_form():
    """G = h1^2 - 1 for |h1|: alpha_c = 1/2 and E[G^3] / E[G^2] = 4."""
    table = label_table(target("abs(h1)"))
    mode = leading_mode(table, 2.0)
    assert mode.growth == pytest.approx(4.0, rel=1e-4)
    assert mode.cosines == pytest.approx([spectral_cosine(4.0, 4.0)], rel=1e-3)
    assert leading_mode(table, 0.45).cosines == pytest.approx([0.0])


def test_modes_that_share_an_eigenvalue_and_modes_that_do_not():
    """For sign(h1*h2) any of them has cos^2 = (lambda - 1) / lambda; h1^2 + 2 h2^2 shows h2 first."""
    parity = leading_mode(label_table(target("sign(h1*h2)")), 6.0)
    assert parity.cosines == pytest.approx([(1 - 1 / parity.growth) ** 0.5] * 2, rel=1e-3)
    assert leading_mode(label_table(target("h1**2 + 2*h2**2")), 6.0).cosines is None


def test_sir_is_its_closed_form():
    found = predict("h1**3", SlicedInverseRegression(), dim=1000, samples=2000)
    value = sir_matrix("h1**3").eigenvalues[0]
    assert found.subspace.values == pytest.approx(np.array([[sir_cosine(value, 2.0)]]))
    assert found.eigenvalue.values == pytest.approx(np.array([[value + 0.5]]))
    blind = predict("h1 + He2(h2)", SlicedInverseRegression(), dim=1000, samples=2000)
    assert blind.subspace.values[0, 1] < 0.01 < 0.5 < blind.subspace.values[0, 0]


def test_iterated_estimators_are_told_at_the_start_and_at_the_end():
    found = predict("h1 + He2(h2)", PrincipalHessian(), dim=200, samples=8000, times=[0, 3, 30])
    assert found.subspace.values[0].tolist() == [0.0, 0.0]
    assert np.all(np.isnan(found.subspace.values[1]))
    assert found.subspace.values[2] == pytest.approx([0.684, 0.0], abs=2e-3)
    assert found.eigenvalue.values[2, 0] == pytest.approx(2.05, abs=0.02)
    assert "converged" in found.attrs["words"]
    with pytest.raises(InvalidParameter, match="30, the last iteration"):
        predict("h1 + He2(h2)", SlicedAverageVariance(), dim=200, samples=8000, times=[0, 3])


def test_eigenvalues_of_both_signs_and_one_size_have_no_order():
    found = predict("sign(h1*h2)", PrincipalHessian(), dim=300, samples=6000, times=[30])
    assert np.all(np.isnan(found.eigenvalue.values))
    assert found.subspace.values[0] == pytest.approx([0.6543, 0.6543], abs=1e-3)


def test_the_eigenvalue_of_an_odd_link_is_at_either_end() -> None:
    """An independent NumPy loop has cosines .358(16) at d = 200 and .264(28) at d = 800, n/d = 10, which tend to .237
    as d grows. The sign of the eigenvalue is chance, and its mean over signs would be no eigenvalue."""
    found = predict("2.29*tanh(h1)", PrincipalHessian(), dim=800, samples=8000, times=[30])
    assert found["subspace"].values[-1] == pytest.approx([0.237], abs=0.01)
    assert np.isnan(found["eigenvalue"].values[-1]).all()


def test_what_is_refused():
    with pytest.raises(NoPrediction, match=r"E\[z \| y\] is not zero.*inverse-regression"):
        predict("h1 + He2(h2)", SpectralEstimator(), dim=100, samples=400)
    with pytest.raises(InvalidParameter, match="samples"):
        predict("h1", PrincipalHessian(), dim=100)
    spiked = featlab.target("h1", inputs=featlab.Spiked(1.0, 0.5))
    with pytest.raises((NoPrediction, InvalidParameter), match="Isotropic"):
        predict(spiked, SlicedAverageVariance(), dim=100, samples=400)
