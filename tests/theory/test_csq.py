"""The lower bound for correlational queries: its three ingredients measured, its limit, what it must never say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import hermite_normalised_all
from featlab.theory.csq import (
    csq_asymptotic_tolerance,
    csq_queries,
    csq_samples,
    csq_tolerance,
    family_size,
    near_orthogonal_directions,
)


def test_directions_are_as_near_orthogonal_as_promised():
    """M = exp(d eps^2 / 4) = 22 directions at d = 50, eps = 0.5: most draws have all overlaps below eps; at
    exp(d eps^2) of them, with pairs as many as exp(2 d eps^2) / 2, none does."""
    dim, coherence = 50, 0.5
    count = int(family_size(dim, coherence))
    assert count == 22

    def fits(count, seed):
        rows = near_orthogonal_directions(count, dim, seed)
        np.testing.assert_allclose(np.sum(rows**2, axis=1), 1)
        return np.max(np.abs(rows @ rows.T - np.eye(count))) <= coherence

    assert np.mean([fits(count, seed) for seed in range(20)]) > 0.8
    assert not fits(1000, 0)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_correlation_of_two_polynomials_is_a_power_of_the_overlap(degree):
    """E[h_p(<u, x>) h_p(<v, x>)] = <u, v>^p, by quadrature in the plane of u and v."""
    u, v = near_orthogonal_directions(2, 10, 1)
    overlap = u @ v
    nodes, weights = hermegauss(20)
    along, across = np.meshgrid(nodes, nodes, indexing="ij")
    mass = np.outer(weights, weights) / (2 * np.pi)
    other = overlap * along + np.sqrt(1 - overlap**2) * across
    values = [hermite_normalised_all(degree, fields)[degree] for fields in (along, other)]
    assert np.sum(mass * values[0] * values[1]) == pytest.approx(overlap**degree, abs=1e-12)
    assert abs(overlap**degree - overlap ** (degree + 1)) > 1e-4  # the power is seen


def test_the_bound_is_the_argument_for_one_coherence_at_its_best():
    """tau^2 <= eps^p + 2q / M(eps) for every eps: smaller than any of them, and attained by one."""
    queries, dim, degree = 1e4, 2000, 3
    bound = csq_tolerance(queries, dim, degree) ** 2
    terms = [eps**degree + 2 * queries / family_size(dim, eps) for eps in np.linspace(0.1, 0.4, 400)]
    assert bound == pytest.approx(min(terms), rel=1e-3)  # both are the smallest on a grid
    assert bound < 0.99 * terms[0]


def test_queries_and_tolerance_are_inverse_to_each_other():
    tolerance = csq_tolerance(1e6, 5000, 4)
    assert csq_queries(tolerance, 5000, 4) == pytest.approx(1e6, rel=1e-2)
    assert csq_queries(0.5 * tolerance, 5000, 4) < 0.9e6


@pytest.mark.parametrize("degree", [3, 4, 6])
def test_samples_grow_as_half_the_degree(degree):
    """n ~ (d / log(q d))^(p/2): the ratio to it tends to a constant, up to log log d; over eight decades of d it
    changes by less than two, where another degree would change it by a factor of 10^4."""
    dims = [10**4, 10**8, 10**12]
    ratios = [csq_samples(d, d, degree) * csq_asymptotic_tolerance(d, d, degree) ** 2 for d in dims]
    assert max(ratios) / min(ratios) < 2
    wrong = [csq_samples(d, d, degree) * csq_asymptotic_tolerance(d, d, degree + 1) ** 2 for d in dims]
    assert wrong[0] / wrong[-1] > 1000


def test_what_it_cannot_say():
    """A tolerance as good as exact needs no more queries than there are directions to be told apart."""
    assert csq_queries(1e-5, 100, 3) < 1
    assert csq_samples(1e300, 100, 3) < 1
    assert csq_queries(0.5, 10**9, 3) == np.inf


@pytest.mark.parametrize(
    ("function", "given", "name"),
    [
        (csq_samples, (0, 10, 3), "queries"),
        (csq_samples, (10, 0, 3), "dim"),
        (csq_samples, (10, 10, 2.5), "degree"),
        (csq_queries, (-1.0, 10, 3), "tolerance"),
        (family_size, (10, 1.5), "coherence"),
        (csq_asymptotic_tolerance, (0.01, 10, 3), "queries"),
    ],
)
def test_misuse(function, given, name):
    with pytest.raises(InvalidParameter, match=f"^{name}: got"):
        function(*given)
