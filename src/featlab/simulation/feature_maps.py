"""Ridge regression and spectra on the features of given weights, or on features drawn from a Gaussian equivalent.

A map takes inputs (n, d), and random numbers for the noise xi of equivalents, to features (n, p):

    network:      sigma(<w_i, x>);
    plain:        E sigma + E[sigma z] z_i + R_i^{1/2} xi_i, z_i = <w_i, x>/|w_i|, R = E[sigma^2] - (E sigma)^2 -
                  E[sigma z]^2: the features of random weights behave like these (Mei, Montanari 2019);
    conditional:  the same given kappa = <x, v>, fields being <w_i, v> kappa plus a Gaussian rest, all coefficients
                  functions of kappa: so do those of weights that share a direction v (Dandi et al. 2023; Cui et al.
                  2024).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.gaussian.hermite import Floats
from featlab.simulation.first_gradient import FirstGradient, OneStep

TEST_SAMPLES = 4096
# Nodes of kappa; beyond the last ones the coefficients are constant.
_NODES = np.linspace(-6.0, 6.0, 41)

Map = Callable[[Floats, np.random.Generator], Floats]


def network_features(activation: Activation, weights: Floats) -> Map:
    """The features themselves."""
    return lambda inputs, draw: activation.value(inputs @ weights.T)


def plain_equivalent(activation: Activation, weights: Floats) -> Map:
    """The Gaussian equivalent that knows nothing of the weights but their Gram matrix."""
    sizes = np.linalg.norm(weights, axis=1)
    mean, slope, _, square = field_moments(activation.value, activation.kinks, np.zeros(len(sizes)), sizes)
    spread, units = np.sqrt(square - mean**2 - slope**2), weights / sizes[:, None]

    def features(inputs: Floats, draw: np.random.Generator) -> Floats:
        return mean + slope * (inputs @ units.T) + spread * draw.standard_normal((len(inputs), len(sizes)))

    return features


def conditional_equivalent(activation: Activation, weights: Floats, direction: Floats) -> Map:
    """The Gaussian equivalent given the input's coordinate along a unit vector (d,)."""
    along = weights @ direction
    across = weights - np.outer(along, direction)
    sizes = np.linalg.norm(across, axis=1)
    shifts = np.multiply.outer(_NODES, along)
    mean, slope, _, square = field_moments(activation.value, activation.kinks, shifts, sizes)
    spread, units = np.sqrt(np.maximum(square - mean**2 - slope**2, 0.0)), across / sizes[:, None]
    tables = [CubicSpline(_NODES, table) for table in (mean, slope, spread)]

    def features(inputs: Floats, draw: np.random.Generator) -> Floats:
        places = np.clip(inputs @ direction, _NODES[0], _NODES[-1])
        at = [table(places) for table in tables]
        return at[0] + at[1] * (inputs @ units.T) + at[2] * draw.standard_normal(at[2].shape)

    return features


def feature_map(name: str, activation: Activation, weights: Floats, batch: FirstGradient) -> Map:
    """A map by its name; what the weights share after a step is the direction of the common gradient."""
    if name == "conditional":
        return conditional_equivalent(activation, weights, batch.common / np.linalg.norm(batch.common))
    return {"network": network_features, "plain": plain_equivalent}[name](activation, weights)


@dataclass(frozen=True, eq=False)
class FreshSamples:
    """Samples that no step has seen, to fit and to test on; the same ones, and the same noise, for every map.

    Attributes:
        inputs, labels: to fit, (n, d) and (n,).
        test_inputs, test_labels: to test, labels without noise.
        seed: of the noise of equivalents.
    """

    inputs: Floats
    labels: Floats
    test_inputs: Floats
    test_labels: Floats
    seed: tuple[int, ...]
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, step: OneStep, count: int, number: int, place: int = 0) -> FreshSamples:
        """Those that have this number; for each of several steps from one start there are others, by its place."""
        draw = np.random.default_rng([number, 1, place])
        inputs, labels = step.labelled(count, draw)
        test = draw.standard_normal((TEST_SAMPLES, step.dim))
        return cls(inputs, labels, test, step.clean_labels(test), (number, 2, place))

    def excess_risks(self, features: Map, ridges: Floats) -> Floats:
        """E[(f* - f)^2] of ridge regression at each lambda, in the convention of `Readout`."""
        fit, draw = self._fit(features)
        test = features(self.test_inputs, draw)
        root = np.sqrt(fit.shape[1])
        fitted = test / root @ ridge_path(fit / root, self.labels, ridges)
        return np.mean((self.test_labels[:, None] - fitted) ** 2, axis=0)

    def spectrum(self, features: Map) -> Floats:
        """The eigenvalues of (1/n) sum phi phi^T, ascending."""
        fit, _ = self._fit(features)
        return np.asarray(np.linalg.eigvalsh(fit.T @ fit / len(fit)), dtype=np.float64)

    def _fit(self, features: Map) -> tuple[Floats, np.random.Generator]:
        """The features to fit, kept for the next look at the same map; and their noise, as it goes on."""
        if self._last.get("map") is not features:
            draw = np.random.default_rng(self.seed)
            self._last.update(map=features, fit=features(self.inputs, draw), draw=draw)
        return self._last["fit"], deepcopy(self._last["draw"])


def ridge_path(features: Floats, labels: Floats, ridges: Floats) -> Floats:
    """The coefficients (p, L) of min (1/n) |y - Phi a|^2 + lambda |a|^2, by the smaller of the two Gram matrices."""
    count, width = features.shape
    dual = count <= width
    gram = features @ features.T if dual else features.T @ features
    values, vectors = np.linalg.eigh(gram / count)
    moment = labels if dual else features.T @ labels
    solved = vectors @ ((vectors.T @ moment)[:, None] / (values[:, None] + ridges)) / count
    return features.T @ solved if dual else solved
