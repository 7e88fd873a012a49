"""What a diagnosis says, section by section, for whatever shows it: the screen and the page only lay it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from featlab.analysis import Verdict
from featlab.diagnosis.angles import CANNOT_TELL
from featlab.diagnosis.curves import FEATURES, KERNEL, SPLIT
from featlab.reports.diagnosis_advice import ends_early, too_heavy
from featlab.reports.verdict_sentence import verdict_sentence

if TYPE_CHECKING:
    from featlab.diagnosis import Findings
    from featlab.diagnosis.curves import Curve
    from featlab.diagnosis.orders import Coefficient, Exponent

_LOADINGS = 5
_COLUMNS = 8


@dataclass(frozen=True)
class Section:
    """Sentences, and a table if it has rows."""

    title: str
    sentences: tuple[str, ...]
    caption: str = ""
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def heading(found: Findings) -> str:
    """The data in one line."""
    rows, columns = found.inputs.samples, len(found.inputs.columns)
    return f"{found.table.label!r} from {_columns(columns)}, {rows:,} rows (n/d = {found.ratio:.3g})"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count:,} columns"


def sections(found: Findings) -> tuple[Section, ...]:
    """All of them, in the order in which a reader asks."""
    return (_inputs(found), _directions(found), _orders(found), _enough(found))


def _inputs(found: Findings) -> Section:
    inputs, table = found.inputs, found.table
    said = [f"{table.given_rows:,} rows of {_columns(table.given_columns)}; missing values: {table.missing:,}."]
    discrete = sum(one.discrete for one in inputs.columns)
    ranked = [one.name for one in inputs.columns if one.ranked]
    said.append(
        f"{discrete:,} of the columns used are discrete. Distance of columns from N(0, 1), of distribution functions: "
        f"{_median(one.distance for one in inputs.columns):.2g} in the median when standardised, "
        f"{_median(one.rank_distance for one in inputs.columns):.2g} as normal scores."
    )
    if ranked:
        said.append(
            f"Normal scores take the place of {len(ranked):,} columns of heavy tails: {_some(ranked)}. Directions are "
            "sums of these; a label of sums of the columns as they are shows more of them than it has, at larger "
            "angles than are told."
        )
    said.append(
        f"Coordinates are {inputs.frame}; the square of their norm varies {inputs.norm_spread:.2g} times as much as "
        "for Gaussian inputs."
    )
    if not inputs.gaussian:
        said.append(
            "They are not Gaussian: that there is any direction holds all the same; their number, orders and "
            "thresholds are those of Gaussian inputs, and here a guide only."
        )
    spectrum = inputs.spectrum
    spikes = ", ".join(f"{value:.3g}" for value in spectrum.eigenvalues[: min(spectrum.spikes, 5)])
    said.append(
        f"Eigenvalues of the correlations above {spectrum.edge:.3g}, where independent columns would end: "
        f"{spectrum.spikes}{f' ({spikes})' if spikes else ''}; the others are {spectrum.distance:.2g} from the law of "
        "Marchenko and Pastur."
    )
    worst = sorted(inputs.columns, key=lambda one: -one.distance)[:_COLUMNS]
    rows = tuple(
        (one.name, str(one.values), f"{one.skewness:.2g}", f"{one.kurtosis:.2g}", f"{one.distance:.2g}")
        for one in worst
    )
    headers = ("column", "values", "skewness", "kurtosis - 3", "distance")
    return Section("Inputs", tuple(said), "The columns farthest from Gaussian", headers, rows)


def _directions(found: Findings) -> Section:
    directions, search = found.directions, found.directions.search
    tested = f"{search.permutations} permutations, family-wise level 5%"
    if search.tested_rows < directions.searched_rows:
        tested += f"; the second order on {search.tested_rows:,} of these rows"
    if directions.searched_rows < found.inputs.samples:
        tested = f"looked for in {directions.searched_rows:,} rows drawn at random, to bound the time; {tested}"
    missed = "" if search.next_p_value is None else f"; the next has p = {search.next_p_value:.2g}"
    if not directions.count:
        return Section("Directions", (f"None that noise would not show ({tested}){missed}.",))
    said = [f"{directions.count} that noise would not show ({tested}){missed}."]
    if search.next_p_value is None:
        said.append("No more were looked for.")
    if found.inputs.frame == "standardised":
        said.append(
            "With fewer samples than twice the columns these are not freed from correlations between columns: they "
            "show what the label goes with, not what it depends on."
        )
    rows = []
    for place, (loading, step) in enumerate(zip(directions.loadings, search.steps, strict=True)):
        most = np.argsort(-np.abs(loading))[:_LOADINGS]
        words = ", ".join(f"{loading[column]:+.2f} {found.table.columns[column]}" for column in most)
        rows.append((f"{place + 1}", f"{step.order}", f"{step.p_value:.2g}", _angle(*directions.angles[place]), words))
    headers = ("direction", "order", "p", "angle", "loadings on standardised columns")
    caption = (
        "Found at which order; angle in degrees to the span of the true directions, by a bootstrap: median, and lower "
        "and upper bound that hold with 95% each"
    )
    return Section("Directions", tuple(said), caption, headers, tuple(rows))


def _angle(median: float, low: float, high: float) -> str:
    return f"{median:.2g} ({low:.2g} to {high:.2g})" if high < CANNOT_TELL else "cannot tell"


def _orders(found: Findings) -> Section:
    orders = found.orders
    if orders is None:
        words = (
            f"Cannot tell below order 3 from n = {found.inputs.samples:,} (n/d = {found.ratio:.3g}): neither the first "
            "nor the second order of the label, or of functions of it, shows a direction. The label may be noise, the "
            "signal too weak for these samples, or its generative exponent 3 or more."
        )
        return Section("Orders", (words,))
    measured = (
        f"Measured on {orders.rows:,} rows, along directions that the other half has found. An order that is seen "
        "along these is there in truth; for a cosine m with a single true direction, order k is m^k times as large."
    )
    said = [
        f"Information exponent: {_exponent(orders.information, orders.rows)}",
        f"Generative exponent: {_exponent(orders.generative, orders.rows)}",
        measured,
        "Intervals hold with 95% for all orders of the label at once, and for all of its functions.",
    ]
    if not any(isfinite(one.half_width) for one in orders.of_label):
        said.append("The picture has no band: of the label itself nothing can be told.")
    rows = tuple(_order_rows(orders.of_label, orders.of_functions))
    headers = ("He orders", "of the label", "of functions of it, largest")
    return Section(
        "Orders",
        tuple(said),
        "Coefficients of normalised Hermite polynomials; * where zero is not in the interval",
        headers,
        rows,
    )


def _order_rows(of_label: Sequence[Coefficient], of_functions: Sequence[Coefficient]) -> Iterator[tuple[str, ...]]:
    """Those that are seen, and the pure orders up to three."""
    for one in of_label:
        largest = max(
            (other for other in of_functions if other.degrees == one.degrees), key=lambda other: abs(other.value)
        )
        pure = sum(order > 0 for order in one.degrees) == 1 and one.order <= 3
        if pure or one.visible or largest.visible:
            name = " ".join(f"He{order}(h{place + 1})" for place, order in enumerate(one.degrees) if order)
            yield name, _interval(one), _interval(largest)


def _interval(one: Coefficient) -> str:
    if not isfinite(one.half_width):
        return "cannot tell"
    return f"{one.value:+.3f} +- {one.half_width:.3f}" + (" *" if one.visible else "")


def _exponent(one: Exponent, rows: int) -> str:
    if not isfinite(one.hidden):
        return f"cannot tell, the label has too heavy tails or too rare values for {rows:,} rows."
    if one.value is None:
        return (
            f"cannot tell below order {one.searched + 1} from {rows:,} rows held out; coefficients up to "
            f"{one.hidden:.2g} would not be seen."
        )
    if one.value == 1:
        return "1."
    return (
        f"{one.value}, as far as {rows:,} rows held out tell: lower orders with coefficients up to {one.hidden:.2g} "
        "would not be seen."
    )


def _enough(found: Findings) -> Section:
    said = [_threshold(found)]
    rows = []
    for curve in found.curves:
        cells = [f"{_error(mean)} +- {_error(error)}" for mean, error in zip(curve.mean, curve.error, strict=True)]
        rows.append((curve.kind, *cells))
        if curve.theory is not None:
            rows.append((f"{curve.kind}, theory", *map(_error, curve.theory)))
    if not found.curves:
        return Section("Is n enough?", tuple(said))
    said += _of_theory(found.curves)
    if not found.curves[0].tails_shown:
        said.append(f"Errors below rest on a few rows: {too_heavy(found)}.")
    if ends_early(found):
        said.append(f"Learning curves end at {found.curves[0].sizes[-1]:,} samples, to bound the time.")
    sizes = tuple(f"n = {size:,}" for size in found.curves[0].sizes)
    caption = "Error on held-out rows over the variance of the label, with one standard error over the splits"
    return Section("Is n enough?", tuple(said), caption, ("estimator", *sizes), tuple(rows))


def _of_theory(curves: Sequence[Curve]) -> list[str]:
    """Which network theory speaks of, and why it does not of others."""
    said = ["Split feature learning is the same network with half of the samples kept for its second layer."]
    if any(curve.kind == SPLIT and curve.theory is not None for curve in curves):
        said[0] += (
            " Its theory: the first layer is drawn, as such a step makes it on inputs N(0, I) with the fitted link; "
            "for the second there is the deterministic equivalent of ridge regression on samples new to the first."
        )
    if any(curve.kind in (KERNEL, FEATURES) and curve.theory is not None for curve in curves):
        said.append(
            "Theory of the kernel and of random features is of the fitted link: what is not seen of the label counts "
            "as noise, and errors may be smaller."
        )
    reasons: dict[str, list[str]] = {}
    for curve in curves:
        if curve.theory is None:
            reasons.setdefault(curve.without, []).append(curve.kind)
    for reason, kinds in reasons.items():
        listed = f"{', '.join(kinds[:-1])} and {kinds[-1]}" if len(kinds) > 1 else kinds[0]
        said.append(f"No theory of {listed}: {reason}.")
    return said


def _threshold(found: Findings) -> str:
    analysis, orders = found.analysis, found.orders
    if analysis is None or orders is None:
        return f"There is no threshold to hold n/d = {found.ratio:.3g} against: {found.unanalysed}."
    link = f"The fitted link, {orders.text} with noise of variance {orders.noise:.3g} on a label of variance 1, is"
    if analysis.verdict is Verdict.EASY and analysis.alpha_c:
        times = found.ratio / analysis.alpha_c
        enough = f"n/d = {found.ratio:.3g} is {_number(times)} times that"
        return f"{link} EASY: its first directions can be found from n/d = {analysis.alpha_c:.3g} on; {enough}."
    return f"{link} {verdict_sentence(analysis)} Here n/d = {found.ratio:.3g}."


def _error(value: float) -> str:
    """Kernels may be far off at a point where a column that hardly varied among the samples has another value."""
    return f"{value:.3f}" if value < 100 else f"{value:.2g}"


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def _median(values: Iterator[float]) -> float:
    return float(np.median(list(values)))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LOADINGS:,} more" if len(names) > _LOADINGS else ""
    return ", ".join(names[:_LOADINGS]) + more
