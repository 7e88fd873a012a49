"""What theory says of one gradient step, in the words of studies of the kind "one-step".

Such a study has the ratios psi1 = n/d and psi2 = p/d, of which `SIZES` makes numbers, and may count its steps in
critical steps: `CRITICAL` is their size, from three moments of student and labels, which theory knows (`moments_of`).
Nothing here measures; what was drawn is drawn again where theory is asked about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.learners.giant import GiantSteps
from featlab.learners.readout import Readout
from featlab.learners.students import TwoLayer
from featlab.simulation.first_gradient import FirstGradient, OneStep
from featlab.targets import target
from featlab.theory.giant.features import Features, Neurons
from featlab.theory.giant.given import given_features, given_ridge_risk
from featlab.theory.giant.labels import LabelsGivenSpike
from featlab.theory.giant.readout import giant_step_features, neuron_law
from featlab.theory.giant.ridge import Sizes, ridge_risk
from featlab.theory.question import Question, Start
from featlab.theory.ridge import given_weights_risk, linear_part
from featlab.theory.spectra import FeatureSpectrum, feature_spectrum
from featlab.theory.spikes import GradientSpike, label_moments, slope_moments

if TYPE_CHECKING:
    import xarray as xr

SIZES = {"samples": "round(psi1*dim)", "width": "round(psi2*dim)"}
# psi2^(1/4)/(sqrt(p) mu1 theta) with theta^2 = mu1*^2 + E[y^2]/psi1, as `featlab.theory.spikes.critical_step`. Rounded,
# for it is part of a point's identity, on every machine.
CRITICAL = {"unit": "round(psi2**0.25/(mean_slope*sqrt((linear**2 + label_square/psi1)*width)), 9)"}
_DIGITS = 9
_GIVEN_NODES = 16
_QUANTILES = np.arange(0.025, 1, 0.05)  # at which distribution functions are compared

Expected = Callable[[OneStep, Floats, FirstGradient, Floats], Floats]


def moments_of(student: str, teacher: str, noise: float = 0.0) -> dict[str, float]:
    """E[sigma'], |E[y h]| and E[y^2], the noise included, under the names that `CRITICAL` has for them."""
    labels = label_moments(target(teacher, noise=noise))
    slope = slope_moments(activation(student)).slope
    found = {"mean_slope": slope, "linear": labels.linear_norm, "label_square": labels.second}
    return {name: round(value, _DIGITS) for name, value in found.items()}


def linear_floor(teacher: str) -> float:
    """||P_{>1} f*||^2, the least excess risk of anything linear."""
    return label_moments(target(teacher)).floor


def realised_spike(batch: FirstGradient) -> GradientSpike:
    """The common part of a gradient as it was realised, for a target of one direction."""
    strength = float(np.linalg.norm(batch.common))
    noise = batch.residual_square * batch.common.size / batch.samples
    return GradientSpike(strength, abs(float(batch.common[0])) / strength, noise)


def realised_neurons(second: Floats, groups: int = 50) -> Neurons:
    """A second layer as it was drawn, its sorted entries in `groups` of nearly equal size, each of its mean square."""
    parts = np.array_split(np.sort(second), groups)
    values = [np.sqrt(np.mean(part**2)) * np.sign(np.mean(part)) for part in parts]
    shares = np.array([part.size for part in parts]) / second.size
    return Neurons(np.array(values), np.zeros(groups), shares)


def given_weights(data: xr.Dataset, expected: Expected) -> xr.Dataset:
    """The excess risk of each run and step as theory has it with the weights that were drawn."""
    from featlab.exhibits.predicting import parameters_of
    from featlab.runners.first_gradient import experiment_of

    found = data["excess"].copy()
    axes = [axis for axis in found.dims if axis not in ("step", "ridge")]
    for place in np.ndindex(*(found.sizes[axis] for axis in axes)):
        at = dict(zip(axes, place, strict=True))
        run = data.isel(at)
        point = parameters_of(run)
        of = experiment_of(point)
        batch, ridges = of.draw(int(run["number"][0])), np.atleast_1d(point["ridges"]) / of.width
        for number, step in enumerate(run["step"].values):
            risks = expected(of, batch.after(step * point.get("unit", 1.0)), batch, ridges) - of.target.noise
            found[{**at, "step": number}] = risks.reshape(np.shape(point["ridges"]))
    return found.to_dataset()


def gaussian_risks(of: OneStep, weights: Floats, batch: FirstGradient, ridges: Floats) -> Floats:
    """Of the Gaussian equivalent of these weights, for small steps; label noise included."""
    part, labels = linear_part(of.activation), label_moments(of.target)
    overlap = weights[:, : of.target.rank]
    return np.array([given_weights_risk(weights, overlap, part, labels, of.samples, ridge) for ridge in ridges])


def conditional_risks(of: OneStep, weights: Floats, batch: FirstGradient, ridges: Floats) -> Floats:
    """Of the equivalent given the coordinate along the common gradient; label noise included."""
    direction = batch.common / np.linalg.norm(batch.common)
    none = np.zeros(len(weights))
    features = given_features(of.target, of.activation, weights, none, direction, nodes=_GIVEN_NODES)
    return np.array([given_ridge_risk(features, of.samples, ridge).risk for ridge in ridges])


def limit_excess(of: OneStep, size: float, ridges: Floats) -> Floats:
    """The excess risk at each lambda after a step gamma = `size`, in the limit of the conditional equivalent."""
    sizes = Sizes(of.samples, of.width, of.dim)
    features, labels = limit_features(of, size)
    return np.array([ridge_risk(features, labels, sizes, ridge).risk for ridge in ridges]) - of.target.noise


def limit_features(
    of: OneStep, size: float, gradient: GradientSpike | None = None, neurons: Neurons | None = None
) -> tuple[Features, LabelsGivenSpike]:
    """Theory's features and labels after a step gamma = `size`.

    Args:
        gradient: the spike that a batch had; None, that of the limit.
        neurons: the second layer; None, a Gaussian one.
    """
    network = TwoLayer(of.width, of.activation.name, "gaussian", start="gaussian")
    learner = Readout(GiantSteps(1, size), of.samples)
    question = Question(of.target, learner, network, of.dim, of.samples, np.array([1]))
    # Of the start only the mean of a and of a^2 matter: zero and one.
    second = np.resize([1.0, -1.0], of.width)
    start = Start(np.zeros((of.width, of.target.rank)), np.eye(of.width), second, np.zeros(of.width))
    law = neuron_law(network, learner, np.ones(1)) if neurons is None else neurons
    return giant_step_features(question, start, law, gradient)


def limit_spectrum(of: OneStep, features: Features, points: Floats) -> FeatureSpectrum:
    """The law of the eigenvalues of (1/n) sum phi phi^T at these points."""
    return feature_spectrum(features, of.width, of.dim, points, of.samples)


def spectral_miss(
    of: OneStep,
    number: int,
    spectra: Mapping[float, Floats],
    *,
    own: bool = True,
    change: Callable[[Features], Features] | None = None,
) -> float:
    """The largest distance of distribution functions, given the gradient and the second layer that have this number.

    Args:
        spectra: step -> eigenvalues that were measured, ascending.
        own: with the neurons' own gradients, besides what they have in common.
        change: what else is different from theory.
    """
    batch, found = of.draw(number), []
    neurons, spike = realised_neurons(batch.second), realised_spike(batch)
    for step, values in spectra.items():
        features = limit_features(of, step, spike if own else replace(spike, noise=0.0), neurons)[0]
        places = (_QUANTILES * values.size).astype(int)
        law = limit_spectrum(of, features if change is None else change(features), values[places])
        found.append(float(np.max(np.abs(law.cumulative - (places + 0.5) / values.size))))
    return max(found)
