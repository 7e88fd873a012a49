"""Below n ~ d^l nothing is learned, whatever the step sizes and after several steps (Dandi et al. 2023, Theorem and
Conjecture of the talk), and how long a neuron is after one step.

For a step of s = eta/p on n samples, w^1 = w^0 + s a (signal + noise): the signal is of size d^(-(l-1)/2), the noise
has the squared length C d/n, C = E[y^2 sigma'^2]. Their ratio does not depend on s, so that no s helps: on n = d^k
samples the cosine with the target's span is of order d^((k-l)/2) at best. And |w^1|^2 = 1 + s^2 C d/n.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAP, NEURONS = 2, 64
SCALES = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]  # s over d^((l-1)/2)
STEPS = 4
# (mu_2 mu*_2)^2: E[relu He2] = 1/sqrt(2 pi), E[|h| He2] = sqrt(2/pi), over the variance 1 - 2/pi of |h|.
SIGNAL = 1 / (2 * np.pi) * (2 / np.pi) / (1 - 2 / np.pi)
BELOW, ENOUGH = 1.0, 2.0  # kappa in n = d^kappa
# Dimensions for kappa = 1, and one for kappa = 2; runs.
_SIZES = {
    ex.Size.QUICK: ([64, 128, 256, 512], 96, 8),
    ex.Size.PAPER: ([256, 512, 1024, 2048], 256, 32),
    ex.Size.LARGE: ([1024, 2048, 4096, 8192], 512, 32),
}


def steps_of_every_size(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The largest squared cosine with the target's direction over all step sizes, the mean over neurons; after one step
    and after several; and |w|, |w|^2 after one step at s = d^((l-1)/2).

    y = (|h| - E|h|)/sd, relu neurons on the sphere, a = +-1, correlation loss, a fresh batch for each step.
    """
    draw, dim = np.random.default_rng(key), point["dim"]
    samples = round(dim ** point["kappa"])
    start = draw.standard_normal((NEURONS, dim))
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    signs = np.resize([1.0, -1.0], NEURONS)
    neurons = np.repeat(start[None], len(SCALES), axis=0)
    best, lengths = [], np.empty(0)
    for step in range(STEPS):
        inputs = draw.standard_normal((samples, dim), dtype=np.float32)
        labels = (np.abs(inputs[:, 0]) - np.sqrt(2 / np.pi)) / np.sqrt(1 - 2 / np.pi)
        for place, scale in enumerate(SCALES):
            seen = (inputs @ neurons[place].T.astype(np.float32) > 0) * labels[:, None]
            pull = (seen.T @ inputs) / samples
            neurons[place] += scale * dim ** ((LEAP - 1) / 2) * signs[:, None] * pull
        squares = np.sum(neurons**2, axis=2)
        best.append(float(np.max(np.mean(neurons[:, :, 0] ** 2 / squares, axis=1))))
        lengths = squares[SCALES.index(1.0)] if step == 0 else lengths
    row = {"best": best[0], "best_of_several": best[-1], "square": float(lengths.mean())}
    return [{**row, "length": float(np.sqrt(lengths).mean())}]


EVERY_STEP = Runner(steps_of_every_size)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """n = d at several dimensions, and n = d^2 at one."""
    dims, dim, repeats = _SIZES[size]

    def part(kappa: float, over: list[int], key: int) -> ex.Part:
        study = ex.Study({"kappa": kappa}, {"dim": over}, repeats=repeats, key=key)
        return ex.Part(study, f"{__name__}:EVERY_STEP", words=f"n = d^{kappa:g}")

    return {"below": part(BELOW, dims, 441), "enough": part(ENOUGH, [dim], 442)}


def theory(data: ex.Data) -> ex.Data:
    """|w|^2 = 1 + C d^l/n + (mu_2 mu*_2)^2 at s^2 = d: C = E[y^2]/2, as a relu sees half of the samples, and the last
    term is the signal, s^2 (mu_2 mu*_2 <w, w*>)^2 in the mean over w; the talk has |w| in its place."""
    import xarray as xr

    def of(part: ex.Dataset) -> ex.Dataset:
        growth = 0.5 * part["dim"] ** (LEAP - float(part["kappa"])) + SIGNAL
        return xr.Dataset({"square": 1 + growth, "length": 1 + growth})

    return {name: of(part) for name, part in data.items()}


