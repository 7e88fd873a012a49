"""Message passing climbs a staircase: one direction first, then two more (Troiani et al. 2024, Figure 2).

y = h1^2 + sign(h1 h2 h3) shows h1 above n/d = .575. The other two are invisible until h1 is known: then they are those
of a 2-parity, with its threshold pi^2/4. No correlation with the label itself climbs this way (the grand staircase).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from featlab import exhibits as ex
from featlab.exhibits.message_passing import END, Runs, agreement, amp_part, errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featlab.gaussian.hermite import Floats

TARGET, PARITY = "h1**2 + sign(h1*h2*h3)", "sign(h1*h2)"
FIRST, SECOND = 0.5752, np.pi**2 / 4
NONE, BETWEEN, ABOVE = 0.4, 2.0, 6.0
# Where q1 jumps to 1 (`featlab.theory.bayes.thresholds`), and ratios before it.
JUMP = 1.4002
_EARLY = (0.4, FIRST, 0.65, 0.8, 0.95, 1.1, 1.25, 1.35, 1.4)
_EARLIER = {1.25: 0.533, 1.4: 0.808}
FOUND = 0.2
_LOOKS = (0, 2, 4, 6, 8, 10, 13, 16, 19, 22, 25, 28, 32, 36, 40, 45, 50, 60)
_RATIOS = (NONE, 0.6, 0.8, 1.0, 1.2, 1.35, 1.5, 1.75, BETWEEN, 2.5, 2.75, 3.0, 3.5, 4.0, 5.0, ABOVE)
_FEWER = Runs((BETWEEN, 3.5, ABOVE), 1, repeats=6, looks=_LOOKS, iterations=150)
_SIZES = {
    ex.Size.QUICK: {500: Runs((BETWEEN, ABOVE), 8, looks=_LOOKS[:-1:2], iterations=60)},
    ex.Size.PAPER: {500: Runs(_RATIOS, 72, looks=_LOOKS), 10**4: _FEWER},
    ex.Size.LARGE: {500: Runs(_RATIOS, 72, looks=_LOOKS), 10**5: _FEWER},
}
_SOURCE, _LARGER = "d500", ("d10000", "d100000")
_LINE = "line"


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The source's dimension, and a larger one."""
    return {f"d{dim}": amp_part(TARGET, dim, runs, key=43) for dim, runs in _SIZES[size].items()}


def staircase_errors(first: Floats, others: Floats) -> tuple[Floats, Floats]:
    """E[(y - yhat)^2] of yhat = g(omega) and of yhat = E[y | omega], at the overlap Q = diag(q1, q2, q2).

    The square and the sign do not correlate, by their parities; E[(z^2 - omega^2)^2] = 3 - 2q - q^2 and
    E[Var(z^2 | omega)] = 2 - 2q^2, and for the sign as in the 2-parity, (2/pi) asin(sqrt q) or asin(q) each.
    """
    guessed = np.arcsin(np.sqrt(first)) * np.arcsin(np.sqrt(others)) ** 2 * (2 / np.pi) ** 3
    known = np.arcsin(first) * np.arcsin(others) ** 2 * (2 / np.pi) ** 3
    return 3 - 2 * first - first**2 + 2 - 2 * guessed, 2 - 2 * first**2 + 1 - known


def theory(data: ex.Data) -> ex.Data:
    """State evolution at the measured ratios, and along lines: once h1 is known the others follow the 2-parity."""
    from featlab.theory.bayes.state_evolution import overlap_curve

    found = {}
    for name, part in data.items():
        ratios = part["ratio"].values
        found[name] = _evolved(ratios, *overlap_curve(TARGET, ratios.tolist()).diagonal[:, :2].T)
    early, late = np.array(_EARLY), np.linspace(JUMP, 6.0, 91)
    first = overlap_curve(TARGET, early.tolist()).diagonal[:, 0]
    others = overlap_curve(PARITY, late.tolist()).diagonal[:, 0]
    line = (np.append(early, late), np.append(first, np.ones(late.size)), np.append(0 * early, others))
    return {**found, _LINE: _evolved(*line)}


def _evolved(ratios: Floats, first: Floats, others: Floats) -> ex.Dataset:
    """Overlaps and errors as message passing has them."""
    import xarray as xr

    overlap = np.stack([first, others, others], axis=-1)[..., None] * np.eye(3)
    risk, posterior = staircase_errors(first, others)
    axes = ("ratio", "neuron", "direction")
    named = {"overlap": (axes, overlap), "risk": ("ratio", risk), "posterior_risk": ("ratio", posterior)}
    return xr.Dataset(named, {"ratio": ratios})


def first(data: ex.Dataset) -> ex.Array:
    """The overlap of h1."""
    return ex.matched_overlap(data).isel(direction=0)


def others(data: ex.Dataset) -> ex.Array:
    """The mean over h2 and h3."""
    return ex.matched_overlap(data).isel(direction=slice(1, None)).mean("direction")


def both(data: ex.Dataset) -> ex.Array:
    """That of h1, and that of the other two."""
    import xarray as xr

    return xr.concat([first(data), others(data)], "stair", coords="minimal", compat="override").transpose(..., "stair")


def _at(quantity: ex.Reading, ratio: float, words: str) -> ex.Of:
    return ex.Of(quantity, _SOURCE, {**END, "ratio": ratio}, words)


