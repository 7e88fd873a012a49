"""What is no value of a parameter at all is refused by the parameter's name, and not by a fault of Python's within."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import featlab
from featlab.errors import FeatlabError

RULE, FIXED = featlab.OnlineSgd(step_size=0.01), featlab.TwoLayer(start="orthogonal")
CALLS: dict[str, dict[str, Any]] = {
    "target": {"source": "tanh(h1)"},
    "analyse": {"target": "tanh(h1)"},
    "explain": {"source": "tanh(h1)", "simulation": False},
    "simulate": {"target": "tanh(h1)", "learner": RULE, "dim": 20, "times": [0, 1], "seeds": 2},
    "predict": {"target": "tanh(h1)", "learner": RULE, "dim": 20, "times": [0, 1], "student": FIXED},
    "predict_and_simulate": {"target": "tanh(h1)", "learner": RULE, "dim": 20, "times": [0, 1], "student": FIXED},
    "race": {"target": "tanh(h1)", "dim": 20, "ratios": [1, 2], "seeds": 2, "entrants": ["sir"], "theory": False},
}
# Switches, which take anything as true or false, and functions to be called.
FREE = {"progress", "simulation", "signless", "theory", "tell", "watch", "of_runs", "inputs"}


def parameters() -> Iterator[Any]:
    for name in CALLS:
        for parameter in inspect.signature(getattr(featlab, name)).parameters:
            if parameter not in FREE:
                yield pytest.param(name, parameter, id=f"{name}, {parameter}")


@pytest.mark.parametrize(("name", "parameter"), [*parameters()])
@pytest.mark.parametrize("value", [object(), {"?": 1}, [None]], ids=["an object", "a dict", "a list of nothing"])
def test_it_is_refused_in_featlabs_words(name: str, parameter: str, value: Any) -> None:
    with_it = {"simulation": True} if (name, parameter) == ("explain", "budget") else {}
    with pytest.raises(FeatlabError):
        getattr(featlab, name)(**(CALLS[name] | with_it | {parameter: value}))


def test_an_analysis_takes_a_text() -> None:
    assert featlab.analyse("h1 + abs(h2)").leap == featlab.analyse(featlab.target("h1 + abs(h2)")).leap == 2
