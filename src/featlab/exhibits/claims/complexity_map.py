"""How many samples the normalised flow needs under a spike, as a map (Mousavi-Hosseini et al. 2023, arXiv:2309.03843).

theta = d^g2, <mu, beta> = d^-g1, information exponent k: n >~ d delta_0^(-2(k-1)) samples suffice, where delta_0 = d^-s
is the correlation that a random neuron starts from; s = 1/2, 1/2 - (g2 - g1), (1 - g2)/2 in three regimes that meet at
the lines g2 = g1 and g2 = 2 g1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featlab.exhibits.checks import exponent_at_most, identity, mean_and_error, ordered
from featlab.exhibits.documents import STRUCTURED_DATA
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number, Outcome
from featlab.figures.complexity import MeasuredExponent, draw_complexity
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import INK, TEXT_SIZE, add_legend
from featlab.gaussian.crossings import crossing_with_error
from featlab.gaussian.hermite import Floats
from featlab.gaussian.powerlaw import PowerLaw, fit_power_law
from featlab.study import Study
from featlab.targets import SpikeLaw
from featlab.theory.flows.complexity import complexity_map, typical_start

Place = tuple[float, float]  # (g1, g2)
Half = tuple[Floats, Floats, Floats]  # dimensions, numbers of samples, errors
FOUND = 0.9
K = 3
PLACES = ((0.5, 0.0), (0.3, 0.4), (0.2, 0.5), (0.0, 0.9))  # (g1, g2), from the dearest to the cheapest
DIMS = {Size.QUICK: (), Size.PAPER: (40, 80, 160, 320), Size.LARGE: (40, 80, 160, 320, 640)}
_RATIOS = (2, 4, 8, 16, 32, 64, 128, 256)  # n / d
_TASK: dict[str, Any] = {
    "learner": "normalised-flow",
    "target": "He3(h1)/sqrt(6)",
    "noise": 0.1,
    "activation": "He3",
    "second_scale": 6**-0.5,
    "positive_start": True,
    "steps": 120,
    "times": [120],
    "design": "dense",
    "observe": ["field_correlation"],
}
_LEAST = 3  # dimensions for an exponent
_FAR = (1e12, 1e14)  # dimensions at which delta_0 is looked at for its power


def studies(size: Size) -> Mapping[str, Part]:
    """The dearest and the cheapest place with n = 8 d samples; beyond quick the success over n and d at four places."""
    one = {**_TASK, "dim": 64, "samples": 8 * 64, "seeds": 32 if size is Size.QUICK else 128}
    parts = {"places": Part(Study(one, {"alignment,spike": [PLACES[0], PLACES[-1]]}, key=52))}
    for dim in DIMS[size]:
        fixed = {**_TASK, "dim": dim, "seeds": 4}
        axes = {"alignment,spike": PLACES, "ratio": [ratio for ratio in _RATIOS if ratio * dim <= 320 * 256]}
        parts[f"d{dim}"] = Part(Study(fixed, axes, {"samples": "ratio*dim"}, repeats=12, key=51 + dim))
    return parts


def prediction(data: Data) -> dict[int, xr.DataArray]:
    """The maps of k = 1 to 4."""
    g1, g2 = np.linspace(0, 0.5, 51), np.linspace(0, 1, 101)
    axes = {"g2": g2, "g1": g1}
    return {k: xr.DataArray(complexity_map(k, g1, g2).samples, axes, [*axes]) for k in (1, 2, 3, 4)}


def verdict(data: Data, predicted: dict[int, xr.DataArray]) -> Finding:
    """The map's start, its order, and, with several dimensions, its exponents as bounds of the measured ones."""
    found = _correlations(data["places"])
    names = {place: f"(g1, g2) = ({place[0]:g}, {place[1]:g})" for place in PLACES}
    checks = [
        _start_powers(),
        ordered("He3, d = 64, n = 8 d: cheaper on the map is easier", {names[place]: found[place] for place in found}),
    ]
    numbers = [
        Number(f"correlation at n = 8 d, d = 64, {names[place]}", None, *mean_and_error(values))
        for place, values in found.items()
    ]
    for place in PLACES:
        dims, samples, errors = _halves(data, place)
        bound = _exponent(predicted[K], place)
        statement = f"{names[place]}: half of the runs succeed with n = O(d^{bound:.2g}) samples"
        if len(dims) < _LEAST:
            checks.append(_too_few(statement, len(dims)))
            continue
        checks.append(exponent_at_most(statement, dims, samples, errors, bound, wrong=0.5))
        law = fit_power_law(dims, samples, errors)
        numbers.append(Number(f"exponent of n, {names[place]}, at most", bound, law.exponent, law.exponent_error))
        for dim, half, error in zip(dims.tolist(), (samples / dims).tolist(), (errors / dims).tolist(), strict=True):
            earlier = {PLACES[0]: 48.0, PLACES[-1]: 6.0}.get(place) if dim == 160 else None
            numbers.append(Number(f"n / d of half success, d = {dim:g}, {names[place]}", None, half, error, earlier))
    remarks = ["The theorem says what suffices; exponents below the map's do not contradict it."]
    return Finding(checks, numbers, remarks)


def _start_powers() -> Check:
    """delta_0 from the covariance itself, against d^-s of the map, off its two lines."""
    places = ((0.5, 0.2), (0.4, 0.1), (0.4, 0.6), (0.3, 0.45), (0.1, 0.5), (0.2, 0.8))
    differences, controls = [], []
    for g1, g2 in places:
        starts = [typical_start(SpikeLaw(g2, g1).at(int(dim)), int(dim)) for dim in _FAR]
        power = -float(np.log(starts[1] / starts[0]) / np.log(_FAR[1] / _FAR[0]))
        stated = float(complexity_map(K, np.array([g1]), np.array([g2])).start.item())
        differences.append(abs(power - stated))
        controls.append(abs(power - 0.5))
    return identity(
        "delta_0 = d^-s in all three regimes, d from 10^12 to 10^14",
        max(differences),
        0.02,
        control="s = 1/2 everywhere, as without a spike",
        control_difference=max(controls),
    )


