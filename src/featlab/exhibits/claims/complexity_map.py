"""How many samples the normalised flow needs under a spike, as a map (Mousavi-Hosseini et al. 2023, arXiv:2309.03843).

theta = d^g2, <mu, beta> = d^-g1, information exponent k: n >~ d delta_0^(-2(k-1)) samples suffice, where delta_0 = d^-s
is the correlation that a random neuron starts from; s = 1/2, 1/2 - (g2 - g1), (1 - g2)/2 in three regimes that meet at
the lines g2 = g1 and g2 = 2 g1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOUND = 0.9
K = 3
PLACES = ((0.5, 0.0), (0.3, 0.4), (0.2, 0.5), (0.0, 0.9))  # (g1, g2), from the dearest to the cheapest
_DIMS = {ex.Size.QUICK: (), ex.Size.PAPER: (40, 80, 160, 320), ex.Size.LARGE: (40, 80, 160, 320, 640)}
_RATIOS = (2, 4, 8, 16, 32, 64, 128, 256)  # n / d
_TASK: dict[str, Any] = {
    "learner": "normalised-flow", "target": "He3(h1)/sqrt(6)", "noise": 0.1, "activation": "He3",
    "second_scale": 6**-0.5, "positive_start": True, "steps": 120, "times": [120], "design": "dense",
    "observe": ["field_correlation"],
}  # fmt: skip
_LEAST, _NEEDS = 3, "the paper size, d = 40 to 320"  # dimensions for an exponent
_WHERE = "(g1, g2) = ({alignment:g}, {spike:g})"
_FAR = (10**12, 10**14)  # dimensions at which delta_0 is looked at for its power, in all regimes, off the two lines
_STARTS = ((0.5, 0.2), (0.4, 0.1), (0.4, 0.6), (0.3, 0.45), (0.1, 0.5), (0.2, 0.8))
_EARLIER = {(160, PLACES[0]): 48.0, (160, PLACES[-1]): 6.0}  # n / d of half success


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The dearest and the cheapest place with n = 8 d samples; beyond quick the success over n and d at four places."""
    one = {**_TASK, "dim": 64, "samples": 8 * 64, "seeds": 32 if size is ex.Size.QUICK else 128}
    parts = {"places": ex.Part(ex.Study(one, {"alignment,spike": [PLACES[0], PLACES[-1]]}, key=52))}
    for dim in _DIMS[size]:
        fixed = {**_TASK, "dim": dim, "seeds": 4}
        axes = {"alignment,spike": PLACES, "ratio": [ratio for ratio in _RATIOS if ratio * dim <= 320 * 256]}
        parts[f"d{dim}"] = ex.Part(ex.Study(fixed, axes, {"samples": "ratio*dim"}, repeats=12, key=51 + dim))
    return parts


def theory(data: ex.Data) -> ex.Data:
    """The maps of k = 2 and 3; the power of delta_0, from the covariance itself and as the map has it."""
    import xarray as xr

    from featlab.targets import SpikeLaw
    from featlab.theory.flows.complexity import complexity_map, typical_start

    g1, g2 = np.linspace(0, 0.5, 51), np.linspace(0, 1, 101)
    maps = [
        xr.Dataset({"power": (("g2", "g1"), complexity_map(k, g1, g2).samples)}, {"g2": g2, "g1": g1}) for k in (2, K)
    ]
    starts = np.array([[typical_start(SpikeLaw(b, a).at(dim), dim) for dim in _FAR] for a, b in _STARTS])
    powers = -np.log(starts[:, 1] / starts[:, 0]) / np.log(_FAR[1] / _FAR[0])
    stated = [complexity_map(K, np.array([a]), np.array([b])).start.item() for a, b in _STARTS]
    start = xr.Dataset({"power": ("place", powers), "stated": ("place", stated)})
    return {"k = 2": maps[0], "k = 3": maps[1], "start": start}


def correlation(data: ex.Dataset) -> ex.Array:
    """Of the neuron with the target's field, at the end."""
    return abs(data["field_correlation"]).isel(neuron=0, direction=0, time=-1)


