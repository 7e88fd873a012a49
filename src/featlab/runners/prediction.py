"""`kind = "predict"`: a point is a call of `featlab.predict`, its rows are the predicted order parameters at a time."""

from __future__ import annotations

from featlab.runners.questions import AXES, WORDS, experiment_of, parameters_of_predictions, rows_of
from featlab.study.description import Point
from featlab.study.runner import Row, Runner

# Raised whenever a release changes the numbers of a prediction: stored points then count as not done.
NUMERICS = "1"


def run_point(point: Point, key: int) -> list[Row]:
    """Predict a point: one row for each time. A prediction is not random: the key is not used."""
    from featlab.theory import predict

    return rows_of(predict(experiment_of(point)))


def check(point: Point) -> None:
    """Refuse what a prediction would refuse before it computes anything."""
    from featlab.theory.prediction import check_prediction

    check_prediction(experiment_of(point))


PREDICT = Runner(run_point, "predict", NUMERICS, parameters_of_predictions, check, None, ("time",), AXES, *WORDS)
