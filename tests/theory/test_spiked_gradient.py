"""The gradient of one neuron under a spike: against samples, against closed forms, in its limits, at d = 10^12."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.powerlaw import fit_power_law
from featlab.learners import TwoLayer
from featlab.targets import Isotropic, Spiked, SpikeLaw, target
from featlab.theory import NoPrediction
from featlab.theory.spiked.gradient import Neuron, NeuronGradient, neuron_gradient
from featlab.theory.spiked.signal import aligning_exponent, gradient_sizes, sphere_rule

CUBIC = "He3(h1)/sqrt(6)"
MIXED = "(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)"
SIZES = [64, 128, 256, 512, 1024, 2048, 4096]


def sampled(spike: Spiked, weight: np.ndarray, bias: float, samples: int) -> np.ndarray:
    """One gradient a row: x relu'(<x, w> + b) y of the noisy mixed target, by the definition, on d = 6 axes.

    The axes are beta, the rest of mu, and four more.
    """
    rng = np.random.default_rng(3)
    mu = np.zeros(6)
    mu[:2] = spike.overlaps[0], sqrt(1 - spike.overlaps[0] ** 2)
    z = rng.standard_normal((samples, 6))
    x = z + (sqrt(1 + spike.strength) - 1) * (z @ mu)[:, None] * mu
    h = x[:, 0] / sqrt(1 + spike.strength * spike.overlaps[0] ** 2)
    y = ((h**2 - 1) / sqrt(2) + (h**3 - 3 * h) / sqrt(6)) / sqrt(2) + sqrt(0.1) * rng.standard_normal(samples)
    return x * ((x @ weight + bias > 0) * y)[:, None]


def scores(found: NeuronGradient, gradients: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Standard errors between the law and samples: of the means and squares on three axes, elsewhere, of the total."""
    rest = np.concatenate([[0.0, 0.0], weight[2:]]) / np.linalg.norm(weight[2:])
    on_axes = np.column_stack([gradients[:, :2], gradients @ rest])
    squares = on_axes**2
    elsewhere = (np.sum(gradients**2, axis=1) - squares.sum(axis=1)) / 3
    measured = np.column_stack([on_axes, squares, elsewhere])
    expected = np.concatenate([found.mean, found.second, [found.elsewhere]])
    return (measured.mean(axis=0) - expected) / (measured.std(axis=0) / sqrt(len(measured)))


@pytest.mark.parametrize(("overlap", "second"), [(0.6, -0.3), (1.0, 0.0)])
def test_the_law_is_that_of_samples(overlap: float, second: float) -> None:
    """400,000 explicit samples, every number within four standard errors; another spike or no bias is refused."""
    weight = np.array([0.5, second, 0.6, 0.2, 0.4, 0.2])
    weight /= np.linalg.norm(weight)
    gradients = sampled(Spiked(5.0, overlap), weight, 0.4, 400_000)
    along = weight[0] * overlap + weight[1] * sqrt(1 - overlap**2)

    def largest(strength: float, bias: float) -> float:
        of = target(MIXED, noise=0.1, inputs=Spiked(strength, overlap))
        found = neuron_gradient(of, activation("relu"), Neuron(weight[0], along, bias))
        return float(np.abs(scores(found, gradients, weight)).max())

    assert largest(5.0, 0.4) < 4
    assert largest(4.0, 0.4) > 4, "control: a weaker spike"
    assert largest(5.0, 0.0) > 4, "control: the bias forgotten"


def test_relu_without_a_spike_is_a_closed_form() -> None:
    """He2 and a relu without bias: A = E[2 h step(xi)] = 2 t/sqrt(2 pi), B = E[He2(h) delta(xi)] = -t^2/sqrt(2 pi)."""
    overlap = 0.3
    found = neuron_gradient(target("He2(h1)"), activation("relu"), Neuron(overlap, overlap))
    assert found.signal == pytest.approx(2 * overlap / sqrt(2 * np.pi), rel=1e-12)
    pull = -(overlap**2) / sqrt(2 * np.pi)
    assert found.mean[0] == pytest.approx(found.signal + pull * overlap, rel=1e-12)
    assert found.mean[2] == pytest.approx(pull * sqrt(1 - overlap**2), rel=1e-12)
    assert found.mean[1] == 0


def test_no_strength_is_no_spike() -> None:
    neuron = Neuron(0.2, 0.1 * 0.6 + 0.2 * 0.1, 0.5)
    without = neuron_gradient(target(MIXED, inputs=Spiked(0.0, 0.6)), activation("tanh"), neuron)
    isotropic = neuron_gradient(target(MIXED), activation("tanh"), Neuron(0.2, 0.2, 0.5))
    assert without.signal == pytest.approx(isotropic.signal)
    assert np.linalg.norm(without.mean) == pytest.approx(np.linalg.norm(isotropic.mean))
    assert without.deviation(50, 10) == pytest.approx(isotropic.deviation(50, 10))


