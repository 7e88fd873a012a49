"""Inputs need not be Gaussian: what one gradient step finds depends on their first two moments (the talk's "Gaussian
universality"; Hu, Lu 2020 for random features).

For independent entries of mean 0 and variance 1 and a target's direction that is spread over many of them, the fields
<w, x> are Gaussian in the limit, and the cosine of the first gradient of a relu neuron with the target is

    cos^2 = s^2 / (s^2 + N d/n),   s = E[y h]/2,  N = E[y^2]/2,

whatever the law of the entries. Along a single coordinate the field is that coordinate, and its law does matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

LAWS = ["normal", "signs", "uniform", "laplace"]
RATIOS = [1.0, 2.0, 4.0, 8.0]
NEURONS = 32
_SIZES = {ex.Size.QUICK: (300, 12), ex.Size.PAPER: (1000, 32), ex.Size.LARGE: (3000, 32)}


def first_step(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The squared cosine of the first gradient with the target, the mean over neurons; y = tanh(3h), relu neurons."""
    draw, dim = np.random.default_rng(key), point["dim"]
    samples = round(point["ratio"] * dim)
    laws: Mapping[str, Any] = {
        "normal": draw.standard_normal,
        "signs": lambda size: draw.choice([-1.0, 1.0], size),
        "uniform": lambda size: draw.uniform(-np.sqrt(3), np.sqrt(3), size),
        "laplace": lambda size: draw.laplace(0.0, np.sqrt(0.5), size),
    }
    inputs = laws[point["law"]]((samples, dim))
    direction = draw.standard_normal(dim) if point["spread"] else np.eye(dim)[0]
    direction /= np.linalg.norm(direction)
    neurons = draw.standard_normal((NEURONS, dim))
    labels = np.tanh(3 * inputs @ direction)
    gradients = ((inputs @ neurons.T > 0) * labels[:, None]).T @ inputs / samples
    return [{"cosine": float(np.mean((gradients @ direction) ** 2 / np.sum(gradients**2, axis=1)))}]


STEP = Runner(first_step)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Four laws with a direction spread over all coordinates, and signs with a direction along one."""
    dim, repeats = _SIZES[size]
    spread = ex.Study({"dim": dim, "spread": True}, {"law": LAWS, "ratio": RATIOS}, repeats=repeats, key=501)
    single = ex.Study({"dim": dim, "spread": False, "law": "signs"}, {"ratio": RATIOS}, repeats=repeats, key=502)
    kind = f"{__name__}:STEP"
    return {
        "spread": ex.Part(spread, kind, words="{law}"),
        "single": ex.Part(single, kind, words="signs, one coordinate"),
    }


def theory(data: ex.Data) -> ex.Data:
    """The closed form, with the moments of tanh(3h) of a Gaussian field for all."""
    import xarray as xr

    from featlab.targets import target
    from featlab.theory.spikes import label_moments

    moments = label_moments(target("tanh(3*h1)"))
    ratios = np.union1d(np.geomspace(RATIOS[0], RATIOS[-1], 30), RATIOS)
    signal = (moments.linear_norm / 2) ** 2
    cosine = signal / (signal + moments.second / 2 / ratios)
    found = xr.Dataset({"cosine": ("ratio", cosine)}, {"ratio": ratios})
    return {"spread": found, "single": found}


EXHIBIT = ex.Exhibit(
    id="universality",
    title="Inputs need not be Gaussian",
    claim="What a gradient step finds on inputs with independent entries is what it finds on Gaussian ones of the same "
    "covariance.",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="Entries normal, +-1, uniform or Laplace, of variance 1; y = tanh(3h) along a random direction, the first "
    "gradient of 32 relu neurons on n = d to 8 d samples, its squared cosine with the direction. All laws must follow "
    "the "
    "closed form for Gaussian inputs, up to 1/sqrt(d) of the largest. The control is a direction along one coordinate "
    "of "
    "+-1 inputs, whose field is no sum.",
    caption="The line is the closed form for Gaussian inputs; points are means over runs with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "{law} inputs: the squared cosine is that of Gaussian inputs": ex.Close(
            ex.Of("cosine", "spread"), each="law", allowance=ex.root_d()
        ),
        "n = {ratio:g} d: along one coordinate of +-1 inputs it is another": ex.Ordered(
            [
                ex.Of("cosine", "spread", {"law": "signs", "ratio": ex.Nth(1)}, "spread over all"),
                ex.Of("cosine", "single", {"ratio": ex.Nth(1)}, "one coordinate"),
            ]
        ),
    },
    numbers={
        "cos^2 at n = {ratio:g} d, {words}": [
            ex.Value(ex.Of("cosine", "spread", {"ratio": ex.LAST}), each="law"),
            ex.Value(ex.Of("cosine", "single", {"ratio": ex.LAST})),
        ]
    },
    settled="First runs had y = tanh(h), of which the control differs by a hundredth only, too little for its runs.",
    figure={
        "One gradient step": ex.Panel(
            ex.Overlay(ex.Of("cosine", "spread", {"law": "normal"}), "ratio", "Gaussian inputs, theory", "{words}"),
            *(
                ex.Overlay(ex.Of("cosine", "spread", {"law": law}), "ratio", None, "{words}", series=1 + place)
                for place, law in enumerate(LAWS[1:])
            ),
            ex.Overlay(ex.Of("cosine", "single"), "ratio", None, "{words}", series=4),
            y="squared cosine with the target",
            xscale="log",
            ticks={"x": RATIOS},
        )
    },
    shows=("one_giant_step",),
)
