"""The population loss of a network with one shared direction has no bad minima (Bietti et al. 2022, arXiv:2210.15651).

Of the loss only the second layer c and the cosine m = <theta, theta*> remain. With many neurons and a small penalty its
critical points are m = 0 with c = 0, which is no minimum, and m = +-1. A network of a single neuron has others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import close, contrast, mean_and_error, standard_error
from featlab.exhibits.documents import TIED_NETWORK
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Runner, Study
from featlab.targets import Target, target
from featlab.targets.literature import catalogue
from featlab.theory.tied.landscape import critical_points
from featlab.theory.tied.loss import ORDERS, ideal_projected_loss, population_loss
from featlab.theory.tied.neurons import LinkSeries, Neurons, link_series

TEACHERS = {"hats": 1, "hats-two": 2, "hats-three": 3}  # the authors' own, by information exponent
COSINES = (0.0, 0.4, 0.7, 0.9, 1.0)
GRID = np.linspace(-1, 1, 61)
_SIZES = {
    Size.QUICK: {"draws": 6, "controls": 12, "samples": 20_000},
    Size.PAPER: {"draws": 40, "controls": 100, "samples": 200_000},
    Size.LARGE: {"draws": 200, "controls": 400, "samples": 1_000_000},
}
_CHUNK = 20_000


def measure_loss(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Draw neurons; at each cosine, the lowest regularised loss over c on a batch. Fields are all that matters."""
    rng, teacher = np.random.default_rng(key), _teacher(point["teacher"])
    knots, signs = point["bias_scale"] * rng.standard_normal(point["width"]), rng.choice([-1.0, 1.0], point["width"])
    moments = [np.zeros((point["width"] + 1,) * 2) for _ in COSINES]  # of features and label
    for _ in range(point["samples"] // _CHUNK):
        field, other, noise = rng.standard_normal((3, _CHUNK))
        label = teacher.link(field[:, None]) + np.sqrt(teacher.noise) * noise
        for cosine, moment in zip(COSINES, moments, strict=True):
            fields = cosine * field + np.sqrt(1 - cosine**2) * other
            both = np.column_stack([Neurons(knots, signs).features(fields), label])
            moment += both.T @ both / point["samples"]
    return [{"knots": knots.tolist(), "signs": signs.tolist(), "loss": [_lowest(m, point["penalty"]) for m in moments]}]


def _lowest(moments: np.ndarray, penalty: float) -> float:
    """min over c of mean (y - c phi)^2 + lambda |c|^2, from the second moments of (phi, y)."""
    gram, towards = moments[:-1, :-1] + penalty * np.eye(len(moments) - 1), moments[:-1, -1]
    return float(moments[-1, -1] - towards @ np.linalg.solve(gram, towards))


def _teacher(name: str) -> Target:
    return target(catalogue[name].text, noise=catalogue[name].noise)


RUNNER = Runner(measure_loss, axes={"knots": ("unit",), "signs": ("unit",), "loss": ("cosine",)})


def studies(size: Size) -> Mapping[str, Part]:
    """Networks of a hundred neurons, and of a single one."""
    sizes, kind = _SIZES[size], f"{__name__}:RUNNER"
    fixed = {"bias_scale": 1.5, "penalty": 0.01, "samples": sizes["samples"]}
    wide = Study({**fixed, "width": 100}, {"teacher": list(TEACHERS)}, repeats=sizes["draws"], key=31)
    single = Study({**fixed, "width": 1, "bias_scale": 0.3}, {"teacher": ["hats"]}, repeats=sizes["controls"], key=32)
    return {"wide": Part(wide, kind), "single": Part(single, kind)}


def prediction(data: Data) -> dict[str, Any]:
    """For each draw of neurons its projected loss P(m) at the cosines and on a fine grid, and its critical points."""
    series = {name: link_series(_teacher(name), ORDERS) for name in TEACHERS}
    return {
        part: {name: _landscapes(data[part].sel(teacher=name), series[name]) for name in data[part]["teacher"].values}
        for part in data
    }


def _landscapes(data: xr.Dataset, series: LinkSeries) -> dict[str, np.ndarray]:
    penalty, losses, curves, sound = json.loads(data.attrs["fixed"])["penalty"], [], [], []
    for knots, signs in zip(data["knots"].values, data["signs"].values, strict=True):
        loss = population_loss(series, Neurons(knots, signs), penalty)
        losses.append([loss.projected(cosine) for cosine in COSINES])
        curves.append([loss.projected(cosine) for cosine in GRID])
        points = critical_points(loss)
        sound.append(all(point.stable == (point.kind == "good") and point.kind != "other" for point in points))
    return {"loss": np.array(losses), "curve": np.array(curves), "sound": np.array(sound)}


def verdict(data: Data, predicted: dict[str, Any]) -> Finding:
    """The loss on samples is the predicted one; its only minima are at |m| = 1; one neuron has others."""
    wide = predicted["wide"]
    measured = {name: data["wide"]["loss"].sel(teacher=name).values for name in TEACHERS}
    # What differs between draws of neurons is known, and taken off.
    centred = {name: measured[name] - wide[name]["loss"] + wide[name]["loss"].mean(axis=0) for name in TEACHERS}
    checks = [
        contrast(
            "all critical points are m = 0 with c = 0, not a minimum, or minima at m = +-1",
            np.concatenate([wide[name]["sound"] for name in TEACHERS]),
            predicted["single"]["hats"]["sound"],
            name="100 neurons",
            control_name="a single neuron",
        )
    ]
    checks += [
        close(f"the lowest loss at each cosine is P(m), s = {s}", centred[name], wide[name]["loss"].mean(axis=0))
        for name, s in TEACHERS.items()
    ]
    numbers = []
    for name, s in TEACHERS.items():
        for column in (0, -1):
            found = mean_and_error(centred[name][:, column])
            numbers.append(
                Number(
                    f"lowest loss at m = {COSINES[column]:g}, s = {s}",
                    float(wide[name]["loss"][:, column].mean()),
                    *found,
                )
            )
    share = 1 - predicted["single"]["hats"]["sound"].mean()
    numbers.append(Number("share of single neurons with other critical points, s = 1", None, float(share)))
    return Finding(checks, numbers, _REMARKS)


_REMARKS = (
    (
        "Critical points nearer to the equator than |m| = .02, other than m = 0 itself, are not looked for: slopes of "
        "order m^(2s-1) drown in rounding there."
    ),
)


def figure(data: Data, predicted: dict[str, Any]) -> Figure:
    """P(m) for three information exponents: theory, samples, and the limit of many neurons."""
    titles = [f"s = {s}" for s in TEACHERS.values()]
    made, axes = panels(titles, x="cosine m", y="loss at the best c, over that at m = 0")
    for place, name in zip(axes, TEACHERS, strict=True):
        teacher, wide = _teacher(name), predicted["wide"][name]
        scale = wide["loss"][:, 0].mean()
        ideal = [ideal_projected_loss(teacher, cosine) / scale for cosine in GRID]
        theory_line(place, GRID, wide["curve"].mean(axis=0) / scale, label="theory, 100 neurons")
        theory_line(place, GRID, ideal, series=2, label="limit of many neurons")
        found = data["wide"]["loss"].sel(teacher=name).values / scale
        measured_points(place, COSINES, found.mean(axis=0), standard_error(found), label="lowest loss on samples")
        place.set_ylim(0, 1.08)
    single = predicted["single"]["hats"]["curve"]
    theory_line(axes[0], GRID, single[0] / np.max(single[0]), series=3, label="one neuron: critical inside")
    add_legend(axes[0], loc="lower center")
    return made


EXHIBIT = Exhibit(
    id="tied-critical-points",
    title="A landscape without bad minima",
    claim="The population loss of a network whose neurons share one direction has critical points only at m = 0 with "
    "c = 0 and at |m| = 1, for a small penalty and enough neurons.",
    document=TIED_NETWORK,
    papers=("bietti2022",),
    protocol="The authors' piecewise linear teachers of information exponent 1, 2 and 3; random neurons (N = 100, "
    "biases N(0, 1.5^2), lambda = .01); for each draw all critical points are found numerically, and the lowest loss "
    "over c is measured on samples at five cosines. The control has a single neuron that bends where "
    "samples are (bias N(0, .3^2)).",
    caption="Points are means over draws of neurons with two standard errors; lines are P(m) without samples.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
