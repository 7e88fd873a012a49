"""A wide network has a lucky neuron, if it is exponentially wide (the talk's "blessing of overparameterization").

The gradient at a neuron with overlap m has a signal of order m^(k-1), k the information exponent. Most neurons have
m ~ d^(-1/2); the best of N has more, and one step then turns it towards the target. How near the best one is has a
closed form (`featlab.theory.lucky`): to have a given overlap, N must grow like (1 - m^2)^(-d/2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 0.5  # the overlap whose width is computed
FOUND = 0.5  # cosine of the gradient from which on a step has turned to the target
FAR = (10**5, 10**6)  # dimensions at which theory's slope is looked at
_CHUNK = 5000
# Dimensions and neurons of the overlaps; dimension, neurons and samples over dimension of the step; runs of both.
_SIZES: dict[ex.Size, tuple[list[int], int, tuple[int, int, int], tuple[int, int]]] = {
    ex.Size.QUICK: ([10, 20, 40], 2000, (20, 20_000, 32), (24, 40)),
    ex.Size.PAPER: ([10, 30, 100, 300], 10_000, (30, 100_000, 32), (60, 40)),
    ex.Size.LARGE: ([10, 30, 100, 300, 1000], 100_000, (40, 1_000_000, 32), (60, 40)),
}


def best_neuron(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The largest |<w, beta>| of N neurons; and if there are samples, the cosine with beta of the gradient at that
    neuron, and at the first one.

    y = h_3 of the target's field, sigma = h_3, h_3 = He3/sqrt 6: G = mean(y sigma'(<w, x>) x). Neurons are drawn some
    thousands at a time, uniform on the sphere; beta is the first axis. The signal 3 m^2 beta has a sign, and the cosine
    too: labels are large along beta, and so is the noise there.
    """
    draw, dim = np.random.default_rng(key), point["dim"]
    first = best = _on_sphere(draw, 1, dim)[0]
    for begin in range(1, point["width"], _CHUNK):
        rows = _on_sphere(draw, min(_CHUNK, point["width"] - begin), dim)
        top = rows[np.argmax(abs(rows[:, 0]))]
        best = top if abs(top[0]) > abs(best[0]) else best
    row = {"largest": float(abs(best[0]))}
    if "ratio" in point:
        inputs = draw.standard_normal((point["ratio"] * dim, dim))
        labels = (inputs[:, 0] ** 3 - 3 * inputs[:, 0]) / np.sqrt(6)
        for name, neuron in (("lucky", best), ("typical", first)):
            gradient = inputs.T @ (labels * ((inputs @ neuron) ** 2 - 1))
            row[name] = float(gradient[0] / np.linalg.norm(gradient))
    return [row]


