"""What a learner is: the contract that `featlab.simulate`, `featlab.predict`, studies and the command line rely on.

A learner is a frozen dataclass that *describes* an algorithm; it holds no dynamics, so that theory reads it too. It
need not come from this package nor inherit from anything: what has the members of `Learner` is one.
`featlab.testing.check_learner` puts one to the test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from featlab.errors import InvalidParameter
from featlab.learners.fields import Description
from featlab.results import START
from featlab.targets.inputs import Isotropic, Spiked

if TYPE_CHECKING:
    from featlab.targets import Target

CLOCKS = ("one-pass", "steps", "iterations", "flow", "once")
GAUSSIAN: tuple[type, ...] = (Isotropic, Spiked)


class Student(Protocol):
    """What is trained: a frozen dataclass all of whose fields have defaults.

    Examples:
        >>> import featlab
        >>> student = featlab.TwoLayer(4, "relu", start="orthogonal")
        >>> student.width, student.certain
        (4, True)
    """

    @property
    def width(self) -> int:
        """The number of neurons."""
        ...

    @property
    def certain(self) -> bool:
        """Whether its description leaves nothing of its start to chance that a prediction would have to be told."""
        ...


class Grown(NamedTuple):
    """The same at another size.

    Attributes:
        learner, student: at that size.
        samples: how many times as many samples it has.
    """

    learner: Any
    student: Any
    samples: float


class Learner(Protocol):
    """How something is learned. Read-only members: class variables do, fields and properties too.

    Examples:
        >>> import featlab
        >>> featlab.OnlineSgd(step_size=0.01).clock, featlab.OnlineSgd(step_size=0.01).equivariant
        ('one-pass', True)
    """

    @property
    def clock(self) -> str:
        """How its time passes, one of `CLOCKS`.

        "one-pass": every step sees a fresh `batch`, time is steps/d. "steps": all of its `steps` are looked at.
        "iterations": the same, log-spaced ones. "flow": time is that of a flow, multiples of `interval` up to `time`.
        "once": there is nothing but a result.
        """
        ...

    @property
    def student_kind(self) -> type | None:
        """The class of the student that it trains; None, it has none."""
        ...

    @property
    def inputs(self) -> tuple[type, ...]:
        """The laws of the inputs that it can be run on."""
        ...

    @property
    def equivariant(self) -> bool:
        """Whether rotating the inputs (and the start) rotates the weights: R x, R w0 -> R w.

        It has no default, for the design "virtual" is exact for such rules only: its coordinates are those of an
        arbitrary frame, in which a rule that looks at single ones, such as a sign or Adam's division, means nothing.
        """
        ...

    @property
    def simulator(self) -> str:
        """`module:name` of the `featlab.extending.Simulator` that runs it; loaded when it is first run."""
        ...

    def needs_start(self, student: Student | None, target: Target) -> tuple[str, ...]:
        """What of a start chance decides and a prediction must be given, names of `featlab.results.QUANTITIES`; none if
        the description says it all."""
        ...

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """The same at so many times the dimension `dim`, with all that a prediction holds fixed in proportion: a run is
        measured there, too, to find its limit. Times of one-pass learners are kept in units of steps/d without it.

        With the `limit` "samples" of a prediction (`featlab.results.LIMITS`) the dimension stays, and the number
        of samples grows. None: what has to be kept is not known, and there is one size.
        """
        ...


class LearnerDescription(Description):
    """What most learners have in common; `clock`, `student_kind`, `equivariant` and `simulator` are for each to say."""

    fits_readout: ClassVar[bool] = False  # whether it fits a second layer by itself
    keeps_batch: ClassVar[bool] = False  # whether its state has the batch that it has just seen, for a readout

    @property
    def inputs(self) -> tuple[type, ...]:
        """Gaussian ones."""
        return GAUSSIAN

    def needs_start(self, student: Student | None, target: Target) -> tuple[str, ...]:
        """Overlaps, norms, second layer and biases of a student that is drawn at random."""
        return () if student is None or student.certain else START

    def grown(self, student: Student | None, dim: int, factor: float, limit: str) -> Grown | None:
        """Not known, unless a learner says it."""
        return None


_MEMBERS = {
    "clock": f"one of {', '.join(CLOCKS)}",
    "student_kind": "the class of the student it trains, or None",
    "inputs": "the laws of the inputs it runs on, such as (featlab.Isotropic, featlab.Spiked)",
    "equivariant": "True or False: does rotating the inputs rotate the weights? Without it no design can be chosen",
    "simulator": "module:name of the Simulator that runs it",
    "needs_start": "a method (student, target) -> names of what a prediction must know of the start",
    "grown": "a method (student, dim, factor, limit) -> a Grown, the same at another size, or None",
}


def check_contract(learner: Any, where: str = "learner") -> None:
    """Refuse what is no learner, saying which part of the contract it lacks; `where` it was given."""
    name = type(learner).__name__
    if isinstance(learner, type):
        raise InvalidParameter(where, learner.__name__, f"an instance, such as {learner.__name__}(...)")
    for member, expected in _MEMBERS.items():
        if not hasattr(learner, member):
            raise InvalidParameter(where, learner, f"a learner: {name} has no `{member}`, {expected}")
    if learner.clock not in CLOCKS:
        raise InvalidParameter(where, learner, f"{name}.clock to be {_MEMBERS['clock']}; it is {learner.clock!r}")
    if not isinstance(learner.equivariant, bool):
        raise InvalidParameter(where, learner, f"{name}.equivariant to be {_MEMBERS['equivariant']}")
    try:
        hash(learner)
    except TypeError as fault:
        raise InvalidParameter(
            "learner", learner, "a frozen dataclass with hashable fields (tuples, not lists)"
        ) from fault
