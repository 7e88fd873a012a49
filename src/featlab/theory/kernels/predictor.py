"""Kernel ridge regression: the adapter from a question to its risk, for isotropic inputs and for a spike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.verdict import check_size
from featlab.learners.checks import positive_integer
from featlab.learners.kernels import KERNEL_RIDGES, KernelRidge
from featlab.outcome import Outcome
from featlab.targets import Isotropic, Spiked, Target
from featlab.theory.giant.labels import LabelsGivenSpike, conditional_labels
from featlab.theory.kernels.isotropic import DegreeEnergies, KernelRisk, highest_degree, isotropic_risk
from featlab.theory.kernels.spiked import spike_nodes, spiked_risk
from featlab.theory.question import NoPrediction, Prediction, Question, Start

_ISOTROPIC = (
    "Each degree j of the target has the eigenvalue j! c_j / d^j of the kernel, as on a sphere of radius sqrt d; "
    "corrections of relative order 1/d and differences between seeds are neglected."
)
_SPIKED = (
    "The kernel as an operator on the spiked coordinate, and on it times one coordinate across; higher degrees across "
    "are a nugget. Terms of relative order 1/d and differences between seeds are neglected; n must be far below d^2."
)

# From this share on, a mean that rare inputs dominate is not what a simulation of a few seeds shows.
_MOST_RARE = 0.1
_RARE_REMEDY = (
    "inputs beyond four standard deviations along the spike carry more than a tenth of this risk, and a finite test "
    "set will not see them: take a weaker spike, or a homogeneous kernel such as arc-cosine-1"
)


def predict_kernel_ridge(question: Question, start: Start) -> Prediction:
    """The risk of a `KernelRidge`, and the share of the target that it captures; at its ridge, or at the one of
    `KERNEL_RIDGES` with the smallest risk, to which leave-one-out errors tend."""
    learner: KernelRidge = question.learner
    target, inputs, dim = question.target, question.target.inputs, question.dim
    samples = positive_integer("samples", question.samples)
    at: Callable[..., KernelRisk]
    if isinstance(inputs, Spiked):
        if samples > dim**1.5:
            raise NoPrediction(
                f"{samples} samples at d = {dim} under a spike: beyond d^1.5, parts of degree two across it are "
                "learned; predictions under a spike are for n of order d"
            )
        at = partial(spiked_risk, learner.function, spiked_labels(target, inputs), strength=inputs.strength)
    elif isinstance(inputs, Isotropic):
        at = partial(isotropic_risk, learner.function, degree_energies(target, highest_degree(dim, samples)))
    else:
        raise NoPrediction(f"inputs {inputs!r}: kernels are predicted for isotropic inputs and for Spiked ones")
    words = _SPIKED if isinstance(inputs, Spiked) else _ISOTROPIC
    chosen = isinstance(learner.ridge, str)
    ridges = _grid(target, learner, dim, samples) if chosen else [float(learner.ridge)]
    found = [at(dim=dim, samples=samples, ridge=ridge) for ridge in ridges]
    converged = all(one.converged for one in found)
    best = int(np.argmin([one.risk for one in found])) if converged else 0
    answer = {"risk": found[best].risk, "captured": found[best].captured, "ridge": ridges[best]}
    values = {name: np.full(len(question.steps), value if converged else np.nan) for name, value in answer.items()}
    if not converged:
        return Prediction(
            values, words, {}, Outcome.NOT_CONVERGED, "the equations for this ridge were not solved: raise it"
        )
    if found[best].rare > _MOST_RARE:
        return Prediction(values, words, {}, Outcome.RARE_INPUTS, _RARE_REMEDY, limit="sizes")
    return Prediction(values, words, limit="sizes")


def degree_energies(target: Target, degree: int) -> DegreeEnergies:
    """A target by degrees up to `degree`, its noise included."""
    check_size(target)
    energies = hermite_energies(build_grids(target), degree)
    return DegreeEnergies(energies.per_degree, energies.residual(degree) + target.noise, target.noise)


def spiked_labels(target: Target, inputs: Spiked) -> LabelsGivenSpike:
    """The label given the coordinate z along the spike.

    E[h z] = C^{-1/2} W* S^{1/2} mu = m sqrt((1 + theta)/(1 + theta |m|^2)): the fields have that cosine with z along m.
    """
    overlaps = np.array(inputs.overlaps)
    size = float(np.linalg.norm(overlaps))
    direction = overlaps / size if size > 0 else np.eye(len(overlaps))[0]
    cosine = min(1.0, size * float(np.sqrt((1 + inputs.strength) / (1 + inputs.strength * size**2))))
    return conditional_labels(target, direction, cosine, spike_nodes()[0])


def _grid(target: Target, learner: KernelRidge, dim: int, samples: int) -> list[float]:
    """The ridges that leave-one-out chooses among."""
    strength = target.inputs.strength if isinstance(target.inputs, Spiked) else 0.0
    nodes, weights = spike_nodes()
    square = (1 + strength) / dim * nodes**2 + (dim - 1) / dim
    scale = float(weights @ learner.function.value(np, square, square, square))
    return [share * scale / samples for share in KERNEL_RIDGES]
