"""Which algorithm runs a learner, and what it asks of a design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from featlab.errors import InvalidParameter
from featlab.learners.amp import BayesAmp
from featlab.learners.checks import positive_integer
from featlab.learners.giant import GiantSteps
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.readout import Readout
from featlab.learners.reuse import ReusedBatch
from featlab.learners.students import TwoLayer
from featlab.simulate.amp import amp_bytes, bayes_amp, denoiser
from featlab.simulate.designs.choose import Demand
from featlab.simulate.extragradient import extragradient
from featlab.simulate.giant import giant_steps
from featlab.simulate.online import online_sgd
from featlab.simulate.problem import Algorithm, Problem
from featlab.simulate.readout import readout, readout_bytes
from featlab.simulate.reuse import reused_batch
from featlab.targets.inputs import Isotropic

if TYPE_CHECKING:
    from featlab.targets import Target

_ALGORITHMS: dict[type, Callable[[Problem], Algorithm]] = {
    OnlineSgd: online_sgd,
    Extragradient: extragradient,
    GiantSteps: giant_steps,
    ReusedBatch: reused_batch,
    BayesAmp: bayes_amp,
}


def algorithm(problem: Problem) -> Algorithm:
    """The algorithm of a problem's learner."""
    if isinstance(problem.learner, Readout):
        first = problem.learner.first
        return readout(problem, None if first is None else algorithm(replace(problem, learner=first)))
    return _ALGORITHMS[type(problem.learner)](problem)


def check_learner(learner: Any) -> None:
    """Refuse what no algorithm is known for."""
    kinds = (*_ALGORITHMS, Readout)
    if type(learner) not in kinds:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise InvalidParameter("learner", learner, f"one of the learners {names} of featlab.learners")


def checked_student(learner: Any, student: TwoLayer | None, target: Target) -> TwoLayer | None:
    """The student that runs: one relu neuron unless given; none for message passing, which estimates directions."""
    if not isinstance(learner, BayesAmp):
        return TwoLayer() if student is None else student
    if student is not None:
        raise InvalidParameter("student", student, "None: BayesAmp estimates the target's directions themselves")
    if target.inputs != Isotropic():
        raise InvalidParameter("inputs", target.inputs, "Isotropic() for BayesAmp, whose prior knows no spike")
    denoiser(target)  # refuses a target that has none
    return None


def demand(
    learner: Any, student: Any, dim: int, rank: int, samples: int | None, dtype: Any, target: Any = None
) -> Demand:
    """What the learner asks of its design. `samples` is the size of a batch for GiantSteps, ReusedBatch and
    BayesAmp, which has one row of weights for each direction of its `target` and no student."""
    if isinstance(learner, Readout):
        return _readout_demand(learner, student, dim, rank, samples, dtype)
    if isinstance(learner, BayesAmp):
        rows = positive_integer("samples", samples)
        return Demand(dim, rank, rank, rows, uses=learner.uses, dtype=dtype, per_seed=amp_bytes(target, rows, dtype))
    online = isinstance(learner, OnlineSgd | Extragradient)
    rows = learner.batch if online else positive_integer("samples", samples)
    return Demand(
        dim=dim,
        known=rank,
        width=student.width,
        rows=rows,
        uses=learner.uses if isinstance(learner, ReusedBatch) else 1,
        normed=isinstance(learner, Extragradient),
        dtype=dtype,
    )


def _readout_demand(
    learner: Readout, student: TwoLayer, dim: int, rank: int, samples: int | None, dtype: Any
) -> Demand:
    """That of its first layer, of which a kept batch is read once more, and the memory of the fit."""
    if learner.first is None:
        first = Demand(dim, rank, student.width, rows=1, dtype=dtype)
    else:
        first = demand(learner.first, student, dim, rank, samples, dtype)
    besides = readout_bytes(learner, student, dim, rank, first.rows, dtype)
    return replace(first, uses=first.uses + (learner.data == "same"), besides=besides)