def _on_sphere(draw: np.random.Generator, count: int, dim: int) -> np.ndarray:
    rows = draw.standard_normal((count, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


RUNNER = Runner(best_neuron)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The best of N neurons at several dimensions; and the first gradient there."""
    dims, width, (dim, many, ratio), (runs, steps) = _SIZES[size]
    kind = f"{__name__}:RUNNER"
    return {
        "overlaps": ex.Part(ex.Study({"width": width}, {"dim": dims}, repeats=runs, key=471), kind),
        "step": ex.Part(ex.Study({"dim": dim, "width": many, "ratio": ratio}, repeats=steps, key=472), kind),
    }


def theory(data: ex.Data) -> ex.Data:
    """The mean of the largest overlap, at the dimensions that were run and between them."""
    import xarray as xr

    from featlab.theory.lucky import lucky_overlap

    found, width = {}, data["overlaps"]["width"].item()
    ran = data["overlaps"]["dim"].values
    dims = np.union1d(ran, np.geomspace(ran[0], ran[-1], 15).round().astype(int))
    found["overlaps"] = xr.Dataset({"largest": ("dim", [lucky_overlap(int(d), width) for d in dims])}, {"dim": dims})
    step = data["step"]
    found["step"] = xr.Dataset({"largest": lucky_overlap(step["dim"].item(), step["width"].item())})
    return found


def width_slope() -> float:
    """log N over d, between two large d, of the width at which one network in two has a neuron with overlap NEAR."""
    from featlab.theory.lucky import log_lucky_width

    first, last = (log_lucky_width(dim, NEAR) for dim in FAR)
    return (last - first) / (FAR[1] - FAR[0])


def _exponential(view: ex.View, statement: str) -> ex.Check:
    from featlab.exhibits.checks import identity

    claimed = -np.log(1 - NEAR**2) / 2
    # A power law N = d^a has the slope a log(d)/d, which is nothing at these d.
    return identity(
        statement,
        width_slope() / claimed - 1,
        0.01,
        control="a width that grows like a power of d",
        control_difference=-1,
    )


def _draw_chance(axes: Axes, view: ex.View) -> None:
    from featlab.figures.panels import theory_line

    dims = view.theory["overlaps"]["dim"].values
    theory_line(axes, dims, np.sqrt(2 / (np.pi * dims)), series=1, label="a typical neuron")


def _draw_width(axes: Axes, view: ex.View) -> None:
    from featlab.figures.panels import theory_line
    from featlab.theory.lucky import log_lucky_width

    dims = np.arange(5, 301, 5)
    for series, overlap in enumerate((0.3, 0.5, 0.7)):
        widths = [log_lucky_width(int(dim), overlap) / np.log(10) for dim in dims]
        theory_line(axes, dims, widths, series=series, label=f"overlap {overlap}")


EXHIBIT = ex.Exhibit(
    id="lucky-neurons",
    title="Lucky neurons in wide networks",
    claim="A sufficiently wide network has a neuron whose overlap with the target is far above d^(-1/2), and which one "
    "gradient step turns to it; the width that this takes is exponential in d.",
    document=ex.STRUCTURED_DATA,
    papers=("suzuki2023",),
    protocol="Random neurons on the sphere: the largest overlap of N of them. Then y = He3(h)/sqrt 6, n = 32 d "
    "samples, sigma = He3/sqrt 6: the gradient at the best neuron and at the first one; found is a cosine above .5 "
    "with the target. The width for an overlap of .5 is computed, to d = 10^6. The talk has no experiment.",
    caption="Points are means over networks with two standard errors; lines are the closed form.",
    studies=studies,
    theory=theory,
    checks={
        "the best of N neurons is as near as predicted; the width for an overlap of .5 grows like (1 - .25)^(-d/2)": (
            ex.InTheLimit(ex.Close(ex.Of("largest", "overlaps"), relative=True), _exponential)
        ),
        "d = {dim}, N = {width}, n = {ratio} d: a step at the best neuron finds He3": ex.Contrast(
            ex.Of("lucky", "step", words="the best neuron"), ex.Of("typical", "step", words="any neuron"), beyond=FOUND
        ),
    },
    numbers={
        "largest overlap of N = {width} neurons, d = {dim}": ex.Value(ex.Of("largest", "overlaps"), each="dim"),
        "largest overlap of N = {width} neurons, d = {dim}, with a step": ex.Value(ex.Of("largest", "step")),
        "cosine of the gradient at the best neuron": ex.Value(ex.Of("lucky", "step"), False),
        "cosine of the gradient at any neuron": ex.Value(ex.Of("typical", "step"), False),
        "log N over d for an overlap of .5, d = 10^5 to 10^6": lambda view, name: ex.Number(name, width_slope()),
    },
    settled="At quick size 16 and 40 networks were seen first, with 32 d and 16 d samples and cosines without their "
    "sign: 4 of 16 and 16 of 40 gradients at random neurons passed, by noise, which is large along the target. "
    "After a run at paper size the code was rearranged, without changing a number.",
    figure={
        "The best of many neurons": ex.Panel(
            ex.Overlay(ex.Of("largest", "overlaps"), "dim", "closed form", "the best of N"),
            _draw_chance,
            y="overlap with the target",
            xscale="log",
            ylim=(0, 1),
        ),
        "How many it takes": ex.Panel(
            _draw_width, x="dimension d", y="log10 of the width N", legend="upper left", ylim=(0, None)
        ),
    },
    shows=("one_gradient_step",),
)