def test_a_neuron_along_the_target() -> None:
    """w = beta: the mean lies along beta, E[h relu'(h) h] = 1/2; and so near it the law has no jump."""
    found = neuron_gradient(target("h1"), activation("relu"), Neuron(1.0, 1.0))
    near = neuron_gradient(target("h1"), activation("relu"), Neuron(1 - 1e-9, 1 - 1e-9))
    assert found.mean == pytest.approx([0.5, 0, 0])
    assert near.second == pytest.approx(found.second, abs=1e-3)
    assert found.second[0] == pytest.approx(1.5)  # E[h^4]/2


@pytest.mark.parametrize("dim", [3, 10, 1000, 10**12])
def test_the_rule_of_the_sphere(dim: int) -> None:
    """With r = t sqrt(d): E[r^2] = 1, E[r^4] = 3d/(d+2), E[r^6] = 15 d^2/((d+2)(d+4)); not those of another d."""
    points, weights = sphere_rule(dim, 8)
    moments = [float(weights @ (points * sqrt(dim)) ** order) for order in (0, 2, 4, 6)]
    assert moments == pytest.approx([1, 1, 3 * dim / (dim + 2), 15 * dim**2 / ((dim + 2) * (dim + 4))], rel=1e-10)
    assert moments[1] != pytest.approx(dim / (dim + 0.01 * dim), rel=1e-4)


@pytest.mark.parametrize(("text", "order"), [("h1 + He2(h1)", 1), ("He2(h1)", 2), ("He3(h1)", 3)])
def test_sizes_without_a_spike_are_powers_of_d(text: str, order: int) -> None:
    """The mean is of size d^{-(k-1)/2}, the gradient of n samples deviates from it by sqrt(d/n), over d = 64 to 4096.

    The fitted exponents are off by what is left of 1/d at d = 64: at most 0.02, and a neighbouring k is 0.5 away.
    """
    found = [gradient_sizes(text, dim=dim, samples=500) for dim in SIZES]
    mean = fit_power_law(SIZES, [size.mean for size in found])
    deviation = fit_power_law(SIZES, [size.deviation for size in found])
    assert mean.exponent == pytest.approx(-(order - 1) / 2, abs=0.02)
    assert deviation.exponent == pytest.approx(0.5, abs=0.02)
    more = gradient_sizes(text, dim=64, samples=4 * 500)
    assert more.deviation == pytest.approx(found[0].deviation / 2)
    assert more.mean == found[0].mean


def test_the_signal_of_he2_is_a_power_exactly() -> None:
    """A is linear in t = <w, beta> for He2, so that its root mean square is exactly c/sqrt(d)."""
    signals = [gradient_sizes("He2(h1)", dim=dim, samples=10).signal for dim in (10, 10**12)]
    assert signals[0] * sqrt(10) == pytest.approx(signals[1] * 1e6, rel=1e-9)
    closed = 2 * sqrt(1 / (2 * np.pi * sqrt(3)))  # 2 c_2 sqrt(E_b phi(b)^2)
    assert signals[1] * 1e6 == pytest.approx(closed, rel=1e-6)


@pytest.mark.parametrize(("text", "reference"), [(MIXED, 0.518), (CUBIC, 0.674)])
def test_the_spike_that_aligns_the_gradient(text: str, reference: float) -> None:
    """Signal-to-noise 1 at d = 10^12 and n = 2d: g2 = .518 for k = 2 and .674 for k = 3, to their three digits."""
    assert aligning_exponent(text, dim=10**12, ratio=2) == pytest.approx(reference, abs=6e-4)


def test_the_aligning_spike_tends_to_one_minus_one_over_k() -> None:
    """The distance from 1 - 1/k is c/log d: between d = 10^9 and 10^18 it halves (not so the one from k = 4)."""
    near, far = (aligning_exponent("He2(h1)", dim=dim, ratio=0.1) for dim in (10**9, 10**18))
    assert near is not None
    assert far is not None
    assert (near - 1 / 2) / (far - 1 / 2) == pytest.approx(2, rel=0.02)
    assert (near - 3 / 4) / (far - 3 / 4) != pytest.approx(2, rel=0.5)