def _before_the_jump(view: ex.View, name: str) -> list[ex.Number]:
    q1 = first(view.theory[_LINE])
    return [ex.Number(name.format(ratio=at), q1.sel(ratio=at).item(), earlier=old) for at, old in _EARLIER.items()]


def animation(view: ex.View) -> Iterator[Figure]:
    """Overlaps over the iterations of message passing well above both thresholds: first h1, then the other two."""
    from featlab.figures.panels import mark, panels
    from featlab.figures.style import SERIES, add_legend

    shown = {words: ex.Of(of, _SOURCE, {"ratio": ABOVE}) for words, of in {"h1": first, "h2 and h3": others}.items()}
    times = view.data[_SOURCE]["time"].values
    for stop in np.flatnonzero(times <= _LOOKS[-1]) + 1:
        title = f"y = h1^2 + sign(h1 h2 h3), n = {ABOVE:g} d: iteration {times[stop - 1]:g}"
        made, (axes,) = panels([title], x="iteration of message passing", y="overlap")
        for colour, (words, of) in zip(SERIES, shown.items(), strict=False):
            paths = view.measured(of).values[:, :stop]
            axes.plot(times[:stop], paths.T, color=colour, linewidth=0.8, alpha=0.5)
            axes.plot(times[:stop], paths.mean(axis=0), color=colour, linewidth=2.2, label=words)
            mark(axes, view.predicted(of).item(), f"{words}: limit of large d", along="y")
        axes.set(xlim=(0, _LOOKS[-1]), ylim=(0, 1.15))
        add_legend(axes, loc="center right")
        yield made


def _overlay(of: ex.Reading, study: ex.Studies, points: str, series: int, line: str | None = None) -> ex.Overlay:
    return ex.Overlay(ex.Of(of, study, END, theory=_LINE), "ratio", line, points, series=series)


_OTHERS = "the other two"
_MARKS = (ex.Mark(FIRST, r"$\alpha_1 = 0.575$"), ex.Mark(SECOND, r"$\alpha_2 = \pi^2/4$"))

EXHIBIT = ex.Exhibit(
    id="amp-staircase",
    title="Message passing climbs a staircase",
    claim="For y = h1^2 + sign(h1 h2 h3) message passing finds h1 above n = .575 d, and h2 and h3 only above "
    "(pi^2/4) d, once h1 is known.",
    document=ex.MULTI_INDEX,
    papers=("troiani2024",),
    protocol="Bayes-AMP with damping .35 from rows of norm .03 independent of the target, up to 200 iterations (150 at "
    "the larger dimension, 60 at the quick size). Overlaps are taken up to signed permutations; found means above .2. "
    "Allowed bias: .25/sqrt(d).",
    caption="Lines are state evolution, points the mean over runs of message passing with two standard errors. The "
    "animation shows single runs (thin) and their mean over iterations.",
    studies=studies,
    theory=theory,
    checks={
        f"from {BETWEEN:g} d samples, between the thresholds {FIRST} and {SECOND:.3f}, h1 is found (overlap above "
        f"{FOUND}) and h2, h3 are not": ex.Contrast(
            _at(first, BETWEEN, "the first direction"), _at(others, BETWEEN, _OTHERS), beyond=FOUND
        ),
        f"h2 and h3 are found from {ABOVE:g} d samples": ex.Contrast(
            _at(others, ABOVE, f"{_OTHERS}, n = {{ratio:g}} d,"),
            _at(others, BETWEEN, f"{_OTHERS}, n = {{ratio:g}} d,"),
            beyond=FOUND,
        ),
        **agreement(both, _SOURCE, ABOVE),
        **agreement(both, _LARGER, BETWEEN),
    },
    numbers={
        "overlap of h1, n = {ratio:g} d, d = {dim}": ex.Value(ex.Of(first, where=END), each="ratio"),
        "overlap of h2, h3, n = {ratio:g} d, d = {dim}": ex.Value(ex.Of(others, where=END), each="ratio"),
        "q1 of state evolution, n = {ratio:g} d": _before_the_jump,
    },
    remarks=(
        "An earlier state evolution by Monte Carlo gave other q1 at n = 1.25 d and 1.4 d; here it is by quadrature.",
        "q1 jumps from .851 to 1 at n = 1.4001 d.",
        "Once h1 is known exactly, h2 and h3 have the overlaps of a 2-parity at the same n/d.",
        "At d = 500 both transitions are rounded, so agreement there is only asked well above them.",
    ),
    figure={
        "y = h1^2 + sign(h1 h2 h3): overlaps": ex.Panel(
            _overlay(first, _SOURCE, "h1, d = {dim:,}", 0, "h1, theory"),
            _overlay(others, _SOURCE, "h2, h3, d = {dim:,}", 1, "h2, h3, theory"),
            _overlay(first, _LARGER, "h1, d = {dim:,}", 2),
            _overlay(others, _LARGER, "h2, h3, d = {dim:,}", 3),
            *_MARKS,
            y="overlap",
            legend="lower right",
            ylim=(0, 1.35),
        ),
        "errors on fresh samples": errors(*_MARKS, top=6.5, theory=_LINE),
    },
    animation=animation,
    shows=("critical_ratio", "grand_staircase", "amp"),
)
