"""One experiment, validated once: a command, a study, an exhibit or a person hands it to `simulate` and `predict`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from itertools import islice
from numbers import Integral, Number, Real
from typing import TYPE_CHECKING, Any

from featlab.errors import InvalidParameter
from featlab.learners.checks import positive_integer
from featlab.learners.fields import (
    COUNT,
    Description,
    Kind,
    choice,
    option,
    options_of,
    or_none,
    read_numbers,
    read_whole,
)
from featlab.learners.protocol import Learner, Student, check_contract
from featlab.learners.registry import called
from featlab.learners.steps import StepLaw

if TYPE_CHECKING:
    from jax import Array

    from featlab.experiments.schedules import Schedule
    from featlab.targets import Target

DESIGNS = ("auto", "virtual", "retraced", "dense", "streamed", "dice")
PRECISIONS = ("float32", "float64")
_SEEDS_BELOW = 2**32
# Of one experiment: so many numbers of seeds and outcomes take gigabytes by themselves.
_MOST_SEEDS = 10**7
_BYTES_OF_SEED = 300
_KEYS_BELOW = 2**64
_OF_THE_RUN = ("seeds", "key", "memory", "times")


def _check_key(name: str, value: object) -> None:
    """A whole number of 64 bits, or a key of JAX's. Without the bounds 2^64 would silently be 0, and -1 be 2^64 - 1."""
    whole = isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < _KEYS_BELOW
    if not whole and (isinstance(value, Number) or not hasattr(value, "dtype")):
        raise InvalidParameter(name, value, "a whole number from 0 to 2^64 - 1")


# Checked where they are used: times by the learner's clock, seeds by `of`, names by the learner.
_TIMES = Kind(lambda name, value: None, read_numbers, "T,..")
_SEEDS = Kind(lambda name, value: None, read_whole, "N")
_KEY = Kind(_check_key, read_whole, "K")
_NAMES = Kind(lambda name, value: None, lambda name, text: tuple(text.split(",")), "NAME,..")


@dataclass(frozen=True)
class Experiment(Description):
    """A target, who learns it and how, from how much data, when to look, and by which random numbers.

    What is given as text, a number or a list becomes what it stands for; every default is filled in. All that can be
    refused before anything runs is refused here.

    Attributes:
        target: a `Target`, or its text; with noise and inputs of its own. Where a law of its inputs in d
            (`SpikeLaw`) is given, `concrete` is the target at `dim`.
        learner: a `Learner`, of this package or your own.
        dim: the dimension d of the inputs, at least the target's rank.
        samples: one-pass learners: samples in all. Learners with a batch: samples in it.
        times: when to look. One-pass learners: in units of d steps. Flows: in theirs. Else: numbers of steps. None, the
            learner's own choice.
        student: what is trained, of the kind that the learner trains; None, the default of that kind.
        seeds: how many runs, or their numbers; the result for a seed does not depend on the others.
        key: the root of all randomness, from 0 to 2^64 - 1.
        design: how the data exist: "auto", "virtual", "retraced", "dense", "streamed" or "dice". All are exact.
        observe: what to measure, names of `featlab.results.QUANTITIES`; None, the usual ones of the learner.
        dtype: "float32" or "float64".
        memory: bytes that a run may use; None, half of what the machine has, or its container or Slurm job.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> experiment = featlab.Experiment.of("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> experiment.seeds, experiment.student.activation
        ((0, 1, 2), 'relu')
    """

    target: Target
    learner: Learner
    dim: int = field(metadata=option(COUNT, "dimension of the inputs, such as 1e6"))
    samples: int | None = field(
        default=None,
        metadata=option(or_none(COUNT), "one-pass learners: samples in all; others: in a batch"),
    )
    times: tuple[float, ...] | None = field(
        default=None, metadata=option(_TIMES, "when to look: one-pass learners in units of d steps, others in steps")
    )
    student: Student | None = None
    seeds: tuple[int, ...] = field(default=tuple(range(10)), metadata=option(_SEEDS, "how many independent runs; 10"))
    key: int | Array = field(default=0, metadata=option(_KEY, "the root of all randomness"))
    design: str = field(
        default="auto", metadata=option(choice(*DESIGNS), "how the data exist; all designs are exact in law")
    )
    observe: tuple[str, ...] | None = field(default=None, metadata=option(_NAMES, "what to measure"))
    dtype: str = field(default="float32", metadata=option(choice(*PRECISIONS), "precision of the run"))
    memory: int | None = field(default=None, metadata=option(or_none(COUNT), "bytes that a run may use"))

    @classmethod
    def of(
        cls,
        target: Target | str,
        learner: Learner,
        *,
        dim: int,
        samples: int | None = None,
        times: Sequence[float] | None = None,
        student: Student | None = None,
        seeds: int | Iterable[int] = 10,
        key: int | Array = 0,
        design: str = "auto",
        observe: str | Iterable[str] | None = None,
        dtype: str = "float32",
        memory: int | None = None,
    ) -> Experiment:
        """The experiment, from whatever says what each part is."""
        from featlab.targets import target as make_target

        check_contract(learner)
        return cls(
            target=make_target(target),
            learner=learner,
            dim=positive_integer("dim", dim),
            samples=samples,
            times=None if times is None else tuple(times) if isinstance(times, Iterable) else (times,),
            student=_student(learner, student),
            seeds=_seed_numbers(seeds),
            key=key,
            design=design,
            observe=_names(observe),
            dtype=dtype,
            memory=memory,
        )

    def check_together(self) -> None:
        """Inputs that the learner knows, room for the directions, and times that its clock has."""
        laws = self.learner.inputs
        if not isinstance(self.concrete.inputs, laws):
            kinds = " or ".join(law.__name__ for law in laws)
            raise InvalidParameter("inputs", self.concrete.inputs, f"{kinds} for {called(self.learner)}")
        if self.dim < self.target.rank:
            expected = f"at least {self.target.rank}, the number of the target's directions"
            raise InvalidParameter("dim", self.dim, expected)
        _ = self.plan

    @cached_property
    def concrete(self) -> Target:
        """The target with the inputs that it has at this dimension."""
        return self.target.at(self.dim)

    @cached_property
    def plan(self) -> Schedule:
        """When to look, in numbers of steps."""
        from featlab.experiments.schedules import schedule

        return schedule(self.learner, self.dim, self.samples, self.times)

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Every number that describes what is learned and how, by the name of its field; those of a list one by one.

        Not those of the run alone: seeds, key, memory; nor times, which its clock has checked.
        """
        yield "noise", self.target.noise
        learner = self.learner
        for one in filter(None, (self, learner, getattr(learner, "first", None), self.student)):
            for of, _ in options_of(one):
                if of.name not in _OF_THE_RUN:
                    yield from ((of.name, number) for number in _numbers_in(getattr(one, of.name), self.dim))

    def finely(self) -> Experiment:
        """The same, looked at more often: for a curve in a picture."""
        from featlab.experiments.schedules import finer

        return replace(self, times=finer(self.plan))

    @property
    def needs_start(self) -> tuple[str, ...]:
        """What of the start is left to chance, and has to be told to a prediction; empty, nothing is."""
        return self.learner.needs_start(self.student, self.concrete)


def _numbers_in(value: Any, dim: int) -> Iterator[float]:
    if isinstance(value, StepLaw):
        yield value.at(dim)
    elif isinstance(value, tuple):
        for part in value:
            yield from _numbers_in(part, dim)
    elif isinstance(value, Real) and not isinstance(value, bool):
        yield value  # type: ignore[misc]


def _student(learner: Learner, student: Student | None) -> Any:
    """The student that runs: the default of the learner's kind unless given; None for a learner that has none."""
    kind, name = learner.student_kind, called(learner)
    if kind is None:
        if student is not None:
            raise InvalidParameter("student", student, f"None: {name} has none, it estimates by itself")
        return None
    if student is not None and not isinstance(student, kind):
        raise InvalidParameter("student", student, f"a {kind.__name__}, which is what {name} trains")
    return kind() if student is None else student


