"""An exhibit that costs nothing: a coin whose mean is claimed, with knobs for the tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab import exhibits as ex
from featlab.figures.panels import panels
from featlab.study import Runner

SEEDS = {ex.Size.QUICK: 30, ex.Size.PAPER: 60, ex.Size.LARGE: 90}


def run_point(point, key):
    """Noise around the mean asked for; a negative mean is a fault."""
    if point["mean"] < 0:
        raise RuntimeError("no such coin")
    draws = np.random.default_rng(key).normal(point["mean"], 0.1, point["seeds"])
    return [{"seed": seed, "height": float(height)} for seed, height in enumerate(draws)]


RUNNER = Runner(run_point, index=("seed",))


def exhibit(claimed: float = 1.0, mean: float = 1.0, moving: bool = False, **changed) -> ex.Exhibit:
    def studies(size: ex.Size) -> dict[str, ex.Part]:
        return {"coins": ex.Part(ex.Study({"mean": mean, "seeds": SEEDS[size]}, key=3), f"{__name__}:RUNNER")}

    def theory(data: ex.Data) -> ex.Data:
        return {"coins": xr.Dataset({"height": claimed})}

    def animation(view: ex.View) -> Iterator[Figure]:
        for count in (10, 20, 30):
            made, (axes,) = panels(["Coins"], x="seed", y="height")
            axes.plot(view.data["coins"]["height"].values[:count])
            yield made

    given = {
        "id": "toy",
        "title": "A coin <fair>",
        "claim": "Its mean is what is claimed & no more.",
        "document": ex.MULTI_INDEX,
        "papers": ("damian2022",),
        "protocol": "Toss it.",
        "caption": "The line is the claim, bars are tosses.",
        "studies": studies,
        "theory": theory,
        "checks": {"the mean is as claimed": ex.Close("height")},
        "numbers": {"height <&>": ex.Value("height", earlier=0.99)},
        "remarks": "A remark with <b>marks</b> & signs.",
        "figure": {
            "Coins": ex.Panel(ex.Histogram("height", np.linspace(0, 2, 21).tolist()), ex.Mark(claimed, "claimed"))
        },
        "animation": animation if moving else None,
    }
    return ex.Exhibit(**{**given, **changed})
