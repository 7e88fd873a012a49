"""Bayes-AMP: denoisers against exact integrals, the spectral start, what comes out of the door, what is refused."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal

from featlab.errors import InvalidParameter
from featlab.learners import BayesAmp, TwoLayer
from featlab.simulation import amp_closed, amp_mixture, simulate
from featlab.simulation.amp import posterior_covariance, precision_of, stands
from featlab.simulation.amp_closed import closed_form, quadrants, tail
from featlab.simulation.amp_mixture import MixtureDenoiser
from featlab.simulation.designs.dense import Dense
from featlab.simulation.observe import aligned
from featlab.simulation.problem import Problem
from featlab.simulation.spectral import power_iteration, response
from featlab.targets import Spiked, target


def single(*arrays):
    return [jnp.asarray(array, jnp.float32) for array in arrays]


def samples(goal, variance, count, seed=0):
    """Labels and fields such that the posterior of z is the truth: omega ~ N(0, I - V), z ~ N(omega, V)."""
    rng = np.random.default_rng(seed)
    variance = np.atleast_2d(variance)
    rank = len(variance)
    fields = rng.standard_normal((count, rank)) @ np.linalg.cholesky(np.eye(rank) - variance).T
    z = fields + rng.standard_normal((count, rank)) @ np.linalg.cholesky(variance).T
    inner = rng.standard_normal((count, goal.hidden))
    return goal.link(np.hstack([z, inner])) + np.sqrt(goal.noise) * rng.standard_normal(count), fields, variance


@functools.cache
def clouds(goal):
    """The denoiser for any link, compiled once for each target and number of samples."""
    return jax.jit(MixtureDenoiser(goal))


def off(found, exact):
    """Root mean square error over root mean square."""
    return float(np.sqrt(np.mean((np.asarray(found) - exact) ** 2) / np.mean(exact**2)))


def correlated(rank, size):
    return size * (0.8 * np.eye(rank) + 0.2 * np.diag([1, 1.1, 0.9][:rank]) + 0.1 * (1 - np.eye(rank)))


def test_scaled_tail_of_the_normal_law():
    x = np.array([0.0, 0.5, -2.0, 5.0, 12.0, 100.0])
    np.testing.assert_allclose(np.log(tail(*single(x))), log_ndtr(-np.abs(x)) + x**2 / 2, atol=2e-6)


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.85])
def test_quadrants_are_bivariate_normal_probabilities(rho):
    """log P and its gradient against SciPy's distribution function and its differences, for either sign."""
    rng = np.random.default_rng(3)
    variance = np.array([[0.7, rho * np.sqrt(0.28)], [rho * np.sqrt(0.28), 0.4]])
    means, signs = 1.5 * rng.standard_normal((40, 2)), np.repeat([1.0, -1.0], 20)
    flip = np.array([[1, -1], [-1, 1]])

    def log_chance(at):
        laws = [multivariate_normal([0, 0], variance if sign > 0 else variance * flip) for sign in signs]
        turned = at * np.stack([np.ones(40), signs], axis=1)
        return np.log([law.cdf(mean) + law.cdf(-mean) for law, mean in zip(laws, turned, strict=True)])

    found, gradient = jax.jit(quadrants)(*single(signs, means[:, 0], means[:, 1], variance))
    steps = 1e-4 * np.eye(2)
    exact = np.stack([(log_chance(means + s) - log_chance(means - s)) / 2e-4 for s in steps], axis=1)
    np.testing.assert_allclose(found, log_chance(means), atol=1e-4)
    np.testing.assert_allclose(gradient, exact, rtol=1e-3, atol=1e-3)


def test_quadrants_far_out_are_finite():
    """At a million standard deviations on the wrong side the gradient points back, -a; on the right side it is 0."""
    log_chance, gradient = quadrants(*single([1.0, -1.0], [1e6, 1e6], [-2e6, -2e6], np.eye(2)))
    assert np.all(np.isfinite(log_chance))
    np.testing.assert_allclose(gradient, [[-1e6, 0], [0, 0]], rtol=1e-5)


