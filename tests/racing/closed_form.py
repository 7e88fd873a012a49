"""A race whose entrants are closed forms: cos^2 = n / (n + c d) of one direction, c by the learner's name."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter
from featlab.racing.entrants import Entrant
from featlab.study.runner import Row, Runner

CONSTANTS = {"fast": 1.0, "slow": 4.0, "late": 2.0}


def _run_point(point: dict[str, Any], key: int) -> list[Row]:
    name = point["learner"]
    if name == "failing":
        raise RuntimeError("it fell over")
    if name == "late":
        time.sleep(0.4)
    seeds = range(point.get("seeds", 1))
    noise = np.random.default_rng(key).normal(size=len(seeds)) * (0.01 if "seeds" in point else 0.0)
    if name == "risky":
        return [{"seed": seed, "time": 0, "risk": 0.5 + noise[seed]} for seed in seeds]
    far = CONSTANTS[name] * point["dim"]
    looks = [(ratio, ratio * point["dim"]) for ratio in point["times"]] if "times" in point else [(0, point["samples"])]
    return [
        {"seed": seed, "time": at, "cosine": [[(n / (n + far)) ** 0.5 * np.exp(noise[seed])]], "gram": [[1.0]]}
        for seed in seeds
        for at, n in looks
    ]


def _check(point: dict[str, Any]) -> None:
    if point["learner"] == "refused":
        raise InvalidParameter("learner", "refused", "one that can")


def find_runner(kind: str, directory: str) -> Runner:
    """In the place of `featlab.runners.find_runner`."""
    axes = {"cosine": ("neuron", "direction"), "gram": ("neuron", "other_neuron")}
    return Runner(_run_point, kind, "1", None, _check, None, ("seed", "time"), axes)


def _said(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda course: {"learner": name}


# "onward" is one run looked at on its way.
CLOSED_FORMS = tuple(
    Entrant(
        name,
        name,
        _said("fast" if name == "onward" else name),
        "a closed form",
        "times" if name == "onward" else "samples",
        observe=("risk",) if name == "risky" else ("cosine", "gram"),
    )
    for name in ("fast", "slow", "late", "onward", "risky", "refused", "failing")
)
