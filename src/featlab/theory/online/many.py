"""One-pass learning predicted from many starts of one law, as a comparison with many seeds asks for.

Such starts differ little, and so does what few points of a Sobol sequence miss from each. So each is predicted with few
points, and all are corrected by what the best rule says of the first and the last, on average. How far these two
corrections are apart says what is left, which is part of the stated error. Where it is not small, all are predicted by
the best rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.outcome import Outcome
from featlab.theory.online.predictor import averages_of_descent, describe, draft_of_descent, predict_online
from featlab.theory.online.rules import sampled
from featlab.theory.question import Prediction, Question, Start

_FEW = 4  # so many starts are not worth a second rule
_POINTS = 2**13
_LEFT = 4e-3
# Two standard deviations of a third number around the mean of two are about twice the difference of these.
_DEVIATIONS = 2.0


def predict_each(question: Question, starts: Sequence[Start]) -> Iterator[Prediction]:
    """`predict_online` from each start, one after the other."""
    if question.draft:
        yield from (predict_online(question, start, draft_of_descent, stated=False) for start in starts)
        return
    if len(starts) <= _FEW or averages_of_descent(question.target, describe(question, starts[0])[0]).other is None:
        yield from (predict_online(question, start) for start in starts)
        return
    few = partial(sampled, points=_POINTS)
    first, last = predict_online(question, starts[0]), predict_online(question, starts[-1], stated=False)
    rough = [predict_online(question, start, few, stated=False) for start in (starts[0], starts[-1])]
    correction, left = _corrections((first, last), rough)
    small = all(one.outcome is Outcome.OK for one in (first, last, *rough)) and _is_small(left, first)
    yield first
    for start in starts[1:-1]:
        if not small:
            yield predict_online(question, start)
            continue
        one = predict_online(question, start, few, stated=False)
        values = {name: value + correction[name] for name, value in one.values.items()}
        errors = {name: first.errors[name] + left[name] for name in first.errors}
        yield replace(first, values=values, errors=errors, outcome=one.outcome, remedy=one.remedy)
    yield replace(last, errors=first.errors) if small else predict_online(question, starts[-1])


def _corrections(
    fine: Sequence[Prediction], rough: Sequence[Prediction]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The mean of two corrections of every quantity, and how far that of another start may be from it."""
    first, last = (
        {name: best.values[name] - other.values[name] for name in best.values}
        for best, other in zip(fine, rough, strict=True)
    )
    mean = {name: (first[name] + last[name]) / 2 for name in first}
    return mean, {name: _DEVIATIONS * np.abs(first[name] - last[name]) for name in first}


def _is_small(left: dict[str, Floats], one: Prediction) -> bool:
    """Of overlaps and Gram matrix in units of the squared norms, of the risk in its own."""
    scales = {"risk": np.max(one.values["risk"])}
    norm = np.max(one.values["gram"])
    return all(np.max(left[name]) <= _LEFT * scales.get(name, norm) for name in left)
