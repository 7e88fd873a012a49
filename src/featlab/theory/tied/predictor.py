"""`TiedFlow` on infinitely many samples: projected gradient flow on the population loss, an equation for (c, m).

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
from featlab.interruption import check
from featlab.learners.tied import TiedFlow
from featlab.outcome import Outcome
from featlab.telling import Waiting
from featlab.theory.question import NoPrediction, Prediction, Question
from featlab.theory.tied.loss import ORDERS, PopulationLoss, population_loss
from featlab.theory.tied.neurons import Neurons, link_series
from featlab.theory.tied.starts import TiedStart

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

    def joint(_: float, state: Floats) -> Floats:
        to_second, to_cosine = loss.gradient(state[1:], state[0])
        return np.concatenate([[-direction_speed * (1 - state[0] ** 2) * to_cosine], -to_second])

    def frozen(time: float, state: Floats) -> Floats:
        return joint(time, np.concatenate([state, second]))[:1]

    early = times[times <= frozen_time]
    stops = np.unique(np.append(early, frozen_time))
    first = _solved(frozen, np.array([cosine]), 0.0, stops)
    then = np.concatenate([first[-1], second])
    later = _solved(joint, then, frozen_time, times[times > frozen_time])
    cosines = np.concatenate([first[np.searchsorted(stops, early), 0], later[:, 0]])
    seconds = np.concatenate([np.tile(second, (len(early), 1)), later[:, 1:]])
    values = np.array([loss.value(c, m) for c, m in zip(seconds, cosines, strict=True)])
    return Path(cosines, seconds, values)


def _solved(velocity: Callable[[float, Floats], Floats], begin: Floats, origin: float, times: Floats) -> Floats:
    """The solution (times, size) from `begin` at the time `origin`; NaN from where it could not be found."""
    if not len(times) or times[-1] == origin:
        return np.tile(begin, (len(times), 1))
    span, waiting = (origin, float(times[-1])), Waiting("the integration of the flow")

    def watched(time: float, state: Floats) -> Floats:
        check()
        waiting.reached((time - origin) / (span[1] - origin))
        return velocity(time, state)

    solution = solve_ivp(watched, span, begin, "DOP853", times, rtol=_TOLERANCE, atol=_TOLERANCE)
    states = np.full((len(times), len(begin)), np.nan)
    states[: solution.y.shape[1]] = solution.y.T
    return states


def predict_tied(question: Question, start: TiedStart) -> Prediction:
    """The cosine and the loss of every start, and of the one with the lowest loss its cosine and its risk."""
    learner = question.learner
    if not isinstance(learner, TiedFlow) or learner.step_size is not None:
        raise NoPrediction(f"got {learner!r}; predicted is the flow, step_size=None, of TiedFlow")
    link = link_series(question.target, ORDERS)
    times = np.asarray(question.steps * learner.interval, dtype=np.float64)
    paths, losses = [], []
    for cosine, second, knots, signs in zip(start.cosine, start.second, start.knots, start.signs, strict=True):
        losses.append(population_loss(link, Neurons(knots, signs), learner.penalty))
        paths.append(population_flow(losses[-1], cosine, second, times, learner.frozen_time, learner.direction_speed))
    values = _values(paths, losses, question.target.noise)
    if learner.tuning_samples is not None:
        del values["risk"]  # a simulation has that of the network fitted once more
    sound = all(np.all(np.isfinite(path.cosine)) for path in paths)
    words = (
        "Projected gradient flow on the population loss, from the starts of a simulation: infinitely many samples at "
        "any dimension. Neglected: fluctuations of order sqrt(d/n) of the gradient, and minima of finite samples."
    )
    outcome = Outcome.OK if sound else Outcome.NOT_INTEGRATED
    return Prediction(values, words, outcome=outcome, limit="samples")


def _values(paths: list[Path], losses: list[PopulationLoss], noise: float) -> dict[str, Floats]:
    """Of all starts, and of the one with the lowest loss at each time."""
    cosine, loss = (np.stack(column, axis=1) for column in zip(*((p.cosine, p.loss) for p in paths), strict=True))
    best = np.argmin(loss, axis=1)
    everywhere = np.arange(len(best))
    penalties = np.stack(
        [one.penalty * np.sum(path.second**2, axis=1) for one, path in zip(losses, paths, strict=True)], axis=1
    )
    risk = (loss - penalties)[everywhere, best]
    chosen = cosine[everywhere, best][:, None, None]
    return {
        "restart_cosine": cosine[:, :, None],
        "restart_loss": loss,
        "overlap": chosen,
        "cosine": chosen,
        "subspace": np.abs(chosen[:, :, 0]),
        "norm": np.ones(chosen.shape[:2]),
        "risk": risk,
        "excess_risk": risk - noise,
    }
