"""The population loss of a network with one shared direction has no bad minima (Bietti et al. 2022, arXiv:2210.15651).

Of the loss only the second layer c and the cosine m = <theta, theta*> remain. With many neurons and a small penalty its
critical points are m = 0 with c = 0, which is no minimum, and m = +-1. A network of a single neuron has others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from featlab.targets import Target

TEACHERS = {"hats": 1, "hats-two": 2, "hats-three": 3}  # the authors' own, by information exponent
SAME = (2, 5, 20, 100)  # neurons, of the law of the single one that is the control
COSINES = (0.0, 0.4, 0.7, 0.9, 1.0)
GRID = np.linspace(-1, 1, 61)
_SIZES = {
    ex.Size.QUICK: {"draws": 6, "controls": 12, "samples": 20_000},
    ex.Size.PAPER: {"draws": 40, "controls": 100, "samples": 200_000},
    ex.Size.LARGE: {"draws": 200, "controls": 400, "samples": 1_000_000},
}


def measure_loss(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Draw neurons; at each cosine, the lowest regularised loss over c on a batch."""
    from featlab.simulation.tied_loss import lowest_losses

    sizes = {name: point[name] for name in ("width", "bias_scale", "penalty", "samples")}
    found = lowest_losses(_teacher(point["teacher"]), COSINES, **sizes, seed=key)
    return [{"knots": found.knots.tolist(), "signs": found.signs.tolist(), "loss": found.losses}]


def _teacher(name: str) -> Target:
    from featlab.targets import target
    from featlab.targets.literature import catalogue

    return target(catalogue[name].text, noise=catalogue[name].noise)


