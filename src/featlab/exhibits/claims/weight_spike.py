"""One gradient step puts a spike on the first layer (Ba et al. 2022, arXiv:2205.01445, Theorem 3).

With n, p and d in proportion the first step is a matrix of rank one up to lower order, and W makes the transition of
Baik, Ben Arous and Peche: above a critical step one singular value leaves the bulk, and its vector has the target's
direction in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.integrate import cumulative_trapezoid

from featlab.comparison import FiniteSize
from featlab.exhibits.checks import close, contrast, identity, mean_and_error, standard_error
from featlab.exhibits.documents import STRUCTURED_DATA
from featlab.exhibits.one_step import Setting, top_singular
from featlab.exhibits.predicting import parameters_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_histogram, measured_points, panels, theory_line
from featlab.figures.style import SERIES, add_legend
from featlab.study import Runner, Study
from featlab.theory.spikes import bulk_density, spike_strength, spiked_weights

TIMES = [0.5, 0.8, 1.25, 1.6, 2.5, 4.0]
CLEAR, SHOWN = 3, 2.5  # the first of them that is well above the transition; the one whose spectrum is shown
_CASE = ("student", "teacher", "psi1", "psi2")
_CASES: list[list[Any]] = [
    ["tanh", "relu(h1)", 2.0, 1.0],
    ["tanh", "relu(h1)", 4.0, 1.0],
    ["erf", "tanh(h1)", 2.0, 0.5],
]
_CASES += [["tanh", "relu(h1) - 0.3989422804014327", 4.0, 2.0]]
_NAMES = ["tanh on relu, n = 2d, p = d", "tanh on relu, n = 4d, p = d", "erf on tanh, n = 2d, p = d/2"]
_NAMES += ["tanh on centred relu, n = 4d, p = 2d"]
_SIZES = {Size.QUICK: (400, 8, 300), Size.PAPER: (2000, 10, 1000), Size.LARGE: (6000, 10, 2000)}
_NOISE = 0.0
_SEEN = {
    "value": "well above the critical step the largest singular value is sqrt((1 + t^2)(psi2 + t^2))/t",
    "alignment": "its vector's squared overlap with the target is the predicted one",
    "neurons": "and so is the squared overlap of its other vector with the second layer",
}
_EARLIER = {(0, 2.5): (2.845, 0.425), (1, 1.6): (2.233, 0.419), (1, 4.0): (4.288, 0.627)}


def run_point(point: Mapping[str, Any], key: int) -> list[dict[str, Any]]:
    """One start and one batch, followed to every step: the largest singular value and its vectors."""
    setting, rows = Setting.of(point), []
    batch = setting.draw(np.random.default_rng(key))
    norm = float(np.linalg.norm(batch.second))
    for times in point["times"]:
        size = times * setting.critical_size
        value, in_neurons, in_inputs = top_singular(batch.start + size * batch.gradient)
        row = {"times": times, "value": value, "alignment": float(in_inputs[0] ** 2)}
        row["neurons"] = float(in_neurons @ batch.second / norm) ** 2
        rows.append(row | {"strength": spike_strength(size, norm, setting.slope, batch.spike)})
    return rows


def run_spectrum(point: Mapping[str, Any], key: int) -> list[dict[str, Any]]:
    """All singular values at every step."""
    setting = Setting.of(point)
    batch = setting.draw(np.random.default_rng(key))
    steps = setting.critical_size * np.array(point["times"])
    spectra = (np.linalg.svd(batch.start + step * batch.gradient, compute_uv=False) for step in steps)
    return [{"times": times, "singular": s.tolist()} for times, s in zip(point["times"], spectra, strict=True)]


OUTLIER = Runner(run_point, index=("times",))
SPECTRUM = Runner(run_spectrum, index=("times",), axes={"singular": ("place",)})


def studies(size: Size) -> Mapping[str, Part]:
    """The largest singular value over seeds, and whole spectra of one seed."""
    dim, repeats, spectrum_dim = _SIZES[size]
    fixed = {"times": TIMES, "dim": dim, "noise": _NOISE}
    whole = {**fixed, **dict(zip(_CASE, _CASES[0], strict=True)), "dim": spectrum_dim}
    whole["times"] = np.round(np.linspace(0, 4, 17), 3).tolist()
    outlier = Study(fixed, axes={_CASE: _CASES}, repeats=repeats, key=31)
    return {
        "outlier": Part(outlier, f"{__name__}:OUTLIER"),
        "spectrum": Part(Study(whole, key=32), f"{__name__}:SPECTRUM"),
    }


def prediction(data: Data) -> dict[str, np.ndarray]:
    """The limit at each (case, times); "given" is s1 with the strength that each batch had, (repeat, case, times)."""
    strengths = data["outlier"]["strength"].transpose("repeat", ..., "times").values
    given = [
        [[_value(t, case[3]) for t in times] for times, case in zip(run, _CASES, strict=True)] for run in strengths
    ]
    return {**limit(TIMES), "given": np.array(given)}


def limit(times: Any) -> dict[str, np.ndarray]:
    """s1, the alignment with the target and the overlap with a, (case, times): t = times psi2^(1/4)."""
    found: dict[str, list[Any]] = {name: [] for name in _SEEN}
    for case in _CASES:
        setting = Setting.of({**dict(zip(_CASE, case, strict=True)), "noise": _NOISE, "dim": 10**4})
        psi2, share = case[3], setting.spike.cosine**2
        weights = [spiked_weights(t * psi2**0.25, psi2) for t in times]
        found["value"].append([one.singular_value for one in weights])
        found["alignment"].append([share * one.input_overlap for one in weights])
        found["neurons"].append([one.neuron_overlap for one in weights])
    return {name: np.array(values) for name, values in found.items()}


def _value(strength: float, psi2: float) -> float:
    return spiked_weights(strength, psi2).singular_value


def verdict(data: Data, predicted: dict[str, np.ndarray]) -> Finding:
    """Singular value, both overlaps, the transition, and the bulk."""
    dim, seen = parameters_at(data["outlier"])["dim"], _seen(data)
    stands_out = seen["value"] > predicted["value"][:, :1] + 2 * dim ** (-2 / 3)
    checks = [
        close(words, seen[name][..., CLEAR:], predicted[name][:, CLEAR:], allowance=FiniteSize(), dim=dim)
        for name, words in _SEEN.items()
    ]
    checks += [
        contrast(
            "at 1.6 critical steps a singular value stands out of the bulk, by more than 2 d^(-2/3)",
            stands_out[..., CLEAR],
            stands_out[..., 0],
            name="1.6 critical steps",
            control_name="half a critical step",
        ),
        _bulk_is_unchanged(data),
    ]
    numbers = []
    for (case, times), earlier in _EARLIER.items():
        place = TIMES.index(times)
        for name, old in zip(("value", "alignment"), earlier, strict=True):
            words = f"{'s1' if name == 'value' else 'overlap^2'} at {times:g} critical steps ({_NAMES[case]})"
            found = mean_and_error(seen[name][:, case, place])
            numbers.append(Number(words, float(predicted[name][case, place]), *found, old))
    misses = [np.abs(seen["value"] / theory - 1)[..., CLEAR:] for theory in (predicted["value"], predicted["given"])]
    remark = (
        f"Single runs miss the limit by {np.median(misses[0]):.1%} in the median and {np.max(misses[0]):.1%} at most; "
        f"with the strength t that their batch had, by {np.median(misses[1]):.1%} and {np.max(misses[1]):.1%}. "
        "E[y^2] in the strength is the raw second moment: the spike of labels that are not centred "
        "is stronger and less aligned."
    )
    return Finding(checks, numbers, [remark])


def _seen(data: Data) -> dict[str, np.ndarray]:
    """(repeat, case, times)."""
    return {name: data["outlier"][name].transpose("repeat", ..., "times").values for name in _SEEN}


def _bulk_is_unchanged(data: Data) -> Check:
    """All singular values but the largest against Marchenko and Pastur's law, up to 1/sqrt(d)."""
    values = np.sort(_spectrum(data, SHOWN))[:-1]
    own, other = (_distance(values, psi2) for psi2 in (1.0, 1.2))
    statement = f"at {SHOWN} critical steps the rest of the spectrum is the bulk of the start"
    allowed = values.size**-0.5
    return identity(statement, own, allowed, control="the bulk of 20% more neurons", control_difference=other)


