"""What runs a point. A study knows it only as a function `run_point(point, key) -> rows` and a few words about it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from featlab.errors import FeatlabError
from featlab.study.canonical import words
from featlab.study.description import Point, Study
from featlab.study.faults import InvalidStudy, did_you_mean

Row = Mapping[str, Any]
RunPoint = Callable[[Point, int], Iterable[Row]]
Attributes = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Runner:
    """A function of a point and a key, and what a study must know about it.

    Attributes:
        run_point: given a point (a dict) and a random key (an integer below 2^64), returns rows: mappings of names to
            numbers, texts, or nested lists of numbers. Its result may depend on nothing else.
        name: its name, which enters every point's id; the function's own name unless given.
        numerics: its version, which enters every point's id: raise it when the same point gives other numbers.
        parameters: the names it understands, perhaps depending on the study; None, any.
        check: refuses a point (with a FeatlabError) before anything runs.
        shape: points of equal shape share what is compiled; they are run one after the other by one worker.
        index: the names in a row that tell it from the other rows of its point, such as ("time",).
        axes: names of the axes of values that are lists, such as {"overlap": ("neuron", "direction")}.
        prefixes: of such axes, what stands before the number of a place: {"direction": "h"} for h1, h2, ..
        attributes: what variables and coordinates say of themselves, such as {"dim": {"long_name": "dimension"}},
            perhaps depending on the study.
        seconds: about how long a run of a point takes on one core, known without running it.

    Examples:
        >>> from featlab.study import Runner
        >>> Runner(lambda point, key: [], "nothing").numerics
        '1'
    """

    run_point: RunPoint
    name: str = ""
    numerics: str = "1"
    parameters: frozenset[str] | Callable[[Study], frozenset[str]] | None = None
    check: Callable[[Point], None] | None = None
    shape: Callable[[Point], Hashable] | None = None
    index: tuple[str, ...] = ()
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    attributes: Attributes | Callable[[Study], Attributes] = field(default_factory=dict)
    seconds: Callable[[Point], float] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            own = getattr(self.run_point, "__qualname__", type(self.run_point).__qualname__)
            object.__setattr__(self, "name", f"{self.run_point.__module__}:{own}")

    def check_names(self, study: Study) -> None:
        """Refuse a parameter that neither the runner nor a formula of the study understands."""
        if self.parameters is None:
            return
        known = self.parameters(study) if callable(self.parameters) else self.parameters
        for name in study.names:
            if name not in known and name not in study.helpers:
                # The plural of a parameter is another one (seed, seeds), no typo: which is meant, nobody knows.
                others = [one for one in known if one.rstrip("s") != name.rstrip("s")]
                hint = did_you_mean(name, others) or f"; it has {', '.join(sorted(known))}"
                swept = any(name in axis.names for axis in study.grid)
                raise InvalidStudy(f"{'unknown axis' if swept else 'unknown parameter'} {name!r} of {self.name}{hint}")

    def check_point(self, point: Point) -> None:
        """Refuse a point that could not be run."""
        if self.check is None:
            return
        try:
            self.check(point)
        except FeatlabError as fault:
            raise InvalidStudy(f"the point {words(point)} cannot be run: {fault}") from fault


def as_runner(given: Runner | RunPoint) -> Runner:
    """A runner, or the one that a plain function makes."""
    return given if isinstance(given, Runner) else Runner(given)


@dataclass(frozen=True)
class _FromModule:
    """`run_point` of a module found by name, also in another process: only the names travel."""

    address: str
    directory: str

    def __call__(self, point: Point, key: int) -> Iterable[Row]:
        return _loaded(self.address, self.directory).run_point(point, key)


def runner_from_module(address: str, directory: str) -> Runner:
    """The runner (or plain function) at `module:name`, the module being looked for in `directory` too."""
    return replace(_loaded(address, directory), run_point=_FromModule(address, directory), name=address)


@cache
def _loaded(address: str, directory: str) -> Runner:
    module_name, _, name = address.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise InvalidStudy(f"kind: got {address!r}, expected module:function, as in an import; paths are none")
    if directory not in sys.path:
        sys.path.append(directory)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as fault:
        raise InvalidStudy(f"kind: got {address!r}, but there is no module {fault.name!r}") from None
    except Exception as fault:  # whatever the module of a user raises
        raise InvalidStudy(f"kind: got {address!r}, whose import fails: {type(fault).__name__}: {fault}") from fault
    found = getattr(module, name, None)
    if not callable(found) and not isinstance(found, Runner):
        raise InvalidStudy(f"kind: got {address!r}, but {module_name} has no function or Runner {name!r}")
    return as_runner(found)
