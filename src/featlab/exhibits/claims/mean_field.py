"""Infinitely many neurons (Rotskoff, Vanden-Eijnden 2018; Mei, Montanari, Nguyen 2018): the second limit of one-pass
SGD that the talk begins with, and shows moving.

With f(x) = (1/p) sum_i a_i relu(<w_i, x>) neurons meet each other only through f. As p grows f is a function f(h) of
the target's field h alone, and every neuron (a, m, s), m its overlap and s the length of the rest, goes its own way in
it: with r = m h/s and the distribution function Phi and density phi of a standard Gaussian, a step gamma adds

    gamma a E[(y - f(h)) h Phi(r)] to m   and   gamma a E[(y - f(h)) phi(r)] to s,
    f(h) = E_neurons[a (m h Phi(r) + s phi(r))].

At a finite p the neurons are off these ways by p^(-1/2), as f is. The noise of SGD, which all neurons have in common,
does not fall with p but with the samples: gamma steps on batches of B turn f by gamma tau d/B, squared, in a time tau.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RATE, STEPS, EVERY = 0.2, 20, 2  # gamma, steps, steps from look to look
LOOKS = [float(step) for step in range(0, STEPS + 1, EVERY)]
SHOWN = 8  # neurons of a run that are kept for the pictures
MOST = 3**0.5  # a is uniform in [-MOST, MOST]
_TESTED = 4000
# Dimension, widths, B/d and runs. B/d is several times the largest p, so that noise turns f by less than the 1/p of its
# finite width; p stays below d, for |x|^2 is d only up to sqrt(2 d).
_SIZES = {
    ex.Size.QUICK: (64, [8, 16, 32], 64, 24),
    ex.Size.PAPER: (128, [8, 16, 32, 64, 128], 512, 96),
    ex.Size.LARGE: (512, [16, 32, 64, 128, 256], 1024, 64),
}
_BATCH = 4096  # samples that are drawn at a time
_FIELD = np.linspace(-6.5, 6.5, 131)  # the trapezoidal rule: y and f are analytic in a strip of half width pi/6
_WEIGHTS = np.exp(-(_FIELD**2) / 2) / np.exp(-(_FIELD**2) / 2).sum()


def label(field: np.ndarray) -> np.ndarray:
    """y = tanh(3h)."""
    return np.tanh(3 * field)


def student(neurons: np.ndarray, field: np.ndarray) -> np.ndarray:
    """E relu(m h + s z) over a standard Gaussian z, for neurons (a, m, s) and fields h: (neurons, fields)."""
    _, overlap, rest = neurons
    ratio = np.outer(overlap / rest, field)
    return rest[:, None] * (ratio * ndtr(ratio) + _density(ratio))


def step(neurons: np.ndarray, error: np.ndarray) -> np.ndarray:
    """What a step adds to (a, m, s) of each neuron, where y - f(h) is `error` on the grid of fields."""
    second, overlap, rest = neurons
    ratio = np.outer(overlap / rest, _FIELD)
    along = ndtr(ratio) @ (_WEIGHTS * error * _FIELD)
    length = _density(ratio) @ (_WEIGHTS * error)
    return RATE * second * np.stack([np.zeros_like(second), along, length])


def crowd(dim: int, nodes: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Neurons at their start and their weights: a uniform of variance 1, by Gauss and Legendre, overlaps N(0, 1/d)."""
    second, first_weights = np.polynomial.legendre.leggauss(nodes)
    start, second_weights = np.polynomial.hermite_e.hermegauss(5)
    a, m = (axis.ravel() for axis in np.meshgrid(MOST * second, start / np.sqrt(dim), indexing="ij"))
    weights = np.outer(first_weights, second_weights).ravel()
    return np.stack([a, m, np.sqrt(1 - m**2)]), weights / weights.sum()