@pytest.mark.parametrize("text", ["sign(h1*h2)", "h1*h2"])
def test_chunks_of_samples_change_nothing(text, monkeypatch):
    """50 samples in chunks of 7, closed form and clouds; the repeated samples beyond the end do not count."""
    goal = target(text)
    given = single(*samples(goal, correlated(2, 0.5), 50))
    make = closed_form if text == "sign(h1*h2)" else MixtureDenoiser
    whole = jax.jit(make(goal))(*given)
    monkeypatch.setattr(amp_closed, "_CHUNK", 7)
    monkeypatch.setattr(amp_mixture, "CHUNK_NUMBERS", 7 * MixtureDenoiser(goal).numbers)
    for one, other in zip(whole, jax.jit(make(goal))(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [0.7, 0.05, 1e-3])
@pytest.mark.parametrize(("text", "rank", "error"), [("abs(h1)", 1, 0.005), ("sign(h1*h2)", 2, 0.02)])
def test_any_link_by_small_clouds_equals_the_closed_forms(text, rank, error, size):
    goal = target(text)
    given = single(*samples(goal, correlated(rank, size), 1000))
    exact, curvature = jax.jit(closed_form(goal))(*given)
    found, found_curvature = clouds(goal)(*given)
    assert off(found, np.asarray(exact)) < error
    assert off(1.2 * found, np.asarray(exact)) > error
    np.testing.assert_allclose(found_curvature, curvature, atol=0.02 * np.abs(curvature).max())


def exact_product(labels, fields, variance):
    """g_out of h1*h2 by integrating along the hyperbola, z1 = +-exp(u)."""
    precision, u = np.linalg.inv(variance), np.linspace(-22, np.log(9), 20001)
    first = np.concatenate([np.exp(u), -np.exp(u)])
    found = []
    for label, mean in zip(labels, fields, strict=True):
        away = np.stack([first, label / first], axis=1) - mean
        logs = -np.einsum("ka,ab,kb->k", away, precision, away) / 2
        weights = np.exp(logs - logs.max())
        found.append(precision @ (weights @ away) / weights.sum())
    return np.array(found)


@pytest.mark.parametrize(("size", "error"), [(0.9, 0.05), (0.3, 0.04), (0.03, 0.02)])
def test_small_clouds_on_a_curved_level_set(size, error):
    goal = target("h1*h2")
    labels, fields, variance = samples(goal, correlated(2, size), 150)
    exact = exact_product(labels, fields, variance)
    found = clouds(goal)(*single(labels, fields, variance))[0]
    assert off(found, exact) < error
    assert off(1.2 * found, exact) > error


def exact_single(goal, labels, fields, variance):
    """g_out of a noisy link of one field, and of one inside noise variable, by a fine grid."""
    z, xi = np.linspace(-9, 9, 4001), np.linspace(-6, 6, 241) if goal.hidden else np.zeros(1)
    values = goal.link(np.stack(np.meshgrid(z, xi, indexing="ij"), axis=-1)[..., : 1 + goal.hidden])
    prior = np.exp(-(xi**2) / 2)
    found = []
    for label, mean in zip(labels, fields[:, 0], strict=True):
        likely = np.exp(-((label - values) ** 2) / (2 * goal.noise)) @ prior
        weights = likely * np.exp(-((z - mean) ** 2) / (2 * variance[0, 0]))
        found.append([np.sum(weights * (z - mean)) / np.sum(weights) / variance[0, 0]])
    return np.array(found)


@pytest.mark.parametrize(
    ("text", "noise", "error"), [("He3(h1)", 0.3, 0.01), ("relu(h1)", 0.05, 0.01), ("h1*(1 + 0.5*xi1)", 0.1, 0.03)]
)
def test_noise_on_the_label_and_inside_the_link(text, noise, error):
    goal = target(text, noise=noise)
    labels, fields, variance = samples(goal, [[0.6]], 150)
    exact = exact_single(goal, labels, fields, variance)
    found = clouds(goal)(*single(labels, fields, variance))[0]
    assert off(found, exact) < error
    assert off(1.2 * found, exact) > error


def folded_reference(labels, omega, variance):
    """E[z - omega | y] / V of y = sin(z1) |z2| + 2 He5(z2), by the roots in z2 at 161 values of z1 and their slopes."""
    found = np.zeros((len(labels), 2))
    for row, (label, mean) in enumerate(zip(labels, omega, strict=True)):
        first = mean[0] + np.sqrt(variance) * np.linspace(-4.5, 4.5, 161)
        total, moved = 0.0, np.zeros(2)
        for sign in (1, -1):
            companion = np.zeros((161, 5, 5))
            companion[:, range(1, 5), range(4)] = 1
            companion[:, 0, 4], companion[:, 1, 4], companion[:, 3, 4] = label / 2, -15 - sign * np.sin(first) / 2, 10
            roots = np.linalg.eigvals(companion)
            second, real = roots.real, (np.abs(roots.imag) < 1e-7) & (roots.real * sign > 0)
            slope = np.abs(10 * second**4 - 60 * second**2 + 30 + sign * np.sin(first)[:, None])
            far = (first[:, None] - mean[0]) ** 2 + (second - mean[1]) ** 2
            weight = np.where(real, np.exp(-far / (2 * variance)) / slope, 0)
            total += weight.sum()
            moved += (weight * (first[:, None] - mean[0])).sum(), (weight * (second - mean[1])).sum()
        found[row] = moved / total / variance
    return found


def test_small_clouds_are_smaller_where_the_link_folds(monkeypatch):
    """What the label tells of h1 is told near folds in h2. Mean squares of g_out over 100 samples within 15% and 2% of
    plain quadrature; with the usual step, which hides most of it, less than half is left of the first."""
    goal, rng, variance = target("sin(h1)*abs(h2) + 2*He5(h2)"), np.random.default_rng(5), 0.7
    omega = np.sqrt(1 - variance) * rng.standard_normal((100, 2))
    labels = goal.link(omega + np.sqrt(variance) * rng.standard_normal((100, 2)))
    expected = np.mean(folded_reference(labels, omega, variance) ** 2, axis=0)

    def squares():
        given = (jnp.asarray(part, jnp.float32) for part in (labels, omega, variance * np.eye(2)))
        return np.mean(np.asarray(jax.jit(MixtureDenoiser(goal))(*given)[0]) ** 2, axis=0)

    assert amp_mixture.halvings(goal) == (0, 2)
    assert np.all(np.abs(squares() / expected - 1) < [0.15, 0.02])
    monkeypatch.setattr(amp_mixture, "halvings", lambda of: (0, 0))
    assert squares()[0] < expected[0] / 2


def test_of_one_field_small_clouds_are_smaller_where_the_link_folds(monkeypatch):
    """E[g_out^2] of 0.56 He3 + 0.64 He4 at overlap 0.119, over 20,000 samples, within 1% of the exact one by the roots
    of the quartic; with the usual step it is 2.6% short. A link that does not fold keeps that step."""
    goal, rng, variance = target("0.56*He3(h1) + 0.64*He4(h1)"), np.random.default_rng(5), 0.881
    omega = np.sqrt(1 - variance) * rng.standard_normal(20_000)
    labels = goal.link((omega + np.sqrt(variance) * rng.standard_normal(20_000))[:, None])
    companion = np.zeros((20_000, 4, 4))
    companion[:, range(1, 4), range(3)] = 1
    companion[:, :, 3] = -np.array([3.0, -2.625, -6.0, 0.875])
    companion[:, 0, 3] += labels / 0.64
    roots = np.linalg.eigvals(companion)
    z, real = roots.real, np.abs(roots.imag) < 1e-7
    weight = np.exp(-((z - omega[:, None]) ** 2) / (2 * variance)) / np.abs(2.56 * z**3 + 1.68 * z**2 - 7.68 * z - 1.68)
    weight = np.where(real, weight, 0)
    exact = np.sum(weight * (z - omega[:, None]), axis=1) / np.sum(weight, axis=1) / variance

    def share():
        given = (jnp.asarray(part, jnp.float32) for part in (labels, omega[:, None], [[variance]]))
        return np.mean(np.asarray(jax.jit(MixtureDenoiser(goal))(*given)[0])[:, 0] * exact) / np.mean(exact**2)

    assert amp_mixture.halvings(goal) == (2,)
    assert amp_mixture.halvings(target("h1 + tanh(h1)")) == (0,)
    assert abs(share() - 1) < 0.01
    monkeypatch.setattr(amp_mixture, "halvings", lambda of: (0,))
    assert share() < 0.985


def test_an_atom_of_the_label_counts_by_its_probability():
    """relu(h1): at y = 0 the gradient of log Phi(-omega / sqrt V), elsewhere z is known."""
    goal = target("relu(h1)")
    labels, fields, variance = samples(goal, [[0.4]], 300)
    zero = labels == 0
    ratio = fields[:, 0] / np.sqrt(0.4)
    mills = np.exp(-(ratio**2) / 2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-ratio))
    exact = np.where(zero, -mills / np.sqrt(0.4), (labels - fields[:, 0]) / 0.4)[:, None]
    found = clouds(goal)(*single(labels, fields, variance))[0]
    assert 50 < zero.sum() < 250
    assert off(found, exact) < 0.01
    assert off(1.2 * found, exact) > 0.01


