"""What theory says of learning curves: ridge regression on the columns; kernels, random features, a network whose
second layer has samples of its own, and a fit along the directions of SIR, on isotropic inputs.

Of a network whose second layer is fitted to the samples that trained its first, no theory is known: equivalents of
ridge regression on trained features (`theory.kernels.given_layer`, `theory.giant`) take the first layer to be
independent of the samples of the fit, which there know their own noise. Nor of SAVE on inputs that are whitened by
their own covariance, which couples its slices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from featlab.diagnosis.orders import Orders
from featlab.estimators import RandomFeatures, TwoLayerRegressor
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.learners.kernel_functions import Kernel, kernel_function
from featlab.learners.protocol import Learner
from featlab.theory.inverse_regression import Labelled
from featlab.theory.kernels.given_layer import feature_spectrum, hermite_label
from featlab.theory.kernels.isotropic import DegreeEnergies, isotropic_risk, multiplicities
from featlab.theory.kernels.random_features import feature_energies
from featlab.theory.reduction.found_coordinates import inverse_modes, other_coordinates, used_coordinates
from featlab.theory.ridge import spectrum_risk

_BIASES = 16  # nodes over the biases of random features
_ROWS_PER_COLUMN = 4  # that least squares on all samples needs to be told without bias
_DRAWS, _TESTED = 8, 4096  # of the few coordinates that a fit along directions sees
_LAYERS = 3  # draws of a first layer: their mean was within a tenth of that of twelve, and more take time

RiskAt = Callable[[int], float]


def linear_theory(inputs: Floats, labels: Floats) -> RiskAt | None:
    """The error of ridge regression with its best ridge (`theory.ridge.spectrum_risk`), over the variance of the label.

    The covariance is that of the samples, the linear part of the label is that of least squares on all of them, without
    bias: its energy r^2 = 1 - (1 - R^2)(n - 1)/(n - d - 1) is spread over the eigenvectors as it is found there.
    """
    count, dim = inputs.shape
    if count < _ROWS_PER_COLUMN * dim:
        return None
    standard = (labels - labels.mean()) / labels.std()
    values, vectors = np.linalg.eigh(inputs.T @ inputs / count)
    along = (vectors.T @ (inputs.T @ standard) / count) ** 2 / values
    left = (1 - along.sum()) * (count - 1) / (count - dim - 1)
    energies = np.maximum(along - left / count, 0)
    linear = max(0.0, 1 - left)
    energies *= linear / energies.sum() if energies.sum() > 0 else 0
    parts = (values, np.ones(dim), energies, left)
    return lambda size: _at_best(lambda ridge: spectrum_risk(parts, size, ridge)[0], 1.0) * (1 + 1 / size)


def kernel_theory(kernel: Kernel | str | tuple[float, ...], energies: DegreeEnergies, dim: int) -> RiskAt:
    """The same of kernel ridge regression on isotropic inputs (`theory.kernels.isotropic`)."""
    function, one = kernel_function(kernel), np.ones(())
    scale = float(function.value(np, one, one, one))

    def risk(size: int) -> float:
        def at(ridge: float) -> float:
            return isotropic_risk(function, energies, dim=dim, samples=size, ridge=ridge).risk

        return _at_best(at, scale / size) * (1 + 1 / size)

    return risk


def features_theory(name: str, width: int, energies: DegreeEnergies, dim: int) -> RiskAt:
    """The same of ridge regression on p random features (`theory.kernels.random_features`), whose biases are N(0, 1):
    the energy of each degree is its mean over them."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_BIASES)
    found = [feature_energies(activation(name), len(energies.energies) - 1, float(bias)) for bias in nodes]
    weights = weights / weights.sum()
    own = weights @ np.array([one[0] for one in found])
    beyond, counts = float(weights @ np.array([one[1] for one in found])), multiplicities(dim, len(own))
    parts = (own / counts, counts, energies.energies, energies.rest)

    def risk(size: int) -> float:
        best = _at_best(lambda ridge: spectrum_risk(parts, size, ridge, width, beyond)[0], float(own.sum()) / size)
        return best * (1 + 1 / size)

    return risk


