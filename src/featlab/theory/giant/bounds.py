"""What one aligned direction can do at best: K* of a giant step.

Statement (Ba et al. 2022, arXiv:2205.01445, Theorem 7): with a step of order one per neuron the risk of ridge
regression is at most 10 K* plus terms that vanish for n >> d, with K* = inf over kappa of E[(f*(z1) - E sigma(kappa z1
+ z2))^2]: the error of a single, optimally stretched average of the activation. A linear method is left with ||P_{>1}
f*||^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.targets import Target
from featlab.theory.spikes import label_grid

_SCAN = np.linspace(-6.0, 6.0, 49)


@dataclass(frozen=True)
class AlignedError:
    """K* and the stretch kappa at which it is reached."""

    value: float
    stretch: float


def aligned_error(target: Target, activation: Activation) -> AlignedError:
    """K* = inf over kappa of E[(f*(z1) - E sigma(kappa z1 + z2))^2] for a target of one direction; no label noise."""
    if target.rank != 1 or target.hidden:
        raise InvalidParameter("target", target.text, "a target of one direction, without noise inside its link")
    grid = label_grid(target)
    inputs, ones = grid.directions[:, 0], np.ones(len(grid.weights))

    def error(stretch: float) -> float:
        response = field_moments(activation.value, activation.kinks, stretch * inputs, ones)[0]
        return float(grid.weights @ (grid.labels - response) ** 2)

    scanned = [error(float(stretch)) for stretch in _SCAN]
    best = int(np.argmin(scanned))
    low, high = _SCAN[max(best - 1, 0)], _SCAN[min(best + 1, _SCAN.size - 1)]
    found = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return AlignedError(float(found.fun), float(found.x))
