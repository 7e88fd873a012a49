"""What theory says of data that are given: inputs, directions, orders, and whether there are enough samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from featlab.analysis import Analysis, analyse
from featlab.analysis.budget import Tell
from featlab.diagnosis.angles import CANNOT_TELL, bootstrap_angles
from featlab.diagnosis.curves import Curve, learning_curves
from featlab.diagnosis.inputs import Inputs, describe_columns, norm_spread, prepare
from featlab.diagnosis.orders import Orders, describe_orders, held_out
from featlab.diagnosis.reading import Table, read_file, table_of
from featlab.diagnosis.responses import all_responses
from featlab.diagnosis.search import Search, search
from featlab.errors import InvalidParameter, InvalidTarget
from featlab.gaussian.hermite import Floats
from featlab.targets import target

_SEARCHED, _SEARCHED_ROWS = 10_000_000, 50_000  # numbers of inputs, and rows, in which directions are looked for
_ANALYSIS_SECONDS = 15.0
_MOST_ANALYSED = 3
_STREAMS = ("search", "angles", "splits")  # of random numbers; rows are put in random order before


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions found.

    Attributes:
        loadings: (k, d) unit rows, on standardised columns.
        angles: of each, to the span of the true ones, in degrees, by a bootstrap (k, 3): median, and a lower and an
            upper bound that hold with 95% each; 90, 0 and 90 where nothing can be told.
        search: orders, p-values, numbers of permutations.
        searched_rows: on how many rows, drawn at random, all this was done.
    """

    loadings: Floats
    angles: Floats
    search: Search
    searched_rows: int

    @property
    def count(self) -> int:
        return len(self.loadings)


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that `diagnose` has found.

    Attributes:
        table: the data as they were looked at; its inputs are standardised.
        orders: None if there is no direction.
        analysis: of the fitted link, None if there is none that can be analysed; `unanalysed` says why.
        curves: learning curves; empty if not asked for.
    """

    table: Table
    inputs: Inputs
    directions: Directions
    orders: Orders | None
    analysis: Analysis | None
    unanalysed: str
    curves: tuple[Curve, ...]

    @property
    def ratio(self) -> float:
        """n / d."""
        return self.inputs.samples / len(self.inputs.columns)


def examine(
    inputs: Any, labels: Any, *, label: str | None, seed: int, curves: bool, tell: Tell | None = None
) -> Findings:
    """Look at data: inputs (n, d), an array or a table, and labels (n,), or the path of a file and a label's name."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidParameter("seed", seed, "an integer from 0")
    say = tell or (lambda words: None)
    say("reading")
    if isinstance(inputs, str | Path):
        inputs, labels = read_file(Path(inputs), label or "y")
    table = table_of(inputs, labels, label=label, seed=seed)
    del inputs
    say("inputs")
    columns = describe_columns(table.inputs, table.columns)
    coordinates, spectrum, frame = prepare(table.inputs, columns)
    described = Inputs(len(table.labels), columns, spectrum, frame, norm_spread(coordinates.values))
    say("directions, against permutations")
    rows = min(len(table.labels), _SEARCHED_ROWS, max(1000, _SEARCHED // coordinates.values.shape[1]))
    labels, part = table.labels[:rows], coordinates.values[:rows]
    responses, functions = all_responses(labels)
    found, loadings = _signed(search(part, responses, functions, _drawing(seed, "search")), coordinates.matrix)
    angles, orders = np.zeros((0, 3)), None
    if len(loadings):
        say("angles, by a bootstrap, and orders")
        angles = bootstrap_angles(found, part, labels, responses, functions, _drawing(seed, "angles"))
        if frame == "standardised" and spectrum.spikes:  # what the label goes with, not what it depends on
            angles[:] = CANNOT_TELL, 0, CANNOT_TELL
        heavy = any(one.ranked for one in columns)
        orders = describe_orders(held_out(found, part, labels, responses, functions, heavy_inputs=heavy))
    directions = Directions(loadings, angles, found, rows)
    say("the fitted link")
    analysis, unanalysed = _analysed(orders, tell)
    measured: tuple[Curve, ...] = ()
    if curves:
        say("learning curves")
        measured = learning_curves(
            table.inputs,
            table.labels,
            len(found.rows),
            _even(found, orders),
            seed,
            _drawing(seed, "splits"),
            whitened=frame == "whitened",
            fitted=orders if described.isotropic else None,
        )
    return Findings(table, described, directions, orders, analysis, unanalysed, measured)


def _drawing(seed: int, name: str) -> np.random.Generator:
    """Random numbers of a step, whatever others have drawn."""
    return np.random.default_rng([seed, 1 + _STREAMS.index(name)])


def _signed(found: Search, matrix: Floats) -> tuple[Search, Floats]:
    """The directions and, on standardised columns, their unit rows (k, d), the largest number of each positive."""
    rows = found.rows @ matrix
    largest = rows[np.arange(len(rows)), np.argmax(np.abs(rows), axis=1)]
    signs = np.where(largest < 0, -1.0, 1.0)[:, None]
    return replace(found, rows=signs * found.rows), signs * rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _even(found: Search, orders: Orders | None) -> bool:
    """Whether a direction was found at the second order, or is seen at it, or a later one, and not at the first: with
    many rows, the error of a direction known before may show the next one at the first order of the search."""
    if any(step.order == 2 for step in found.steps):
        return True
    if orders is None:
        return False
    seen = {one.degrees for one in (*orders.of_label, *orders.of_functions) if one.visible}
    alone = [tuple(int(other == place) for other in range(len(found.rows))) for place in range(len(found.rows))]
    return any(unit not in seen and any(degrees[place] > 1 for degrees in seen) for place, unit in enumerate(alone))


def _analysed(orders: Orders | None, tell: Tell | None) -> tuple[Analysis | None, str]:
    if orders is None:
        return None, "no direction was found"
    if orders.text is None or orders.noise is None:
        return None, "no order of the label is seen along the directions, and there is no link to fit"
    if len(orders.links) > _MOST_ANALYSED:
        return None, f"links of more than {_MOST_ANALYSED} directions are not analysed"
    try:
        return analyse(target(orders.text, noise=orders.noise), _ANALYSIS_SECONDS, tell), ""
    except InvalidTarget as fault:
        return None, str(fault)
