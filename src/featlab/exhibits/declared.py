"""Checks as declarations: what must hold, of which numbers, with the control of `featlab.exhibits.checks`.

An exhibit has them under their statements: texts with the parameters of the place in braces, such as "at d = {dim}".
Each gives one check for each study it speaks of and for each point along `each`. A study that a size does not have is
passed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from featlab.exhibits.reading import FIRST, Fields, Given, Of, Place, Reading, Studies, View, as_of, given, theory_name
from featlab.exhibits.verdict import LEAST_EFFECT, Check, CheckResult

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from featlab.comparison import FiniteSize

Summary = Callable[["np.ndarray"], tuple[float, float]]
Allowance = float | tuple[float, float] | None  # a fraction of the largest predicted value; (c, e) is c d^(-e) of it


@dataclass(frozen=True, kw_only=True)
class Declared(ABC):
    """What all checks and numbers have in common.

    Attributes:
        each: axes along which it is said point by point.
        only: of these points those whose parameters fulfil it.
    """

    each: str | Sequence[str] = ()
    only: Callable[[Fields], bool] | None = None

    @property
    @abstractmethod
    def of(self) -> Of:
        """The numbers it speaks of; its places are theirs."""

    @property
    def others(self) -> Sequence[Of]:
        """What its numbers are compared with; without a study of theirs nothing is said."""
        return ()

    def places(self, view: View) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Where it is said, with what its words may speak of."""
        if not all(view.studies(other.study) for other in self.others):
            return
        for place in view.places(self.of, self.each):
            fields = view.fields(place.study, {**place.where, **self.of.where})
            if self.only is None or self.only(fields):
                yield place, fields


@dataclass(frozen=True, kw_only=True)
class DeclaredCheck(Declared):
    """A check that is said place by place."""

    def judge(self, view: View, statement: str) -> list[Check]:
        """One check for each place."""
        return [self.judge_at(view, place, fields, statement) for place, fields in self.places(view)]

    @abstractmethod
    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        """The check at one place."""


@dataclass(frozen=True)
class Agrees(DeclaredCheck):
    """Theory and simulation agree, by `featlab.compare`.

    Attributes:
        names: of the quantities.
        study, where, theory: as those of `Of`.
        signless: as that of `featlab.compare`.
        allowance: what a finite dimension may change, of the largest value; 1/sqrt(d) unless given.
    """

    names: str | Sequence[str]
    study: Studies = None
    where: Mapping[str, Any] = field(default_factory=dict)
    theory: str | None = None
    signless: bool = False
    allowance: Given[Allowance] = None

    @property
    def of(self) -> Of:
        return Of("", self.study, self.where, theory=self.theory)

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        import xarray as xr

        from featlab.exhibits.checks import agrees

        names = [self.names] if isinstance(self.names, str) else list(self.names)
        pairs = [Of(name, place.study, self.where, theory=self.theory) for name in names]
        measured = xr.Dataset({of.quantity: _two_axes(view.measured(of, place)) for of in pairs}, attrs=fields)
        theory = xr.Dataset({of.quantity: _two_axes(view.predicted(of, place)) for of in pairs})
        theory.attrs |= view.theory[theory_name(self.of, place.study)].attrs
        allowed = _allowance(given(self.allowance, fields))
        return agrees(
            statement.format_map(fields), theory, measured, names=names, signless=self.signless, allowance=allowed
        )


@dataclass(frozen=True)
class Close(DeclaredCheck):
    """Means over runs are the predicted numbers, up to their standard errors and a stated allowance.

    In the statement {predicted} is what they are, if it is one number. Where theory has a number for each run, what
    differs between runs is known, and taken off; a run for which it has none is left out.

    Attributes:
        values: the numbers.
        predicted: what they are; theory's, unless given.
        allowance: what a finite dimension may change.
        relative: measured over predicted is 1; then every point weighs the same.
        mean: axes over which is averaged first.
    """

    values: Of | Reading
    predicted: Given[float] | None = None
    allowance: Given[Allowance] = 0.0
    relative: bool = False
    mean: Sequence[str] = ()

    @property
    def of(self) -> Of:
        return as_of(self.values)

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        from featlab.exhibits.checks import close

        samples = view.measured(self.of, place)
        theory: Any = given(self.predicted, fields) if self.predicted is not None else view.predicted(self.of, place)
        if self.relative:
            samples, theory = samples / theory, 1.0
        elif self.predicted is None and "run" in theory.dims:
            sound = theory.notnull().all([axis for axis in theory.dims if axis != "run"])
            samples, theory = samples.isel(run=sound.values), theory.isel(run=sound.values)
            samples, theory = samples - theory + theory.mean("run"), theory.mean("run")
        if self.predicted is None and not self.relative:
            theory = theory.broadcast_like(samples.isel(run=0, drop=True)).transpose(*samples.dims[1:])
        return close(
            statement.format_map({**fields, "predicted": _only(theory)}),
            samples.mean(self.mean).transpose("run", ...),
            theory,
            allowance=_allowance(given(self.allowance, fields)) or 0.0,
            dim=fields.get("dim", 0),
        )