def _distance(values: np.ndarray, psi2: float) -> float:
    """The largest distance between the distribution functions."""
    s = np.linspace(1e-4, 1 + np.sqrt(psi2), 4001)
    share = cumulative_trapezoid(bulk_density(s, psi2), s, initial=0.0)
    return float(np.max(np.abs(np.interp(values, s, share) - (np.arange(values.size) + 0.5) / values.size)))


def _spectrum(data: Data, times: float) -> np.ndarray:
    return data["spectrum"]["singular"].sel(times=times).values.ravel()


def figure(data: Data, predicted: dict[str, np.ndarray]) -> Figure:
    """A spectrum; the largest singular value and its alignment against the step."""
    steps = "step over the critical step"
    titles = ["One value leaves the bulk", "The largest singular value", "It aligns with the target"]
    made, (first, *others) = panels(
        titles, x=["singular value of W", steps, steps], y=["density", "largest singular value", "squared overlap"]
    )
    draw_spectrum(first, _spectrum(data, SHOWN), SHOWN)
    line, seen = np.linspace(0.4, 4.1, 150), _seen(data)
    smooth = limit(line)
    for axes, name in zip(others, ("value", "alignment"), strict=True):
        for case, words in enumerate(_NAMES):
            theory_line(axes, line, smooth[name][case], series=case)
            values = seen[name][:, case]
            measured_points(axes, TIMES, values.mean(0), standard_error(values), series=case, label=words)
        mark(axes, 1.0, "transition")
    add_legend(others[1], loc="lower right")
    return made


