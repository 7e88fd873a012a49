"""One gradient step puts a spike on the first layer (Ba et al. 2022, arXiv:2205.01445, Theorem 3).

With n, p and d in proportion the first step is a matrix of rank one up to lower order, and W makes the transition of
Baik, Ben Arous and Peche: above a critical step one singular value leaves the bulk, and its vector has the target's
direction in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = [0.5, 0.8, 1.25, 1.6, 2.5, 4.0]
CLEAR, SHOWN = 1.6, 2.5  # the first of them that is well above the transition; the one whose spectrum is shown
_NAMES = ("case", "activation", "target", "psi1", "psi2", "mean_slope", "linear", "label_square")
_CASE = "_".join(_NAMES)
_CASES: list[list[Any]] = [
    ["tanh on relu, n = 2d, p = d", "tanh", "relu(h1)", 2.0, 1.0],
    ["tanh on relu, n = 4d, p = d", "tanh", "relu(h1)", 4.0, 1.0],
    ["erf on tanh, n = 2d, p = d/2", "erf", "tanh(h1)", 2.0, 0.5],
    ["tanh on centred relu, n = 4d, p = 2d", "tanh", "relu(h1) - 0.3989422804014327", 4.0, 2.0],
]
_SIZES = {ex.Size.QUICK: (400, 8, 300), ex.Size.PAPER: (2000, 10, 1000), ex.Size.LARGE: (6000, 10, 2000)}
_SEEN = ["singular_value", "input_overlap", "neuron_overlap"]
_PLACES = [(_CASES[0][0], 2.5), (_CASES[1][0], 1.6), (_CASES[1][0], 4.0)]  # of the numbers that are told
_EARLIER_VALUE = dict(zip(_PLACES, (2.845, 2.233, 4.288), strict=True))
_EARLIER_OVERLAP = dict(zip(_PLACES, (0.425, 0.419, 0.627), strict=True))


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The largest singular value over seeds, and whole spectra of one seed; steps in critical steps of the limit."""
    from featlab.exhibits.one_step import CRITICAL, SIZES, moments_of

    dim, repeats, spectrum_dim = _SIZES[size]
    cases = [[*case, *moments_of(case[1], case[2]).values()] for case in _CASES]
    derived, seen = {**SIZES, **CRITICAL}, [*_SEEN, "common_norm", "second_norm"]
    whole = {**dict(zip(_NAMES, cases[0], strict=True)), "dim": spectrum_dim, "steps": np.linspace(0, 4, 17).tolist()}
    outlier = ex.Study({"dim": dim, "steps": STEPS}, {_NAMES: cases}, derived, repeats, key=31, observe=seen)
    spectrum = ex.Study(whole, {}, derived, key=32, observe=["singular_values"])
    return {"outlier": ex.Part(outlier, "one-step"), "spectrum": ex.Part(spectrum, "one-step")}


def theory(data: ex.Data) -> ex.Data:
    """The limit of every case, t = steps psi2^(1/4); and s1 with the strength that each batch had."""
    import xarray as xr

    from featlab.targets import target
    from featlab.theory.spikes import gradient_spike, label_moments, spiked_weights

    runs = data["outlier"]
    steps = np.union1d(STEPS, np.linspace(0.4, 4.1, 150))
    limit = np.array([[spiked_weights(t * psi2**0.25, psi2) for t in steps] for psi2 in runs["psi2"].values])
    pairs = zip(runs["target"].values.tolist(), runs["psi1"].values, strict=True)
    shares = np.array([gradient_spike(label_moments(target(text)), ratio).cosine ** 2 for text, ratio in pairs])
    tables = {
        "singular_value": np.vectorize(lambda one: one.singular_value)(limit),
        "input_overlap": shares[:, None] * np.vectorize(lambda one: one.input_overlap)(limit),
        "neuron_overlap": np.vectorize(lambda one: one.neuron_overlap)(limit),
    }
    limits = xr.Dataset({name: ((_CASE, "step"), table) for name, table in tables.items()}, {"step": steps})
    strength = runs["step"] * runs["unit"] * runs["second_norm"] * abs(runs["mean_slope"]) * runs["common_norm"]
    value = np.vectorize(lambda t, psi2: spiked_weights(t, psi2).singular_value)
    given = xr.apply_ufunc(value, strength, runs["psi2"]).to_dataset(name="singular_value")
    return {"outlier": limits, "given": given}


def stands_out(data: ex.Dataset) -> ex.Array:
    """Whether the largest singular value is beyond the bulk by more than 2 d^(-2/3)."""
    return data["singular_value"] > 1 + np.sqrt(data["psi2"]) + 2 * data["dim"] ** (-2 / 3)


def _spectrum(view: ex.View, step: float) -> np.ndarray:
    return view.data["spectrum"]["singular_values"].sel(step=step).values.ravel()


def _bulk_is_unchanged(view: ex.View, statement: str) -> ex.Check:
    """All singular values but the largest against Marchenko and Pastur's law, up to 1/sqrt(d)."""
    values = np.sort(_spectrum(view, SHOWN))[:-1]
    own, other = (_distance(values, psi2) for psi2 in (1.0, 1.2))
    words = "the bulk of 20% more neurons"
    return ex.identity(statement, own, values.size**-0.5, control=words, control_difference=other)


def _distance(values: np.ndarray, psi2: float) -> float:
    """The largest distance between the distribution functions."""
    from scipy.integrate import cumulative_trapezoid

    from featlab.theory.spikes import bulk_density

    s = np.linspace(1e-4, 1 + np.sqrt(psi2), 4001)
    share = cumulative_trapezoid(bulk_density(s, psi2), s, initial=0.0)
    return float(np.max(np.abs(np.interp(values, s, share) - (np.arange(values.size) + 0.5) / values.size)))