RUNNER = Runner(measure_loss, axes={"knots": ("unit",), "signs": ("unit",), "loss": ("cosine",)})


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Networks of N = 1/lambda = 100 neurons; and of another law, 100 neurons and fewer, down to a single one."""
    sizes, kind, names = _SIZES[size], f"{__name__}:RUNNER", {"teacher": {name: str(s) for name, s in TEACHERS.items()}}
    fixed = {"bias_scale": 1.5, "penalty": 0.01, "samples": sizes["samples"]}
    wide = ex.Study({**fixed, "width": 100}, {"teacher": list(TEACHERS)}, repeats=sizes["draws"], key=31)
    bent = {**fixed, "bias_scale": 0.3}
    single = ex.Study({**bent, "width": 1}, {"teacher": ["hats"]}, repeats=sizes["controls"], key=32)
    few = {
        f"{width} neurons": ex.Study({**bent, "width": width}, {"teacher": ["hats"]}, repeats=sizes["draws"], key=34)
        for width in SAME[-1 if size is ex.Size.QUICK else 0 :]
    }
    parts = {"wide": wide, "single": single, **few}
    return {name: ex.Part(study, kind, names=names) for name, study in parts.items()}


def theory(data: ex.Data) -> ex.Data:
    """For each draw of neurons its projected loss P(m) at the cosines and on a fine grid, and whether its critical
    points are as claimed; and the limit of many neurons."""
    import xarray as xr

    from featlab.theory.tied.loss import ORDERS, ideal_projected_loss
    from featlab.theory.tied.neurons import link_series

    series = {name: link_series(_teacher(name), ORDERS) for name in TEACHERS}
    found = {}
    for name, part in data.items():
        each = [_landscapes(part.sel(teacher=teacher), series[teacher]) for teacher in part["teacher"].values.tolist()]
        found[name] = xr.concat(each, part["teacher"])
    ideal = [[ideal_projected_loss(_teacher(name), cosine) for cosine in GRID] for name in TEACHERS]
    return {**found, "limit": xr.Dataset({"curve": (("teacher", "grid"), ideal)}, {"teacher": list(TEACHERS)})}


def _landscapes(data: ex.Dataset, series: Any) -> ex.Dataset:
    import xarray as xr

    from featlab.theory.tied.landscape import critical_points
    from featlab.theory.tied.loss import population_loss
    from featlab.theory.tied.neurons import Neurons

    losses, curves, sound = [], [], []
    for knots, signs in zip(data["knots"].values, data["signs"].values, strict=True):
        loss = population_loss(series, Neurons(knots, signs), data["penalty"].item())
        losses.append([loss.projected(cosine) for cosine in COSINES])
        curves.append([loss.projected(cosine) for cosine in GRID])
        points = critical_points(loss)
        sound.append(all(point.stable == (point.kind == "good") and point.kind != "other" for point in points))
    values = {"loss": (("repeat", "cosine"), losses), "curve": (("repeat", "grid"), curves), "sound": ("repeat", sound)}
    return xr.Dataset(values)


def _no_bad_minima(view: ex.View, statement: str) -> ex.Check:
    from featlab.exhibits.checks import contrast

    sound, same, control = (view.theory[name]["sound"].values.ravel() for name in ("wide", "100 neurons", "single"))
    both = np.concatenate([sound, same])
    return contrast(statement, both, control, name="100 neurons", control_name="a single neuron of the same law")


def _lowest(view: ex.View, name: str) -> list[ex.Number]:
    """At the equator and at the pole; what differs between draws of neurons is known, and taken off."""
    numbers = []
    for place in view.places(ex.Of("loss", "wide"), "teacher"):
        for at in (0, -1):
            of, fields = ex.Of("loss", "wide", {"cosine": ex.Nth(at)}), view.fields("wide", place.where)
            found, theory = view.measured(of, place).values, view.predicted(of, place).values
            measured = ex.mean_and_error(found - theory + theory.mean())
            words = name.format_map({**fields, "cosine": COSINES[at]})
            numbers.append(ex.Number(words, float(theory.mean()), *measured))
    return numbers


def _others(view: ex.View, name: str) -> list[ex.Number]:
    shares = {
        view.data[part]["width"].item(): view.theory[part]["sound"].values for part in view.data if part != "wide"
    }
    return [ex.Number(name.format(width=width), None, 1 - float(shares[width].mean())) for width in sorted(shares)]


def _landscape(teacher: str) -> ex.Layer:
    """P(m) over P(0): theory, samples, and the limit of many neurons."""

    def draw(axes: Axes, view: ex.View) -> None:
        from featlab.figures.panels import measured_points, theory_line

        wide = view.theory["wide"].sel(teacher=teacher)
        scale = wide["loss"].isel(cosine=0).mean().item()
        theory_line(axes, GRID, wide["curve"].mean("repeat") / scale, label="theory, 100 neurons")
        ideal = view.theory["limit"]["curve"].sel(teacher=teacher) / scale
        theory_line(axes, GRID, ideal, series=2, label="limit of many neurons")
        found = view.data["wide"]["loss"].sel(teacher=teacher).transpose("repeat", "cosine").values / scale
        label = "lowest loss on samples"
        measured_points(axes, COSINES, found.mean(axis=0), ex.standard_error(found), label=label)

    return draw


def _one_neuron(axes: Axes, view: ex.View) -> None:
    from featlab.figures.panels import theory_line

    curve = view.theory["single"]["curve"].isel(teacher=0, repeat=0).values
    theory_line(axes, GRID, curve / np.max(curve), series=3, label="one neuron: critical inside")


_AXES: dict[str, Any] = {"x": "cosine m", "ylim": (0, 1.08)}

EXHIBIT = ex.Exhibit(
    id="tied-critical-points",
    title="A landscape without bad minima",
    claim="The population loss of a network whose neurons share one direction has critical points only at m = 0 with "
    "c = 0 and at |m| = 1, for a small penalty and enough neurons.",
    document=ex.TIED_NETWORK,
    papers=("bietti2022",),
    protocol="The authors' piecewise linear teachers of information exponent 1, 2 and 3; random neurons (N = 100, "
    "biases N(0, 1.5^2), lambda = .01); for each draw all critical points are found numerically, and the lowest loss "
    "over c is measured on samples at five cosines. The control has a single neuron that bends "
    "where samples are (bias N(0, .3^2)); a hundred of that law must have no other points either.",
    caption="Points are means over draws of neurons with two standard errors; lines are P(m) without samples.",
    studies=studies,
    theory=theory,
    checks={
        "all critical points are m = 0 with c = 0, not a minimum, or minima at m = +-1": _no_bad_minima,
        "the lowest loss at each cosine is P(m), s = {teacher_words}": ex.Close(ex.Of("loss", "wide"), each="teacher"),
    },
    numbers={
        "lowest loss at m = {cosine:g}, s = {teacher_words}": _lowest,
        "share of draws of {width} neurons with other critical points, s = 1": _others,
    },
    remarks="Critical points nearer to the equator than |m| = .02, other than m = 0 itself, are not looked for: slopes "
    "of order m^(2s-1) drown in rounding there. Of single neurons with biases N(0, 1.5^2) a quarter to a third has no "
    "other points, which two quick looks could not tell from half: the control has the narrower law, now for all N.",
    figure={
        "s = 1": ex.Panel(
            _landscape("hats"),
            _one_neuron,
            y="loss at the best c, over that at m = 0",
            legend="lower center",
            **_AXES,
        ),
        "s = 2": ex.Panel(_landscape("hats-two"), legend=None, **_AXES),
        "s = 3": ex.Panel(_landscape("hats-three"), legend=None, **_AXES),
    },
    shows=("information_exponent",),
)
