"""Directions: false alarms at the stated level, known truth on targets of the literature, errors that cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import featlab
from featlab.diagnosis.orders import describe_orders, held_out_fields
from featlab.diagnosis.responses import all_responses, label_functions, orthonormal, smooth_terms
from featlab.diagnosis.search import LEVEL, Search, bootstrap_angles, refine, search
from featlab.gaussian.hermite import Floats

Sample = tuple[Floats, Floats]


def sampled(text: str, rows: int, dim: int, seed: int, noise: float = 0.1) -> Sample:
    draw = np.random.default_rng(seed)
    inputs = draw.standard_normal((rows, dim))
    target = featlab.target(text)
    labels = target.link(inputs[:, : target.rank]) + noise**0.5 * draw.standard_normal(rows)
    return inputs.astype(np.float32), labels


def searched(sample: Sample, seed: int = 0) -> Search:
    return search(sample[0], *all_responses(sample[1]), np.random.default_rng([seed, 1]))


def inputs_of(kind: str, draw: np.random.Generator) -> Floats:
    inputs = draw.standard_normal((150, 8))
    if kind == "spiked":
        inputs[:, 0] *= 4
    if kind == "heavy-tailed":
        inputs = draw.standard_t(3, size=(150, 8))
    if kind == "discrete":
        inputs = np.sign(inputs)
    return (inputs / inputs.std(axis=0)).astype(np.float32)


@pytest.mark.parametrize("kind", ["isotropic", "spiked", "heavy-tailed", "discrete"])
@pytest.mark.parametrize("labels", ["continuous", "binary"])
def test_noise_shows_directions_at_the_stated_level_only(kind: str, labels: str) -> None:
    """25 draws for each law: more alarms than binomial(25, 5%) has with a chance of 1e-4 would be a fault."""
    draws, alarms = 25, 0
    for seed in range(draws):
        draw = np.random.default_rng([seed, 7])
        inputs, outcome = inputs_of(kind, draw), draw.standard_normal(150)
        alarms += bool(searched((inputs, outcome if labels == "continuous" else (outcome > 0) * 1.0), seed).steps)
    assert alarms <= binom.ppf(1 - 1e-4, draws, LEVEL)


@pytest.mark.parametrize(
    ("text", "count", "order"),
    [("h1", 1, 1), ("h1**2", 1, 2), ("h1*h2", 2, 2), ("h1 + h1*h2", 2, 1), ("relu(h1)", 1, 1)],
)
def test_the_number_of_directions_and_their_span(text: str, count: int, order: int) -> None:
    """Of six draws at most two may find another number: one too many has a chance of about 5%, three of six .2%."""
    right = 0
    for seed in range(6):
        found = searched(sampled(text, 800, 20, seed), seed)
        assert found.steps[0].order == order
        right += len(found.rows) == count
        if len(found.rows) == count:
            assert np.linalg.svd(found.rows[:, :count], compute_uv=False)[-1] > 0.9
    assert right >= 4


def test_what_two_orders_cannot_see_is_not_claimed() -> None:
    assert not searched(sampled("sign(h1*h2*h3)", 800, 20, 0)).steps


def test_angles_cover_the_truth() -> None:
    """The 95% quantile is above the true angle in at least 14 of 20 draws: below that binomial(20, 90%) is 1e-3."""
    covered = 0
    for seed in range(20):
        sample = sampled("tanh(h1)", 300, 15, seed, noise=0.3)
        found = searched(sample, seed)
        responses, _ = all_responses(sample[1])
        angles = bootstrap_angles(found, sample[0], responses, np.random.default_rng(seed), 20)
        true = np.degrees(np.arccos(min(1.0, float(np.linalg.norm(found.rows[:, 0])))))
        covered += true <= np.quantile(angles.max(axis=1), 0.95)
    assert covered >= 14


def test_refining_does_not_leave_the_truth_and_comes_nearer() -> None:
    inputs, labels = sampled("relu(h1)", 800, 20, 3)
    start = np.zeros(20)
    start[:2] = np.cos(0.5), np.sin(0.5)
    refined = refine(inputs, all_responses(labels)[0], start[None])
    assert abs(refined[0, 0]) > 0.99 > np.cos(0.5)


def test_held_out_orders_have_the_coefficients_of_the_truth() -> None:
    """He2 + He1/2 and noise: along directions of cosine m, order k has m^k times that of the truth."""
    sample = sampled("He2(h1) + h1", 2000, 10, 1, noise=0.1)
    found, (responses, functions) = searched(sample), all_responses(sample[1])
    fields, directions = held_out_fields(found, sample[0], responses, functions)
    assert abs(float(np.corrcoef(fields[:, 0], sample[0][:, 0])[0, 1])) > 0.98
    orders = describe_orders(fields, sample[1], responses[:, :functions])
    scale = np.sqrt(2 + 1 + 0.1)
    expected = {(1,): np.sign(directions[0, 0, 0]) / scale, (2,): np.sqrt(2) / scale, (3,): 0.0, (4,): 0.0, (5,): 0.0}
    for one in orders.of_label:
        if len(fields[0]) == 1:
            cosine = float(np.abs(directions[:, 0, 0]).mean())
            assert abs(one.value - cosine**one.order * expected[one.degrees]) < one.half_width
    assert orders.information.value == 1


def test_exponents_of_an_even_link() -> None:
    sample = sampled("He2(h1)", 1500, 10, 2)
    found, (responses, functions) = searched(sample), all_responses(sample[1])
    fields, _ = held_out_fields(found, sample[0], responses, functions)
    orders = describe_orders(fields, sample[1], responses[:, :functions])
    assert (orders.information.value, orders.generative.value) == (2, 2)
    assert orders.information.hidden > 0


def test_functions_of_the_label_do_not_depend_on_its_scale() -> None:
    labels = np.random.default_rng(0).standard_normal(200)
    assert np.allclose(label_functions(labels), label_functions(np.exp(3 * labels)))
    functions = label_functions(labels)
    assert np.allclose(functions.T @ functions / 200, np.eye(3))
    assert label_functions((labels > 0) * 1.0).shape == (200, 1)
    off = orthonormal(labels[:, None] ** 2, functions)
    assert np.allclose(functions.T @ off, 0)
    assert orthonormal(functions[:, :1], functions).shape == (200, 0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_slopes_are_derivatives(count: int) -> None:
    fields, step = np.random.default_rng(0).uniform(-1, 1, (5, count)), 1e-6
    slopes = smooth_terms(fields)[1]
    for place in range(count):
        moved = step * np.eye(count)[place]
        numeric = (smooth_terms(fields + moved)[0] - smooth_terms(fields - moved)[0]) / (2 * step)
        assert np.allclose(slopes[place], numeric, atol=1e-6)
