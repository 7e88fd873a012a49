"""Lines cut into cells, each with the values that a function has at its two ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats, Integers

_HAIR, _SHORTEST = 1e-10, 1e-8


@dataclass(frozen=True)
class Cells:
    """Cell i lies on line `line[i]` from `low` to `high`; the function is `first` at the one end, `last` at the other.

    Cells of one line follow one another.
    """

    line: Integers
    low: Floats
    high: Floats
    first: Floats
    last: Floats


def cut_into_cells(
    function: Callable[[Floats], Floats],
    points: Callable[[Integers, Floats], Floats],
    edges: Floats,
    crossings: Floats,
) -> Cells:
    """The stretches between neighbouring places of every line, those shorter than 1e-8 left out.

    Args:
        points: points(line numbers (m,), positions (m,)) -> (m, dimension).
        edges: (L, E), ascending.
        crossings: (L, K) places between them at which the function may jump: there it is read a hair inside the cell,
            as it may have a third value at the jump itself (sign(0) = 0).
    """
    places = np.concatenate([edges, crossings], axis=1)
    jumps = np.zeros(places.shape, dtype=bool)
    jumps[:, edges.shape[1] :] = True
    if crossings.size:
        order = np.argsort(places, axis=1)
        places, jumps = np.take_along_axis(places, order, axis=1), np.take_along_axis(jumps, order, axis=1)
    wide = np.diff(places, axis=1) > _SHORTEST
    beside = ~wide & (jumps[:, :-1] | jumps[:, 1:])  # an edge that lies on a jump is one
    jumps[:, :-1] |= beside
    jumps[:, 1:] |= beside
    line = np.repeat(np.arange(len(places)), places.shape[1])
    values = function(points(line, places.ravel())).reshape(places.shape)
    first, last = values[:, :-1].copy(), values[:, 1:].copy()
    begins, ends = jumps[:, :-1], jumps[:, 1:]
    first[begins] = function(points(np.nonzero(begins)[0], places[:, :-1][begins] + _HAIR))
    last[ends] = function(points(np.nonzero(ends)[0], places[:, 1:][ends] - _HAIR))
    line, place = np.nonzero(wide)
    return Cells(line, places[line, place], places[line, place + 1], first[wide], last[wide])
