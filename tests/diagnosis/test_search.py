"""Directions: false alarms at the stated level, known truth on targets of the literature, errors that cover."""

from __future__ import annotations

from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from scipy.stats import binom

import featlab
from featlab.diagnosis.angles import CANNOT_TELL, bootstrap_angles, squared_errors
from featlab.diagnosis.diagnosis import _even
from featlab.diagnosis.orders import HeldOut, describe_orders, held_out, kurtosis
from featlab.diagnosis.responses import all_responses, label_functions, orthonormal, smooth_terms, tail_index
from featlab.diagnosis.search import LEVEL, Search, refine, search
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


def held(sample: Sample) -> HeldOut:
    return held_out(searched(sample), sample[0], sample[1], *all_responses(sample[1]))


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


def angles(sample: Sample, found: Search, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """The true angles to the span of the first axes; median, lower and upper bound."""
    given = (found, *sample, *all_responses(sample[1]))
    true = np.degrees(np.arccos(np.minimum(1, np.linalg.norm(found.rows[:, : len(found.rows)], axis=1))))
    return true, *bootstrap_angles(*given, np.random.default_rng(seed)).T


@pytest.mark.parametrize("labels", ["continuous", "binary"])
def test_bounds_of_angles_hold_and_are_not_far_off(labels: str) -> None:
    """Bounds of 95% fail in at most 2 of 8 draws: three have a chance of .6%. Half of the upper and twice the lower
    would not hold, and all say something, which one that always says 90 degrees would not. Five or more true angles
    on one side of the median: all 8 have a chance of .8% in both."""
    results = []
    for seed in range(8):
        sample = sampled("tanh(h1)", 300, 15, seed, noise=0.3)
        sample = sample if labels == "continuous" else (sample[0], (sample[1] > 0.5).astype(float))
        found = searched(sample, seed)
        results.append([one[0] for one in angles(sample, found, seed)])
    true, median, low, high = np.array(results).T
    assert np.sum(true > high) <= 2 < np.sum(true > high / 2)
    assert np.sum(true < low) <= 2 < np.sum(true < 2 * low)
    assert 0 < np.sum(true < median) < 8
    assert high.max() < CANNOT_TELL / 2


def test_a_bootstrap_that_trusts_the_link_of_the_same_rows_does_not_cover() -> None:
    """n/d = 10, two directions: at most 3 of 12 upper bounds miss (four have a chance of .2%), or nothing is told. A
    bootstrap along the directions found themselves has 1.6 times its lower bound for an upper one, and misses more."""
    missed = narrow = told = 0
    for seed in range(6):
        sample = sampled("h1 + h1*h2", 200, 20, seed)
        found = searched(sample, seed)
        if len(found.rows) == 2:
            true, _, low, high = angles(sample, found, seed)
            missed += int(np.sum(true > high))
            narrow += int(np.sum(true > 1.6 * low))
            told += int(np.sum(high < CANNOT_TELL))
    assert told >= 6
    assert missed <= 3 < narrow


def test_an_angle_of_noise_cannot_be_told() -> None:
    """A direction that is noise, claimed to be found; and a class of one row, which draws may not have."""
    draw = np.random.default_rng(0)
    sample = draw.standard_normal((60, 20)).astype(np.float32), draw.standard_normal(60)
    claimed = searched(sampled("h1", 800, 20, 0))
    found = Search(np.eye(20)[:1], claimed.steps[:1], None, 99, 60)
    for labels in (sample[1], (np.arange(60) == 7).astype(float)):
        assert [part.tolist() for part in angles((sample[0], labels), found, 0)[1:]] == [[90], [0], [90]]


def test_the_truth_is_between_two_bootstraps() -> None:
    """A linear link with as much noise, d/n = .1: T* along the directions found is too small, along those of other rows
    too large, and their mean is nearer. T of 60 coordinates has a standard deviation of 18%, the mean of four T* one of
    9%: 10% for their ratio over four seeds, of which thrice is allowed."""
    ratios = []
    for seed in range(4):
        sample = sampled("h1", 600, 60, seed, noise=1.0)
        found, responses = searched(sample, seed), all_responses(sample[1])
        true, median = (np.tan(np.radians(one[0])) ** 2 for one in angles(sample, found, seed)[:2])
        sizes = [one[0, 0] for one in squared_errors(found, *sample, *responses, 4, np.random.default_rng(seed))]
        ratios.append([size / true for size in (*sizes, median)])
    inside, others, median = np.mean(ratios, axis=0)
    assert inside + 0.3 < 1 < others + 0.3
    assert abs(median - 1) < min(1 - inside, 0.6)
    assert inside < median < others


def test_refining_does_not_leave_the_truth_and_comes_nearer() -> None:
    inputs, labels = sampled("relu(h1)", 800, 20, 3)
    start = np.zeros(20)
    start[:2] = np.cos(0.5), np.sin(0.5)
    refined = refine(inputs, all_responses(labels)[0], start[None])
    assert abs(refined[0, 0]) > 0.99 > np.cos(0.5)


def test_held_out_orders_have_the_coefficients_of_the_truth() -> None:
    """He2 + He1 and noise: along a direction of cosine m, order k has m^k times that of the truth."""
    sample = sampled("He2(h1) + h1", 2000, 10, 1, noise=0.1)
    half = held(sample)
    cosine = float(half.directions[0, 0])
    assert abs(cosine) > 0.98
    orders = describe_orders(half)
    scale = sample[1][:1000].std()
    expected = {(1,): cosine / scale, (2,): cosine**2 * np.sqrt(2) / scale, (3,): 0.0}
    assert {one.degrees for one in orders.of_label} == set(expected)  # 1000 rows are too few for order 4
    for one in orders.of_label:
        assert abs(one.value - expected[one.degrees]) < one.half_width
    assert orders.of_label[0].half_width < abs(expected[1,]) / 2
    assert orders.information.value == 1


def test_exponents_of_an_even_link() -> None:
    orders = describe_orders(held(sampled("He2(h1)", 1500, 10, 2)))
    assert (orders.information.value, orders.generative.value) == (2, 2)
    assert orders.information.hidden > 0


def test_intervals_cover_where_normal_ones_do_not() -> None:
    """Skewed products, on 40 rows with known directions: b_1 of y = exp(h), standardised, and that of its rank. Of 300
    draws at most 27 may miss (95% miss 15, and 28 have a chance of .1%); bounds of 1.96 standard errors miss more."""
    truth, missed, narrow = 1 / np.sqrt(np.e - 1), 0, 0
    for seed in range(300):
        fields = np.random.default_rng([seed, 3]).standard_normal((40, 1))
        standard = (fields - fields.mean()) / fields.std()
        label = (np.exp(fields[:, 0]) - np.exp(0.5)) / np.sqrt(np.e**2 - np.e)
        (one, *_), count = (
            describe_orders(HeldOut(fields, standard, label, label, label[:, None], np.eye(1))).of_functions,
            40,
        )
        missed += abs(one.value - truth) > one.half_width
        influences = standard[:, 0] * (label - one.value * standard[:, 0])
        narrow += abs(one.value - truth) > 1.96 * influences.std() / np.sqrt(count)
    assert missed <= 27
    assert narrow > 27


def test_tails_of_a_label_that_few_rows_do_not_show_are_not_claimed() -> None:
    """He4 at 150 rows: its own orders cannot be told, those of its functions can."""
    orders = describe_orders(held(sampled("He4(h1)", 150, 3, 0)))
    assert not any(one.visible or np.isfinite(one.half_width) for one in orders.of_label)
    assert np.isinf(orders.information.hidden)
    assert orders.text is None
    assert all(np.isfinite(one.half_width) for one in orders.of_functions)


def test_a_class_that_one_half_does_not_have_is_not_told_of() -> None:
    inputs = np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32)
    inputs[50] += 8
    labels = (np.arange(60) == 50).astype(float)
    orders = describe_orders(held((inputs / inputs.std(axis=0), labels)))
    assert not any(np.isfinite(one.half_width) for one in orders.of_label + orders.of_functions)
    assert (orders.information.value, orders.generative.value) == (None, None)