def _power(view: ex.View, place: tuple[float, float]) -> float:
    """What suffices, on the map."""
    return float(view.theory[f"k = {K}"]["power"].sel(g1=place[0], g2=place[1], method="nearest"))


def _halves(view: ex.View) -> dict[tuple[float, float], np.ndarray]:
    """Of each place dimensions, numbers of samples at which half of the runs succeed, and their errors; where there is
    such a number."""
    from featlab.gaussian.crossings import crossing_with_error

    def half(study: str, at: int) -> tuple[float, float, float]:
        success = view.measured(ex.Of(correlation, study, {"alignment_spike": at})) > FOUND
        dim = view.data[study]["dim"].item()
        return dim, *crossing_with_error(success["ratio"].values * dim, success.values, 0.5)

    rows = {place: [half(name, at) for name in view.data if name != "places"] for at, place in enumerate(PLACES)}
    seen = {place: [row for row in found if np.isfinite(row[2]) and row[2] > 0] for place, found in rows.items()}
    return {place: np.array(found, float).reshape(-1, 3).T for place, found in seen.items()}


def _laws(view: ex.View) -> dict[tuple[float, float], tuple[np.ndarray, Any]]:
    """Of each place where there are enough dimensions, half success and the power law through it."""
    from featlab.gaussian.powerlaw import fit_power_law

    found = _halves(view).items()
    return {place: (half, fit_power_law(*half)) for place, half in found if half.shape[1] >= _LEAST}


def _bounds(view: ex.View, statement: str) -> list[ex.Check]:
    """With several dimensions, the map's exponents are bounds of the measured ones."""
    from featlab.exhibits.checks import exponent_at_most

    checks = []
    for place, (dims, samples, errors) in _halves(view).items():
        bound = _power(view, place)
        words = statement.format(alignment=place[0], spike=place[1], bound=bound)
        detail = f"half success was measured at {dims.size} dimensions, of which {_LEAST} are needed."
        check = ex.Check(words, ex.CheckResult.CANNOT_TELL, detail, "the bound 0.5", False, needs=_NEEDS)
        enough = dims.size >= _LEAST
        checks.append(exponent_at_most(words, dims, samples, errors, bound, wrong=0.5) if enough else check)
    return checks


def _half_successes(view: ex.View, name: str) -> list[ex.Number]:
    """At each place the exponent, and n / d at each dimension."""
    numbers = []
    for place, (half, law) in _laws(view).items():
        where = _WHERE.format(alignment=place[0], spike=place[1])
        bound, fitted = _power(view, place), (law.exponent, law.exponent_error)
        numbers.append(ex.Number(f"exponent of n, {where}, at most", bound, *fitted))
        for dim, samples, error in half.T.tolist():
            words, earlier = name.format(dim=dim, where=where), _EARLIER.get((dim, place))
            numbers.append(ex.Number(words, None, samples / dim, error / dim, earlier))
    return numbers


def figure(view: ex.View) -> Figure:
    """The maps of k = 2 and 3, and what was measured for k = 3."""
    from featlab.figures.complexity import MeasuredExponent, draw_complexity
    from featlab.figures.panels import panels
    from featlab.figures.style import INK, TEXT_SIZE

    laws = _laws(view)
    made, (*maps, measured) = panels(["", "", "k = 3: half success" if laws else "k = 3, d = 64, n = 8 d"])
    for axes, k in zip(maps, (2, K), strict=True):
        chart = view.theory[f"k = {k}"]["power"]
        points = [MeasuredExponent(*place, law.exponent) for place, (_, law) in laws.items()] if k == K else []
        grid = (chart["g1"].values, chart["g2"].values, chart.values)
        colours = draw_complexity(axes, *grid, title=f"k = {k}", measured=points, limits=(1.0, 3.0))
    bar = made.colorbar(colours, ax=maps)
    bar.set_label("power of d that suffices", color=INK, fontsize=TEXT_SIZE)
    if laws:
        _draw_halves(measured, view, laws)
    else:
        _draw_places(measured, maps[-1], view)
    handles, labels = maps[-1].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=TEXT_SIZE, labelcolor=INK)
    return made


