"""How a run or a prediction ended: an enumeration with remedies. A numerical failure is a value, not an exception.

Datasets hold the values (`str`), so that they can be written to any file; `Outcome(value)` gives the member back.
"""

from __future__ import annotations

from enum import StrEnum

# A row of W longer than this counts as diverged: no student of norm about 1 comes back from there.
DIVERGED_NORM = 1e6


class Outcome(StrEnum):
    """How a seed of a simulation, or a prediction, ended.

    Examples:
        >>> import featlab
        >>> featlab.Outcome.DIVERGED.remedy
        "a norm exceeds 1e6: take a smaller step size, or constraint='spherical' where there is one"
    """

    OK = "ok"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"
    NOT_CONVERGED = "not converged"
    UNINFORMED = "uninformed"
    STALLED = "stalled"
    OUT_OF_STEPS = "out of steps"
    NOT_INTEGRATED = "not integrated"
    RARE_INPUTS = "rare inputs"

    @property
    def remedy(self) -> str:
        """What to do about it, in general; a learner or a prediction may know better. Empty if all is well."""
        return _REMEDIES[self]


_REMEDIES = {
    Outcome.OK: "",
    Outcome.DIVERGED: "a norm exceeds 1e6: take a smaller step size, or constraint='spherical' where there is one",
    Outcome.INTERRUPTED: "it was stopped before its last time: run it again, a study goes on where it was",
    Outcome.NOT_CONVERGED: "it still moves after its last step: allow more steps or iterations, or more damping",
    Outcome.UNINFORMED: "the estimate shrank to zero: take more samples, or a start that knows more",
    Outcome.STALLED: "no slope, or no lower loss above `floor`: another start, or a lower floor and more steps",
    Outcome.OUT_OF_STEPS: "the flow used up its steps before its time: raise max_steps, or the tolerance",
    Outcome.RARE_INPUTS: "single samples dominate, which no average over the inputs describes: take more samples",
    Outcome.NOT_INTEGRATED: "the equations could not be integrated to the end: ask for earlier times",
}
