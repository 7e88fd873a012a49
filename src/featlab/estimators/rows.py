"""Which rows train the first layer of a network, and which its second."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featlab.errors import InvalidParameter

Places = NDArray[np.intp]
_LEAST = 2


class Rows(NamedTuple):
    """Indices in the order of the rows, the same for both layers if nothing is set apart."""

    first: Places | slice
    second: Places | slice


def split_rows(groups: NDArray[Any], share: float, draw: np.random.RandomState) -> Rows:
    """That share of the rows, drawn at random, for the second layer and the others for the first; with a share of 0 all
    rows for both.

    Args:
        groups: a number for each row (n,): every group has its share, within one row.
    """
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= share < 1:
        raise InvalidParameter("readout_share", share, "a share of the rows, from 0 to below 1")
    if share == 0:
        return Rows(slice(None), slice(None))
    count = len(groups)
    order = draw.permutation(count)
    order = order[np.argsort(groups[order], kind="stable")]
    own = np.diff(np.floor(float(share) * np.arange(count + 1))) > 0  # every so many rows one
    if min(np.count_nonzero(own), np.count_nonzero(~own)) < _LEAST:
        expected = f"0, or a share that leaves at least {_LEAST} of {count} rows to each layer"
        raise InvalidParameter("readout_share", share, expected)
    return Rows(np.sort(order[~own]), np.sort(order[own]))
