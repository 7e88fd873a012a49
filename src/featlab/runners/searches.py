"""A point is a search: how long a learner of one neuron takes until its overlap |m| with a direction, of several with
any of them, reaches a level.

It has the parameters of a `simulate` point and `level`; `last` and `looks`, when the last look is and how many there
are from the start on; and perhaps `cosine`, the overlap with each direction that is planted at the start. A row is a
seed.
"""

from __future__ import annotations

import numpy as np

from featlab.outcome import Outcome
from featlab.runners.questions import experiment_of
from featlab.study.description import Point
from featlab.study.runner import Row, Runner


def run_point(point: Point, key: int) -> list[Row]:
    """For each seed its `search`, the time until |m| reaches the level; that of the last look, and `reached` = 0, if it
    took longer."""
    from featlab.gaussian.crossings import hitting_times
    from featlab.simulation import simulate
    from featlab.targets import target

    planted = [[point["cosine"]] * target(point["target"]).rank] if "cosine" in point else []
    start = {"start": "planted", "planted": planted} if planted else {}
    times = np.linspace(0.0, point["last"], point["looks"]).tolist()
    runs = simulate(experiment_of({**point, **start, "times": times}, observe=["overlap"], key=key), progress=False)
    if Outcome.INTERRUPTED in runs["outcome"].values:  # by Ctrl-C, which is meant for the study
        raise KeyboardInterrupt
    overlap = np.abs(runs["overlap"].isel(neuron=0).transpose("seed", "time", "direction").values).max(axis=-1)
    found = hitting_times(runs["time"].values, overlap, point["level"])
    return [
        {"seed": seed, "search": float(min(when, point["last"])), "reached": int(when < np.inf)}
        for seed, when in enumerate(found)
    ]


RUNNER = Runner(run_point, index=("seed",))
