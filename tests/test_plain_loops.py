"""The plain loops that judge between theory and simulation: independent of both, and right where that is known."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from benchmarks import plain_loops, referee
from benchmarks.plain_loops import SIGMAS

LINE = plain_loops.Sigma(lambda u: u, lambda u: np.ones_like(u))


def test_a_referee_takes_nothing_from_those_it_judges() -> None:
    tree = ast.parse(Path(plain_loops.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {one.module if isinstance(one, ast.ImportFrom) else one.names[0].name for one in imports}
    assert names == {"__future__", "collections.abc", "typing", "numpy", "numpy.typing"}


@pytest.mark.parametrize("name", SIGMAS)
def test_slopes_are_those_of_the_activations(name: str) -> None:
    u = np.linspace(-2, 2, 8)
    by_differences = (SIGMAS[name].value(u + 1e-6) - SIGMAS[name].value(u - 1e-6)) / 2e-6
    np.testing.assert_allclose(SIGMAS[name].slope(u), by_differences, atol=1e-8)


def test_a_linear_neuron_follows_the_normal_equations() -> None:
    """w - e_1 shrinks by I - gamma X^T X / n: by about 1 - gamma, and is gone after many steps."""
    how = {"dim": 5, "samples": 4000, "step": 0.5, "cosine": 0.2}
    path = plain_loops.reused_batch(np.random.default_rng(0), lambda h: h, LINE, steps=40, **how)
    assert path[0] == pytest.approx([0.2, 1.0])
    assert 1 - path[1, 0] == pytest.approx(0.4, abs=0.03)
    assert path[-1] == pytest.approx([1.0, 1.0], abs=1e-9)
    sphere = plain_loops.reused_batch(np.random.default_rng(0), lambda h: h, LINE, steps=40, spherical=True, **how)
    assert sphere[:, 1] == pytest.approx(1.0)
    assert sphere[-1, 0] == pytest.approx(1.0, abs=1e-6)


def test_an_inner_step_looks_ahead() -> None:
    """On a linear neuron it multiplies the force by 1 - rho |x|^2, with rho d = 1 by about zero: nothing is learned."""
    how = {"dim": 400, "step": 0.5, "bias": 0.0, "cosine": 0.0, "times": 1}
    still, moving = (
        plain_loops.extragradient(np.random.default_rng(1), lambda h: h, LINE, inner=inner, **how)[-1, 0]
        for inner in (1.0, 0.0)
    )
    assert abs(still) < 0.05
    assert moving == pytest.approx(1 - np.exp(-0.5), abs=0.08)


@pytest.mark.parametrize("whitened", [False, True])
def test_arcs_come_to_rest_at_the_target(whitened: bool) -> None:
    how = {"dim": 6, "samples": 3000, "cosine": 0.3, "steps": 30, "whitened": whitened}
    path = plain_loops.spherical_flow(np.random.default_rng(2), np.tanh, SIGMAS["tanh"], **how)
    assert path[0] == pytest.approx(0.3, abs=0.02)
    assert np.arccos(path[0]) - np.arccos(path[3]) == pytest.approx(0.3, abs=0.05), "three arcs of 0.1"
    assert path[-1] == pytest.approx(1.0, abs=0.03)


def test_linear_features_learn_a_linear_target() -> None:
    how = {"dim": 8, "width": 20, "batch": 40, "scale": 0.0, "samples": 200, "test": 200}
    risks = plain_loops.readout(np.random.default_rng(3), lambda h: h, LINE, ridge=1e-9, **how)
    assert risks == pytest.approx([0, 0], abs=1e-6)
    assert np.all(plain_loops.readout(np.random.default_rng(3), lambda h: h, LINE, ridge=1.0, **how) > 0.01)


def test_folded_scores_have_the_mean_of_their_squares() -> None:
    """E[g (z - omega) / V] = E[g^2] of the exact denoiser, which labels of other samples do not have."""
    rng, variance = np.random.default_rng(4), 0.7
    means = np.sqrt(0.3) * rng.standard_normal((400, 2))
    fields = means + np.sqrt(variance) * rng.standard_normal((400, 2))
    labels = np.sin(fields[:, 0]) * np.abs(fields[:, 1]) + 2 * plain_loops._he5(fields[:, 1])
    scores = plain_loops._folded_score(labels, means, variance, 61)
    drawn = scores * (fields - means) / variance - scores**2
    assert np.all(np.abs(drawn.mean(axis=0)) < 3 * drawn.std(axis=0) / 20)
    other = plain_loops._folded_score(labels[::-1], means, variance, 61)
    wrong = other * (fields - means) / variance - other**2
    assert np.all(np.abs(wrong.mean(axis=0)) > 3 * wrong.std(axis=0) / 20)
    norms = plain_loops.folded_message_passing(rng, dim=60, samples=100, overlap=0.3, nodes=21)
    assert np.all((norms > 0) & (norms < 1))


def test_the_limit_is_that_of_a_line_in_one_over_the_size() -> None:
    sizes = (100, 400, 1600)
    value, error = referee.limit(sizes, [(2 + 30 / size, 0.01) for size in sizes])
    assert value == pytest.approx(2)
    assert 0.005 < error < 0.02


def test_the_page_has_what_was_measured() -> None:
    found = referee.read(referee.RESULTS)
    assert len(found) == len(referee.CASES)
    assert referee.table(found) in referee.PAGE.read_text(encoding="utf-8")
    told = [one.z for one in found if one.z is not None]
    assert max(map(abs, told)) < 3
