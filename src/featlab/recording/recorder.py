"""A record that is filled from inside a training loop, and written to the disk look by look."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import xarray as xr

from featlab.errors import InvalidParameter, Unwritable
from featlab.experiments.experiment import Experiment
from featlab.files import fault_words
from featlab.lines import LineFile, read_lines
from featlab.recording.labelling import labelled
from featlab.recording.looks import Look, Looks

_FORMAT = 1
_FIRST = b'{"featlab_record":'  # how a file begins whose only line was torn


class Recorder:
    """The order parameters of a training loop, at the steps at which an experiment looks.

        with featlab.Recorder("mine.jsonl", experiment=experiment) as recorder:
            for seed in recorder.missing():
                ...
                for step in range(last + 1):
                    recorder.look(step, weights, directions, seed=seed)
                    weights = weights - ...
        found = featlab.compare(theory, recorder.dataset())

    A look is one line of the file, on the disk when `look` returns; a kill loses at most the look that was being
    written. A Recorder on a file that exists goes on with it: what is recorded again replaces what was there. One
    process writes to a file at a time.

    Args:
        path: where the record is kept; None, in memory only.
        experiment: what the loop takes part in; as in `featlab.observe`. None: every step that is shown is recorded.
        names: which quantities; None, all that can be told of what is shown.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> recorder = featlab.Recorder()
        >>> recorder.look(0, np.array([[3.0, 4.0, 0.0]]), np.array([[1.0, 0.0, 0.0]]), seed=0)
        True
        >>> recorder.dataset()["overlap"].values.ravel().tolist()
        [3.0]
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        experiment: Experiment | None = None,
        names: str | Iterable[str] | None = None,
    ) -> None:
        self._taken = Looks(experiment, names)
        self._looks: dict[tuple[int, int], Look] = {}
        self._times: dict[int, float] = {}
        self._about: dict[str, Any] | None = None
        self._path = None if path is None else Path(path)
        self._file: LineFile | None = None
        if experiment is not None:
            self._times = {step: step / experiment.plan.unit for step in experiment.plan.steps}
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def look(
        self,
        step: int,
        weights: Any,
        directions: Any,
        *,
        seed: int = 0,
        time: float | None = None,
        second_layer: Any = None,
        biases: Any = None,
        **measured: Any,
    ) -> bool:
        """Record the weights after `step` steps, if that is when the experiment looks; returns whether it is.

        Args:
            time: by the learner's clock; None, as the experiment says, and without one the step.
            weights, directions, second_layer, biases, measured: as in `featlab.observe`, of one network.
        """
        step, experiment = int(step), self._taken.experiment
        if experiment is not None and step not in self._times:
            return False
        given = {"second_layer": second_layer, "biases": biases, **measured}
        given = {name: part for name, part in given.items() if part is not None}
        seen = self._taken.at(weights, directions, seed, given)
        moment = self._times.get(step, float(step)) if time is None else float(time)
        about = self._taken.about(seen.dim, seen.dtype)
        self._agree(about)
        values = {name: value.tolist() for name, value in seen.values.items()}
        where = {"seed": int(seed), "step": step, "time": moment, "diverged": seen.diverged}
        self._write({"featlab_record": _FORMAT, "about": about, **where, "values": values})
        self._looks[int(seed), step], self._times[step] = seen, moment
        return True

    def missing(self) -> list[int]:
        """The seeds of the experiment of which a look is missing: those that are still to be run."""
        if self._taken.experiment is None:
            raise InvalidParameter("experiment", None, "one: without it nobody knows what is to come")
        return [
            seed
            for seed in self._taken.experiment.seeds
            if not all((seed, step) in self._looks for step in self._times)
        ]

    def dataset(self) -> xr.Dataset:
        """What was recorded, as `featlab.simulate` returns it; NaN where there was no look yet."""
        if not self._looks:
            raise InvalidParameter("record", "no look", "at least one: call look(step, weights, directions)")
        seeds, steps = sorted({seed for seed, _ in self._looks}), sorted(self._times)
        places = {(seeds.index(seed), steps.index(step)): look for (seed, step), look in self._looks.items()}
        found = labelled(places, seeds, [self._times[step] for step in steps], steps)
        return found.assign_attrs(self._about or {})

    def close(self) -> None:
        """Let go of the file; what was recorded stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, path: Path) -> None:
        """What an earlier process has recorded; a torn or damaged line is as if it had never been written."""
        try:
            lines = [line for line in read_lines(path) if line is not None]
            with path.open("rb") as file:
                first = file.read(len(_FIRST))
        except OSError as fault:
            raise Unwritable(f"{path}: cannot be read: {fault_words(fault)}") from fault
        ours = [line.get("featlab_record") == _FORMAT for line in lines]
        if not (all(ours) if lines else _FIRST.startswith(first)):
            raise InvalidParameter("path", str(path), f"a record of featlab, format {_FORMAT}, or no file yet")
        for line in lines:
            self._agree(line["about"])
            if self._taken.experiment is None or line["step"] in self._times:
                values = {name: np.asarray(value, dtype=np.float64) for name, value in line["values"].items()}
                self._looks[line["seed"], line["step"]] = Look(values, line["diverged"])
                self._times[line["step"]] = line["time"]

    def _agree(self, about: dict[str, Any]) -> None:
        """All looks are about one experiment, whatever version and precision they are made with."""
        known, experiment = self._about, self._taken.experiment
        if known is None:
            known = about if experiment is None else self._taken.about(experiment.dim, about["dtype"])
        for name in (known.keys() | about.keys()) - {"featlab", "dtype"}:
            if known.get(name) != about.get(name):
                where = "the record" if self._path is None else str(self._path)
                expected = f"{known.get(name)!r} as before; another experiment needs a record of its own"
                raise InvalidParameter(f"{name} of {where}", about.get(name), expected)
        self._about = known

    def _write(self, line: dict[str, Any]) -> None:
        if self._path is None:
            return
        try:
            if self._file is None:
                self._file = LineFile(self._path)
            self._file.append(line)
        except OSError as fault:
            reason = f"{fault_words(fault)}; what was recorded before is safe"
            raise Unwritable(f"{self._path}: cannot be written: {reason}") from fault
