"""Kernel ridge regression in theory: limits that are known otherwise, and numbers of the spiked staircase."""

from __future__ import annotations

import math

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.learners.kernel_functions import ArcCosine, Exponential, Polynomial, PowerSeries, ReluTangent
from featlab.learners.kernels import KernelRidge
from featlab.targets import Spiked, target
from featlab.theory.bounds import unexplained_variance
from featlab.theory.kernels.isotropic import DegreeEnergies, highest_degree, isotropic_risk
from featlab.theory.kernels.predictor import degree_energies, spiked_labels
from featlab.theory.kernels.spiked import kernel_features, spiked_risk
from featlab.theory.kernels.staircase import kernel_floor, learned_degree
from featlab.theory.prediction import predict
from featlab.theory.question import NoPrediction

SUM = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
KERNELS = [Exponential(), Polynomial(2), PowerSeries((1.0, 0.5, 0.2)), ArcCosine(0), ArcCosine(1), ReluTangent()]


def at_spike(text, exponent, dim, penalties, noise=0.0):
    """The answers at theta = d^g, n = 2d and n lambda = each of the penalties."""
    inputs = Spiked(float(dim) ** exponent, 1.0)
    labels = spiked_labels(target(text, noise=noise), inputs)
    sizes = {"strength": inputs.strength, "dim": dim, "samples": 2 * dim}
    return [spiked_risk(Exponential(), labels, ridge=penalty / (2 * dim), **sizes) for penalty in penalties]


def captured(text, exponent, dim):
    return at_spike(text, exponent, dim, [1.0])[0].captured


def best_excess(exponent, dim, noise):
    return min(found.risk for found in at_spike(SUM, exponent, dim, np.geomspace(1e-2, 1e2, 13), noise)) - noise


def test_degrees_by_samples_and_by_spike():
    assert [learned_degree(k) for k in (0.5, 1.5, 2.9)] == [0, 1, 2]
    assert [learned_degree(1, g) for g in (0.4, 0.58, 0.62, 0.75, 0.79, 1.0)] == [1, 2, 2, 3, 4, math.inf]
    assert learned_degree(2) == 1  # the edge of a step is not counted
    for bad in ((0.0, 0.0), (1.0, 1.2), (1.0, -0.1), (math.nan, 0.0)):
        with pytest.raises(InvalidParameter):
            learned_degree(*bad)


def test_floors_are_what_no_polynomial_explains():
    for text in ("relu(h1)", "tanh(h1)", "He2(h1) + h1", "h1*h2 + He3(h1)"):
        for degree in (0, 1, 2):
            wanted = unexplained_variance(text, degree=degree).value
            assert kernel_floor(text, Exponential(), degree) == pytest.approx(wanted, abs=1e-9)
    # relu has no third degree: a target of degree 3 is left whole. A linear kernel has no intercept.
    assert kernel_floor("He3(h1)", ArcCosine(1), 3) == pytest.approx(6)
    assert kernel_floor("He3(h1)", Exponential(), 3) == pytest.approx(0, abs=1e-9)
    assert kernel_floor("h1 + 2", PowerSeries((0.0, 1.0)), 1) == pytest.approx(4)