def split_theory(link: Labelled, dim: int, learner: Learner | str | None, share: float) -> RiskAt:
    """The same of a `TwoLayerRegressor` that keeps a share of its samples for the second layer.

    Its first layer, which knows nothing of them, is drawn: it is that of the learner on inputs N(0, I) with labels of
    the link. Given this layer the error of the second is that of `theory.kernels.given_layer`, at the best ridge.
    """
    label = hermite_label(link)

    def risk(size: int) -> float:
        errors = []
        for number in range(_LAYERS):
            draw = np.random.default_rng([size, number])
            fields, labels = _drawn(link, size, draw)
            inputs = np.column_stack([fields, draw.standard_normal((size, dim - link.rank))])
            drawn = TwoLayerRegressor(learner, ridge=1.0, readout_share=share, random_state=number).fit(inputs, labels)
            layer, frame = drawn.first_layer_, drawn.frame_
            weights, slope = layer.weights @ frame.matrix, drawn.scale_ * layer.slope[0] @ frame.matrix
            biases = layer.biases - weights @ frame.mean
            spectrum = feature_spectrum(activation(drawn.activation), weights, biases, label, slope)
            count = len(drawn.readout_rows_)
            errors.append(_at_best(partial(spectrum.risk, count), float(spectrum.values.sum()) / count))
        return float(np.mean(errors)) / label.variance

    return risk


def directions_theory(link: Labelled, found: int, slices: int, dim: int) -> RiskAt:
    """The same of `MultiIndexRegressor(SlicedInverseRegression(found))` for labels without atoms.

    The coordinates along the directions, of d, have the law of `theory.reduction.found_coordinates`, those of rows
    that were used and those of others: these few are drawn, and the same smooth fit is made along them.
    """
    modes, count = inverse_modes(link, slices), min(found, dim)

    def risk(size: int) -> float:
        whitened, load = size >= 2 * dim, max(dim - link.rank, 0) / (size - 1)
        errors = []
        for number in range(_DRAWS):
            draw = np.random.default_rng([size, number])
            fields, labels = _drawn(link, size, draw)
            known = used_coordinates(modes, fields, labels, load, whitened, draw.standard_normal((size, count)))
            fit = RandomFeatures(random_state=number).fit(known, labels)
            fields, labels = _drawn(link, _TESTED, draw)
            others = other_coordinates(modes, fields, load, whitened, draw.standard_normal((_TESTED, count)))
            errors.append(np.mean((labels - fit.predict(others)) ** 2) / np.var(labels))
        return float(np.mean(errors))

    return risk


def _drawn(link: Labelled, count: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Fields (n, r) and labels (n,)."""
    fields = draw.standard_normal((count, link.rank))
    return fields, link.link(fields) + np.sqrt(link.noise) * draw.standard_normal(count)


def fitted_energies(orders: Orders) -> DegreeEnergies | None:
    """The squares of the coefficients of a label that are seen, by degree, as shares of its variance on the rows held
    out, which was 1 on others; None if there are none."""
    if orders.noise is None:
        return None
    energies = np.zeros(1 + max(one.order for one in orders.of_label))
    for one in orders.of_label:
        energies[one.order] += one.visible * one.value**2
    variance = float(energies.sum()) + orders.noise
    return DegreeEnergies(energies / variance, orders.noise / variance, orders.noise / variance)


def _at_best(risk: Callable[[float], float], scale: float) -> float:
    """The least risk over ridges about a scale; whoever fits adds 1/n of it for the mean of the label."""
    found = minimize_scalar(lambda power: risk(scale * float(np.exp(power))), bounds=(-14, 12), method="bounded")
    return float(found.fun)
