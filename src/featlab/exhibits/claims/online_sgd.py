"""One-pass SGD on the sphere follows an equation for its overlap alone (Saad, Solla 1995; Ben Arous et al. 2021).

With steps c/d the overlap m of a neuron with the target's direction moves, in the time t = steps / d, by

    dm/dt = c (1 - m^2) sum_k k c_k c*_k m^(k-1) - (c^2 / 2) E[y^2 sigma'(h)^2] m,

the first term being the signal, which begins as m^(l-1), l the information exponent, and the second what normalising
takes back of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex

_SIZES = {
    ex.Size.QUICK: {"dim": 2000, "seeds": 16},
    ex.Size.PAPER: {"dim": 10_000, "seeds": 64},
    ex.Size.LARGE: {"dim": 10**5, "seeds": 64},
}
_RULE = {"learner": "online-sgd", "loss": "correlation", "constraint": "spherical", "design": "virtual"}
_LOOKS = 11


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """For each information exponent a target, a neuron and a start from which the overlap grows without a search."""

    def part(order: int, words: str, last: float, **case: Any) -> ex.Part:
        times = np.linspace(0.0, last, _LOOKS).tolist()
        fixed = {**_RULE, **_SIZES[size], **case, "times": times, "observe": ["overlap"]}
        return ex.Part(ex.Study(fixed, key=80 + order), words=words, facts={"order": order})

    line = {"target": "h1", "activation": "relu", "step_size": "0.5/d", "start": "orthogonal"}
    square = {"target": "He2(h1)", "activation": "He2", "step_size": "0.1/d", "planted": [[0.1]], "start": "planted"}
    cube = {"target": "He3(h1)", "activation": "He3", "step_size": "0.01/d", "planted": [[0.3]], "start": "planted"}
    return {
        "exponent-1": part(1, "y = h, from m = 0", 8.0, **line),
        "exponent-2": part(2, "y = He2(h), from m = .1", 15.0, **square),
        "exponent-3": part(3, "y = He3(h), from m = .3", 40.0, **cube),
    }


def theory(data: ex.Data) -> ex.Data:
    """The equation, solved on a finer grid of times."""
    return {name: ex.predict_at(part, times=_finer(part["time"].values)) for name, part in data.items()}


def _finer(times: np.ndarray) -> list[float]:
    return np.linspace(times[0], times[-1], 5 * (len(times) - 1) + 1).tolist()


EXHIBIT = ex.Exhibit(
    id="online-sgd",
    title="One-pass SGD follows its equation",
    claim="On the sphere, the overlap of one-pass SGD with the target's direction follows an ordinary differential "
    "equation whose signal begins as m^(l-1), l the information exponent.",
    document=ex.MULTI_INDEX,
    papers=("benarous2021",),
    protocol="One neuron, correlation loss, one sample a step: relu on h, He2 on He2, He3 on He3, steps .5/d, .1/d and "
    ".01/d. For l = 2 and 3 the start is planted at m = .1 and .3, where the search is over and the limit is "
    "deterministic; how long the search takes is another exhibit.",
    caption="Lines are the equation, points the mean over seeds with two standard errors.",
    studies=studies,
    theory=theory,
    checks={"the overlap at information exponent {order} follows its equation": ex.Agrees("overlap")},
    numbers={"m at n = {time:g} d, exponent {order}": ex.Value(ex.Of("overlap", where={"time": ex.Nth(_LOOKS // 2)}))},
    figure={
        "exponent {order}: {words}": ex.Panel(
            ex.Overlay("overlap", "time", points=""), each="study", x=ex.PER_DIM, y="overlap m", ylim=(0, 1)
        )
    },
    shows=("information_exponent", "one_pass_sgd"),
)
