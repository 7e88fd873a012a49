"""A committee of two neurons specialises (Saad, Solla 1995): the classical limit of one-pass SGD that the talk begins
with, and shows moving.

At a fixed width p and steps c/d the overlaps of the neurons with the teacher's directions obey closed equations. From
an almost symmetric start both neurons first learn the same mixture, a plateau of the risk, and then one teacher each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = "erf(h1) + erf(h2)"
PLANTED = [[0.3, 0.25], [0.25, 0.3]]
LAST_TIME, LOOKS = 150.0, 16
_SIZES = {
    ex.Size.QUICK: {"dim": 1000, "seeds": 32},
    ex.Size.PAPER: {"dim": 4000, "seeds": 32},
    ex.Size.LARGE: {"dim": 100_000, "seeds": 32},
}
_RULE: dict[str, Any] = {"target": TARGET, "learner": "online-sgd", "activation": "erf", "design": "virtual"}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Two neurons and two teachers, from a start that hardly tells the teachers apart."""
    student = {"width": 2, "second_layer": "ones", "second_scale": 2.0, "start": "planted", "planted": PLANTED}
    times = np.linspace(0.0, LAST_TIME, LOOKS).tolist()
    fixed = {**_RULE, **student, **_SIZES[size], "step_size": "0.2/d", "times": times, "observe": ["overlap", "risk"]}
    return {"committee": ex.Part(ex.Study(fixed, key=461))}


def theory(data: ex.Data) -> ex.Data:
    """The equations of Saad and Solla, on a finer grid of times."""
    times = np.linspace(0.0, LAST_TIME, 4 * (LOOKS - 1) + 1).tolist()
    return {"committee": ex.predict_at(data["committee"], times=times)}


def own(data: ex.Dataset) -> ex.Array:
    """The overlap of a neuron with its own teacher, the mean over neurons."""
    return (data["overlap"].isel(neuron=0, direction=0) + data["overlap"].isel(neuron=1, direction=1)) / 2


def other(data: ex.Dataset) -> ex.Array:
    """The overlap of a neuron with the other's teacher, the mean over neurons."""
    return (data["overlap"].isel(neuron=0, direction=1) + data["overlap"].isel(neuron=1, direction=0)) / 2


def animation(view: ex.View) -> Iterator[Figure]:
    """Both neurons in the plane of the teachers, as time goes on: together first, then apart."""
    from featlab.figures.panels import panels
    from featlab.figures.style import SERIES

    line, found = view.theory["committee"]["overlap"], view.measured(ex.Of("overlap", "committee")).mean("run")
    for look, time in enumerate(found["time"].values):
        made, (axes,) = panels([f"n = {time:g} d"], x="overlap with the first teacher", y="overlap with the second")
        for neuron in range(2):
            way, here = line.isel(neuron=neuron).sel(time=slice(0, time)), found.isel(time=look, neuron=neuron)
            axes.plot(way.isel(direction=0), way.isel(direction=1), color=SERIES[neuron], linewidth=1.8)
            axes.plot(here[0], here[1], "o", color=SERIES[neuron], markersize=7)
        axes.set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1))
        yield made


_PLATEAU = {"time": ex.Nth(2)}
_END = {"time": ex.LAST}
EXHIBIT = ex.Exhibit(
    id="committee",
    title="Two neurons specialise",
    claim="The overlaps of a committee under one-pass SGD follow closed equations; from an almost symmetric start "
    "the neurons first learn the same mixture of the teachers, then each its own.",
    document=ex.GIANT_STEPS,
    papers=("saad1995",),
    protocol="Student and teacher are sums of two erf neurons, squared loss, steps .2/d, one fresh sample a step, no "
    "constraint. Rows start with cosines .3 and .25 with the two teachers, the other neuron the other way round. "
    "Before the neurons part, n = 20 d, they must have nearly equal overlaps with both teachers (within .15); at the "
    "end they must not (apart by .5).",
    caption="Lines: the equations of Saad and Solla, d -> infinity. Points: means over seeds with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "the overlaps with both teachers follow the equations": ex.Agrees("overlap"),
        "so does the risk": ex.Agrees("risk"),
        "at n = {time:g} d neurons have not specialised: own and other overlap differ by less than .15": ex.Above(
            ex.Of(lambda data: own(data) - other(data), where=_PLATEAU),
            0.15,
            ex.Of(lambda data: own(data) - other(data), where=_END),
            "the end",
            below=True,
        ),
        "at n = {time:g} d they have: own and other overlap differ by more than .5": ex.Above(
            ex.Of(lambda data: own(data) - other(data), where=_END),
            0.5,
            ex.Of(lambda data: own(data) - other(data), where=_PLATEAU),
            "n = 20 d",
        ),
    },
    numbers={
        "overlap with the own teacher, n = {time:g} d": [
            ex.Value(ex.Of(own, where=_PLATEAU)),
            ex.Value(ex.Of(own, where=_END)),
        ],
        "overlap with the other's, n = {time:g} d": [
            ex.Value(ex.Of(other, where=_PLATEAU)),
            ex.Value(ex.Of(other, where=_END)),
        ],
    },
    figure={
        "Together, then apart": ex.Panel(
            ex.Overlay(ex.Of(own), "time", "own teacher", "own teacher, d = {dim}"),
            ex.Overlay(ex.Of(other), "time", "the other's", "the other's, d = {dim}", series=1),
            x=ex.PER_DIM,
            y="overlap",
            legend="center right",
        ),
        "A plateau of the risk": ex.Panel(
            ex.Overlay("risk", "time", "equations", "simulation, d = {dim}"), x=ex.PER_DIM, y="risk", yscale="log"
        ),
    },
    animation=animation,
    shows=("one_pass_sgd",),
)