def test_a_linear_kernel_is_ridge_regression():
    """xi_1 = 1/d: the effective ridge and the risk of linear regression with covariance I (Hastie et al. 2022)."""
    dim, samples, ridge = 50, 80, 0.003
    found = isotropic_risk(
        PowerSeries((0.0, 1.0)), DegreeEnergies(np.array([0.0, 1.0]), 0.5, 0.5), dim=dim, samples=samples, ridge=ridge
    )
    half = (1 / samples + ridge - 1 / dim) / 2  # kappa (1 - (1/n) d xi/(xi + kappa)) = ridge, solved for kappa
    kappa = half + np.sqrt(half**2 + ridge / dim)
    learned = (1 / dim) / (1 / dim + kappa)
    assert found.risk == pytest.approx(((1 - learned) ** 2 + 0.5) / (1 - dim * learned**2 / samples), rel=1e-10)
    assert found.captured == pytest.approx(learned, rel=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_without_a_spike_the_operator_is_the_isotropic_formula(kernel):
    """Two derivations, one answer up to O(1/d): the difference falls a hundredfold from d = 500 to 50,000. A target of
    two directions with a constant, a part along z and one across."""
    of = target("tanh(h1) + 0.3*He2(h1) + h2 + 0.2", noise=0.05)
    labels = spiked_labels(of, Spiked(0.0, (0.3, 0.2)))
    gaps = []
    for dim in (500, 50_000):
        sizes = {"dim": dim, "samples": 2 * dim, "ridge": 0.15 / dim}
        wanted = isotropic_risk(kernel, degree_energies(of, 3), **sizes)
        found = spiked_risk(kernel, labels, strength=0.0, **sizes)
        assert found.captured == pytest.approx(wanted.captured, abs=2 / dim)
        gaps.append(abs(found.risk - wanted.risk))
    assert gaps[0] < 2e-3
    assert gaps[1] < gaps[0] / 50
    wrong = isotropic_risk(kernel, degree_energies(of, 3), dim=50_000, samples=100_000, ridge=0.3 / 50_000)
    assert abs(wrong.risk - found.risk) > 10 * gaps[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_make_the_kernel_and_its_slope(kernel):
    along = np.linspace(-0.8, 0.8, 6)
    functions, slopes = kernel_features(kernel, along, 0.9)
    square, step = along**2 + 0.9, 1e-5
    products = np.outer(along, along)

    def value(shift):
        return kernel.value(np, products + shift, square[:, None], square)

    np.testing.assert_allclose(functions @ functions.T, value(0), rtol=1e-9)
    np.testing.assert_allclose(slopes @ slopes.T, (value(step) - value(-step)) / (2 * step), rtol=1e-6)


def test_limits_of_the_ridge():
    """lambda -> infinity: nothing is fitted. Many samples of a polynomial within the kernel: everything is."""
    energies = degree_energies(target("h1 + He2(h1)", noise=0.3), 4)
    nothing = isotropic_risk(Exponential(), energies, dim=100, samples=300, ridge=1e9)
    assert nothing.risk == pytest.approx(3.3, rel=1e-6)
    everything = isotropic_risk(Exponential(), energies, dim=10, samples=10**7, ridge=1e-6)
    assert everything.risk == pytest.approx(0.3, rel=1e-3)
    assert everything.captured == pytest.approx(1, rel=1e-3)
    assert at_spike("h1", 0.5, 1000, [1e12])[0].risk == pytest.approx(1, rel=1e-6)


def test_the_isotropic_staircase():
    """Best ridge at d = 10^8 for degrees 1 to 3 of equal energy: plateaus 1, 2/3, 1/3 between whole exponents."""
    energies = DegreeEnergies(np.array([0.0, 1, 1, 1]) / 3, 0.0, 0.0)
    dim = 10**8

    def best(exponent):
        samples = round(dim**exponent)
        ridges = np.geomspace(1e-3, 1e3, 13) / samples
        return min(isotropic_risk(Exponential(), energies, dim=dim, samples=samples, ridge=r).risk for r in ridges)

    floors = [kernel_floor(SUM, Exponential(), degree) for degree in (0, 1, 2)]
    assert floors == pytest.approx([1, 2 / 3, 1 / 3], abs=1e-9)
    assert [best(k) for k in (0.5, 1.5, 2.5)] == pytest.approx(floors, abs=2e-3)
    assert best(1.0) == pytest.approx(5 / 6, abs=0.1)  # on the step it is neither
    assert [highest_degree(dim, round(dim**k)) for k in (0.5, 1.5, 2.5)] == [2, 3, 4]


def test_the_spiked_staircase():
    """Reference numbers of an independent computation: n = 2d, label noise of variance 0.1, best ridge, excess risk, at
    g = .4, .58, .62, .75; limits 2/3, 1/3, 1/3, 0. It was off by up to 4% from simulations; this one agrees with it
    within 0.003, and without the noise it would not."""
    reference = {
        10**3: (0.614, 0.312, 0.232, 0.042),
        10**6: (0.666, 0.361, 0.291, 0.006),
        10**12: (0.667, 0.339, 0.333, 0.000),
    }
    for dim, numbers in reference.items():
        found = [best_excess(exponent, dim, 0.1) for exponent in (0.4, 0.58, 0.62, 0.75)]
        assert found == pytest.approx(numbers, abs=3e-3)
    assert best_excess(0.62, 10**3, 0.0) != pytest.approx(0.232, abs=3e-3)


@pytest.mark.parametrize(("text", "simulated"), [("He2(h1)/sqrt(2)", 0.517), ("He3(h1)/sqrt(6)", 0.706)])
def test_half_of_a_degree_is_captured_where_simulations_find_it(text, simulated):
    """n = 2d, n lambda = 1, d = 700: the exponent g at which E[f* f] = E[f*^2]/2, within 0.003; as d grows it tends to
    1 - 1/j."""
    low, high = (captured(text, simulated + shift, 700) for shift in (-0.003, 0.003))
    assert low < 0.5 < high
    degree = int(text[2])
    low, high = (captured(text, 1 - 1 / degree + shift, 10**12) for shift in (-0.005, 0.005))
    assert low < 0.5 < high


def test_a_spike_across_the_target_changes_little():
    """Overlap zero: the target is across, where only its linear part is learned, up to relative order theta/d."""
    labels = spiked_labels(target("h1"), Spiked(30.0, 0.0))
    found = spiked_risk(Exponential(), labels, strength=30.0, dim=1000, samples=2000, ridge=1 / 2000)
    without = isotropic_risk(Exponential(), degree_energies(target("h1"), 3), dim=1000, samples=2000, ridge=1 / 2000)
    assert found.risk == pytest.approx(without.risk, rel=0.03)
    aligned = spiked_labels(target("h1"), Spiked(30.0, 1.0))
    assert spiked_risk(Exponential(), aligned, strength=30.0, dim=1000, samples=2000, ridge=1 / 2000).risk < 0.2


def test_through_the_door():
    found = predict(target(SUM, inputs=Spiked(30.0, 1.0)), KernelRidge("relu-ntk", 1e-3), dim=1000, samples=2000)
    assert set(found.data_vars) == {"risk", "captured", "ridge", "outcome"}
    assert float(found.ridge[0]) == 1e-3
    best = predict(SUM, KernelRidge(), dim=1000, samples=2000)
    fixed = predict(SUM, KernelRidge(ridge=float(best.ridge[0])), dim=1000, samples=2000)
    assert float(fixed.risk[0]) == pytest.approx(float(best.risk[0]), rel=1e-12)
    assert float(best.risk[0]) > 2 / 3


def test_a_mean_that_rare_inputs_dominate_is_said_to_be_so():
    """theta = d: the exponential kernel extrapolates as exp(z z'); a relu kernel does not."""
    strong = target(SUM, inputs=Spiked(300.0, 1.0))
    outcomes = {
        kernel: str(predict(strong, KernelRidge(kernel, 1e-3), dim=300, samples=600).outcome.values)
        for kernel in ("exponential", "arc-cosine-1")
    }
    assert outcomes == {"exponential": "rare inputs", "arc-cosine-1": "ok"}


def test_what_is_not_predicted():
    with pytest.raises(NoPrediction, match=r"beyond d\^1.5"):
        predict(target("h1", inputs=Spiked(3.0, 1.0)), KernelRidge(), dim=100, samples=5000)
    with pytest.raises(InvalidParameter, match="samples"):
        predict("h1", KernelRidge(), dim=100)
    with pytest.raises(InvalidParameter, match="starts from nothing"):
        predict("h1", KernelRidge(), dim=100, samples=50, start=predict("h1", KernelRidge(), dim=100, samples=50))
