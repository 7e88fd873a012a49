"""One gradient step with every matrix at hand, for claims about weights, features and their spectra. NumPy, float64.

The student is (1/p) sum_i a_i sigma(<w_i, x>), w_i with entries N(0, 1/d), and the step per neuron is gamma:
w_i + gamma a_i (1/n) sum_j (y_j - f(x_j)) sigma'(<w_i, x_j>) x_j. In the convention of Ba et al. 2022, prefactor
1/sqrt(p) and second layer N(0, 1/p), that is eta = gamma sqrt(p). The target's directions are the first axes.

Points of a study have student, teacher, noise, dim, psi1 = n/d and psi2 = p/d; `Setting` is what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation, activation
from featlab.gaussian.hermite import Floats
from featlab.learners.giant import GiantSteps
from featlab.learners.readout import Readout
from featlab.learners.students import TwoLayer
from featlab.study.runner import Runner
from featlab.targets import Target
from featlab.targets import target as make_target
from featlab.theory.giant.features import Features, Neurons
from featlab.theory.giant.given import given_features, given_ridge_risk
from featlab.theory.giant.labels import LabelsGivenSpike
from featlab.theory.giant.readout import giant_step_features, neuron_law
from featlab.theory.giant.ridge import Sizes, ridge_risk
from featlab.theory.question import Question, Start
from featlab.theory.ridge import given_weights_risk, linear_part
from featlab.theory.spikes import GradientSpike, critical_step, gradient_spike, label_moments, slope_moments

_CHUNK = 4096
TEST_SAMPLES = 4096
_GIVEN_NODES = 16


@dataclass(frozen=True)
class Setting:
    """Who learns what, at which sizes."""

    target: Target
    student: Activation
    sizes: Sizes

    @classmethod
    def of(cls, point: Mapping[str, Any]) -> Setting:
        """That of a study's point."""
        dim = int(point["dim"])
        sizes = Sizes(round(point["psi1"] * dim), round(point["psi2"] * dim), dim)
        return cls(make_target(point["teacher"], noise=point["noise"]), activation(point["student"]), sizes)

    @property
    def slope(self) -> float:
        """mu1 = E[sigma']."""
        return slope_moments(self.student).slope

    @property
    def spike(self) -> GradientSpike:
        """The common gradient in the limit."""
        return gradient_spike(label_moments(self.target), self.sizes.samples / self.sizes.dim)

    @property
    def width_ratio(self) -> float:
        """psi2 = p/d."""
        return self.sizes.width / self.sizes.dim

    @property
    def critical_size(self) -> float:
        """The step gamma_c at which the spike leaves the bulk in the limit."""
        return critical_step(np.sqrt(self.sizes.width), self.slope, self.spike, self.width_ratio)

    @property
    def floor(self) -> float:
        """||P_{>1} f*||^2, the least excess risk of anything linear."""
        return label_moments(self.target).floor - self.target.noise

    def draw(self, rng: np.random.Generator, second_layer: str = "gaussian") -> FirstGradient:
        """A start and the gradient of its batch."""
        return first_gradient(self.target, self.student, self.sizes, rng, second_layer)


@dataclass(frozen=True, eq=False)
class FirstGradient:
    """A student at its start, and the gradient of its first batch.

    Attributes:
        start: W (p, d). second: a (p,).
        gradient: (p, d), so that the weights after a step gamma are start + gamma * gradient.
        common: (1/n) sum (y - f) x (d,), which all neurons see times a_i E[sigma'].
        labels: (1/n) sum y x (d,), the same without the student's own output.
        residual_square: mean of (y - f)^2 over the batch.
        samples: n.
    """

    start: Floats
    second: Floats
    gradient: Floats
    common: Floats
    labels: Floats
    residual_square: float
    samples: int

    @property
    def spike(self) -> GradientSpike:
        """The common part as it was realised, for a target of one direction."""
        strength = float(np.linalg.norm(self.common))
        noise = self.residual_square * self.common.size / self.samples
        return GradientSpike(strength, abs(float(self.common[0])) / strength, noise)


