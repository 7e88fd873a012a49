"""The dense step is the gradient of the loss; singular vectors, ridge paths and equivalents are what they are said to
be."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.simulation import first_gradient as steps
from featlab.simulation.feature_maps import (
    FreshSamples,
    conditional_equivalent,
    network_features,
    plain_equivalent,
    ridge_path,
)
from featlab.simulation.first_gradient import OneStep, first_gradient, rank_one_share, top_singular
from featlab.targets import SpikeLaw, target

TANH = activation("tanh")


def loss(weights, second, x, y, kind):
    output = np.tanh(x @ weights.T) @ second / len(second)
    return 0.5 * np.mean((y - output) ** 2) if kind == "squared" else -np.mean(y * output)


@pytest.mark.parametrize(("kind", "start"), [("squared", "gaussian"), ("correlation", "sphere")])
def test_it_is_the_gradient_of_the_loss(monkeypatch, kind, start):
    """-p grad L by central differences, in two chunks of the batch; a 1% larger one is refused."""
    of = OneStep(target("relu(h1) + h2", noise=0.1), TANH, 4, 7, 3, start=start, loss=kind)
    drawn = []

    def remembered(*given):
        drawn.append(labelled(*given))
        return drawn[-1]

    labelled = OneStep.labelled
    monkeypatch.setattr(OneStep, "labelled", remembered)
    monkeypatch.setattr(steps, "_CHUNK", 4)
    found = first_gradient(of, np.random.default_rng(1))
    x, y = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    assert len(drawn) == 2
    assert len(y) == 7
    slopes = np.zeros_like(found.start)
    for place in np.ndindex(slopes.shape):
        moved = np.zeros_like(slopes)
        moved[place] = 1e-5
        up, down = (loss(found.start + sign * moved, found.second, x, y, kind) for sign in (1, -1))
        slopes[place] = -of.width * (up - down) / 2e-5
    assert found.gradient == pytest.approx(slopes, rel=1e-6, abs=1e-9)
    assert found.gradient != pytest.approx(1.01 * slopes, rel=1e-6, abs=1e-9)
    residual = y - (np.tanh(x @ found.start.T) @ found.second / 3 if kind == "squared" else 0)
    assert found.common == pytest.approx(residual @ x / 7)
    assert found.labels == pytest.approx(y @ x / 7)
    assert found.residual_square == pytest.approx(np.mean(residual**2))
    assert found.after(2.0) == pytest.approx(found.start + 2 * slopes, rel=1e-6, abs=1e-9)


def test_starts_and_second_layers_have_their_laws():
    of = target("h1")
    gaussian, sphere = (OneStep(of, TANH, 200, 1, 300, start=start).draw(5) for start in ("gaussian", "sphere"))
    assert np.linalg.norm(sphere.start, axis=1) == pytest.approx(1)
    assert np.std(np.linalg.norm(gaussian.start, axis=1)) == pytest.approx((2 * 200) ** -0.5, rel=0.2)
    assert np.mean(gaussian.start**2) == pytest.approx(1 / 200, rel=0.03)
    assert set(OneStep(of, TANH, 3, 1, 50, second_layer="signs").draw(5).second) == {-1.0, 1.0}


def test_the_same_number_draws_the_same_and_another_does_not():
    of = OneStep(target("tanh(h1)"), TANH, 5, 8, 4)
    assert of.draw(3).gradient == pytest.approx(of.draw(3).gradient, abs=0)
    assert of.draw(3).gradient != pytest.approx(of.draw(4).gradient)
    batch, fresh = of.draw(3), FreshSamples.of(of, 8, 3)
    assert fresh.inputs[0, 0] not in batch.start, "fresh samples are independent of the step"


def test_largest_singular_value_with_its_vectors():
    matrix = np.random.default_rng(3).standard_normal((12, 8))
    left, values, right = np.linalg.svd(matrix)
    value, along, across = top_singular(matrix)
    assert value == pytest.approx(values[0])
    assert abs(along @ left[:, 0]) == pytest.approx(1)
    assert abs(across @ right[0]) == pytest.approx(1)


def test_a_linear_student_with_the_correlation_loss_has_a_gradient_of_rank_one():
    """sigma' = 1, eps = y: nothing is left. With the squared loss the student's own output is."""
    linear = activation("identity")
    shares = {}
    for kind in ("correlation", "squared"):
        of = OneStep(target("tanh(h1)"), linear, 12, 30, 8, loss=kind)
        shares[kind] = rank_one_share(of.draw(1), linear)
    assert shares["correlation"] < 1e-12
    assert shares["squared"] > 0.01


@pytest.mark.parametrize("samples", [5, 30])
def test_the_path_solves_the_normal_equations(samples):
    rng = np.random.default_rng(2)
    features, labels, ridges = rng.standard_normal((samples, 9)), rng.standard_normal(samples), np.array([0.01, 1.0])
    found = ridge_path(features, labels, ridges)
    for place, ridge in enumerate(ridges):
        system = features.T @ features / samples + ridge * np.eye(9)
        assert system @ found[:, place] == pytest.approx(features.T @ labels / samples)


def test_equivalents_have_the_first_two_moments_of_the_features():
    """10^5 inputs in d = 3, weights with a common part 2 a_i v: given <x, v> > 1, means and second moments of the
    features are those of the conditional equivalent; the plain one has them over all inputs only."""
    draw = np.random.default_rng(7)
    direction = np.array([0.6, 0.8, 0.0])
    weights = 0.5 * draw.standard_normal((4, 3)) + np.outer([2.0, -2.0, 1.0, 0.0], direction)
    inputs = draw.standard_normal((100_000, 3))
    above = inputs @ direction > 1
    seen = network_features(TANH, weights)(inputs, draw)
    conditional = conditional_equivalent(TANH, weights, direction)(inputs, draw)
    plain = plain_equivalent(TANH, weights)(inputs, draw)
    for power in (1, 2):
        everywhere, there = np.mean(seen**power, axis=0), np.mean(seen[above] ** power, axis=0)
        assert np.mean(plain**power, axis=0) == pytest.approx(everywhere, abs=0.01)
        assert np.mean(conditional**power, axis=0) == pytest.approx(everywhere, abs=0.01)
        assert np.mean(conditional[above] ** power, axis=0) == pytest.approx(there, abs=0.02)
        assert np.mean(plain[above] ** power, axis=0) != pytest.approx(there, abs=0.1)
    assert plain.T @ inputs / len(inputs) == pytest.approx(seen.T @ inputs / len(inputs), abs=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"second_layer": "ones"}, "'gaussian' or 'signs'"),
        ({"start": "planted"}, "'gaussian' or 'sphere'"),
        ({"loss": "hinge"}, "'squared' or 'correlation'"),
        ({"width": 0}, "at least 1"),
        ({"target": target("h1", inputs=SpikeLaw(0.5))}, "isotropic"),
    ],
)
def test_what_it_cannot_do_is_refused(change, words):
    given = {"target": target("h1"), "activation": TANH, "dim": 2, "samples": 2, "width": 2}
    with pytest.raises(InvalidParameter, match=words):
        OneStep(**{**given, **change})