def _names(observe: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """The names of what is to be measured; whether the learner has them is seen where it runs."""
    if observe is None:
        return None
    names = tuple(observe) if isinstance(observe, Iterable) and not isinstance(observe, str) else (observe,)
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameter("observe", observe, "names of quantities, such as overlap and risk")
    return names


def _seed_numbers(seeds: int | Iterable[int]) -> tuple[int, ...]:
    if not isinstance(seeds, Iterable):
        return tuple(range(seed_count(positive_integer("seeds", seeds))))
    numbers = list(islice(seeds, _MOST_SEEDS + 1))
    seed_count(len(numbers))
    if not numbers or any(
        isinstance(n, bool) or not isinstance(n, Real) or n % 1 or not 0 <= n < _SEEDS_BELOW for n in numbers
    ):
        raise InvalidParameter("seeds", seeds, "a number of seeds, or whole numbers from 0 to 2^32 - 1")
    return tuple(int(number) for number in numbers)


def seed_count(count: int) -> int:
    """A number of seeds, if one experiment can have so many."""
    if count > _MOST_SEEDS:
        least = f"at least {_BYTES_OF_SEED * count // 10**9:,} GB"
        expected = f"at most {_MOST_SEEDS:,} in one experiment: {count:,} take {least}; a study runs more, by `repeats`"
        raise InvalidParameter("seeds", count, expected)
    return count


def as_experiment(target: Experiment | Target | str, learner: Learner | None, settings: dict[str, Any]) -> Experiment:
    """The experiment as it was given, or the one that a target, a learner and the settings of `Experiment.of` describe.

    Beside an experiment nothing may be said: it says everything.
    """
    if not isinstance(target, Experiment):
        if learner is None:
            raise InvalidParameter("learner", None, "a learner, or an Experiment in the place of the target")
        return Experiment.of(target, learner, **settings)
    defaults = {name: parameter.default for name, parameter in signature(Experiment.of).parameters.items()}
    said = [name for name, value in settings.items() if value is not None and value != defaults[name]]
    if learner is not None or said:
        first = said[0] if said else "learner"
        expected = "nothing beside an Experiment, which says it all; dataclasses.replace makes another one"
        raise InvalidParameter(first, settings.get(first, learner), expected)
    return target