def test_precision_takes_curvatures_only_where_much_is_known():
    squares = np.diag([400.0, 2.0])
    found = precision_of(*single(squares, np.diag([100.0, -1.0])))
    np.testing.assert_allclose(found, np.diag([100.0, 2.0]), rtol=1e-4)
    np.testing.assert_allclose(precision_of(*single(squares, squares)), squares, rtol=1e-4)


def test_precision_of_two_equal_rows():
    """Below a threshold both rows may follow one direction; the rounded correlation of their g may then exceed 1."""
    squares = 0.1 * np.array([[1.0, 1 + 3e-6], [1 + 3e-6, 1.0]])
    np.testing.assert_allclose(precision_of(*single(squares, squares)), squares, rtol=1e-4)


def test_covariance_of_directions_known_unequally_well():
    precision = np.array([[1e12, 3e5], [3e5, 1.5]])
    exact = np.linalg.inv(np.eye(2) + precision)
    np.testing.assert_allclose(posterior_covariance(*single(precision)), exact, rtol=1e-4)


def test_spectral_start_is_the_leading_eigenvector():
    """That of omega -> (X X^T / d - I) G omega, G(y) = y^2 - 1 for |h|, by NumPy on the same X; not that without -I."""
    goal, learner = target("abs(h1)"), BayesAmp(start="spectral", damping=0.0, power_steps=60)
    inputs = np.random.default_rng(2).standard_normal((400, 100))
    labels = np.abs(inputs[:, 0])
    design = Dense(100, 1, 1, 400)
    problem = Problem(goal, None, learner, design)
    moments = response(goal, *single(labels))[:, 0, 0]
    np.testing.assert_allclose(moments, labels**2 - 1, rtol=1e-4, atol=1e-4)
    start = np.random.default_rng(3).standard_normal((1, 100))
    rows, onsager, _ = power_iteration(problem, *single(inputs, labels, start))
    found = inputs @ np.asarray(rows)[0] - np.asarray(onsager)[:, 0]

    def cosine(shift):
        values, vectors = np.linalg.eig((inputs @ inputs.T / 100 - shift * np.eye(400)) * (labels**2 - 1))
        top = np.real(vectors[:, np.argmax(np.abs(values))])
        return abs(top @ found) / np.linalg.norm(top) / np.linalg.norm(found)

    assert np.linalg.norm(np.asarray(rows)) == pytest.approx(learner.start_overlap**0.5, rel=1e-4)
    assert cosine(1.0) > 0.999
    assert cosine(0.0) < 0.999