def first_gradient(
    target: Target, student: Activation, sizes: Sizes, rng: np.random.Generator, second_layer: str = "gaussian"
) -> FirstGradient:
    """Draw a start and a batch; the batch is read in chunks, so that memory is that of the weights."""
    start = rng.standard_normal((sizes.width, sizes.dim)) / np.sqrt(sizes.dim)
    second = rng.standard_normal(sizes.width)
    if second_layer == "signs":
        second = np.sign(second)
    elif second_layer != "gaussian":
        raise InvalidParameter("second_layer", second_layer, "'gaussian' or 'signs'")
    gradient, common, seen = np.zeros_like(start), np.zeros(sizes.dim), np.zeros(sizes.dim)
    square = 0.0
    for begin in range(0, sizes.samples, _CHUNK):
        x, y = labelled(target, min(_CHUNK, sizes.samples - begin), sizes.dim, rng)
        fields = x @ start.T
        residual = y - student.value(fields) @ second / sizes.width
        gradient += (student.derivative(fields) * residual[:, None]).T @ x
        common += residual @ x
        seen += y @ x
        square += float(residual @ residual)
    n = sizes.samples
    return FirstGradient(start, second, second[:, None] * gradient / n, common / n, seen / n, square / n, n)


def labelled(target: Target, count: int, dim: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Inputs (count, d) and labels (count,), the additive noise included."""
    x = rng.standard_normal((count, dim))
    return x, target.link(x[:, : target.rank]) + np.sqrt(target.noise) * rng.standard_normal(count)


def top_singular(matrix: Floats) -> tuple[float, Floats, Floats]:
    """The largest singular value of (p, d) with its unit vectors in R^p and R^d."""
    left, value, right = svds(matrix, k=1, v0=np.ones(min(matrix.shape)))
    return float(value[0]), left[:, 0], right[0]


def excess_risks(
    target: Target, student: Activation, weights: Floats, samples: int, ridges: Floats, rng: np.random.Generator
) -> Floats:
    """E[(f* - f)^2] of ridge regression on fresh samples at each lambda, in the convention of `Readout`.

    Measured on `TEST_SAMPLES` more, without label noise.
    """
    width, dim = weights.shape
    x, y = labelled(target, samples, dim, rng)
    features = student.value(x @ weights.T) / np.sqrt(width)
    coefficients = _ridge_path(features, y, ridges)
    x = rng.standard_normal((TEST_SAMPLES, dim))
    fitted = student.value(x @ weights.T) / np.sqrt(width) @ coefficients
    return np.mean((target.link(x[:, : target.rank])[:, None] - fitted) ** 2, axis=0)


def _ridge_path(features: Floats, labels: Floats, ridges: Floats) -> Floats:
    """The coefficients (p, L) of min (1/n) |y - Phi a|^2 + lambda |a|^2, by the smaller of the two Gram matrices."""
    count, width = features.shape
    dual = count <= width
    gram = features @ features.T if dual else features.T @ features
    values, vectors = np.linalg.eigh(gram / count)
    moment = labels if dual else features.T @ labels
    solved = vectors @ ((vectors.T @ moment)[:, None] / (values[:, None] + ridges)) / count
    return features.T @ solved if dual else solved


def run_ridge(point: Mapping[str, Any], key: int) -> list[dict[str, Any]]:
    """One start and one batch, followed to every step; then ridge regression on n fresh samples for each.

    Besides the setting a point has `steps` and their `unit` (of UNITS), `ridges` p lambda (or one), and `given`: what
    to predict with the weights as they are, "gaussian" (the Gaussian equivalent, for small steps), "conditional" (that
    given the coordinate along the spike) or "nothing". Risks are excess risks, without the label noise.
    """
    setting, rng = Setting.of(point), np.random.default_rng(key)
    batch, rows = setting.draw(rng), []
    samples, penalties = setting.sizes.samples, np.atleast_1d(point["ridges"])
    ridges = penalties / setting.sizes.width
    for step in point["steps"]:
        weights = batch.start + step * UNITS[point["unit"]](setting) * batch.gradient
        risks = excess_risks(setting.target, setting.student, weights, samples, ridges, rng)
        given = _GIVEN[point["given"]](setting, weights, batch.common, ridges) - setting.target.noise
        rows += [
            {"step": step, "ridge": ridge, "excess": risk, "given": expected}
            for ridge, risk, expected in zip(penalties.tolist(), risks.tolist(), given.tolist(), strict=True)
        ]
    return rows


UNITS: dict[str, Callable[[Setting], float]] = {
    "critical": lambda setting: setting.critical_size,
    "eta": lambda setting: setting.sizes.width**-0.5,
    "gamma": lambda setting: 1.0,
}


def _given_gaussian(setting: Setting, weights: Floats, common: Floats, ridges: Floats) -> Floats:
    part, labels = linear_part(setting.student), label_moments(setting.target)
    overlap = weights[:, : setting.target.rank]
    return np.array([given_weights_risk(weights, overlap, part, labels, setting.sizes.samples, r) for r in ridges])


def _given_conditional(setting: Setting, weights: Floats, common: Floats, ridges: Floats) -> Floats:
    direction = common / np.linalg.norm(common)
    none = np.zeros(len(weights))
    features = given_features(setting.target, setting.student, weights, none, direction, nodes=_GIVEN_NODES)
    return np.array([given_ridge_risk(features, setting.sizes.samples, ridge).risk for ridge in ridges])


_GIVEN: dict[str, Callable[[Setting, Floats, Floats, Floats], Floats]] = {
    "gaussian": _given_gaussian,
    "conditional": _given_conditional,
    "nothing": lambda setting, weights, common, ridges: np.full(len(ridges), np.nan),
}
RIDGE = Runner(run_ridge, index=("step", "ridge"))


def limit_excess(setting: Setting, size: float, ridges: Floats) -> Floats:
    """Theory's excess risk at each lambda after a step gamma = `size`, in the limit of the conditional equivalent."""
    features, labels = limit_features(setting.target, setting.student.name, size, setting.sizes)
    return np.array([ridge_risk(features, labels, setting.sizes, r).risk for r in ridges]) - setting.target.noise


def limit_features(
    target: Target,
    student: str,
    size: float,
    sizes: Sizes,
    gradient: GradientSpike | None = None,
    neurons: Neurons | None = None,
) -> tuple[Features, LabelsGivenSpike]:
    """Theory's features and labels after a step gamma = `size` on n = `sizes.samples`.

    Args:
        gradient: the spike that a batch had; None, that of the limit.
        neurons: the second layer; None, a Gaussian one.
    """
    network = TwoLayer(sizes.width, student, "gaussian", start="gaussian")
    learner = Readout(GiantSteps(1, size), sizes.samples)
    question = Question(target, learner, network, sizes.dim, sizes.samples, np.array([1]))
    # Of the start only the mean of a and of a^2 matter: zero and one.
    second = np.resize([1.0, -1.0], sizes.width)
    start = Start(np.zeros((sizes.width, target.rank)), np.eye(sizes.width), second, np.zeros(sizes.width))
    law = neuron_law(network, learner, np.ones(1)) if neurons is None else neurons
    return giant_step_features(question, start, law, gradient)


def realised_neurons(second: Floats, groups: int = 50) -> Neurons:
    """A second layer as it was drawn, its sorted entries in `groups` of nearly equal size, each of its mean square."""
    parts = np.array_split(np.sort(second), groups)
    values = [np.sqrt(np.mean(part**2)) * np.sign(np.mean(part)) for part in parts]
    shares = np.array([part.size for part in parts]) / second.size
    return Neurons(np.array(values), np.zeros(groups), shares)
