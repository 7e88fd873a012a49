"""The population flow in its own time, and how long it takes to find the target.

In the correlation rho of the neuron's field with the target's, the normalised flow of a unit neuron is

    d rho / dt = (1 - rho^2) a zeta(rho),   zeta(rho) = sum_j j alpha_j alpha*_j rho^{j-1}

(alpha, alpha* the orthonormal Hermite coefficients of sigma and of the label), so that the time from rho_0 to 1 - eps
is an integral. It grows as tau_k(rho_0) + log(1/eps) with tau_k(z) = 1, log(1/z), z^{-(k-2)} for an information
exponent k = 1, 2, > 2 (Mousavi-Hosseini et al. 2023, arXiv:2309.03843).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import panels
from featlab.interruption import check
from featlab.learners.checks import positive_integer
from featlab.outcome import Outcome
from featlab.telling import Waiting
from featlab.theory.flows.averages import Averages
from featlab.theory.flows.path import Landscape

_PANELS, _NODES = 12, 8


@dataclass(frozen=True)
class Course:
    """Points (times, known + 1) of a neuron at the asked times; `outcome` "ok", or "not converged" where the equation
    could not be solved, NaN from there on."""

    points: Floats
    outcome: Outcome


def integrate(landscape: Landscape, weights: Floats, times: Floats) -> Course:
    """The flow dv = -grad R dt (times S without preconditioning) from weights of any length, at ascending times >= 0.

    Solved by LSODA, which follows a flow into a narrow valley and along it, where arcs get stuck.
    """
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or not times.size or not np.all(np.isfinite(times)) or np.any(np.diff(times, prepend=0) < 0):
        raise InvalidParameter("times", times, "ascending finite numbers, none negative")
    begin = landscape.point(weights)

    waiting = Waiting("the integration of the flow")

    def velocity(time: float, point: Floats) -> Floats:
        check()
        waiting.reached(time / times[-1])
        point = landscape.norm * point / np.linalg.norm(point)
        return landscape.steered(point, landscape.descent(point))

    points = np.full((times.size, begin.size), np.nan)
    points[times == 0] = begin
    later = times[times > 0]
    if not later.size:
        return Course(points, Outcome.OK)
    found = solve_ivp(velocity, (0.0, times[-1]), begin, "LSODA", later, rtol=1e-8, atol=1e-10)
    reached = found.y.T[: later.size]
    first = times.size - later.size
    points[first : first + len(reached)] = landscape.norm * reached / np.linalg.norm(reached, axis=1, keepdims=True)
    return Course(points, Outcome.OK if found.success else Outcome.NOT_CONVERGED)


def run_time(averages: Averages, start: float, within: float, second: float = 1.0) -> float:
    """How long the normalised flow of a unit neuron takes from correlation rho_0 = `start` to 1 - `within`.

    Statement: the integral of d rho / ((1 - rho^2) a zeta(rho)). Infinite if zeta is not positive on the way, where the
    flow turns back.
    """
    if not 0 < start < 1 - within or not 0 < within < 1:
        raise InvalidParameter("start", start, f"a correlation above 0, below 1 - within = {1 - within}")

    edges = np.arctanh(_graded(start, 1 - within))  # rho = tanh(s) has d rho = (1 - rho^2) ds
    places, weights = panels(edges, _NODES)
    speeds = second * np.vectorize(averages.slope)(np.tanh(places))
    return float(np.sum(weights / speeds)) if np.all(speeds > 0) else float("inf")


def run_time_law(start: float, information_exponent: int) -> float:
    """tau_k(z) = 1 for k = 1, log(1/z) for k = 2, z^{-(k-2)} for k > 2: the run time up to constants and log(1/eps).

    Source: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    Args:
        start: z, the correlation at the start.
        information_exponent: k.

    Raises:
        InvalidParameter: a start outside (0, 1), or an exponent that is no positive whole number.

    Examples:
        >>> from featlab.theory import run_time_law
        >>> run_time_law(0.01, information_exponent=3)
        100.0
    """
    order = positive_integer("information_exponent", information_exponent)
    if not 0 < start < 1:
        raise InvalidParameter("start", start, "a correlation above 0 and below 1")
    if order == 1:
        return 1.0
    return float(np.log(1 / start)) if order == 2 else float(start ** -(order - 2))


def _graded(low: float, high: float) -> Floats:
    """Correlations between both, close to each other where they are small: the pace is a power there."""
    small = np.geomspace(low, max(low, min(high, 0.5)), _PANELS)
    return np.unique(np.concatenate([small, np.linspace(small[-1], high, _PANELS // 2)]))
