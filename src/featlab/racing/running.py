"""Running a race: for each entrant a study of simulations and one of predictions, in its share of the time."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import xarray as xr

from featlab.analysis import Analysis, analyse
from featlab.comparison.recovery import principal_cosines
from featlab.errors import InvalidParameter, or_meant
from featlab.experiments.experiment import seed_count
from featlab.files import fault_words, make_directory
from featlab.gaussian.hermite import Floats
from featlab.interruption import in_time, saving
from featlab.learners.checks import positive_integer, positive_number, whole_number
from featlab.progress import progress_bar
from featlab.racing.course import Course, read_ratios
from featlab.racing.entrants import ENTRANTS, Entrant
from featlab.racing.kept import read_course, write_course
from featlab.racing.result import Curve, Race, Standing, arranged
from featlab.runners import find_runner
from featlab.study.dataset import open as open_study
from featlab.study.dataset import provenance
from featlab.study.description import Study
from featlab.study.drive import run
from featlab.study.engines.protocol import Records
from featlab.study.faults import EngineFault, InvalidStudy, StoreFault
from featlab.study.identity import Run, runs_of
from featlab.study.records import perform
from featlab.study.runner import Runner, RunPoint
from featlab.targets import Isotropic, Target
from featlab.targets import target as as_target

DEFAULT_RATIOS, DEFAULT_SEEDS, DEFAULT_BUDGET = "0.5:16", 8, 300.0
_ANALYSIS_SHARE = 0.2
_SIMULATE, _PREDICT = "simulate", "predict"


def race(
    target: Target | str,
    *,
    dim: int,
    ratios: str | Sequence[float] = DEFAULT_RATIOS,
    seeds: int = DEFAULT_SEEDS,
    budget: float = DEFAULT_BUDGET,
    noise: float = 0.0,
    key: int = 0,
    store: str | Path | None = None,
    theory: bool = True,
    progress: bool | None = None,
    entrants: Sequence[str] | None = None,
    watch: Callable[[Race], None] | None = None,
) -> Race:
    """Every learner that applies, from n = ratio * d samples: how much of the target's directions it finds, and who
    finds them from the fewest.

    Args:
        target: a text, or a `Target` that was made of one; with isotropic inputs.
        dim: the dimension d.
        ratios: n/d; "0.5:16" doubles from 0.5 to 16, "0.5:16:11" are eleven in equal factors; or numbers.
        seeds: runs at each ratio.
        budget: seconds by the clock. Entrants share them; what is not done by then is said.
        noise: variance of Gaussian noise added to the label, of a target given as text.
        key: of all random numbers.
        store: a directory that keeps the runs, a file for each entrant: the same race goes on where it was.
        theory: also predict.
        progress: a bar on stderr; None, if that is a terminal.
        entrants: the names of those who run, such as "sir" and "bayes-amp"; None, all.
        watch: is called with the race so far whenever an entrant has had a turn.

    Raises:
        InvalidParameter, InvalidTarget: before anything runs.

    Examples:
        >>> import featlab
        >>> race = featlab.race("tanh(h1)", dim=20, ratios=[2, 4], seeds=2, entrants=["sir"], theory=False)
        >>> len(race.standings)
        1
    """
    of = as_target(target, noise=noise) if isinstance(target, str) else as_target(target)
    _check(of, dim, seeds, budget, key)
    points, chosen, begin = read_ratios(ratios), _chosen(entrants), time.monotonic()
    course = Course(analyse(of, budget=_ANALYSIS_SHARE * budget), dim, points, seeds, key)
    with _directory(store) as directory:
        write_course(directory, course)
        running = _Running(course, chosen, directory, theory=theory)
        show = sys.stderr.isatty() if progress is None else progress
        with saving(), progress_bar(show, "racing", running.total) as advance:

            def turn(runs: int) -> None:
                advance(runs)
                if watch is not None:
                    watch(Race(course, arranged(running.standings())))

            interrupted = running.until(begin + budget, turn)
            standings = arranged(running.standings())
    return Race(course, standings, interrupted, "" if store is None else str(store))


def open_race(store: str | Path, analysis: Analysis) -> Race:
    """What a directory holds of the race that was last run into it, of the analysed target; nothing is run."""
    course = read_course(Path(store), analysis)
    running = _Running(course, ENTRANTS, Path(store), theory=True)
    return Race(course, arranged(running.standings()), store=str(store))


def _check(target: Target, dim: int, seeds: int, budget: float, key: int) -> None:
    """Refuse, before anything is computed, what no entrant could run."""
    positive_integer("dim", dim)
    seed_count(positive_integer("seeds", seeds))
    whole_number("key", key, 0, "a whole number, at least 0")
    positive_number("budget", budget)
    if target.tree is None:
        raise InvalidParameter(
            "target", target.text, "a target in text, such as 'He3(h1)': studies keep it by its text"
        )
    if not isinstance(target.inputs, Isotropic):
        raise InvalidParameter("inputs", target.inputs, "isotropic inputs, which every entrant runs on")


def _chosen(names: Sequence[str] | None) -> tuple[Entrant, ...]:
    known = {one.name: one for one in ENTRANTS}
    if names is not None and not isinstance(names, Iterable):
        raise InvalidParameter("entrants", names, f"some of {', '.join(known)}")
    for name in names or ():
        if name not in known:
            raise InvalidParameter("entrants", name, f"some of {', '.join(known)}{or_meant(name, known)}")
    return ENTRANTS if names is None else tuple(known[name] for name in dict.fromkeys(names))


@contextmanager
def _directory(store: str | Path | None) -> Iterator[Path]:
    """Where the stores lie: the directory that was asked for, or one that vanishes."""
    if store is None:
        # A run that does not stop in time may still hold its file.
        with tempfile.TemporaryDirectory(prefix="featlab-race-", ignore_cleanup_errors=True) as name:
            yield Path(name)
        return
    if not isinstance(store, str | os.PathLike):
        raise InvalidParameter("store", store, "the path of a directory")
    try:
        make_directory(Path(store))
    except OSError as fault:
        raise InvalidParameter("store", str(store), f"a directory that can be made: {fault_words(fault)}") from fault
    yield Path(store)


@dataclass
class _Job:
    """A study of one entrant: what is asked, where it is kept, whether it is open still, and why it is not done."""

    entrant: Entrant
    kind: str
    study: Study
    store: Path
    runs: int = 0
    reason: str = ""
    open: bool = True

    @property
    def runner(self) -> Runner:
        return find_runner(self.kind, ".")

    def check(self) -> None:
        """Find out whether it can be run at all."""
        try:
            self.runs = len(runs_of(self.study, self.runner))
            self.reason = "its turn did not come in time; a larger budget gives it one"
        except InvalidStudy as fault:
            self.reason = str(fault.__cause__ or fault)

    def do(self, seconds: float, most: float) -> None:
        """Run what is missing: after so many seconds nothing is begun any more, and after the `most` all ends."""
        engine = _UntilThen(time.monotonic() + seconds)
        work = partial(run, self.study, self.runner, self.store, engine=engine, retry_failed=True)
        try:
            progress = in_time(work, most)
        except TimeoutError:
            self.reason = "not finished in time; a larger budget gives it more"
        except (StoreFault, EngineFault) as fault:
            self.reason, self.open = str(fault), False
        else:
            self.open = progress.missing > 0
            some = "" if progress.failed == progress.total else f"{progress.failed} of {progress.total} runs failed: "
            self.reason = some + self._last_error() if progress.failed else ""
            if self.open:
                self.reason = f"{progress.done} of {progress.total} runs in time; a larger budget gives it more"

    def curve(self, course: Course) -> tuple[Curve | None, float]:
        """What its store holds of it, and the seconds that took."""
        if self.runs == 0 or not self.store.exists():
            return None, 0.0
        ids = {one.id for one in runs_of(self.study, self.runner)}
        seconds = sum(entry["seconds"] for entry in provenance(self.store) if entry["run"] in ids)
        return _curve(open_study(self.store), self.entrant, self.entrant.ratios_of(self.study, course), course), seconds

    def _last_error(self) -> str:
        errors = [entry["error"] for entry in provenance(self.store) if entry["error"] is not None]
        return errors[-1].rstrip().rpartition("\n")[2].partition(": ")[2] if errors else ""


@dataclass(frozen=True)
class _UntilThen:
    """An engine that runs points in this process and begins none after the deadline, but the first: no work is lost."""

    deadline: float

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """Records in the order of the groups, as far as the time goes."""
        for place, one in enumerate(chain.from_iterable(groups)):
            if place and time.monotonic() > self.deadline:
                return
            yield perform(run_point, one)


class _Running:
    """The studies of a race, simulations before predictions."""

    def __init__(self, course: Course, entrants: Sequence[Entrant], directory: Path, *, theory: bool) -> None:
        self.course, self.entrants = course, entrants
        self.simulated = {one.name: self._job(one, _SIMULATE, directory / f"{one.name}.sqlite") for one in entrants}
        self.predicted = {}
        if theory:
            stores = {one: directory / f"{one.name}-theory.sqlite" for one in entrants}
            self.predicted = {one.name: self._job(one, _PREDICT, store) for one, store in stores.items()}

    def _job(self, entrant: Entrant, kind: str, store: Path) -> _Job:
        study = entrant.study(self.course) if kind == _SIMULATE else entrant.theory(self.course)
        job = _Job(entrant, kind, study, store)
        job.check()
        return job

    @property
    def jobs(self) -> list[_Job]:
        """Those that can be run."""
        return [job for job in (*self.simulated.values(), *self.predicted.values()) if job.runs]

    @property
    def total(self) -> int:
        """How many runs there are."""
        return sum(job.runs for job in self.jobs)

    def until(self, deadline: float, advance: Callable[[int], None]) -> bool:
        """Run them in turn, each in an equal share of the time that is left, and those that were not finished again;
        whether Ctrl-C ended it."""
        try:
            while waiting := [job for job in self.jobs if job.open]:
                for place, job in enumerate(waiting):
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    job.do(left / (len(waiting) - place), left)
                    advance(0 if job.open else job.runs)
        except KeyboardInterrupt:
            for job in self.jobs:
                job.reason = "interrupted" if job.open else job.reason
            return True
        return False

    def standings(self) -> list[Standing]:
        """Of every entrant, whatever became of it."""
        found = []
        for entrant in self.entrants:
            simulated, predicted = self.simulated[entrant.name], self.predicted.get(entrant.name)
            measured, seconds = simulated.curve(self.course)
            theory, why, more = None, "not asked for", 0.0
            if predicted is not None:
                (theory, more), why = predicted.curve(self.course), predicted.reason
            found.append(Standing(entrant, measured, theory, simulated.reason, why, seconds + more))
        return found


def _curve(data: xr.Dataset, entrant: Entrant, ratios: Floats, course: Course) -> Curve | None:
    """The rows of a study as a curve; None if there is none yet."""
    if any(name not in data for name in entrant.observe):
        return None
    data = data if "seed" in data.dims else data.expand_dims("seed")
    if entrant.counted == "times":
        data = data.rename(time="ratio")
    else:
        data = data.isel(time=-1).rename({entrant.counted: "ratio"})
    values = [data[name].transpose("ratio", "seed", ...).values.astype(np.float64) for name in entrant.observe]
    found = risk = None
    if not entrant.finds_directions:
        risk = values[0] / course.label_variance
    elif len(values) == 1:  # singular values of the cosines over sqrt(r)
        found = values[0] ** 2 * course.analysis.target.rank
    else:
        found = principal_cosines(*values) ** 2
    order = np.argsort(ratios)
    return Curve(ratios[order], None if found is None else found[order], None if risk is None else risk[order])
