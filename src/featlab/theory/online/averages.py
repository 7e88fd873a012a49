"""The Gaussian averages that drive one-pass learning in the limit, for any target and any activation.

One step on one sample moves neuron i by gamma D_i x, with

    D_i = r a_i sigma'(lambda_i + b_i),   r = y - f (squared loss) or y (correlation loss),

taken at the fields lambda = W x, or, for extragradient, at lambda + rho d D (an inner step on a sample moves its fields
by rho |x|^2 D, and |x|^2 / d -> 1). All that the limit asks is

    E[D_i h_k],   E[D_i lambda_j],   E[D_i D_j],   E[(y - f)^2],

over h ~ N(0, I_r) and lambda = M h + L z, L L^T = Q - M M^T, z ~ N(0, I_p). The average is a sum over points: a rule
for the label's variables, cut at the target's kinks, times a rule for z (`rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.theory.online.labels import Labels


@dataclass(frozen=True)
class Averages:
    """What one sample does on average to a student with overlaps M and Gram matrix Q.

    Attributes:
        drive: E[D_i h_k] (p, r).
        pull: E[D_i lambda_j] (p, p).
        noise: E[D_i D_j] (p, p).
        risk: E[(y - f)^2], label noise included.
    """

    drive: Floats
    pull: Floats
    noise: Floats
    risk: float


class Path(NamedTuple):
    """Order parameters at the asked steps: M (steps, p, r), Q (steps, p, p), E[(y - f)^2] (steps,)."""

    overlap: Floats
    gram: Floats
    risk: Floats

    def distance(self, other: Path) -> Path:
        """How far two paths are apart in every number."""
        return Path(*(np.abs(one - two) for one, two in zip(self, other, strict=True)))


AveragesOf = Callable[[Floats, Floats], Averages]  # (M, Q) -> Averages


class Student:
    """What steps ask of a student f = (1/p) sum_i a_i sigma(lambda_i + b_i): its output, its slopes, its residual."""

    activation: Activation
    second: Floats
    biases: Floats
    loss: str

    @property
    def width(self) -> int:
        """The number p of neurons."""
        return self.second.size

    def output(self, fields: Floats) -> Floats:
        """f at fields (n, p)."""
        return self.activation.value(self._inside(fields)) @ self.second / self.width

    def slopes(self, fields: Floats) -> Floats:
        """a_i sigma'(lambda_i + b_i), (n, p)."""
        slopes = self.activation.derivative(self._inside(fields))
        # A product with one number for each of few neurons takes longer than all else here.
        return slopes if np.all(self.second == 1) else self.second * slopes

    def _inside(self, fields: Floats) -> Floats:
        """lambda_i + b_i; where there are no biases, the fields as they are, for the same reason."""
        return fields + self.biases if np.any(self.biases) else fields

    def force(self, fields: Floats, labels: Floats) -> Floats:
        """D (n, p): r a_i sigma'(lambda_i + b_i) with r = y - f (squared loss) or r = y (correlation loss)."""
        residual = labels if self.loss == "correlation" else labels - self.output(fields)
        return residual[:, None] * self.slopes(fields)


@dataclass(frozen=True, eq=False)
class Descent(Student):
    """What turns a sample's fields into D.

    Attributes:
        activation: sigma.
        second, biases: a (p,), b (p,).
        loss: "squared" or "correlation".
        reach: rho d, the inner step of extragradient; 0 for plain SGD.
    """

    activation: Activation
    second: Floats
    biases: Floats
    loss: str
    reach: float = 0.0

    def shifted(self, fields: Floats, labels: Floats) -> Floats:
        """The fields after the inner step: lambda + rho d D(lambda)."""
        return fields + self.reach * self.force(fields, labels)


def average(descent: Descent, labels: Labels, fields: Floats) -> Averages:
    """The averages over weighted points with fields lambda (n, p). D is linear in y, and D D^T in y and y^2: their
    means given h suffice; for extragradient, which is not linear in y, the labels are `raw`."""
    output = descent.output(fields)
    risk = float(labels.weights @ _missed(labels, output))
    shifted = fields
    if descent.reach != 0:
        shifted = descent.shifted(fields, labels.mean)
        output = descent.output(shifted)
    slopes = descent.slopes(shifted)
    first = labels.mean if descent.loss == "correlation" else labels.mean - output
    weighted = (labels.weights * first)[:, None] * slopes
    return Averages(
        drive=weighted.T @ labels.directions,
        pull=weighted.T @ fields,
        noise=_noise(descent, labels, output, slopes),
        risk=risk,
    )


def noise_of(descent: Descent, labels: Labels, fields: Floats) -> Floats:
    """E[D_i D_j] alone, over the same points."""
    shifted = descent.shifted(fields, labels.mean) if descent.reach != 0 else fields
    return _noise(descent, labels, descent.output(shifted), descent.slopes(shifted))


def _noise(descent: Descent, labels: Labels, output: Floats, slopes: Floats) -> Floats:
    second = labels.square if descent.loss == "correlation" else _missed(labels, output)
    return ((labels.weights * second)[:, None] * slopes).T @ slopes


def _missed(labels: Labels, output: Floats) -> Floats:
    """E[(y - f)^2] at each point."""
    return labels.square - 2 * labels.mean * output + output**2