def ways(dim: int, others: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """At every look: the crowd, its weights, and where `others` are, neurons that go along but do not count."""
    neurons, weights = crowd(dim)
    count, state = len(weights), np.concatenate([neurons, others], axis=1)
    for look in range(len(LOOKS)):
        for _ in range(EVERY if look else 0):
            fitted = (weights * state[0, :count]) @ student(state[:, :count], _FIELD)
            state = state + step(state, label(_FIELD) - fitted)
        yield state[:, :count], weights, state[:, count:]


def one_pass(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """One-pass SGD on a fresh batch each step, and how far it is from the limit, at each look.

    `square` is the mean squared overlap of the neurons, `deviation` their mean squared distance in m from the ways that
    the limit has for neurons of the same a and start, `distance` the mean of (f_p(x) - f(h))^2 on fresh inputs. With
    scaling "root" f is divided by sqrt p.
    """
    draw, dim, width = np.random.default_rng(key), point["dim"], point["width"]
    mean = point["scaling"] == "mean"
    scale, rate = (1 / width, RATE) if mean else (width**-0.5, RATE * width**-0.5)
    weights = draw.standard_normal((width, dim), dtype=np.float32)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    second = draw.uniform(-MOST, MOST, width).astype(np.float32)
    test = draw.standard_normal((_TESTED, dim), dtype=np.float32)
    start = weights[:, 0].astype(np.float64)
    limit = ways(dim, np.stack([second.astype(np.float64), start, np.sqrt(1 - start**2)]))
    rows = []
    for time, (neurons, shares, coupled) in zip(LOOKS, limit, strict=True):
        for _ in range(EVERY if time else 0):
            weights += rate * second[:, None] * _pull(draw, weights, scale * second, point["batch"])
        overlap = weights[:, 0].astype(np.float64)
        fitted = scale * (np.maximum(test @ weights.T, 0) @ second)
        tested = (shares * neurons[0]) @ student(neurons, test[:, 0].astype(np.float64))
        row = {"square": np.mean(overlap**2), "deviation": np.mean((overlap - coupled[1]) ** 2)}
        row["distance"] = np.mean((fitted - tested) ** 2)
        lists = {"overlap": overlap[:SHOWN].tolist(), "second": second[:SHOWN].tolist()}
        rows.append({"time": time, **{name: float(value) for name, value in row.items()}, **lists})
    return rows


def _pull(draw: np.random.Generator, weights: np.ndarray, second: np.ndarray, batch: int) -> np.ndarray:
    """The mean of (y - f(x)) 1(<w_i, x> > 0) x over a fresh batch, for each neuron."""
    found = np.zeros_like(weights)
    for count in np.diff([*range(0, batch, _BATCH), batch]):
        x = draw.standard_normal((count, weights.shape[1]), dtype=np.float32)
        fields = x @ weights.T
        error = label(x[:, 0]) - np.maximum(fields, 0) @ second
        found += ((fields > 0) * error[:, None]).T @ x
    return found / batch


ONE_PASS = Runner(one_pass, index=("time",), axes={"overlap": ("neuron",), "second": ("neuron",)})


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Several widths, and the largest with 1/sqrt(p) in the place of 1/p."""
    dim, widths, ratio, repeats = _SIZES[size]
    kind, few = f"{__name__}:ONE_PASS", repeats // 2
    sizes = {"dim": dim, "batch": ratio * dim}
    mean = ex.Study({**sizes, "scaling": "mean"}, {"width": widths}, repeats=repeats, key=511)
    root = ex.Study({**sizes, "scaling": "root", "width": widths[-1]}, repeats=few, key=512)
    return {"mean": ex.Part(mean, kind, words="1/p"), "root": ex.Part(root, kind, words="1/sqrt(p)")}


def theory(data: ex.Data) -> ex.Data:
    """The mean squared overlap of infinitely many neurons."""
    import xarray as xr

    squares = [weights @ neurons[1] ** 2 for neurons, weights, _ in ways(int(data["mean"]["dim"]), np.empty((3, 0)))]
    found = xr.Dataset({"square": ("time", squares)}, {"time": LOOKS})
    return {"mean": found, "root": found}


def share(data: ex.Dataset) -> ex.Array:
    """The mean squared deviation from the limit, over the neurons' own mean squared overlap there."""
    import xarray as xr

    squares = [weights @ neurons[1] ** 2 for neurons, weights, _ in ways(int(data["dim"]), np.empty((3, 0)))]
    return data["deviation"] / xr.DataArray(squares, {"time": LOOKS}, "time")


def _curves(dim: int, second: np.ndarray) -> list[np.ndarray]:
    """The overlaps at each look of neurons with these a from a start at right angles, in the limit."""
    others = np.stack([second, np.zeros_like(second), np.ones_like(second)])
    return [coupled[1] for _, _, coupled in ways(dim, others)]


def animation(view: ex.View) -> Iterator[Figure]:
    """The neurons of a few runs as points (a, m) on the curve of the limit, as time goes on."""
    from featlab.figures.panels import panels
    from featlab.figures.style import SERIES

    part = view.data["mean"].isel(width=-1)
    second = np.linspace(-MOST, MOST, 61)
    for look, curve in enumerate(_curves(int(part["dim"]), second)):
        title = f"{LOOKS[look]:g} steps, p = {int(part['width'])}"
        made, (axes,) = panels([title], x="second layer a", y="overlap m")
        axes.plot(second, curve, color=SERIES[0], linewidth=1.8)
        dots = part.isel(time=look)
        axes.plot(dots["second"].values.ravel(), dots["overlap"].values.ravel(), "o", color=SERIES[1], markersize=3)
        axes.set(xlim=(-1.85, 1.85), ylim=(-2, 2))
        yield made


def _draw_law(axes: Axes, view: ex.View) -> None:
    """The distribution function of the overlaps at the end: neurons of the smallest and largest p, and the limit."""
    from featlab.figures.panels import theory_line
    from featlab.figures.style import SERIES

    part = view.data["mean"].isel(time=-1)
    levels = np.linspace(0, 1, 101)
    curve = _curves(int(part["dim"]), MOST * (2 * levels - 1))[-1]
    theory_line(axes, curve, levels, label="p -> infinity")
    for series, place in enumerate((0, -1), start=1):
        values = np.sort(part["overlap"].isel(width=place).values.ravel())
        steps = (np.arange(values.size) + 0.5) / values.size
        words = f"p = {int(part['width'][place])}, d = {int(part['dim'])}"
        axes.step(values, steps, color=SERIES[series], linewidth=1.2, label=words)


def _draw_falls(axes: Axes, view: ex.View) -> None:
    """Both mean squared distances from the limit against p, and lines of the slope -1."""
    from featlab.figures.panels import measured_points, theory_line

    widths = view.data["mean"]["width"].values
    for series, (name, words) in enumerate({"deviation": "neurons", "distance": "function f"}.items()):
        found = view.measured(ex.Of(name, "mean", {"time": ex.LAST})).transpose("run", "width").values
        measured_points(axes, widths, found.mean(axis=0), ex.standard_error(found), series=series, label=words)
        level = np.exp(np.mean(np.log(found.mean(axis=0) * widths)))
        theory_line(axes, widths, level / widths, series=series, label=None if series else "slope -1")


def _density(z: np.ndarray) -> np.ndarray:
    return np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)


_END = {"time": ex.LAST}
_WIDEST = {"time": ex.LAST, "width": ex.LAST}
EXHIBIT = ex.Exhibit(
    id="mean-field",
    title="Infinitely many neurons",
    claim="Under one-pass SGD with a 1/p in front the neurons of a wide network move as the particles of a "
    "deterministic flow, each in the field of all; at a finite p they are off it by p^(-1/2).",
    document=ex.GIANT_STEPS,
    papers=("mei2018", "rotskoff2018"),
    protocol="y = tanh(3h), relu neurons on the sphere, a uniform of variance 1, never trained, squared loss, 20 steps "
    "of .2 a neuron, each on a fresh batch of 512 d samples (64 d at quick size). The limit has its own neurons, by "
    "quadrature; each neuron of a run is compared with the one of the same a and start in the limit. Mean squares of "
    "that distance, and of f_p - f, must fall like 1/p (control: p^(-1/2)). The mean squared overlap at the largest p "
    "is the limit's up to 1/sqrt(d). With 1/sqrt(p) in front the neurons are not where the limit has them.",
    caption="Left: all neurons that were kept, and the limit. Right: means over runs with two standard errors; lines "
    "have the slope -1.",
    studies=studies,
    theory=theory,
    checks={
        "p = {width}, d = {dim}: the mean squared overlap follows the limit": ex.Close(
            ex.Of("square", "mean", {"width": ex.LAST}), allowance=ex.root_d()
        ),
        "the neurons' mean squared distance from their ways in the limit falls like 1/p": ex.Exponent(
            ex.Of("deviation", "mean", _END), "width", -1.0, wrong=-0.5
        ),
        "so does that of the function": ex.Exponent(ex.Of("distance", "mean", _END), "width", -1.0, wrong=-0.5),
        "p = {width}: this distance is below a fifth of the mean squared overlap, with 1/sqrt(p) it is not": ex.Above(
            ex.Of(share, "mean", _WIDEST), 0.2, ex.Of(share, "root", _END), "1/sqrt(p) in front", below=True
        ),
    },
    numbers={
        "mean squared overlap after {time:g} steps, p = {width}": ex.Value(ex.Of("square", "mean", _END), each="width"),
        "mean squared distance from the limit, p = {width}": ex.Value(
            ex.Of("deviation", "mean", _END), predicted=False, each="width"
        ),
        "mean of (f_p - f)^2, p = {width}": ex.Value(ex.Of("distance", "mean", _END), predicted=False, each="width"),
        "mean squared overlap after {time:g} steps, 1/sqrt(p) in front": ex.Value(
            ex.Of("square", "root", _END), predicted=False
        ),
    },
    settled="First runs had one sample a step and steps .5/d. Their noise is the same for all neurons and does not "
    "fall with p: (f_p - f)^2 fell like p^(-1/2), from .081 at p = 8 to .041 at p = 32. The limit is one of small "
    "steps, or of large batches, as well; batches were taken. a was N(0, 1), of which the largest few decide.",
    figure={
        "Overlaps at the end": ex.Panel(_draw_law, x="overlap m", y="share of neurons below", legend="upper left"),
        "Distance from the limit": ex.Panel(_draw_falls, x="neurons p", y="mean square", xscale="log", yscale="log"),
    },
    animation=animation,
    shows=("one_pass_sgd",),
)
