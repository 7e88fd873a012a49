"""The law of a label that takes few values: sums and products of functions that do, without a lattice.

A lattice rounds values, so that two ways to one label may end in different bins, or the least and the largest label,
one period apart, in the same. Here labels are what they are: equal if they differ by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featlab.gaussian.hermite import Floats

_MOST = 4096  # different values
_ROUNDING = 1e-13  # of the largest label of a sum, of each label of a product

_Law = tuple[Floats, Floats]  # values (a,), and for each its mass and moments (a, m)


def combined(laws: Sequence[_Law], times: Sequence[int], product: bool) -> list[Floats] | None:
    """For each term or factor: the mass of every label and the moments of that one there, (labels, m).

    Args:
        laws: of each, its values and its (mass, moments).
        times: how often each occurs.
    """
    if any(len(_classes(values, product)[1]) > _MOST for values, _ in laws):
        return None
    laws = [_merged(*law, product) for law in laws]
    tables = []
    for place, own in enumerate(laws):
        others: _Law = (np.array([1.0 if product else 0.0]), np.ones((1, 1)))
        for k, (values, columns) in enumerate(laws):
            for _ in range(times[k] - (k == place)):
                others = _joined(others, (values, columns[:, :1]), product)
                if len(others[0]) > _MOST:
                    return None
        tables.append(_joined(own, others, product)[1])
    return tables


def _joined(one: _Law, other: _Law, product: bool) -> _Law:
    """The law of the sum or the product; the moments are those of the first, averaged over the second."""
    values = np.multiply.outer(one[0], other[0]) if product else np.add.outer(one[0], other[0])
    columns = one[1][:, None, :] * other[1][None, :, :1]
    return _merged(values.ravel(), columns.reshape(values.size, -1), product)


def _merged(values: Floats, columns: Floats, product: bool) -> _Law:
    """Equal values together."""
    order, starts = _classes(values, product)
    return values[order][starts], np.add.reduceat(columns[order], starts, axis=0)


def _classes(values: Floats, product: bool) -> tuple[np.ndarray, np.ndarray]:
    """An order of the values, and where in it a new value begins."""
    order = np.argsort(values, kind="stable")
    size = np.abs(values[order])
    scale = np.maximum(size[1:], size[:-1]) if product else size.max()
    return order, np.concatenate([[0], np.flatnonzero(np.diff(values[order]) > _ROUNDING * scale) + 1])