def test_what_a_label_tells_where_the_link_folds(monkeypatch):
    """G(y) of .58 |h| + .59 cos(2h), which folds, is that of its roots, and never below -1; a difference of g_out over
    a small step, which divides the error of small clouds of the undivided step by it, is neither."""
    goal = target("0.58*abs(h1) + 0.59*cos(2*h1)")
    labels = goal.link(np.random.default_rng(4).standard_normal((300, 1)))
    exact = _second_moments_by_roots(goal, labels) - 1
    found = np.asarray(jax.jit(lambda labels: response(goal, labels))(*single(labels)))[:, 0, 0]

    def slope(labels):
        move, eye = jnp.full((len(labels), 1), 0.02, labels.dtype), jnp.eye(1, dtype=labels.dtype)
        more, less = (MixtureDenoiser(goal)(labels, fields, eye)[0] for fields in (move, -move))
        return (more - less)[:, 0] / 0.04

    monkeypatch.setattr(amp_mixture, "halvings", lambda of: (0,))
    difference = np.asarray(jax.jit(slope)(*single(labels)))
    assert np.sqrt(np.mean((found - exact) ** 2)) < 0.1 * np.sqrt(np.mean(exact**2))
    assert found.min() >= -1
    assert np.sqrt(np.mean((difference - exact) ** 2)) > 0.3 * np.sqrt(np.mean(exact**2))
    assert difference.min() < -1


