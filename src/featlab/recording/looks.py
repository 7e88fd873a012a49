"""One look at a network: what was given becomes order parameters, checked against the experiment if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import featlab
from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.gaussian.hermite import Floats
from featlab.learners.students import CERTAIN_LAYERS, TwoLayer
from featlab.outcome import DIVERGED_NORM
from featlab.recording.arrays import plain
from featlab.recording.order_parameters import OF_WEIGHTS, aligned, check_directions, order_parameters
from featlab.results import QUANTITIES

LAYERS = ("second_layer", "biases")
_ALLOWED = (*OF_WEIGHTS, *LAYERS, "risk")
_WITH_RISK = "a risk of your own as risk=; featlab measures it of two-layer networks and estimates, of an experiment, "


class Look(NamedTuple):
    """What was seen: values by name, and whether the network had diverged, so that all but its layers are NaN."""

    values: dict[str, Floats]
    diverged: bool
    dim: int = 0
    dtype: str = ""


class Looks:
    """How looks are taken.

    Args:
        experiment: what the network takes part in; None, nothing is known of it.
        names: the quantities asked for, of `QUANTITIES`; None, all that can be told of what is given.
    """

    def __init__(self, experiment: Experiment | None, names: str | Iterable[str] | None) -> None:
        self.experiment = experiment
        self.names = _ALLOWED if names is None else tuple([names] if isinstance(names, str) else names)
        for name in self.names:
            if name not in _ALLOWED:
                expected = f"names among {', '.join(_ALLOWED)}; give others by name, measured by yourself"
                raise InvalidParameter("names", name, expected)
        if names is not None and "risk" in self.names and not self._knows_risk:
            raise InvalidParameter("names", "risk", _WITH_RISK + "on isotropic inputs")

    def at(self, weights: Any, directions: Any, seed: int, given: Mapping[str, Any]) -> Look:
        """One look; values are NaN of a network that has diverged. `given`: layers, and what was measured, by name."""
        rows, dtype = plain("weights", weights)
        if rows.ndim != 2:
            raise InvalidParameter("weights", f"shape {rows.shape}", "an array (neurons, d)")
        ways, _ = plain("directions", directions)
        check_directions(ways, rows.shape[1])
        self._check_shape(rows, ways)
        sound = bool(np.sum(rows**2) <= len(rows) * DIVERGED_NORM**2)
        if not sound:
            rows = np.full_like(rows, np.nan)
        elif self.experiment is not None and self.experiment.student is None:
            rows = aligned(rows, ways)
        layers = {name: self._layer(name, given.get(name), len(rows)) for name in LAYERS}
        values = order_parameters(rows, ways, self.names)
        values |= {name: layer for name, layer in layers.items() if layer is not None and name in self.names}
        if "risk" in self.names and "risk" not in given and self._knows_risk:
            values |= self._risk(rows, ways, layers, seed) if sound else dict.fromkeys(_RISK, np.array(np.nan))
        own = {name: _measured(name, value) for name, value in given.items() if name not in LAYERS}
        return Look(values | own, not sound, rows.shape[1], dtype)

    def about(self, dim: int, dtype: str) -> dict[str, Any]:
        """Where a record comes from, as far as it is known: the attributes of its dataset."""
        known: dict[str, Any] = {"dim": dim, "dtype": dtype, "featlab": featlab.__version__}
        if self.experiment is None:
            return known
        experiment = self.experiment
        if dtype == "float64":  # no number is better than what was drawn
            known["dtype"] = experiment.dtype
        return known | {
            "target": experiment.concrete.text,
            "noise": experiment.concrete.noise,
            "inputs": repr(experiment.concrete.inputs),
            "learner": repr(experiment.learner),
            "student": "none" if experiment.student is None else repr(experiment.student),
            "samples": -1 if experiment.samples is None else experiment.samples,
            "key": experiment.key if isinstance(experiment.key, int) else str(experiment.key),
        }

    def _check_shape(self, rows: Floats, ways: Floats) -> None:
        """Refuse what does not fit the experiment; a student of (d, neurons) is the usual slip."""
        if self.experiment is None:
            return
        rank, student = self.experiment.target.rank, self.experiment.student
        expected = (rank if student is None else student.width, self.experiment.dim)
        if rows.shape != expected:
            raise InvalidParameter("weights", f"shape {rows.shape}", f"{expected}, (neurons, d) of the experiment")
        if len(ways) != rank:
            raise InvalidParameter("directions", f"{len(ways)} rows", f"{rank}, as the target has directions")

    def _layer(self, name: str, given: Any, width: int) -> Floats | None:
        """A layer as given, or as the student is described where its description leaves nothing to chance."""
        if given is not None:
            layer, _ = plain(name, given)
            if layer.shape != (width,):
                raise InvalidParameter(name, f"shape {layer.shape}", f"({width},), one number for each neuron")
            return layer
        student = None if self.experiment is None else self.experiment.student
        if not isinstance(student, TwoLayer):
            return None
        if name == "biases":
            return None if isinstance(student.biases, str) else np.full(width, float(student.biases))
        if student.second_layer not in CERTAIN_LAYERS:
            return None
        signs = np.ones(student.distinct)
        signs[1::2] = -1.0 if student.second_layer == "alternating" else 1.0
        return student.second_scale * (np.concatenate([signs, -signs]) if student.paired else signs)

    @cached_property
    def _knows_risk(self) -> bool:
        if self.experiment is None or not isinstance(self.experiment.student, TwoLayer | None):
            return False
        from featlab.recording.risk import has_risk

        return has_risk(self.experiment)

    def _risk(self, rows: Floats, ways: Floats, layers: dict[str, Floats | None], seed: int) -> dict[str, Floats]:
        from featlab.recording.risk import network_risk

        assert self.experiment is not None
        if self.experiment.student is None:  # an estimate has no layers besides
            layers = {name: np.zeros(len(rows)) for name in LAYERS}
        for name, layer in layers.items():
            if layer is None:
                raise InvalidParameter(name, None, f"that of your network: the student's {name} is drawn at random")
        found = network_risk(self.experiment, seed, rows, ways, *layers.values())  # type: ignore[arg-type]
        return dict(zip(_RISK, map(np.array, found), strict=True))


_RISK = ("risk", "risk_error")


def _measured(name: str, value: Any) -> Floats:
    """What somebody measured by himself, under a name that featlab knows."""
    if name not in QUANTITIES:
        raise InvalidParameter(name, value, f"a quantity of featlab: {', '.join(QUANTITIES)}")
    axes = QUANTITIES[name][0]
    values, _ = plain(name, value)
    if values.ndim != len(axes):
        expected = f"an array ({', '.join(axes)})" if axes else "a number"
        raise InvalidParameter(name, f"shape {values.shape}", expected)
    return values