def _misses(view: ex.View) -> str:
    where = {"step": lambda step: step >= CLEAR}
    both = [ex.Of("singular_value", "outlier", where, theory=name) for name in (None, "given")]
    limit, given = (abs(view.measured(of) / view.predicted(of) - 1).values for of in both)
    return (
        f"Single runs miss the limit by {np.median(limit):.1%} in the median and {np.max(limit):.1%} at most; "
        f"with the strength t that their batch had, by {np.median(given):.1%} and {np.max(given):.1%}. "
        "E[y^2] in the strength is the raw second moment: the spike of labels that are not centred "
        "is stronger and less aligned."
    )


def draw_spectrum(axes: Axes, view: ex.View, step: float = SHOWN) -> None:
    """Histogram, bulk law, and where the outlier must be."""
    from featlab.figures.panels import measured_histogram
    from featlab.figures.style import SERIES, add_legend
    from featlab.theory.spikes import bulk_density, spiked_weights

    values, s = _spectrum(view, step), np.linspace(1e-3, 2.0, 400)
    measured_histogram(axes, values, np.arange(0, 4.6, 0.1), label="simulation")
    axes.plot(s, bulk_density(s, 1.0), color=SERIES[1], linewidth=1.8, label="Marchenko-Pastur bulk")
    place = spiked_weights(step, 1.0)
    if place.outlier:
        axes.plot(place.singular_value, 0.03, "x", color=SERIES[1], markersize=8, label="predicted outlier")
    axes.plot(np.max(values), 0.0, "^", color=SERIES[0], markersize=6, label="largest value", clip_on=False)
    axes.set(xlim=(0, 4.6), ylim=(0, 0.75))
    add_legend(axes, loc="upper right")


def animation(view: ex.View) -> Iterator[Figure]:
    """The step grows; the spike leaves the bulk."""
    from featlab.figures.panels import panels

    for step in view.data["spectrum"]["step"].values:
        made, (axes,) = panels([f"step = {step:.2f} critical steps"], x="singular value of W", y="density")
        draw_spectrum(axes, view, step)
        yield made


def _follows(name: str) -> ex.Close:
    where = {"step": lambda step: step >= CLEAR}
    return ex.Close(ex.Of(name, "outlier", where), allowance=(1.0, 0.5))


def _told(name: str, earlier: Mapping[Any, float]) -> ex.Value:
    of, only = ex.Of(name, "outlier"), lambda at: (at["case"], at["step"]) in earlier
    return ex.Value(of, each=(_CASE, "step"), only=only, earlier=earlier, by=("case", "step"))


def _against_step(name: str) -> ex.Overlay:
    return ex.Overlay(ex.Of(name, "outlier"), "step", points="{case}", each=_CASE)


_X, _MARK = "step over the critical step", ex.Mark(1.0, "transition")

EXHIBIT = ex.Exhibit(
    id="weight-spike",
    title="A spike leaves the bulk of the weights",
    claim="After one gradient step the bulk of the first layer's singular values is unchanged; above a critical step "
    "one value leaves it, and its vector aligns with the target.",
    document=ex.STRUCTURED_DATA,
    papers=("ba2022",),
    protocol="Students and teachers in four combinations, no label noise, Gaussian second layer, n and p in "
    "proportion to d; steps from .5 to 4 critical steps of the limit, gamma_c = psi2^(1/4)/(sqrt(p) mu1 theta). Judged "
    "from 1.6 critical steps on, up to 1/sqrt(d): at the transition itself the limit is reached slowly. Relu labels "
    "are not centred unless said: the formula has the raw E[y^2].",
    caption="Left: singular values after 2.5 critical steps. Lines are the limit, points means over seeds with two "
    "standard errors; the dotted line is the transition.",
    studies=studies,
    theory=theory,
    checks={
        "well above the critical step the largest singular value is sqrt((1 + t^2)(psi2 + t^2))/t": _follows(_SEEN[0]),
        "its vector's squared overlap with the target is the predicted one": _follows(_SEEN[1]),
        "and so is the squared overlap of its other vector with the second layer": _follows(_SEEN[2]),
        "at 1.6 critical steps a singular value stands out of the bulk, by more than 2 d^(-2/3)": ex.Contrast(
            ex.Of(stands_out, "outlier", {"step": CLEAR}, "1.6 critical steps"),
            ex.Of(stands_out, "outlier", {"step": STEPS[0]}, "half a critical step"),
        ),
        "at 2.5 critical steps the rest of the spectrum is the bulk of the start": _bulk_is_unchanged,
    },
    numbers={
        "s1 at {step:g} critical steps ({case})": _told("singular_value", _EARLIER_VALUE),
        "overlap^2 at {step:g} critical steps ({case})": _told("input_overlap", _EARLIER_OVERLAP),
    },
    remarks=[_misses],
    figure={
        "One value leaves the bulk": ex.Panel(draw_spectrum, x="singular value of W", y="density", legend=None),
        "The largest singular value": ex.Panel(
            _against_step("singular_value"), _MARK, x=_X, y="largest singular value", legend=None
        ),
        "It aligns with the target": ex.Panel(
            _against_step("input_overlap"), _MARK, x=_X, y="squared overlap", legend="lower right"
        ),
    },
    animation=animation,
    shows=("one_giant_step",),
)