def test_the_ratio_at_the_aligning_spike_is_one_and_the_feature_is_ahead_of_it() -> None:
    exponent = aligning_exponent(CUBIC, dim=1000, ratio=2)
    assert exponent is not None
    sizes = gradient_sizes(target(CUBIC, inputs=SpikeLaw(exponent)), dim=1000, samples=2000)
    assert sizes.ratio == pytest.approx(1, abs=1e-4)
    assert sizes.feature_ratio == pytest.approx(sqrt(1 + 1000**exponent), rel=1e-4)


def test_the_feature_aligns_before_the_gradient() -> None:
    """k = 2, n = 2d, between g2 = (k-1)/(k+1) and 1 - 1/k: as d grows the gradient loses its direction, like
    d^{(k g2 - k + 1)/2}, and the feature gains, like d^{((k+1) g2 - k + 1)/2}; below both lose."""

    def slopes(g2: float) -> tuple[float, float]:
        law, dims = target("He2(h1)", inputs=SpikeLaw(g2)), (10**8, 10**12)
        found = [gradient_sizes(law, dim=dim, samples=2 * dim) for dim in dims]
        pairs = [(one.ratio, one.feature_ratio) for one in found]
        return tuple(float(np.log(far / near) / np.log(10**4)) for near, far in zip(*pairs, strict=True))  # type: ignore[return-value]

    assert slopes(0.42) == pytest.approx(((2 * 0.42 - 1) / 2, (3 * 0.42 - 1) / 2), abs=2e-3)
    assert slopes(0.25) == pytest.approx(((2 * 0.25 - 1) / 2, (3 * 0.25 - 1) / 2), abs=2e-3)


def test_no_spike_is_needed_for_one_and_none_suffices_for_too_few_samples() -> None:
    assert aligning_exponent("h1", dim=1000, ratio=20) == 0
    assert aligning_exponent(CUBIC, dim=1000, ratio=0.01) is None


def test_misalignment_weakens_the_signal() -> None:
    aligned, off = (
        gradient_sizes(target(MIXED, inputs=SpikeLaw(0.6, g1)), dim=10**4, samples=10**4, student=TwoLayer())
        for g1 in (0.0, 0.4)
    )
    assert off.signal < 0.5 * aligned.signal


def test_relu_without_biases_has_no_third_degree() -> None:
    """What random biases are for: E[relu He3] = 0, so that a target of information exponent 3 has no signal."""
    blind = gradient_sizes(CUBIC, dim=100, samples=100, student=TwoLayer())
    assert blind.signal < 1e-12
    assert gradient_sizes(CUBIC, dim=100, samples=100).signal > 1e-3


@pytest.mark.parametrize("biases", ["uniform", 0.5])
def test_other_laws_of_biases(biases: str | float) -> None:
    """The average over biases against a mean over many of them: one deterministic, one within four standard errors."""
    student = TwoLayer(biases=biases, bias_scale=2.0) if isinstance(biases, str) else TwoLayer(biases=biases)
    found = gradient_sizes("He2(h1)", dim=10**8, samples=10, student=student)
    drawn = np.random.default_rng(0).uniform(-2, 2, 200_000) if biases == "uniform" else np.full(2, 0.5)
    squares = 4 * np.exp(-(drawn**2)) / (2 * np.pi)
    error = squares.std() / sqrt(len(squares))
    assert found.signal**2 * 1e8 == pytest.approx(squares.mean(), abs=4 * error + 1e-6)


@pytest.mark.parametrize("text", ["h1*h2", "tanh(h1)", "h1*xi1"])
def test_what_has_no_formula_is_refused(text: str) -> None:
    with pytest.raises(NoPrediction, match="polynomials of one direction"):
        gradient_sizes(text, dim=100, samples=100)


def test_misuse() -> None:
    with pytest.raises(NoPrediction, match="unit sphere"):
        gradient_sizes("h1", dim=100, samples=100, student=TwoLayer(start="orthogonal"))
    with pytest.raises(NoPrediction, match="take a law at a dimension"):
        neuron_gradient(target("h1", inputs=SpikeLaw(0.5)), activation("relu"), Neuron(0.1, 0.1))
    with pytest.raises(InvalidParameter, match="unit vector"):
        neuron_gradient(target("h1", inputs=Spiked(1.0, 0.5)), activation("relu"), Neuron(0.9, -0.9))
    with pytest.raises(InvalidParameter, match="unit vector"):
        neuron_gradient(target("h1", inputs=Spiked(1.0, 1.0)), activation("relu"), Neuron(0.1, 0.2))
    for sizes in ({"dim": 3, "samples": 10}, {"dim": 10, "samples": 0}):
        with pytest.raises(InvalidParameter, match="at least"):
            gradient_sizes(target("h1", inputs=Isotropic()), **sizes)
