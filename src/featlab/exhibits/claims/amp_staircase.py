"""Message passing climbs a staircase: one direction first, then two more (Troiani et al. 2024, Figure 2).

y = h1^2 + sign(h1 h2 h3) shows h1 above n/d = .575. The other two are invisible until h1 is known: then they are those
of a 2-parity, with its threshold pi^2/4. No correlation with the label itself climbs this way (the grand staircase).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from featlab import exhibits as ex
from featlab.exhibits.message_passing import BIAS, END, Runs, agreement, amp_part, errors, growth, informed, located

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featlab.gaussian.hermite import Floats

TARGET, PARITY = "h1**2 + sign(h1*h2*h3)", "sign(h1*h2)"
FIRST, SECOND = 0.5752, np.pi**2 / 4
NONE, BETWEEN, ABOVE, FOUND = 0.4, 2.0, 6.0, 0.2
JUMP = 1.4002  # of q1, to 1 (`featlab.theory.bayes.thresholds`)
_EARLY = (0.4, FIRST, 0.65, 0.8, 0.95, 1.1, 1.25, 1.35, 1.4)
_LOOKS = (0, 2, 4, 6, 8, 10, 13, 16, 19, 22, 25, 28, 32, 36, 40, 45, 50, 60)
_RATIOS = (NONE, 0.6, 0.8, 1.0, 1.2, 1.35, 1.5, 1.75, BETWEEN, 2.5, 2.75, 3.0, 3.5, 4.0, 5.0, ABOVE)
_FEWER = Runs((BETWEEN, 3.5, ABOVE), 1, repeats=4, looks=_LOOKS, iterations=100)
_SIZES = {
    ex.Size.QUICK: {500: Runs((BETWEEN, ABOVE), 8, looks=_LOOKS[:-1:2], iterations=60)},
    ex.Size.PAPER: {500: Runs(_RATIOS, 72, looks=_LOOKS), 10**4: _FEWER},
    ex.Size.LARGE: {500: Runs(_RATIOS, 72, looks=_LOOKS), 10**5: _FEWER},
}
_SOURCE, _LARGER = "d500", ("d10000", "d100000")
_RANDOM, _LINE = (_SOURCE, *_LARGER), "line"
# From informed starts, beyond quick: h1 around the first threshold; h2 and h3 around the second, from the tenth
# iteration on, when h1 is known; h1 on both sides of its jump.
_INFORMED: dict[str, tuple[int, Runs]] = {
    "first": (10**6, Runs((0.5, 0.55, 0.6, 0.65), 4, repeats=4, looks=(0,), iterations=6, rule=informed(0.02))),
    "second": (10**5, Runs((2.3, 2.5, 2.7), 2, repeats=6, looks=(10,), iterations=14, rule=informed(0.6))),
    "jump": (10**5, Runs((1.35, 1.5), 1, repeats=4, looks=range(5, 40, 5), iterations=40, rule=informed(0.2))),
}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Informed starts; the source's dimension, and a larger one."""
    asked = {} if size is ex.Size.QUICK else _INFORMED
    told = {name: amp_part(TARGET, dim, runs, 46, ["overlap"]) for name, (dim, runs) in asked.items()}
    return {**told, **{f"d{dim}": amp_part(TARGET, dim, runs, 43) for dim, runs in _SIZES[size].items()}}


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

    found = {name: ex.predict_over(data[name], "ratio") for name in _INFORMED if name in data}
    for name in data.keys() - found.keys():
        ratios = data[name]["ratio"].values
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
    named = zip(("risk", "posterior_risk"), staircase_errors(first, others), strict=True)
    errors = {name: ("ratio", values) for name, values in named}
    return xr.Dataset({"overlap": (("ratio", "neuron", "direction"), overlap), **errors}, {"ratio": ratios})


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


_FIRST_GROWS, _OTHERS_GROW = growth(slice(1)), growth(slice(1, None))


def animation(view: ex.View) -> Iterator[Figure]:
    """Overlaps over the iterations of message passing well above both thresholds: first h1, then the other two."""
    from featlab.figures.panels import mark, panels
    from featlab.figures.style import SERIES, add_legend

    shown = {words: ex.Of(of, _SOURCE, {"ratio": ABOVE}) for words, of in {"h1": first, "h2 and h3": others}.items()}
    times = view.data[_SOURCE]["time"].values
    for stop in np.flatnonzero(times <= _LOOKS[-1]) + 1:
        made, (axes,) = panels(
            [f"{TARGET}, n = {ABOVE:g} d: iteration {times[stop - 1]:g}"], x="iteration", y="overlap"
        )
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
    protocol="Bayes-AMP with damping .35 from rows of norm .03 independent of the target, up to 200 iterations (100 at "
    "the larger dimension, 60 at the quick size). Overlaps are taken up to signed permutations; found means above .2. "
    "Allowed bias: .25/sqrt(d). Thresholds are where a small overlap neither grows nor falls, without damping, from "
    "starts with Q = M = .02 I for h1, and .6 I for h2 and h3, from the tenth iteration on.",
    caption="Lines are state evolution, points the mean over runs of message passing with two standard errors. "
    "Where it moves: single runs (thin) and their mean over iterations.",
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
        f"at d = {{dim}} a small overlap of h1 neither grows nor falls at n/d = {FIRST}": located(
            ex.Of(_FIRST_GROWS, "first"), FIRST
        ),
        f"at d = {{dim}} those of h2, h3 neither grow nor fall at n/d = {SECOND:.3f}, once h1 is known": located(
            ex.Of(_OTHERS_GROW, "second"), SECOND
        ),
        f"at n = {{ratio}} d, d = {{dim}}, on one side of the jump at {JUMP:.2f}, h1 goes as in state evolution": (
            ex.Close(ex.Of(first, "jump"), each="ratio", allowance=BIAS)
        ),
    },
    numbers={
        "overlap of h1, n = {ratio:g} d, d = {dim}": ex.Value(ex.Of(first, (*_RANDOM, "jump"), END), each="ratio"),
        "overlap of h2, h3, n = {ratio:g} d, d = {dim}": ex.Value(ex.Of(others, _RANDOM, END), each="ratio"),
        "growth of h1 per iteration, n = {ratio:g} d, d = {dim}": ex.Value(ex.Of(_FIRST_GROWS, "first"), each="ratio"),
        "growth of h2, h3 per iteration, n = {ratio:g} d": ex.Value(ex.Of(_OTHERS_GROW, "second"), each="ratio"),
    },
    remarks=("q1 jumps from .851 to 1 at n = 1.4001 d. From then on h2 and h3 are a 2-parity at the same n/d.",),
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