def test_the_label_along_all_directions_together() -> None:
    """On 400 rows, and the noise by Student's error of a variance; 40 rows are too few for the nine terms of a spline,
    and of a label with too heavy tails there is none."""
    draw = np.random.default_rng(4)
    fields, noise = draw.standard_normal((400, 1)), 0.5 * draw.standard_normal(400)
    label = np.tanh(2 * fields[:, 0]) + noise
    half = HeldOut(fields, fields, label, label, label[:, None], np.eye(1))
    smooth = describe_orders(half).smooth
    assert smooth is not None
    assert smooth.noise == pytest.approx(0.25, rel=3 * np.sqrt(2 / 400))
    places = np.linspace(-2, 2, 9)[:, None]
    # Nine terms of 400 rows: an error of the noise's deviation times sqrt(9 / 400) in the mean over rows.
    assert np.abs(smooth.link(places) - np.tanh(2 * places[:, 0])).max() < 4 * 0.5 * np.sqrt(9 / 400)
    assert describe_orders(replace(half, too_heavy=True)).smooth is None
    few = HeldOut(fields[:40], fields[:40], label[:40], label[:40], label[:40, None], np.eye(1))
    assert describe_orders(few).smooth is None


def test_an_even_direction_is_known_however_it_was_found() -> None:
    """Estimators that see the first order only are not taken for it."""
    sample = sampled("He2(h1) + h2", 1500, 6, 0)
    found = searched(sample)
    orders = describe_orders(held_out(found, sample[0], sample[1], *all_responses(sample[1])))
    assert [step.order for step in found.steps] == [1, 2]
    called_first = replace(found, steps=tuple(replace(step, order=1) for step in found.steps))
    assert _even(found, orders)
    assert _even(called_first, orders)
    assert not _even(called_first, None)
    linear = sampled("tanh(h1)", 400, 6, 0)
    assert not _even(searched(linear), describe_orders(held(linear)))


def test_the_index_of_a_tail() -> None:
    """Pareto's law: 1/a has a relative error of 1/sqrt(250) for the largest 5% of 5,000 values; thrice is allowed. A
    normal law has a larger one than any of these, and labels of few values none."""
    draw = np.random.default_rng(0)
    for index in (1.0, 3.0):
        values = draw.random(5_000) ** (-1 / index)
        assert tail_index(np.concatenate([values, -values])) == pytest.approx(index, rel=3 / np.sqrt(250))
    assert tail_index(draw.standard_normal(10_000)) > 4
    assert tail_index(np.arange(100) % 2) == np.inf


def test_kurtosis_of_hermite_polynomials() -> None:
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    for order in range(1, 6):
        values = np.polynomial.hermite_e.hermeval(points, np.eye(6)[order]) ** 4 / factorial(order) ** 2
        assert kurtosis(order) == pytest.approx(weights @ values / np.sqrt(2 * np.pi))


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
