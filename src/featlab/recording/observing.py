"""The door: weights of any framework -> a labelled dataset of order parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.gaussian.hermite import Floats
from featlab.recording.arrays import plain
from featlab.recording.labelling import labelled
from featlab.recording.looks import LAYERS, Looks
from featlab.results import QUANTITIES


def observe(
    weights: Any,
    directions: Any,
    *,
    experiment: Experiment | None = None,
    times: float | Sequence[float] | None = None,
    steps: int | Sequence[int] | None = None,
    seeds: int | Sequence[int] | None = None,
    second_layer: Any = None,
    biases: Any = None,
    names: str | Iterable[str] | None = None,
    **measured: Any,
) -> xr.Dataset:
    """The order parameters of weights, with the names and axes of `featlab.simulate` and `featlab.predict`.

    Arrays may be NumPy's, JAX's, PyTorch's, CuPy's, or of anything else that speaks DLPack or the array API; on a
    device or not. They are read, in float64, and never kept.

    Args:
        weights: W (neurons, d), a row for each neuron, of f(x) = (1/p) sum_i a_i sigma(<w_i, x> + b_i); or several of
            them, (times, neurons, d), (seeds, neurons, d) or (seeds, times, neurons, d).
        directions: W* (directions, d), orthonormal rows: those of the target.
        experiment: what the network takes part in. It says how many steps a unit of time is, what shapes to expect, and
            what the label is, so that the risk can be measured as a simulation does it.
        times, steps: when the weights were looked at, by the learner's clock or in steps; with an experiment one tells
            the other. Without either there is no axis `time`.
        seeds: the numbers of the runs; None, it is one run, without an axis `seed`.
        second_layer, biases: a and b (neurons,), a without the factor 1/p; unless the experiment's student says them.
        names: which quantities; None, all that can be told.
        measured: quantities that you measured yourself, by a name of `featlab.results.QUANTITIES`, as `risk=0.3`.

    Raises:
        InvalidParameter: arrays of other shapes, directions that are not orthonormal, unknown names.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> featlab.observe(np.array([[3.0, 4.0, 0.0]]), np.array([[1.0, 0.0, 0.0]]))["cosine"].values.tolist()
        [[0.6]]
    """
    rows, dtype = plain("weights", weights)
    clock, counted = _clock(experiment, times, steps)
    axes = {"seed": None if seeds is None else np.asarray(seeds), "time": clock}
    lead = tuple(len(axis) for axis in axes.values() if axis is not None and axis.ndim)
    if rows.shape[:-2] != lead or rows.ndim < 2:
        expected = f"{(*lead, 'neurons', 'd')}, for as many seeds and times as are named"
        raise InvalidParameter("weights", f"shape {rows.shape}", expected)
    sizes = tuple(1 if axis is None else axis.size for axis in axes.values())
    rows = rows.reshape(*sizes, *rows.shape[-2:])
    numbers = [0] if seeds is None else np.atleast_1d(seeds).tolist()
    given = {"second_layer": second_layer, "biases": biases, **measured}
    parts = {name: _parts(name, value, lead, sizes) for name, value in given.items() if value is not None}
    taken = Looks(experiment, names)
    looks = {}
    for place in np.ndindex(sizes):
        own = {name: part[place] for name, part in parts.items()}
        looks[place[0], place[1]] = taken.at(rows[place], directions, numbers[place[0]], own)
    moments = [0.0] if clock is None else np.atleast_1d(clock).tolist()
    found = labelled(looks, numbers, moments, None if counted is None else np.atleast_1d(counted).tolist())
    found = found.assign_attrs(taken.about(rows.shape[-1], dtype))
    return found.isel({axis: 0 for axis, named in axes.items() if named is None}, drop=True)


def _clock(
    experiment: Experiment | None, times: float | Sequence[float] | None, steps: int | Sequence[int] | None
) -> tuple[Floats | None, np.ndarray | None]:
    """Times and steps, one from the other where only one is said."""
    unit = None if experiment is None else experiment.plan.unit
    moments = None if times is None else np.asarray(times, dtype=np.float64)
    counted = None if steps is None else np.asarray(steps, dtype=np.int64)
    if moments is not None and counted is not None and moments.shape != counted.shape:
        raise InvalidParameter("steps", steps, f"as many as times, {times}")
    if moments is None and counted is not None:
        moments = counted / (unit or 1.0)
    elif counted is None and moments is not None and unit is not None:
        counted = np.rint(moments * unit).astype(np.int64)
    return moments, counted


def _parts(name: str, value: Any, lead: tuple[int, ...], sizes: tuple[int, ...]) -> Floats:
    """A value for every look, (seeds, times, ...); one for all is repeated."""
    if name not in QUANTITIES:
        raise InvalidParameter(name, value, f"a quantity of featlab: {', '.join(QUANTITIES)}")
    values, _ = plain(name, value)
    own = 1 if name in LAYERS else len(QUANTITIES[name][0])
    if values.ndim == own:
        return np.broadcast_to(values, (*sizes, *values.shape))
    if values.ndim != own + len(lead) or values.shape[: len(lead)] != lead:
        expected = f"an array of {own} axes, or of {own + len(lead)} that begin with {lead}"
        raise InvalidParameter(name, f"shape {values.shape}", expected)
    return values.reshape(*sizes, *values.shape[len(lead) :])
