"""Theory and simulation of one question, each computed without the other, at several sizes, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from featlab.comparison.agreement import Comparison, compare
from featlab.comparison.allowance import FiniteSize
from featlab.comparison.more_seeds import further_seeds
from featlab.comparison.pairs import (
    Pair,
    at_other_sizes,
    at_sizes,
    is_interrupted,
    observing_starts,
    seen_from_the_start,
)
from featlab.comparison.sizes import MOST_SIZES, check_sizes, ladder
from featlab.comparison.stuck import stuck_runs, without
from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment, as_experiment
from featlab.learners.amp import BayesAmp
from featlab.learners.checks import whole_number
from featlab.learners.protocol import Learner, Student
from featlab.shown import Shown
from featlab.targets import Target
from featlab.theory.prediction import predict_experiment


@dataclass(frozen=True, repr=False)
class ComparedRun(Shown):
    """A prediction, the simulation of the same, and how they compare.

    Attributes:
        prediction, simulation: at the size asked for.
        comparison: of the limit, where there are other sizes.
        others: (prediction, simulation) at each other size.
        measured: what was measured, in words: the sizes, and what was kept in proportion.
        experiment: what was asked.
    """

    prediction: xr.Dataset
    simulation: xr.Dataset
    comparison: Comparison
    others: tuple[Pair, ...] = ()
    measured: str = ""
    experiment: Experiment | None = None

    _picture: ClassVar[str] = "featlab.reports.notebook:run_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:run_page"

    @property
    def pairs(self) -> list[Pair]:
        """(prediction, simulation) at every size."""
        return [(self.prediction, self.simulation), *self.others]

    @property
    def runs(self) -> list[xr.Dataset]:
        """The simulation at every size."""
        return [run for _, run in self.pairs]

    def drawn(self) -> xr.Dataset:
        """What is compared of the prediction as curves: at times between those that were asked for, too."""
        finer = None if self.experiment is None else self.experiment.finely()
        if finer is None or self.experiment is None or finer.plan == self.experiment.plan:
            return self.prediction
        start = self.simulation if finer.needs_start else None
        return predict_experiment(replace(finer, observe=tuple(self.comparison.quantities)), start)

    def __repr__(self) -> str:
        return f"<ComparedRun of {self.simulation.attrs.get('target')!r} at {self.measured}: {self.comparison!r}>"


def predict_and_simulate(
    target: Experiment | Target | str,
    learner: Learner | None = None,
    *,
    dim: int | None = None,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    student: Student | None = None,
    seeds: int | Iterable[int] = 10,
    key: int = 0,
    design: str = "auto",
    names: Sequence[str] | None = None,
    sizes: int = MOST_SIZES,
    most_seeds: int = 160,
    allowance: FiniteSize | float | None = None,
    signless: bool = False,
    progress: bool | None = None,
) -> ComparedRun:
    """Predict, simulate at several sizes, and compare the limit.

    A student whose start leaves something to chance is predicted from the start of each simulated seed, and the seeds
    are paired; otherwise there is one prediction for all.

    Args:
        target, learner, dim, samples, times, student: as for `featlab.predict`.
        seeds, key, design, progress: as for `featlab.simulate`.
        names, signless: as for `featlab.compare`.
        sizes: at how many sizes it is simulated at most: 3, d, 4d and 16d, or smaller ones where those are too much
            work (`featlab.comparison.sizes`); 1, only at the one asked for, with an allowance for finite d.
        most_seeds: where `seeds` are too few to tell, and up to so many would do, they are added at every size
            (`featlab.comparison.more_seeds`); 0, none are.
        allowance: asks for one size, and says what it is allowed.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> both = featlab.predict_and_simulate("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3, sizes=1)
        >>> both.comparison.sizes
        (100,)
    """
    given = {"dim": dim, "samples": samples, "times": times, "student": student}
    experiment = as_experiment(target, learner, {**given, "seeds": seeds, "key": key, "design": design})
    experiment = seen_from_the_start(experiment)
    _check_goes_on(experiment)
    whole_number("most_seeds", most_seeds, 0, "a whole number; 0, none are added")
    how: dict[str, Any] = {"allowance": allowance, "signless": signless}
    most = check_sizes(sizes) if allowance is None else 1
    found = _compared_run(experiment, at_sizes(experiment, None, most, progress), names, most, **how)
    while more := _wanted(experiment, found, most_seeds):
        known = None if more.needs_start else found.prediction
        added = _compared_run(more, at_sizes(more, known, most, progress), names, most, **how)
        if any(is_interrupted(one) for one in added.runs):
            break
        found = _together(experiment, found, added, names, **how)
    return found


def _check_goes_on(experiment: Experiment) -> None:
    """Refuse to compare the start alone, which both were told; what is fitted there is a result."""
    learner = experiment.learner
    fitted = learner.clock == "once" or getattr(learner, "fits_readout", False)
    if not fitted and experiment.plan.steps[-1] == 0:
        raise InvalidParameter("times", experiment.times, "a time after the start: that is what both were told")


def in_the_limit(
    experiment: Experiment,
    first: Pair,
    names: Sequence[str] | None,
    *,
    sizes: int = MOST_SIZES,
    progress: bool | None = None,
) -> ComparedRun:
    """Compare the limit of an experiment of which prediction and simulation are known: it is run at the other sizes."""
    pairs = [first, *at_other_sizes(experiment, first, sizes, progress)]
    return _compared_run(experiment, pairs, names, sizes)


def _compared_run(
    experiment: Experiment, pairs: Sequence[Pair], names: Sequence[str] | None, sizes: int, **how: Any
) -> ComparedRun:
    """The pairs, of which the first is at the size asked for, compared; at most so many sizes were asked for."""
    found = _compared(experiment, pairs, names, **how)
    rungs = ladder(experiment, pairs[0][0].attrs["limit"], sizes)[: len(pairs)]
    return ComparedRun(*pairs[0], found, tuple(pairs[1:]), _measured(rungs), experiment)


def _compared(experiment: Experiment, pairs: Sequence[Pair], names: Sequence[str] | None, **how: Any) -> Comparison:
    compared, notes = _populations(experiment, pairs)
    predictions, runs = ([pair[place] for pair in compared] for place in (0, 1))
    found = compare(predictions, runs, names=names, **how)
    return replace(found, reason=" ".join([found.reason, *notes]))


def _wanted(experiment: Experiment, found: ComparedRun, most_seeds: int) -> Experiment | None:
    """The experiment with the seeds to be added to those that were run, if that helps."""
    if any(is_interrupted(run) for run in found.runs):
        return None
    so_far = replace(experiment, seeds=tuple(found.simulation["seed"].values.tolist()))
    return further_seeds(so_far, found.comparison, found.prediction.attrs["limit"], most_seeds)


def _together(
    experiment: Experiment, found: ComparedRun, added: ComparedRun, names: Sequence[str] | None, **how: Any
) -> ComparedRun:
    """The runs of both, which are at the same sizes, compared as one."""
    pairs = [
        (_with_seeds(*predictions), _with_seeds(*runs))
        for predictions, runs in (zip(*both, strict=True) for both in zip(found.pairs, added.pairs, strict=True))
    ]
    comparison = _compared(experiment, pairs, names, **how)
    seeds, asked = pairs[0][1].sizes["seed"], len(experiment.seeds)
    told = f"{seeds} seeds were run at every size: {asked} were too few to tell."
    comparison = replace(comparison, reason=f"{comparison.reason} {told}")
    return ComparedRun(*pairs[0], comparison, tuple(pairs[1:]), found.measured, experiment)


def _with_seeds(first: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """Both on one axis of seeds; what has none is the same in both."""
    if "seed" not in first.dims:
        return first
    return xr.concat([first, more], "seed", data_vars="minimal", coords="minimal", compat="override", join="override")


def simulated_for_comparison(experiment: Experiment) -> Experiment:
    """The experiment to simulate if its seeds are to be compared with theory, one by one or together."""
    return observing_starts(seen_from_the_start(experiment)) if experiment.needs_start else experiment


def compared_at_one_size(experiment: Experiment, run: xr.Dataset) -> ComparedRun:
    """How theory compares with a run of `simulated_for_comparison` at its own size."""
    prediction = predict_experiment(seen_from_the_start(experiment), run if experiment.needs_start else None)
    return in_the_limit(experiment, (prediction, run), None, sizes=1)


def _populations(experiment: Experiment, pairs: Sequence[Pair]) -> tuple[list[Pair], list[str]]:
    """What is compared: of message passing that most runs do, the others being counted; and words on that."""
    if not isinstance(experiment.learner, BayesAmp):
        return list(pairs), []
    compared, notes = [], []
    for prediction, run in pairs:
        stuck = stuck_runs(prediction, run)
        few = stuck if 2 * np.sum(stuck) <= stuck.size else ~stuck
        compared.append(without(prediction, run, few))
        if np.any(stuck):
            notes.append(f"{int(np.sum(stuck))} of {stuck.size} at d = {run.attrs['dim']:,}")
    if not notes:
        return compared, []
    return compared, [f"Runs that got stuck, which are counted and not averaged with the others: {', '.join(notes)}."]


def _measured(rungs: Sequence[Experiment]) -> str:
    """The sizes in words, with what was kept."""
    first = rungs[0]
    if len(rungs) == 1:
        return f"d = {first.dim:,} only"
    in_samples = rungs[1].dim == first.dim
    grown = sorted(one.samples if in_samples else one.dim for one in rungs)  # type: ignore[type-var]
    listed = f"{', '.join(f'{size:,}' for size in grown[:-1])} and {grown[-1]:,}"
    if in_samples:
        return f"n = {listed} at d = {first.dim:,}"
    return f"d = {listed}{_kept(first, rungs[1])}"


def _kept(first: Experiment, other: Experiment) -> str:
    """What else grew, in words."""
    learner: Any = first.learner
    kept = []
    if first.samples is not None and other.samples is not None:
        power = round(np.log(other.samples / first.samples) / np.log(other.dim / first.dim))
        ratio = first.samples / first.dim**power
        kept.append(f"n = {ratio:.4g} d" + (f"^{power}" if power != 1 else ""))
    if learner.clock == "one-pass":
        kept.append("steps / d and gamma d kept")
    if other.student is not None and first.student is not None and other.student.width != first.student.width:
        kept.append(f"p = {first.student.width / first.dim:.4g} d")
    return f" ({', '.join(kept)})" if kept else ""
