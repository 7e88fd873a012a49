"""Exact eigenvalues of random features at a small d: sums, a Monte Carlo of the kernel's second moment, the limit."""

import numpy as np
import pytest

from featlab.gaussian.activations import activation
from featlab.theory.kernels.harmonics import harmonic_counts, harmonic_features_risk, harmonic_spectrum
from featlab.theory.kernels.isotropic import DegreeEnergies
from featlab.theory.kernels.random_features import feature_energies, random_features_risk

RELU = activation("relu")


def cubic(fields):
    return (fields**3 - 3 * fields) / 6**0.5


def test_the_counts_are_those_of_harmonics():
    assert harmonic_counts(3, 4).tolist() == [1, 3, 5, 7, 9]
    assert harmonic_counts(16, 2).tolist() == [1, 16, 135]


@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_eigenvalues_and_what_is_beyond_make_up_the_energy(bias):
    found = harmonic_spectrum(RELU, cubic, 12, 6, bias)
    energies, beyond = feature_energies(RELU, 6, bias)
    assert found.eigenvalues @ found.counts + found.beyond == pytest.approx(energies.sum() + beyond, rel=1e-5)
    assert found.energies.sum() + found.rest == pytest.approx(1.0, rel=1e-6)


def test_squares_of_eigenvalues_are_the_second_moment_of_the_kernel():
    """sum N xi^2 is the mean of the product of four features, of two inputs and two weights; by 3 * 10^5 draws. The
    control leaves out degree 1."""
    count, dim, draw = 300_000, 6, np.random.default_rng(1)
    found = harmonic_spectrum(RELU, cubic, dim, 8, 0.5)
    weights, inputs = draw.standard_normal((2, 2, count, dim))
    weights /= np.linalg.norm(weights, axis=2, keepdims=True)
    values = np.prod([RELU.value((w * x).sum(axis=1) + 0.5) for w in weights for x in inputs], axis=0)
    error = values.std() / count**0.5
    parts = found.counts * found.eigenvalues**2
    assert abs(values.mean() - parts.sum()) < 4 * error
    assert abs(values.mean() - parts.sum() + parts[1]) > 8 * error


def test_of_a_cube_three_over_d_plus_two_is_of_degree_one():
    """A linear feature has the radial function r at degree 1, along which there is nothing of He_3."""
    linear = harmonic_spectrum(activation("identity"), cubic, 10, 4)
    assert linear.energies == pytest.approx(np.zeros(5), abs=1e-9)
    own = harmonic_spectrum(activation("He3"), cubic, 10, 4)
    assert own.energies[1] == pytest.approx(3 / 12, rel=1e-6)
    assert own.energies[3] == pytest.approx(1 - 3 / 12, rel=1e-6)


@pytest.mark.parametrize(("dim", "same"), [(16, False), (600, True)])
def test_far_out_the_risk_is_that_of_leading_order(dim, same):
    energies, samples = DegreeEnergies(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), 0.0, 0.0), round(dim**2.75)
    sizes = {"samples": samples, "width": 2 * samples, "ridge": 1e-3 / samples}
    exact = harmonic_features_risk(harmonic_spectrum(RELU, cubic, dim, 5, 0.5), **sizes)
    leading = random_features_risk(RELU, energies, dim=dim, bias=0.5, **sizes)
    assert bool(abs(exact / leading - 1) < 0.05) is same
