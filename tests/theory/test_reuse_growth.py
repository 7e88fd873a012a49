"""The growth of a tiny overlap on a reused batch: its first step in closed form, and what only reuse does."""

from __future__ import annotations

import numpy as np
import pytest

import featlab
from featlab.gaussian.activations import activation
from featlab.gaussian.quadrature import gauss_pieces
from featlab.theory.reuse.dmft import Descent
from featlab.theory.reuse.growth import small_overlap

SMALL = {"samples": 2**12, "repeats": 4}


def neuron(target, **more):
    rule = {"second": np.array([-1.0]), "biases": np.array([-2.0]), "step": 4.0, "ratio": 30.0, "loss": "correlation"}
    return Descent(featlab.target(target), activation("softplus"), **{**rule, **more})


@pytest.mark.parametrize("target", ["h1**2", "He4(h1)"])
def test_the_first_step_in_closed_form(target):
    """m_1/m_0 = 1 + gamma a E[y h^2] E[s''(z + b)], as d/dm E[y s'(m h + sqrt(1 - m^2) z + b) h] at m = 0, by parts."""
    z, weights = gauss_pieces((), 60)
    curvature = float(weights @ (z * activation("softplus").derivative(z - 2.0)))
    told = float(weights @ (featlab.target(target).link(z[:, None]) * z**2))
    problem = neuron(target, step=0.5, constraint="none")
    found = small_overlap(problem, 1, 1, **SMALL)[:, 1]
    error = found.std(ddof=1) / 2
    assert abs(found.mean() - (1 - 0.5 * told * curvature)) < 5 * error + 1e-6
    if told > 0.1:  # a drift of the other sign is told apart
        assert abs(found.mean() - (1 + 0.5 * told * curvature)) > 20 * error


def test_only_a_batch_that_is_used_again_lets_he4_grow():
    problem = neuron("He4(h1)", constraint="spherical")
    reused, fresh = (small_overlap(problem, 8, uses, **SMALL)[:, -1] for uses in (8, 1))
    assert reused.min() > 5
    assert fresh.max() < 1
