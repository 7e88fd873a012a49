"""A point is a flow of a network with one shared direction, and second layers fitted after it: one flow for all.

It has the parameters of a `simulate` point whose learner is tied-flow, and `refits`, the numbers n' of fresh samples. A
row is a seed at one n', on the axis `fresh`.
"""

from __future__ import annotations

import numpy as np

from featlab.outcome import Outcome
from featlab.runners.questions import experiment_of
from featlab.study.description import Point
from featlab.study.runner import Row, Runner

_OBSERVED = ("excess_risk", "restart_cosine", "restart_loss", "restart_knots", "restart_signs")


def run_point(point: Point, key: int) -> list[Row]:
    """For each seed and n': the excess risk, `refitted`; that of the flow's own second layer, `flow`; and of the
    network the cosine, knots and signs."""
    from featlab.simulation import simulate
    from featlab.simulation.tied_tuning import refitted_risks

    experiment = experiment_of({**point, "times": [point["time"]]}, observe=_OBSERVED, key=key)
    runs = simulate(experiment, progress=False)
    if Outcome.INTERRUPTED in runs["outcome"].values:  # by Ctrl-C, which is meant for the study
        raise KeyboardInterrupt
    runs = runs.isel(time=-1)
    best = runs.isel(restart=runs["restart_loss"].argmin("restart"))
    cosines, knots, signs = (
        best[name].values.astype(np.float64) for name in ("restart_cosine", "restart_knots", "restart_signs")
    )
    own = [
        {"seed": seed, "flow": flow, "cosine": cosine, "knots": at.tolist(), "signs": sides.tolist()}
        for seed, (flow, cosine, at, sides) in enumerate(
            zip(best["excess_risk"].values.tolist(), cosines[:, 0].tolist(), knots, signs, strict=True)
        )
    ]
    rows: list[Row] = []
    for count in point["refits"]:
        risks = refitted_risks(experiment.target, cosines[:, 0], knots, signs, samples=count, key=key)
        rows += [{**one, "fresh": count, "refitted": risk} for one, risk in zip(own, risks.tolist(), strict=True)]
    return rows


RUNNER = Runner(run_point, index=("seed", "fresh"), axes={"knots": ("unit",), "signs": ("unit",)})