def _too_few(statement: str, seen: int) -> Check:
    detail = f"half success was measured at {seen} dimensions, of which {_LEAST} are needed."
    needs = "the paper size, d = 40 to 320"
    return Check(statement, Outcome.CANNOT_TELL, detail, "the bound 0.5", refused=False, needs=needs)


def _exponent(chart: xr.DataArray, place: Place) -> float:
    return float(chart.sel(g1=place[0], g2=place[1], method="nearest"))


def _correlations(data: xr.Dataset) -> dict[Place, Floats]:
    """Of each place, over seeds."""
    last = abs(data["field_correlation"]).isel(neuron=0, direction=0, time=-1)
    pairs = zip(last["alignment"].values.tolist(), last["spike"].values.tolist(), strict=True)
    return {pair: last.isel(alignment_spike=at).values.ravel() for at, pair in enumerate(pairs)}


def _halves(data: Data, place: Place) -> Half:
    """Dimensions, numbers of samples at which half of the runs succeed, their errors; where there is such a number."""
    rows = []
    for name, part in data.items():
        if name == "places":
            continue
        last = abs(part["field_correlation"]).isel(neuron=0, direction=0, time=-1, alignment_spike=PLACES.index(place))
        dim = int(name[1:])
        success = (last > FOUND).stack(run=("repeat", "seed")).transpose("run", "ratio")
        samples, error = crossing_with_error(success["ratio"].values * dim, success.values, 0.5)
        if np.isfinite(error) and error > 0:
            rows.append((float(dim), samples, error))
    dims, found, errors = np.transpose(rows) if rows else np.empty((3, 0))
    return dims, found, errors


def figure(data: Data, predicted: dict[int, xr.DataArray]) -> Figure:
    """The maps of k = 2 and 3, and what was measured for k = 3."""
    halves = {place: _halves(data, place) for place in PLACES}
    laws = {place: fit_power_law(*half) for place, half in halves.items() if len(half[0]) >= _LEAST}
    made, (*maps, measured) = panels(["", "", "k = 3: half success" if laws else "k = 3, d = 64, n = 8 d"])
    for axes, k in zip(maps, (2, 3), strict=True):
        chart = predicted[k]
        points = [MeasuredExponent(*place, law.exponent) for place, law in laws.items()] if k == K else []
        grid = (chart["g1"].values, chart["g2"].values, chart.values)
        colours = draw_complexity(axes, *grid, title=f"k = {k}", measured=points, limits=(1.0, 3.0))
    if not laws:
        for place in _correlations(data["places"]):
            maps[-1].plot(*place, "o", color="white", markeredgecolor=INK, clip_on=False)
    bar = made.colorbar(colours, ax=maps)
    bar.set_label("power of d that suffices", color=INK, fontsize=TEXT_SIZE)
    handles, labels = maps[-1].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=TEXT_SIZE, labelcolor=INK)
    if laws:
        _draw_halves(measured, halves, laws, predicted[K])
    else:
        _draw_places(measured, data, predicted[K])
    return made


def _draw_places(axes: Axes, data: Data, chart: xr.DataArray) -> None:
    found = _correlations(data["places"])
    means, errors = np.transpose([mean_and_error(values) for values in found.values()])
    measured_points(axes, [_exponent(chart, place) for place in found], means, errors, label="normalised flow")
    axes.set(xlabel="power of d on the map", ylabel="correlation with the target's field", ylim=(0, 1.05))
    mark(axes, FOUND, "found", along="y")


def _draw_halves(axes: Axes, halves: Mapping[Place, Half], laws: Mapping[Place, PowerLaw], chart: xr.DataArray) -> None:
    """The number of samples of half success against d, with the fitted power law of each place."""
    for series, (place, law) in enumerate(laws.items()):
        dims, samples, errors = halves[place]
        label = f"({place[0]:g}, {place[1]:g}): {law.exponent:.2f}, at most {_exponent(chart, place):.2g}"
        measured_points(axes, dims, samples, errors, series=series, label=label)
        theory_line(axes, dims, law.predict(dims), series=series)
    axes.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="samples for half success, n")
    ticks = max((halves[place][0] for place in laws), key=len)
    axes.set_xticks(ticks, [f"{dim:g}" for dim in ticks])
    axes.minorticks_off()
    axes.set_ylim(top=30 * max(halves[place][1].max() for place in laws))  # room for the legend
    add_legend(axes, loc="upper left", title="(g1, g2): exponent")


EXHIBIT = Exhibit(
    id="complexity-map",
    title="What a spike is worth",
    claim="The samples that suffice for the normalised flow, as a power of d, fall continuously from k to 1 as a spike "
    "grows stronger and better aligned, in three regimes that meet at g2 = g1 and g2 = 2 g1.",
    document=STRUCTURED_DATA,
    papers=("mousavi2023",),
    protocol="The map is the theorem's. Its start delta_0 is checked against the covariance itself, its order by the "
    "normalised flow on He3/sqrt(6), noise .1, from the right hemisphere, and from the paper size on its exponents as "
    "upper bounds of those of n at half success (field correlation above .9), for d = 40 to 320. The source has no "
    "experiment; places and sizes are ours.",
    caption="Colours and contours: the power of d that suffices. Points: where was measured, and in the colour of the "
    "exponent where it was; error bars are two standard errors, lines on the right fitted power laws.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("normalised_flow",),
)
