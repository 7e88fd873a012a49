"""An exhibit that costs nothing: a coin whose mean is claimed, with knobs for the tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from featlab.exhibits.checks import close, mean_and_error
from featlab.exhibits.protocol import Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.study import Runner, Study

SEEDS = {Size.QUICK: 30, Size.PAPER: 60, Size.LARGE: 90}


def run_point(point, key):
    """Noise around the mean asked for; a negative mean is a fault."""
    if point["mean"] < 0:
        raise RuntimeError("no such coin")
    draws = np.random.default_rng(key).normal(point["mean"], 0.1, point["seeds"])
    return [{"seed": seed, "height": float(height)} for seed, height in enumerate(draws)]


RUNNER = Runner(run_point, index=("seed",))


def exhibit(claimed: float = 1.0, mean: float = 1.0, moving: bool = False) -> Exhibit:
    def studies(size: Size) -> dict[str, Part]:
        return {"coins": Part(Study({"mean": mean, "seeds": SEEDS[size]}, key=3), f"{__name__}:RUNNER")}

    def verdict(data, predicted) -> Finding:
        heights = data["coins"]["height"].values
        number = Number("height <&>", predicted, *mean_and_error(heights), 0.99)
        return Finding(
            [close("the mean is as claimed", heights, predicted)], [number], ["A remark with <b>marks</b> & signs."]
        )

    def figure(data, predicted) -> Figure:
        made, (axes,) = panels(["Coins"], x="seed", y="height")
        theory_line(axes, [0, 30], [predicted, predicted], label="theory")
        measured_points(axes, data["coins"]["seed"], data["coins"]["height"], None, label="simulation")
        return made

    def animation(data, predicted) -> Iterator[Figure]:
        for _ in range(3):
            yield figure(data, predicted)

    return Exhibit(
        id="toy",
        title="A coin <fair>",
        claim="Its mean is what is claimed & no more.",
        document="multi-index",
        papers=("damian2022",),
        protocol="Toss it.",
        caption="The line is the claim, points are tosses.",
        studies=studies,
        prediction=lambda data: claimed,
        verdict=verdict,
        figure=figure,
        animation=animation if moving else None,
    )