@dataclass(frozen=True)
class Exponent(DeclaredCheck):
    """A power law along an axis, y = C x^a: its exponent is the claimed one, or not above it, and not the wrong one.

    Attributes:
        values: y.
        along: the axis, or the name of a parameter that changes along it; or x as a function of the numbers.
        claimed: a.
        wrong: the exponent that the same data must refuse.
        at_most: the claimed exponent is a bound, for theorems that say what suffices.
        summary: y and its error from the numbers of all runs; mean and standard error unless given.
        least: points that it takes, those without a number not counted; with fewer nothing is said, or that it cannot
            be told, if `needs` says what it takes.
    """

    values: Of | Reading
    along: str | Callable[[xr.DataArray], Any]
    claimed: Given[float]
    wrong: Given[float] = field(kw_only=True)
    at_most: bool = field(default=False, kw_only=True)
    summary: Summary | None = field(default=None, kw_only=True)
    least: int = field(default=3, kw_only=True)
    needs: str | None = field(default=None, kw_only=True)

    @property
    def of(self) -> Of:
        return as_of(self.values)

    def judge(self, view: View, statement: str) -> list[Check]:
        """One check for each place that has enough points."""
        found = super().judge(view, statement)
        if found or self.needs is None:
            return found
        detail = f"it takes {self.least} points at least."
        return [
            Check(statement, CheckResult.CANNOT_TELL, detail, f"the exponent {self.wrong}", False, needs=self.needs)
        ]

    def places(self, view: View) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Those that have enough points."""
        return (at for at in super().places(view) if len(self.points(view, at[0])[0]) >= self.least)

    def points(self, view: View, place: Place) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, y and its error."""
        import numpy as np

        samples = view.measured(self.of, place)
        x = self.along(samples) if callable(self.along) else samples[self.along].values
        y, error = (values.ravel() for values in summarised(samples, self.summary))
        seen = np.isfinite(y)
        return np.asarray(x)[seen], y[seen], error[seen]

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        from featlab.exhibits.checks import exponent, exponent_at_most

        points = self.points(view, place)
        claimed, wrong = given(self.claimed, fields), given(self.wrong, fields)
        if self.at_most:
            return exponent_at_most(statement.format_map(fields), *points, claimed, wrong=wrong)
        return exponent(statement.format_map(fields), *points, claimed, wrong=wrong)


@dataclass(frozen=True)
class Ordered(DeclaredCheck):
    """Means over runs increase in the order given.

    Attributes:
        values: the numbers, each with words of its own; or one that goes along an axis.
        along: that axis.
        descending: the means decrease along it.
        least: each is larger than the one before by this share of its size at least; 1%, if not given.
        paired: runs have the same luck at every place, as one seed at several times.
    """

    values: Of | Sequence[Of]
    along: str | None = None
    descending: bool = False
    least: float = LEAST_EFFECT
    paired: bool = False

    @property
    def of(self) -> Of:
        return next((of for of in self.others if not isinstance(of.study, str)), self.others[0])

    @property
    def others(self) -> Sequence[Of]:
        return [self.values] if isinstance(self.values, Of) else self.values

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        from featlab.exhibits.checks import ordered

        samples = {}
        for of in self.others:
            study = view.study(of, place)
            for at in view.places(Of(of.quantity, study), self.along or ()):
                there = Place(study, {**place.where, **at.where})
                words = of.words.format_map(view.fields(study, {**there.where, **of.where}))
                samples[words] = view.measured(of, there).values.ravel()
        names = list(samples)[:: -1 if self.descending else 1]
        order = {name: samples[name] for name in names}
        return ordered(statement.format_map(fields), order, least=self.least, paired=self.paired)


