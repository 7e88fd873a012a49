"""One gradient step with every matrix at hand: weights, gradient, singular values and vectors. NumPy, float64.

The student is f(x) = (1/p) sum_i a_i sigma(<w_i, x>) and the step per neuron is gamma: w_i + gamma a_i (1/n) sum_j
eps_j sigma'(<w_i, x_j>) x_j with eps = y - f (squared loss) or y (correlation loss). In the convention of Ba et al.
2022, prefactor 1/sqrt(p) and second layer N(0, 1/p), that is eta = gamma sqrt(p). The target's directions are the first
axes. `simulate` takes the same step at sizes where no matrix would fit; here any function of W can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import svds

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.gaussian.hermite import Floats
from featlab.targets import Isotropic, Target

_CHUNK = 4096
_LOSSES = ("squared", "correlation")


def _on_sphere(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    rows = draw.standard_normal(shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


_STARTS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "gaussian": lambda draw, shape: draw.standard_normal(shape) / np.sqrt(shape[1]),
    "sphere": _on_sphere,
}
_SECOND_LAYERS: dict[str, Callable[[Floats], Floats]] = {"gaussian": lambda drawn: drawn, "signs": np.sign}


@dataclass(frozen=True)
class OneStep:
    """Who takes a step on what.

    Attributes:
        target: on isotropic inputs, its only noise the additive one.
        activation: sigma.
        dim, samples, width: d, n of the step, p.
        second_layer: a_i: "gaussian", N(0, 1); "signs", random +-1.
        start: rows of W: "gaussian", entries N(0, 1/d); "sphere", uniform on the unit sphere.
        loss: "squared" or "correlation".
    """

    target: Target
    activation: Activation
    dim: int
    samples: int
    width: int
    second_layer: str = "gaussian"
    start: str = "gaussian"
    loss: str = "squared"

    def __post_init__(self) -> None:
        for name, known in (("second_layer", _SECOND_LAYERS), ("start", _STARTS), ("loss", _LOSSES)):
            if getattr(self, name) not in known:
                raise InvalidParameter(name, getattr(self, name), " or ".join(map(repr, known)))
        for name, least in (("dim", self.target.rank), ("samples", 1), ("width", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidParameter(name, value, f"a whole number of at least {least}")
        if self.target.hidden or not isinstance(self.target.inputs, Isotropic):
            raise InvalidParameter("target", self.target.text, "isotropic inputs and no noise inside the link")

    def draw(self, number: int) -> FirstGradient:
        """The start and the gradient of the batch that have this number: the same ones whenever they are drawn."""
        return first_gradient(self, np.random.default_rng([number, 0]))

    def labelled(self, count: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
        """Inputs (count, d) and labels (count,), the additive noise included."""
        x = draw.standard_normal((count, self.dim))
        return x, self.clean_labels(x) + np.sqrt(self.target.noise) * draw.standard_normal(count)

    def clean_labels(self, inputs: Floats) -> Floats:
        """The labels without noise."""
        return self.target.link(inputs[:, : self.target.rank])


@dataclass(frozen=True, eq=False)
class FirstGradient:
    """A student at its start, and the gradient of its first batch.

    Attributes:
        start: W (p, d). second: a (p,).
        gradient: (p, d), so that the weights after a step gamma are start + gamma * gradient.
        common: (1/n) sum eps x (d,), which all neurons see times a_i E[sigma'].
        labels: (1/n) sum y x (d,), the same without the student's own output.
        residual_square: mean of eps^2 over the batch.
        samples: n.
    """

    start: Floats
    second: Floats
    gradient: Floats
    common: Floats
    labels: Floats
    residual_square: float
    samples: int

    def after(self, step: float) -> Floats:
        """The weights after a step gamma."""
        return self.start + step * self.gradient


def first_gradient(of: OneStep, draw: np.random.Generator) -> FirstGradient:
    """Draw a start and a batch; the batch is read in chunks, so that memory is that of the weights."""
    start = _STARTS[of.start](draw, (of.width, of.dim))
    second = _SECOND_LAYERS[of.second_layer](draw.standard_normal(of.width))
    share = 1 / of.width if of.loss == "squared" else 0.0
    gradient, common, seen = np.zeros_like(start), np.zeros(of.dim), np.zeros(of.dim)
    square = 0.0
    for begin in range(0, of.samples, _CHUNK):
        x, y = of.labelled(min(_CHUNK, of.samples - begin), draw)
        fields = x @ start.T
        residual = y - share * (of.activation.value(fields) @ second) if share else y
        gradient += (of.activation.derivative(fields) * residual[:, None]).T @ x
        common += residual @ x
        seen += y @ x
        square += float(residual @ residual)
    n = of.samples
    return FirstGradient(start, second, second[:, None] * gradient / n, common / n, seen / n, square / n, n)


def rank_one_share(batch: FirstGradient, activation: Activation) -> float:
    """|G - A| / |G| in operator norm, A = E[sigma'] a (X^T y / n)^T the part of the gradient that has rank one."""
    slope = float(field_moments(activation.derivative, activation.kinks, np.zeros(()), np.ones(()))[0])
    rest = batch.gradient - slope * np.outer(batch.second, batch.labels)
    return top_singular(rest)[0] / top_singular(batch.gradient)[0]


def top_singular(matrix: Floats) -> tuple[float, Floats, Floats]:
    """The largest singular value of (p, d) with its unit vectors in R^p and R^d."""
    left, value, right = svds(matrix, k=1, v0=np.ones(min(matrix.shape)))
    return float(value[0]), left[:, 0], right[0]
