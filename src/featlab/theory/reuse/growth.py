"""How a small overlap grows on a reused batch, where nothing but itself tells its direction: the mean field at m = 0.

Of an even link the label says as much of h as of -h, so that m = 0 stays m = 0, and m_t = R_t m_0 as m_0 -> 0. At a
finite d the start and every step add chance of order 1/sqrt(d), which grows by the same law. If R_t grows as exp(g t),
a random start has an overlap of order one after log(d) / (2 g) steps, and a constant.
"""

from __future__ import annotations

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.theory.reuse.dmft import Descent, Points, walk
from featlab.theory.reuse.predictor import SobolPoints

_TINY = 1e-6
SAMPLES = 2**15
REPEATS = 8


class Mirrored(SobolPoints):
    """Every sample twice, with h and with -h: averages of odd functions vanish exactly."""

    def begin(self, axes: int, noisy: bool) -> Points:
        """The points of the rule, and their mirror images."""
        half = super().begin(axes, noisy)

        def twice(values: Floats) -> Floats:
            return np.concatenate([values, values])

        fields = np.concatenate([half.coordinates, -half.coordinates])
        return Points(fields, twice(half.labels), twice(half.weights) / 2, twice(half.forces), twice(half.spare))


def small_overlap(descent: Descent, steps: int, uses: int, *, samples: int = SAMPLES, repeats: int = REPEATS) -> Floats:
    """|m_t| / |m_0|, t = 0 .. steps, of one neuron from a tiny overlap with an even link of one direction, every batch
    being used `uses` times; (repeats, steps + 1), one row for each scrambling of so many Sobol points.

    The activation must be smooth: a tiny overlap moves no sample across a kink.
    """
    start, square = np.full((1, 1), _TINY), np.full((1, 1), descent.norm**2)
    rows = []
    for repeat in range(repeats):
        source = Mirrored(descent.target, samples, np.random.default_rng([*b"small overlap", repeat]))
        path = walk(descent, source, start, square, range(steps + 1), uses)
        rows.append(np.abs(path.overlap[:, 0, 0]) / _TINY)
    return np.array(rows)