def _second_moments_by_roots(goal, labels):
    """E[h^2 | y] of an even link: over the roots h > 0 of y, by phi(h) / |g'(h)|."""
    places = np.linspace(0, 9, 18_001)
    values = goal.link(places[:, None])
    falls = np.sign(values[None, 1:] - labels[:, None]) != np.sign(values[None, :-1] - labels[:, None])
    density = np.exp(-(places[1:] ** 2) / 2) / np.abs(np.diff(values))
    return np.sum(falls * density * places[1:] ** 2, axis=1) / np.sum(falls * density, axis=1)


def test_alignment_finds_every_signed_permutation():
    rng = np.random.default_rng(0)
    rows = np.hstack([np.diag([0.9, 0.8, 0.7]), rng.standard_normal((3, 5))])
    for order in ([2, 0, 1], [1, 0, 2]):
        turned = (rows * np.array([[1], [-1], [-1]]))[order]
        np.testing.assert_allclose(aligned(jnp.asarray(turned, jnp.float32), 3), rows, rtol=1e-6)


@pytest.fixture(scope="module")
def found():
    """Phase retrieval well above and below its threshold."""
    sizes = {"dim": 200, "seeds": 6, "progress": False, "design": "dense"}
    learner = BayesAmp(iterations=120, start="spectral")
    return [simulate("abs(h1)", learner, samples=count, **sizes) for count in (500, 60)]


def test_recovery_and_its_failure_are_outcomes(found):
    above, below = found
    assert set(above.outcome.values) == {"ok"}
    assert np.all(above.iterations.values < 120)
    assert np.all(above.overlap.values[:, -1, 0, 0] > 0.999)
    assert np.all(above.risk.values[:, -1] < 1e-4)
    assert np.all(np.abs(below.overlap.values[:, -1]) < 0.3)
    assert set(below.outcome.values) <= {"uninformed", "not converged", "ok"}
    assert "uninformed" in below.outcome.values


def test_the_dataset_has_the_axes_of_every_simulation(found):
    data = found[0]
    assert data.overlap.dims == ("seed", "time", "neuron", "direction")
    sizes = {"seed": 6, "time": data.sizes["time"], "neuron": 1, "other_neuron": 1, "direction": 1, "component": 1}
    assert dict(data.sizes) == sizes
    assert data.attrs["student"] == "none"
    assert data.time.values.tolist() == data.step.values.tolist()


def test_risk_is_that_of_the_link_at_the_estimated_fields(found):
    """E[(|h| - |lambda|)^2] = 1 + Q - 2 E|h lambda|, E|h lambda| = (2/pi) sqrt Q (sqrt(1 - c^2) + c asin c)."""
    data = found[1]
    q, c = data.norm.values[..., 0] ** 2, data.cosine.values[..., 0, 0]
    exact = 1 + q - 4 / np.pi * np.sqrt(q) * (np.sqrt(1 - c**2) + c * np.arcsin(c))
    assert np.all(np.abs(data.risk - exact) < 5 * data.risk_error)
    assert not np.all(np.abs(data.risk - 1.2 * exact) < 5 * data.risk_error)


