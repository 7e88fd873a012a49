"""Projected gradient flow on the population loss of a network with one shared direction: an equation for (c, m).

The loss depends on theta through m alone, and grad m = theta* - m theta on the sphere has the square 1 - m^2, so that

    dm/dt = -v (1 - m^2) dL/dm,      dc/dt = -[t > T0] dL/dc,

at every dimension: d enters through the start, m of order 1/sqrt(d), only. It is the flow on n -> infinity samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from featlab.gaussian.hermite import Floats
from featlab.theory.tied.loss import PopulationLoss

_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Path:
    """At ascending times: m (times,), c (times, N) and L (times,); NaN where the equation could not be solved."""

    cosine: Floats
    second: Floats
    loss: Floats


def population_flow(
    loss: PopulationLoss, cosine: float, second: Floats, times: Floats, frozen_time: float, direction_speed: float = 1.0
) -> Path:
    """The flow from (m, c) at time 0, seen at ascending times; c moves once `frozen_time` is over."""

    def frozen(_: float, state: Floats) -> Floats:
        return np.array([_speed(loss, second, state[0], direction_speed)])

    def joint(_: float, state: Floats) -> Floats:
        to_second = loss.gradient(state[1:], state[0])[0]
        return np.concatenate([[_speed(loss, state[1:], state[0], direction_speed)], -to_second])

    early = times[times <= frozen_time]
    stops = np.unique(np.append(early, frozen_time))
    first = _solved(frozen, np.array([cosine]), 0.0, stops)
    then = np.concatenate([first[-1], second])
    later = _solved(joint, then, frozen_time, times[times > frozen_time])
    cosines = np.concatenate([first[np.searchsorted(stops, early), 0], later[:, 0]])
    seconds = np.concatenate([np.tile(second, (len(early), 1)), later[:, 1:]])
    values = np.array([loss.value(c, m) for c, m in zip(seconds, cosines, strict=True)])
    return Path(cosines, seconds, values)


def _speed(loss: PopulationLoss, second: Floats, cosine: float, direction_speed: float) -> float:
    return -direction_speed * (1 - cosine**2) * loss.gradient(second, cosine)[1]


def _solved(velocity: Callable[[float, Floats], Floats], begin: Floats, origin: float, times: Floats) -> Floats:
    """The solution (times, size) from `begin` at the time `origin`; NaN from where it could not be found."""
    if len(times) == 0:
        return np.empty((0, len(begin)))
    if times[-1] == origin:
        return np.tile(begin, (len(times), 1))
    span = (origin, float(times[-1]))
    solution = solve_ivp(velocity, span, begin, "DOP853", times, rtol=_TOLERANCE, atol=_TOLERANCE)
    states = np.full((len(times), len(begin)), np.nan)
    states[: solution.y.shape[1]] = solution.y.T
    return states
