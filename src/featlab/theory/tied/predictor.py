"""`TiedFlow` on infinitely many samples: the adapter from a question, and the starts of a simulation, to its flow."""

from __future__ import annotations

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.learners.tied import TiedFlow
from featlab.outcome import Outcome
from featlab.theory.question import NoPrediction, Prediction, Question
from featlab.theory.tied.flow import Path, population_flow
from featlab.theory.tied.loss import ORDERS, PopulationLoss, population_loss
from featlab.theory.tied.neurons import Neurons, link_series
from featlab.theory.tied.starts import TiedStart


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
    return Prediction(values, words, outcome=Outcome.OK if sound else Outcome.NOT_INTEGRATED)


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