@pytest.mark.parametrize(
    ("goal", "words", "name"),
    [
        ("abs(h1)", {"student": TwoLayer()}, "student"),
        ("abs(h1)", {"samples": None}, "samples"),
        ("abs(h1)", {"observe": ("biases",)}, "observe"),
        ("abs(h1)", {"times": [201]}, "times"),
        ("h1*h2*h3*h4", {}, "target"),
        ("h1*h2*h3 + xi1", {}, "target"),
        (target("abs(h1)", inputs=Spiked(1.0, 0.5)), {}, "inputs"),
    ],
)
def test_misuse_is_refused_by_name(goal, words, name):
    given = {"dim": 50, "samples": 100, "seeds": 1, "progress": False} | words
    with pytest.raises(InvalidParameter) as caught:
        simulate(goal, BayesAmp(), **given)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ({"iterations": 0}, "iterations"),
        ({"damping": 1.0}, "damping"),
        ({"damping": -0.1}, "damping"),
        ({"start": "warm"}, "start"),
        ({"start_overlap": 0.0}, "start_overlap"),
        ({"start_overlap": 1.0}, "start_overlap"),
        ({"power_steps": 0}, "power_steps"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_values_are_refused_by_name(words, name):
    with pytest.raises(InvalidParameter) as caught:
        BayesAmp(**words)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("text", "axis", "size"),
    [("He4(h1) + sign(h1*h2*h3)", 0, 1), ("h2**3 - 2*sign(h1*h2*h3)", 1, -2), ("h3 + sign(h1*h2*h3)", 2, 1)],
)
def test_a_polynomial_and_a_parity_in_closed_form(text, axis, size):
    """g_out is the gradient of log Z, Z a sum over the roots of the label, by plain quadrature."""
    goal, variance = target(text), correlated(3, 0.4)
    labels, fields, _ = samples(goal, variance, 24)
    others = [k for k in range(3) if k != axis]
    slope = variance[others, axis] / variance[axis, axis]
    across = variance[np.ix_(others, others)] - np.outer(slope, slope) * variance[axis, axis]
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def both_of_one_sign(a, b):
        """P(z2 z3 > 0) for means a, b: over z2 > 0 and z2 < 0 the chance that z3 has its sign, given z2."""
        spread, slant = across[0, 0] ** 0.5, across[0, 1] / across[0, 0]
        left = (across[1, 1] - slant * across[0, 1]) ** 0.5
        total = 0.0
        for sign in (1, -1):
            z = sign * 5 * (nodes + 1)  # from 0 to 10
            density = np.exp(-((z - a) ** 2) / (2 * spread**2)) / (spread * np.sqrt(2 * np.pi))
            total += 5 * weights @ (density * ndtr(sign * (b + slant * (z - a)) / left))
        return total

    powers = {0: [1, 0, -6, 0, 3], 1: [1, 0, 0, 0], 2: [1, 0]}[axis]

    def log_partition(y, omega):
        total = 0.0
        for sign in (1, -1):
            found = np.roots([*powers[:-1], powers[-1] - (y - size * sign)])
            for root in found[np.abs(found.imag) < 1e-9].real:
                a, b = omega[others] + slope * (root - omega[axis])
                same = both_of_one_sign(a, b)
                chance = same if sign * np.sign(root) > 0 else 1 - same
                density = np.exp(-((root - omega[axis]) ** 2) / (2 * variance[axis, axis]))
                total += density / abs(np.polyval(np.polyder(powers), root)) * chance
        return np.log(total)

    steps = 1e-4 * np.eye(3)
    exact = np.array(
        [
            [(log_partition(y, w + e) - log_partition(y, w - e)) / 2e-4 for e in steps]
            for y, w in zip(labels, fields, strict=True)
        ]
    )
    found, _ = closed_form(goal)(*single(labels, fields, variance))
    assert off(found, exact) < 2e-3
    assert off(found, 1.2 * exact) > 0.1, "negative control"


def test_a_direction_of_which_nothing_is_known_divides_nothing():
    squares = jnp.array([[2.0, 1e-20], [1e-20, 1e-40]], jnp.float32)
    curvature = jnp.array([[2.1, 1e-12], [1e-12, 1e-9]], jnp.float32)
    found = np.asarray(precision_of(squares, curvature))
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, squares, atol=1e-6)


def test_a_row_that_grows_from_almost_nothing_does_not_stand():
    old = jnp.array([[1.0, 0.0], [0.0, 1e-4]])
    growing, fading, moving = (jnp.array([[1.0, 0.0], [0.0, x]]) for x in (1.2e-4, 0.8e-4, 2e-3))
    assert stands(growing, old, 1e-3).tolist() == [True, False]
    assert stands(fading, old, 1e-3).tolist() == [True, True]
    assert stands(moving, old, 1e-3).tolist() == [True, False]
    whole = np.linalg.norm(growing - old) / np.linalg.norm(growing)
    assert whole < 1e-3  # all rows together would have seemed to stand