def draw_spectrum(axes: Axes, values: np.ndarray, times: float) -> None:
    """Histogram, bulk law, and where the outlier must be."""
    s = np.linspace(1e-3, 2.0, 400)
    measured_histogram(axes, values, np.arange(0, 4.6, 0.1), label="simulation")
    axes.plot(s, bulk_density(s, 1.0), color=SERIES[1], linewidth=1.8, label="Marchenko-Pastur bulk")
    place = spiked_weights(times, 1.0)
    if place.outlier:
        axes.plot(place.singular_value, 0.03, "x", color=SERIES[1], markersize=8, label="predicted outlier")
    axes.plot(np.max(values), 0.0, "^", color=SERIES[0], markersize=6, label="largest value", clip_on=False)
    axes.set(xlim=(0, 4.6), ylim=(0, 0.75))
    add_legend(axes, loc="upper right")


def animation(data: Data, predicted: dict[str, np.ndarray]) -> Iterator[Figure]:
    """The step grows; the spike leaves the bulk."""
    for times in data["spectrum"]["times"].values:
        made, (axes,) = panels([f"step = {times:.2f} critical steps"], x="singular value of W", y="density")
        draw_spectrum(axes, _spectrum(data, times), times)
        yield made


EXHIBIT = Exhibit(
    id="weight-spike",
    title="A spike leaves the bulk of the weights",
    claim="After one gradient step the bulk of the first layer's singular values is unchanged; above a critical step "
    "one value leaves it, and its vector aligns with the target.",
    document=STRUCTURED_DATA,
    papers=("ba2022",),
    protocol="Students and teachers in four combinations, no label noise, Gaussian second layer, n and p in "
    "proportion to d; steps from .5 to 4 critical steps of the limit, gamma_c = psi2^(1/4)/(sqrt(p) mu1 theta). Judged "
    "from 1.6 critical steps on, up to 1/sqrt(d): at the transition itself the limit is reached slowly. Relu labels "
    "are not centred unless said: the formula has the raw E[y^2].",
    caption="Left: singular values after 2.5 critical steps. Lines are the limit, points means over seeds with two "
    "standard errors; the dotted line is the transition.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    animation=animation,
)
