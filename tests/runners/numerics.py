"""Points at fixed keys whose numbers are kept: `python -m tests.runners.numerics` writes those of this version anew.

Do so only after the `NUMERICS` of the runner concerned was raised: stored studies then count their points as not done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from featlab.runners import find_runner

KEPT = Path(__file__).with_name("numerics.json")
_RUN = {"target": "tanh(h1) + He2(h2)", "dim": 16, "seeds": 2, "width": 2}
_BATCH = {**_RUN, "samples": 40, "times": [2], "steps": 2}
# One for each way in which random numbers become data, and for each kind of start.
POINTS: dict[str, list[dict[str, Any]]] = {
    "simulate": [
        {**_RUN, "learner": "online-sgd", "step_size": 0.05, "times": [1], "noise": 0.1, "biases": "gaussian"},
        {**_BATCH, "learner": "reused-batch", "step_size": 0.2, "design": "dense", "start": "gaussian"},
        {**_BATCH, "learner": "giant-steps", "design": "dice", "second_layer": "gaussian"},
        {"target": "abs(h1)", "dim": 16, "seeds": 2, "learner": "bayes-amp", "samples": 60, "iterations": 2},
        # A link that folds, without a closed form: its level sets are clouds.
        {"target": "He3(h1) + He4(h1)", "dim": 16, "seeds": 2, "learner": "bayes-amp", "samples": 60, "iterations": 2},
    ],
    "predict": [
        {"target": "tanh(h1)", "dim": 100, "learner": "online-sgd", "step_size": 0.01, "times": [1]},
        {"target": "abs(h1)", "dim": 100, "learner": "bayes-amp", "samples": 150, "start": "informed", "times": [4]},
    ],
    "one-step": [
        {
            "target": "tanh(h1)",
            "activation": "erf",
            "dim": 12,
            "samples": 30,
            "width": 9,
            "steps": [2.0],
            "ridges": [0.1],
            "observe": ["excess"],
        }
    ],
    "one-step-readout": [{"target": "He2(h1)", "spike": 0.5, "dim": 20, "samples": 60, "width": 8, "seeds": 2}],
}


def numbers(kind: str) -> list[list[float]]:
    """Of each point of a kind, all numbers of its rows, one after the other; draws of another kind are none."""
    runner = find_runner(kind, ".")
    return [[float(x) for row in runner.run_point(point, 7) for x in _flat(row)] for point in POINTS[kind]]


def _flat(row: Any) -> list[float]:
    kept = [np.ravel(value) for name, value in sorted(row.items()) if name not in ("number", "seconds")]
    return [x for values in kept if np.issubdtype(values.dtype, np.number) for x in values.tolist()]


if __name__ == "__main__":
    made = {kind: {"numerics": find_runner(kind, ".").numerics, "points": numbers(kind)} for kind in POINTS}
    KEPT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
