"""Bins of the label: cells along which it runs linearly are shared between them, and noise spreads them."""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from featlab.gaussian.hermite import Floats

NOISE_REACH = 8.0  # deviations; the mass beyond is 1e-15


class Sharing:
    """How the weight of each cell, of label `first` to `last`, is divided among the bins between ascending edges (B,).

    There are B + 1 bins, the outer ones open; a cell gives each in proportion to how far it runs over it.
    """

    def __init__(self, first: Floats, last: Floats, edges: Floats) -> None:
        low, high = np.minimum(first, last), np.maximum(first, last)
        self.edges, self.bins = edges, edges.size + 1
        self.first_bin = np.searchsorted(edges, low, side="right")
        self.last_bin = np.searchsorted(edges, high, side="right")
        self.whole = self.first_bin == self.last_bin
        self.low, self.high = low, high

    def collect(self, weight: Floats) -> Floats:
        """The total of each bin, (B + 1,)."""
        total = np.zeros(self.bins)
        total += np.bincount(self.first_bin[self.whole], weight[self.whole], self.bins)
        wide = ~self.whole
        if not wide.any():
            return total
        low, high = self.low[wide], self.high[wide]
        density = weight[wide] / (high - low)
        first, last = self.first_bin[wide], self.last_bin[wide]
        total += np.bincount(first, density * (self.edges[first] - low), self.bins)
        total += np.bincount(last, density * (high - self.edges[last - 1]), self.bins)
        # Every bin strictly between gets density times its width: add the density at first + 1, take it off at last.
        steps = np.bincount(first + 1, density, self.bins + 1) - np.bincount(last, density, self.bins + 1)
        total[1:-1] += np.cumsum(steps)[1 : self.bins - 1] * np.diff(self.edges)
        return total


def convolved(table: Floats, width: float, variance: float) -> Floats:
    """Equal bins (bins, columns) of this width after Gaussian noise: a convolution, by a fast Fourier transform."""
    length = next_fast_len(len(table) + int(2 * NOISE_REACH * np.sqrt(variance) / width), real=True)
    frequency = 2 * np.pi * np.arange(length // 2 + 1) / (length * width)
    damping = np.exp(-0.5 * variance * frequency**2)
    return irfft(rfft(table, length, axis=0) * damping[:, None], length, axis=0)[: len(table)]
