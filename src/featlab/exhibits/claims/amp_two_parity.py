"""The weak-recovery transition of message passing on a parity of two directions (Troiani et al. 2024, Figure 1).

y = sign(h1 h2) says nothing of h1 and h2 on average, E[h | y] = 0, and Bayes-AMP, the best first-order method, finds
nothing below n/d = pi^2/4. Above, its overlap follows state evolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from featlab import exhibits as ex
from featlab.exhibits.message_passing import BIAS, END, Runs, agreement, amp_part, errors

TARGET = "sign(h1*h2)"
CRITICAL = np.pi**2 / 4
BELOW, NEAR, ABOVE = 2.0, 3.0, 5.0
FOUND = 0.2
_RATIOS = (1.0, 1.5, BELOW, 2.25, 2.5, 2.75, NEAR, 3.25, 3.5, 4.0, 4.5, ABOVE, 6.0, 7.0, 8.0)
_FEWER = Runs((BELOW, NEAR, 3.5, 4.0, ABOVE, 7.0), 1, repeats=12)
_SIZES = {
    ex.Size.QUICK: {500: Runs((BELOW, 7.0), 8, iterations=80)},
    ex.Size.PAPER: {500: Runs(_RATIOS, 72), 10**4: _FEWER},
    ex.Size.LARGE: {500: Runs(_RATIOS, 72), 10**5: _FEWER},
}
_EARLIER = {(500, NEAR): 0.13, (500, 4.0): 0.57, (500, ABOVE): 0.81, (500, 7.0): 0.924}
_SOURCE, _LARGER = "d500", ("d10000", "d100000")


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The source's dimension, and a larger one."""
    return {f"d{dim}": amp_part(TARGET, dim, runs, key=41) for dim, runs in _SIZES[size].items()}


def theory(data: ex.Data) -> ex.Data:
    """Where state evolution ends, on a fine grid of ratios n/d."""
    import xarray as xr

    from featlab.theory.bayes.state_evolution import overlap_curve

    ratios = np.union1d(np.linspace(1.0, 8.0, 141), _RATIOS)
    overlaps = overlap_curve(TARGET, ratios.tolist()).overlaps
    plug_in, posterior = parity_errors(overlaps[:, 0, 0])
    curve = xr.Dataset(
        {
            "overlap": (("ratio", "neuron", "direction"), overlaps),
            "risk": ("ratio", plug_in),
            "posterior_risk": ("ratio", posterior),
        },
        {"ratio": ratios},
    )
    return dict.fromkeys(data, curve)


def parity_errors(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[(y - yhat)^2] of yhat = sign(omega1 omega2) and of yhat = E[y | omega], at the overlap Q = q I.

    By Sheppard's formula E[sign(z) sign(omega)] = (2/pi) asin sqrt q and E[erf(omega / sqrt(2 - 2q))^2] = (2/pi) asin
    q, the two directions being independent.
    """
    return 2 - 2 * (2 / np.pi * np.arcsin(np.sqrt(q))) ** 2, 1 - (2 / np.pi * np.arcsin(q)) ** 2


def overlap(data: ex.Dataset) -> ex.Array:
    """The mean over both directions."""
    return ex.matched_overlap(data).mean("direction")


def _at(ratio: float, study: ex.Studies = _SOURCE, words: str = "n = {ratio:g} d") -> ex.Of:
    return ex.Of(overlap, study, {**END, "ratio": ratio}, words)


def _transition(view: ex.View, statement: str) -> list[ex.Check]:
    """Found at the first ratio above the transition, and not below it."""
    above = min(at for at in view.data[_SOURCE]["ratio"].values.tolist() if at >= ABOVE)
    words = statement.format(found=FOUND, above=above, below=BELOW, critical=CRITICAL)
    return ex.Contrast(_at(above), _at(BELOW), beyond=FOUND).judge(view, words)


def _near(view: ex.View, statement: str) -> list[ex.Check]:
    """Near the transition even a large dimension may be off its limit; but then less than half as much as 500."""
    found = []
    for name in view.studies(_LARGER):
        (check,) = ex.Close(_at(NEAR, name), allowance=BIAS).judge(view, statement)
        both = (_at(NEAR), _at(NEAR, name))
        small, large = (abs(float((view.measured(of) - view.predicted(of)).mean())) for of in both)
        if check.result is ex.CheckResult.FAILS and large < 0.5 * small:
            needs = f"a larger dimension: the distance from the limit falls from {small:.3f} at d = 500 to {large:.3f}"
            check = replace(check, result=ex.CheckResult.CONVERGES, needs=needs)
        found.append(check)
    return found


_CRITICAL = ex.Mark(CRITICAL, r"$\alpha_c = \pi^2/4$")

EXHIBIT = ex.Exhibit(
    id="amp-two-parity",
    title="Message passing on the 2-parity",
    claim="For y = sign(h1 h2) message passing finds nothing below n = (pi^2/4) d samples; above, its overlap is that "
    "of state evolution.",
    document=ex.MULTI_INDEX,
    papers=("troiani2024",),
    protocol="Bayes-AMP with damping .35 and at most 200 iterations, as in the source; it starts from rows of norm .03 "
    "independent of the target (the source: of norm 1, from which more runs get stuck). Overlaps are taken up to "
    "signed permutations. Found means an overlap above .2. Allowed bias: .25/sqrt(d).",
    caption="Lines are state evolution, points the mean over runs of message passing with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "both directions are found (overlap above {found}) from {above:g} d samples and not from {below:g} d: the "
        "transition at pi^2/4 = {critical:.3f} lies between": _transition,
        **agreement(overlap, _SOURCE, ABOVE),
        **agreement(overlap, _LARGER, 3.5),
        f"at n = {NEAR:g} d, d = {{dim}}, near the transition, the overlap is that of state evolution": _near,
        f"at n = {NEAR:g} d the overlap is larger at the larger dimension": ex.Ordered(
            [_at(NEAR, _SOURCE, "d = {dim}"), _at(NEAR, _LARGER, "d = {dim}")]
        ),
    },
    numbers={
        "overlap at n = {ratio:g} d, d = {dim}": ex.Value(
            ex.Of(overlap, where=END), each="ratio", earlier=_EARLIER, by=("dim", "ratio")
        )
    },
    remarks=(
        "The source shows half the squared error; here errors are E[(y - yhat)^2].",
        (
            "At d = 500 the transition is rounded: up to about n = 4 d some runs are slow, and agreement is only asked "
            "above."
        ),
        "Overlaps up to signed permutations are positive by chance, too: about 1/sqrt(d) where nothing is found.",
    ),
    figure={
        "y = sign(h1 h2): overlap": ex.Panel(
            ex.Overlay(ex.Of(overlap, _SOURCE, END), "ratio", line="state evolution", points=None),
            ex.Overlay(ex.Of(overlap, where=END), "ratio", line=None, points="AMP, d = {dim:,}"),
            _CRITICAL,
            y="overlap with each direction, q",
            legend="lower right",
            ylim=(0, 1.05),
        ),
        "errors on fresh samples": errors(_CRITICAL, top=2.5),
    },
    shows=("critical_ratio", "amp"),
)