def _draw(axes: Axes, view: ex.View) -> None:
    """Root mean square cosines, one step and several, and a line of the slope (kappa - l)/2."""
    from featlab.figures.panels import measured_points, theory_line

    dims = view.data["below"]["dim"].values
    for series, (name, words) in enumerate({"best": "one step", "best_of_several": f"{STEPS} steps"}.items()):
        found = np.sqrt(view.measured(ex.Of(name, "below")).values)
        measured_points(axes, dims, found.mean(axis=0), ex.standard_error(found), series=series, label=words)
        level = np.exp(np.mean(np.log(found.mean(axis=0) * dims**0.5)))
        theory_line(axes, dims, level * dims**-0.5, series=series, label=None if series else "slope (kappa - l)/2")


EXHIBIT = ex.Exhibit(
    id="below-the-threshold",
    title="Below d^l samples no step size helps",
    claim="On n = O(d^(l-e)) samples a step the first layer never learns, whatever the step sizes, also after T "
    "steps; the length of a neuron after one step grows as 1 + (eta/p)^2 d/n.",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="l = 2: y = |h|, centred and of variance 1, 64 relu neurons, fresh batches of n = d, step sizes from "
    ".01 to 1000 times d^((l-1)/2), up to four steps. Of all step sizes the best is taken, in favour of learning. "
    "Its mean squared cosine must fall like d^(kappa - l) = 1/d; after four steps, of which the talk says no power, "
    "at least like its root. The length is judged at s = d^((l-1)/2) and the largest d; on n = d^l samples the "
    "signal counts in it, too.",
    caption="Points: the best of six step sizes, means over runs with two standard errors. Lines have the claimed "
    "slope.",
    studies=studies,
    theory=theory,
    checks={
        "one step of the best size: the squared cosine falls like d^(kappa - l)": ex.Exponent(
            ex.Of("best", "below"), "dim", BELOW - LEAP, wrong=0.0
        ),
        "after four steps it falls at least like d^((kappa - l)/2)": ex.Exponent(
            ex.Of("best_of_several", "below"), "dim", (BELOW - LEAP) / 2, wrong=-2.0, at_most=True
        ),
        "on n = d^2 samples the squared cosine is above .1, on n = d it is not": ex.Contrast(
            ex.Of("best", "enough"), ex.Of("best", "below", {"dim": ex.LAST}), beyond=0.1
        ),
        "{words}, d = {dim}: |w| = 1 + C (eta/p)^2 d/n": ex.Corrected(
            ex.Close(ex.Of("length", where={"dim": ex.LAST}), relative=True, allowance=ex.root_d()),
            ex.Close(ex.Of("square", where={"dim": ex.LAST}), relative=True, allowance=ex.root_d()),
            "The right side is the square of the length.",
            "{words}, d = {dim}: |w|^2 = 1 + C (eta/p)^2 d/n",
        ),
    },
    numbers={
        "|w|^2 after one step, {words}, d = {dim}": ex.Value(ex.Of("square"), each="dim"),
        "best squared cosine, {words}, d = {dim}": ex.Value(ex.Of("best"), predicted=False, each="dim"),
        "the same after four steps, {words}, d = {dim}": ex.Value(
            ex.Of("best_of_several"), predicted=False, each="dim"
        ),
    },
    settled="First runs had y = He2(h), whose squares scatter so much that the length could not be judged, and left "
    "the signal out of |w|^2 at n = d^2 (1.85 measured, 1.5 predicted, 1.82 with it); |h| has lighter tails.",
    figure={
        "n = d, the best of all step sizes": ex.Panel(
            _draw,
            x="dimension d",
            y="rms cosine with the target",
            xscale="log",
            yscale="log",
            ticks={"y": [0.05, 0.1, 0.2, 0.4]},
        )
    },
    shows=("one_giant_step", "giant_staircase"),
)
