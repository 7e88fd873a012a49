"""Which algorithm runs a learner, and what it asks of its student, its target and its design: one line a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from featlab.errors import InvalidParameter
from featlab.learners.amp import BayesAmp
from featlab.learners.first_step import PreprocessedStep
from featlab.learners.flows import NormalisedFlow, SphericalFlow
from featlab.learners.giant import GiantSteps
from featlab.learners.kernels import KernelRidge
from featlab.learners.langevin import LangevinDynamics
from featlab.learners.layerwise import Layerwise
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.readout import Readout
from featlab.learners.reuse import ReusedBatch
from featlab.learners.spectral_methods import (
    PrincipalHessian,
    SlicedAverageVariance,
    SlicedInverseRegression,
    SpectralEstimator,
)
from featlab.learners.tied import TiedFlow
from featlab.simulation.amp import amp_demand, bayes_amp, check_amp
from featlab.simulation.average_variance import average_variance, average_variance_demand, check_average_variance
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.extragradient import extragradient, extragradient_demand
from featlab.simulation.first_step import check_preprocessed, preprocessed_demand, preprocessed_step
from featlab.simulation.flows import check_flow, flow, flow_demand
from featlab.simulation.giant import giant_demand, giant_steps
from featlab.simulation.inverse_regression import (
    check_inverse_regression,
    inverse_regression,
    inverse_regression_demand,
)
from featlab.simulation.kernels import kernel_demand, kernel_ridge
from featlab.simulation.langevin import check_langevin, langevin_demand, langevin_dynamics
from featlab.simulation.layerwise import layerwise, layerwise_demand
from featlab.simulation.online import online_demand, online_sgd
from featlab.simulation.principal_hessian import check_principal_hessian, principal_hessian, principal_hessian_demand
from featlab.simulation.problem import Algorithm, Problem
from featlab.simulation.readout import readout, readout_demand
from featlab.simulation.reuse import reuse_demand, reused_batch
from featlab.simulation.spectral_estimator import check_spectral, spectral_demand, spectral_estimator
from featlab.simulation.tied import check_tied, tied_demand, tied_flow
from featlab.targets.inputs import Hypercube, Isotropic, Spiked

if TYPE_CHECKING:
    from featlab.targets import Target

GAUSSIAN = (Isotropic, Spiked)


class Entry(NamedTuple):
    """What runs a kind of learner.

    Attributes:
        algorithm: the algorithm of a problem with such a learner.
        demand: learner, student, target and sizes -> what is asked of a design, and the memory besides.
        check: learner, student, target -> refuses those that it cannot run; None, it runs all.
        inputs: the laws of the inputs that it runs on.
    """

    algorithm: Callable[[Problem], Algorithm]
    demand: Callable[[Any, Any, Any, Sizes], Demand]
    check: Callable[[Any, Any, Any], None] | None = None
    inputs: tuple[type, ...] = GAUSSIAN


ENTRIES: dict[type, Entry] = {
    OnlineSgd: Entry(online_sgd, online_demand),
    Extragradient: Entry(extragradient, extragradient_demand),
    GiantSteps: Entry(giant_steps, giant_demand),
    PreprocessedStep: Entry(preprocessed_step, preprocessed_demand, check_preprocessed),
    ReusedBatch: Entry(reused_batch, reuse_demand),
    BayesAmp: Entry(bayes_amp, amp_demand, check_amp),
    KernelRidge: Entry(kernel_ridge, kernel_demand),
    SlicedInverseRegression: Entry(inverse_regression, inverse_regression_demand, check_inverse_regression),
    SlicedAverageVariance: Entry(average_variance, average_variance_demand, check_average_variance),
    PrincipalHessian: Entry(principal_hessian, principal_hessian_demand, check_principal_hessian),
    SpectralEstimator: Entry(spectral_estimator, spectral_demand, check_spectral),
    LangevinDynamics: Entry(langevin_dynamics, langevin_demand, check_langevin, (Hypercube,)),
    TiedFlow: Entry(tied_flow, tied_demand, check_tied),
    Layerwise: Entry(layerwise, layerwise_demand),
    SphericalFlow: Entry(flow, flow_demand, check_flow),
    NormalisedFlow: Entry(flow, flow_demand, check_flow),
}


def algorithm(problem: Problem) -> Algorithm:
    """The algorithm of a problem's learner."""
    if isinstance(problem.learner, Readout):
        first = problem.learner.first
        return readout(problem, None if first is None else algorithm(replace(problem, learner=first)))
    return ENTRIES[type(problem.learner)].algorithm(problem)


def check_learner(learner: Any) -> None:
    """Refuse what no algorithm is known for."""
    kinds = (*ENTRIES, Readout)
    if type(learner) not in kinds:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise InvalidParameter("learner", learner, f"one of the learners {names} of featlab.learners")


def checked_student(learner: Any, student: Any, target: Target) -> Any:
    """The student that runs: the default of the learner's kind unless given; None for a learner that has none."""
    kind, name = learner.student_kind, type(learner).__name__
    if kind is None and student is not None:
        raise InvalidParameter("student", student, f"None: {name} has none, it estimates by itself")
    if kind is not None:
        student = kind() if student is None else student
        if not isinstance(student, kind):
            raise InvalidParameter("student", student, f"a {kind.__name__}, which is what {name} trains")
    first = learner.first if isinstance(learner, Readout) else learner
    laws = GAUSSIAN if first is None else ENTRIES[type(first)].inputs
    if not isinstance(target.inputs, laws):
        kinds = " or ".join(law.__name__ for law in laws)
        where = "inputs= of featlab.target, or --hypercube and --spike on a command line"
        expected = f"{kinds} for {name}; they are said by {where}"
        raise InvalidParameter("inputs", target.inputs, expected)
    check = None if first is None else ENTRIES[type(first)].check
    if check is not None:
        check(first, student, target)
    return student


def demand(learner: Any, student: Any, target: Any, sizes: Sizes) -> Demand:
    """What the learner asks of its design."""
    if not isinstance(learner, Readout):
        return ENTRIES[type(learner)].demand(learner, student, target, sizes)
    first = None if learner.first is None else demand(learner.first, student, target, sizes)
    return readout_demand(learner, student, sizes, first)
