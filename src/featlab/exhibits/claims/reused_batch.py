"""Two full-batch steps on the same n = O(d) samples see what fresh batches do not (Dandi et al. 2024).

He3 has information exponent 3: a step on a fresh batch of 3d samples has no drift towards its direction. After one
step on a batch each of its samples has been fitted a little, h -> h + c y sigma'(h), so that the second step on the
same batch sees E[F(y) h*] with a non-linear F. Dynamical mean field says how far it gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex

HARD, PLAIN = "He3(h1)", "tanh(h1)"
STEPS, STEP_SIZE = 8, 0.2
REUSED, FRESH = STEPS, 1  # steps on one batch
_SIZES = {
    ex.Size.QUICK: {"dim": 10_000, "seeds": 48},
    ex.Size.PAPER: {"dim": 5000, "seeds": 200},
    ex.Size.LARGE: {"dim": 10**6, "seeds": 8},
}
_SCANNED = [0.1, 0.2, 0.3, 0.6, 1.0, 1.5, 2.0]
_NAMES: dict[str, dict[Any, str]] = {
    "steps_per_batch": {REUSED: "the same batch", FRESH: "fresh batches"},
    "target": {HARD: "He3", PLAIN: "tanh"},
}
# m after two steps on He3 as a prototype measured it at d = 1000, and at d = 5000 with steps of .3.
_EARLIER, _EARLIER_SCAN = {REUSED: -0.0181, FRESH: 0.0}, {0.3: -0.035}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Curves over the steps on one batch and on fresh ones; beyond the quick size also tanh, and other step sizes."""
    rule = {"learner": "reused-batch", "start": "orthogonal", "design": "virtual", "observe": ["overlap"]}
    fixed, derived = {**_SIZES[size], **rule}, {"samples": "3*dim"}
    axes = {"target": [HARD] if size is ex.Size.QUICK else [HARD, PLAIN], "steps_per_batch": [REUSED, FRESH]}
    parts = {
        "curves": ex.Part(
            ex.Study({**fixed, "steps": STEPS, "step_size": STEP_SIZE}, axes, derived, key=21), names=_NAMES
        )
    }
    if size is not ex.Size.QUICK:
        scan = {**fixed, "target": HARD, "steps": 2}
        parts["scan"] = ex.Part(ex.Study(scan, {"step_size": _SCANNED}, derived, key=22))
    return parts


def theory(data: ex.Data) -> ex.Data:
    """Dynamical mean field at n = 3d; for two steps on a finer grid of step sizes."""
    found = {"curves": ex.predict_over(data["curves"], "target", "steps_per_batch")}
    if "scan" in data:
        fine = np.union1d(np.geomspace(_SCANNED[0], _SCANNED[-1], 25), _SCANNED).tolist()
        found["scan"] = ex.predict_over(data["scan"], "step_size", step_size=fine)
    return found


def _hard(quantity: ex.Reading, uses: int, time: ex.Nth) -> ex.Of:
    where = {"target": HARD, "steps_per_batch": uses, "time": time}
    return ex.Of(quantity, "curves", where, "{steps_per_batch_words}")


_SIZE, _TWO = ex.magnitude("overlap"), ex.Nth(2)

EXHIBIT = ex.Exhibit(
    id="reused-batch",
    title="Two steps on one batch",
    claim="With n = O(d) samples, two full-batch steps on the same batch correlate with He3; steps on fresh batches "
    "do not.",
    document=ex.MULTI_INDEX,
    papers=("dandi2024",),
    protocol="One relu neuron, n = 3d, gradient of the mean of (y - f)^2 / 2 with steps of .2; the talk's step is .1, "
    "and its loss has no 1/2. The start is orthogonal to the direction, so that signs do not cancel in the mean over "
    "seeds. The talk shows d = 5000.",
    caption="Lines are dynamical mean field, the limit of large d at n = 3d; points the mean over seeds with two "
    "standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "the overlap with the direction of {target} on {steps_per_batch_words} follows dynamical mean field": ex.Agrees(
            "overlap",
            "curves",
            each=("target", "steps_per_batch"),
            # On fresh batches it predicts zero for He3, which has no scale to be wrong by.
            only=lambda at: (at["target"], at["steps_per_batch"]) != (HARD, FRESH),
        ),
        "after two steps on one batch the overlap with the direction of He3 is below that on fresh batches": ex.Ordered(
            [_hard("overlap", REUSED, _TWO), _hard("overlap", FRESH, _TWO)]
        ),
        "after {time:g} steps on one batch a single run is beyond chance, |m| > 3/sqrt(d), on fresh ones it is not": (
            ex.Contrast(_hard(_SIZE, REUSED, ex.LAST), _hard(_SIZE, FRESH, ex.LAST), lambda at: 3 * at["dim"] ** -0.5)
        ),
        "so does the overlap after two steps of any size": ex.Agrees("overlap", "scan", {"time": ex.LAST}),
    },
    numbers={
        "m after 2 steps, He3, {steps_per_batch_words}": ex.Value(
            ex.Of("overlap", "curves", {"target": HARD, "time": _TWO}), each="steps_per_batch", earlier=_EARLIER
        ),
        "m after 2 steps of size {step_size:g}": ex.Value(
            ex.Of("overlap", "scan", {"time": ex.LAST}),
            each="step_size",
            earlier=_EARLIER_SCAN,
            only=lambda at: at["step_size"] != STEP_SIZE,
        ),
    },
    remarks="The overlap is negative: samples with a very negative label are switched off by the relu after the first "
    "step and fit no more. After two large steps it is positive.",
    figure={
        "y = {target_words}(h), steps of {step_size}": ex.Panel(
            ex.Overlay(ex.Of("overlap", "curves"), "time", points="{steps_per_batch_words}", each="steps_per_batch"),
            each="target",
            x="full-batch steps",
            y="overlap with the direction, m",
        ),
        "He3, after two steps": ex.Panel(
            ex.Overlay(ex.Of("overlap", "scan", {"time": ex.LAST}), "step_size"),
            ex.Mark(0.0, "", along="y"),
            x="step size",
            y="overlap with the direction, m",
            ticks={"x": _SCANNED},
            xscale="log",
        ),
    },
    shows=("generative_exponent", "batch_reuse"),
)