def _draw_places(axes: Axes, chart: Axes, view: ex.View) -> None:
    from featlab.figures.panels import mark, measured_points
    from featlab.figures.style import INK

    for at, place in enumerate((PLACES[0], PLACES[-1])):
        chart.plot(*place, "o", color="white", markeredgecolor=INK, clip_on=False)
        mean, error = ex.mean_and_error(view.measured(ex.Of(correlation, "places", {"alignment_spike": at})).values)
        measured_points(axes, [_power(view, place)], [mean], [error])
    axes.set(xlabel="power of d on the map", ylabel="correlation with the target's field", ylim=(0, 1.05))
    mark(axes, FOUND, "found", along="y")


def _draw_halves(axes: Axes, view: ex.View, laws: Mapping[tuple[float, float], tuple[np.ndarray, Any]]) -> None:
    """The number of samples of half success against d, with the fitted power law of each place."""
    from featlab.figures.panels import measured_points, theory_line
    from featlab.figures.style import add_legend

    for series, (place, (half, law)) in enumerate(laws.items()):
        label = f"({place[0]:g}, {place[1]:g}): {law.exponent:.2f}, at most {_power(view, place):.2g}"
        measured_points(axes, *half, series=series, label=label)
        theory_line(axes, half[0], law.predict(half[0]), series=series)
    axes.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="samples for half success, n")
    axes.set_ylim(top=30 * max(half[1].max() for half, _ in laws.values()))  # room for the legend
    ticks = max((half[0] for half, _ in laws.values()), key=len)
    axes.set_xticks(ticks, [f"{dim:g}" for dim in ticks])
    axes.minorticks_off()
    add_legend(axes, loc="upper left", title="(g1, g2): exponent")


EXHIBIT = ex.Exhibit(
    id="complexity-map",
    title="What a spike is worth",
    claim="The samples that suffice for the normalised flow, as a power of d, fall continuously from k to 1 as a spike "
    "grows stronger and better aligned, in three regimes that meet at g2 = g1 and g2 = 2 g1.",
    document=ex.STRUCTURED_DATA,
    papers=("mousavi2023",),
    protocol="The map is the theorem's. Its start delta_0 is checked against the covariance itself, its order by the "
    "normalised flow on He3/sqrt(6), noise .1, from the right hemisphere, and from the paper size on its exponents as "
    "upper bounds of those of n at half success (field correlation above .9), for d = 40 to 320. The source has no "
    "experiment; places and sizes are ours.",
    caption="Colours and contours: the power of d that suffices. Points: where was measured, and in the colour of the "
    "exponent where it was; error bars are two standard errors, lines on the right fitted power laws.",
    studies=studies,
    theory=theory,
    checks={
        "delta_0 = d^-s in all three regimes, d from 10^12 to 10^14": ex.Identity(
            lambda view, at: float(abs(view.theory["start"]["power"] - view.theory["start"]["stated"]).max()),
            0.02,
            control="s = 1/2 everywhere, as without a spike",
            control_difference=lambda view, at: float(abs(view.theory["start"]["power"] - 0.5).max()),
        ),
        "He3, d = {dim}, n = 8 d: cheaper on the map is easier": ex.Ordered(
            ex.Of(correlation, "places", words=_WHERE), along="alignment_spike"
        ),
        _WHERE + ": half of the runs succeed with n = O(d^{bound:.2g}) samples": _bounds,
    },
    numbers={
        "correlation at n = 8 d, d = {dim}, " + _WHERE: ex.Value(
            ex.Of(correlation, "places"), False, each="alignment_spike"
        ),
        "n / d of half success, d = {dim:g}, {where}": _half_successes,
    },
    remarks="The theorem says what suffices; exponents below the map's do not contradict it.",
    figure=figure,
    shows=("normalised_flow",),
)