@dataclass(frozen=True)
class Contrast(DeclaredCheck):
    """One recovers in most runs and the control in few.

    Attributes:
        recovered, control: for each run whether it succeeded; or numbers, which do above `beyond`. The control may be
            the runs of several.
    """

    recovered: Of
    control: Of | Sequence[Of]
    beyond: Given[float] | None = None

    @property
    def of(self) -> Of:
        return self.recovered

    @property
    def others(self) -> Sequence[Of]:
        return [self.control] if isinstance(self.control, Of) else self.control

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        import numpy as np

        from featlab.exhibits.checks import contrast

        runs, names = [], []
        for of in (self.recovered, *self.others):
            study = view.study(of, place)
            values = view.measured(of, Place(study, place.where)).values.ravel()
            runs.append(values if self.beyond is None else values > given(self.beyond, fields))
            within = {axis: at for axis, at in place.where.items() if axis in view.data[study].dims}
            names.append(of.words.format_map(view.fields(study, {**within, **of.where})))
        words, control = statement.format_map(fields), np.concatenate(runs[1:])
        return contrast(words, runs[0], control, name=names[0], control_name=" or ".join(names[1:]))


@dataclass(frozen=True)
class Above(DeclaredCheck):
    """Means over runs are nowhere below a bound beyond their errors; the control's are, somewhere.

    In the statement {bound} is the bound, if it is one number.

    Attributes:
        values: the numbers.
        bound: a number, or a quantity of theory: one number, or one for each of a run's.
        control: what must go below the bound.
        control_words: what it is called.
        below: turned round: the numbers are nowhere above, the control's are.
    """

    values: Of | Reading
    bound: float | Reading
    control: Of
    control_words: str
    below: bool = False

    @property
    def of(self) -> Of:
        return as_of(self.values)

    @property
    def others(self) -> Sequence[Of]:
        return [self.control]

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        from featlab.exhibits.checks import above

        bound: Any = self.bound
        if not isinstance(bound, int | float):
            bound = view.predicted(self.of, place, bound)
        fields = {**fields, "bound": _only(bound)}
        margins = [view.measured(of, place) - bound for of in (self.of, self.control)]
        sign = -1 if self.below else 1
        samples, others = (sign * margin.transpose("run", ...) for margin in margins)
        words = self.control_words.format_map(fields)
        return above(statement.format_map(fields), samples, 0.0, control=words, control_samples=others)


@dataclass(frozen=True)
class Identity(DeclaredCheck):
    """Two ways to one number differ by no more than the tolerance; the control differs by more.

    Attributes:
        difference: as a function of what was measured and predicted, and of the parameters of the place.
        tolerance: what it may be.
        control, control_difference: what differs by more, in words and as a function.
        study: it is said of the first one only unless given.
    """

    difference: Callable[[View, Fields], float]
    tolerance: float
    control: str = field(kw_only=True)
    control_difference: Callable[[View, Fields], float] = field(kw_only=True)
    study: Studies = field(default=FIRST, kw_only=True)

    @property
    def of(self) -> Of:
        return Of("", self.study)

    def judge_at(self, view: View, place: Place, fields: dict[str, Any], statement: str) -> Check:
        from featlab.exhibits.checks import identity

        return identity(
            statement.format_map(fields),
            self.difference(view, fields),
            self.tolerance,
            control=self.control.format_map(fields),
            control_difference=self.control_difference(view, fields),
        )


def summarised(samples: xr.DataArray, summary: Summary | None) -> tuple[np.ndarray, np.ndarray]:
    """Of each point over runs: mean and standard error unless another summary is given."""
    import numpy as np

    from featlab.exhibits.checks import mean_and_error

    values = samples.transpose("run", ...).values
    columns = values.reshape(len(values), -1).T
    found = np.array([(summary or mean_and_error)(column) for column in columns])
    return found[:, 0].reshape(values.shape[1:]), found[:, 1].reshape(values.shape[1:])


def _two_axes(values: xr.DataArray) -> xr.DataArray:
    """As `featlab.compare` takes it: runs are seeds."""
    bare = values.drop_vars(["seed", "repeat"], errors="ignore")
    return bare.rename(run="seed") if "run" in bare.dims else bare


def _allowance(declared: Allowance) -> float | FiniteSize | None:
    from featlab.comparison import FiniteSize

    return FiniteSize(*declared) if isinstance(declared, tuple) else declared


def _only(value: Any) -> float | None:
    """A number, if it is one."""
    return getattr(value, "item", lambda: value)() if getattr(value, "size", 1) == 1 else None
