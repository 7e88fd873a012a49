"""Correlational queries need about d^(p/2) samples for He_p (Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144).

The argument has three steps: exponentially many directions are nearly orthogonal; He_p of two of them has the
correlation <u, v>^p, which is tiny; so that one query tells next to nothing about which of them is the target's. The
first two are measured here; the third is played, against an adversary. The bound is `featlab.theory.csq`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEGREES = (1, 2, 3, 4)
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 0.9)
QUERIES = 1e6
# Of the correlations; repeats; how many directions are drawn, and in which dimensions.
_SIZES = {
    ex.Size.QUICK: ({"dim": 64, "samples": 40_000, "pairs": 8}, 8, 300, [64, 256, 1024]),
    ex.Size.PAPER: ({"dim": 500, "samples": 100_000, "pairs": 16}, 24, 3000, [64, 256, 1024]),
    ex.Size.LARGE: ({"dim": 2000, "samples": 200_000, "pairs": 32}, 24, 10_000, [256, 1024, 4096]),
}
_TOLERANCE, _FORBIDDEN = 0.05**0.5, 3.0  # of the game; and the norm of queries that its rules do not allow
_FEWER = 4  # the control: as many directions in a space of a fourth of the dimension


def measure_correlations(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Of He_p of two directions, for every degree and overlap."""
    from featlab.simulation.hermite_pairs import hermite_correlations

    return [{"correlation": hermite_correlations(DEGREES, OVERLAPS, **point, seed=key).tolist()}]


def measure_coherence(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The largest overlap of so many random directions, and of as many in a fourth of the dimension."""
    from featlab.simulation.hermite_pairs import largest_overlap

    seed = int(np.random.default_rng(key).integers(2**32))
    found = [largest_overlap(point["count"], dim, seed) for dim in (point["dim"], point["dim"] // _FEWER)]
    return [{"largest": found[0], "largest_in_fewer": found[1]}]


def play(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Queries over the least number that there may be, M (tau^2 - c) / 2; by the rules, and with longer queries."""
    from featlab.simulation.hermite_pairs import query_game

    sizes = {"count": point["count"], "dim": point["dim"], "seed": key}
    asked, largest = query_game(point["degree"], _TOLERANCE, **sizes)
    cheated, _ = query_game(point["degree"], _TOLERANCE, **sizes, norm=_FORBIDDEN)
    least = point["count"] * (_TOLERANCE**2 - largest) / 2
    return [{"queries": asked, "least": least, "ratio": asked / least, "cheated": cheated / least}]


GAME = Runner(play)
CORRELATIONS = Runner(measure_correlations, axes={"correlation": ("degree", "overlap")})
COHERENCE = Runner(measure_coherence)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Correlations at given overlaps, the largest overlap of many random directions, and the game."""
    sample, repeats, count, dims = _SIZES[size]
    game = ex.Study({"count": max(count, 1000), "dim": 1024}, {"degree": [*DEGREES[1:]]}, repeats=repeats, key=73)
    family = ex.Study({"count": count}, {"dim": dims}, repeats=repeats, key=72)
    return {
        "correlations": ex.Part(ex.Study(sample, repeats=repeats, key=71), f"{__name__}:CORRELATIONS"),
        "family": ex.Part(family, f"{__name__}:COHERENCE"),
        "game": ex.Part(game, f"{__name__}:GAME"),
    }


def theory(data: ex.Data) -> ex.Data:
    """<u, v>^p; the eps of which exp(d eps^2 / 4) directions exist; and the samples that He_p needs, by d."""
    import xarray as xr

    from featlab.theory.csq import csq_samples

    degree, overlap = xr.DataArray(list(DEGREES), dims="degree"), xr.DataArray(list(OVERLAPS), dims="overlap")
    eps = np.sqrt(4 * np.log(data["family"]["count"]) / data["family"]["dim"])
    dims = np.geomspace(1e2, 1e12, 41).round().astype(int)
    bound = [[csq_samples(QUERIES, int(dim), p) for dim in dims] for p in DEGREES]
    return {
        "correlations": (overlap**degree).transpose("degree", "overlap").to_dataset(name="correlation"),
        "family": xr.Dataset({"largest": eps}),
        "bound": xr.Dataset({"samples": (("degree", "dim"), bound)}, {"degree": list(DEGREES), "dim": dims}),
    }


def slopes(view: ex.View) -> dict[int, float]:
    """Degree -> d log n / d log(d / log(q d)) at the largest dimensions."""
    bound = view.theory["bound"].sel(degree=list(DEGREES[1:])).isel(dim=[-5, -1])
    dims = bound["dim"].values
    scale = np.diff(np.log(dims / np.log(QUERIES * dims)))
    return {p: np.diff(np.log(bound["samples"].sel(degree=p).values)).item() / scale.item() for p in DEGREES[1:]}


def _exponents(view: ex.View, name: str) -> list[ex.Number]:
    return [ex.Number(name.format(p=p), p / 2, slope) for p, slope in slopes(view).items()]


def _draw_powers(axes: Axes, view: ex.View) -> None:
    """Lines of <u, v>^p at all overlaps, and what was measured at some."""
    from featlab.figures.panels import measured_points, theory_line
    from featlab.figures.style import add_legend

    line, found = np.linspace(0, 0.9, 60), view.measured(ex.Of("correlation", "correlations")).values
    for row, p in enumerate(DEGREES):
        mean, error = found[:, row].mean(axis=0), ex.standard_error(found[:, row])
        theory_line(axes, line, line**p, series=row, label=f"<u, v>^{p}")
        measured_points(axes, OVERLAPS, mean, error, series=row, label=f"He{p}")
    add_legend(axes, ncols=2)


def _draw_bound(axes: Axes, view: ex.View) -> None:
    """Where it says anything, up to d = 10^7."""
    from featlab.figures.panels import theory_line

    for row, p in enumerate(DEGREES[1:], start=1):
        samples = view.theory["bound"]["samples"].sel(degree=p)
        shown = samples[((samples > 1) & (samples["dim"] <= 1e7)).values]
        theory_line(axes, shown["dim"], shown, series=row, label=f"He{p}, about d^{p / 2:g}")


_HALF = {"overlap": ex.Nth(OVERLAPS.index(0.5))}

EXHIBIT = ex.Exhibit(
    id="csq-bound",
    title="What correlational queries must cost",
    claim="Without a Hessian to see, learning He_p of an unknown direction by q correlational queries takes a "
    "tolerance of (log(q d) / d)^(p/4), that is about d^(p/2) samples.",
    document=ex.FIRST_STEP,
    papers=("damian2022",),
    protocol="Pairs of directions with given overlaps, He_p correlated over Gaussian inputs; random sign vectors: "
    "largest overlap against the eps of which exp(d eps^2 / 4) exist. The game: M of them, d = 1024, tau^2 = .05, "
    "every query answered by zero; the learner asks for sums of .9/tau^2 of those left; c: the largest correlation.",
    caption="Left and middle: points are means with two standard errors, lines the argument. Right: the bound.",
    studies=studies,
    theory=theory,
    checks={
        "He_p(<u, x>) / sqrt(p!) and the same of v have the correlation <u, v>^p": ex.Close(
            ex.Of("correlation", "correlations")
        ),
        "so many random directions have overlaps below the eps of which exp(d eps^2 / 4) = their number": ex.Above(
            ex.Of("largest", "family"),
            "largest",
            ex.Of("largest_in_fewer", "family"),
            "as many directions in a fourth of the dimension",
            below=True,
        ),
        "He{degree}: against an adversary the best learner we know asks M (tau^2 - c)/2 queries or more": ex.Above(
            ex.Of("ratio", "game"),
            1.0,
            ex.Of("cheated", "game"),
            "queries of three times the length, which the rules forbid",
            each="degree",
        ),
        "the bound grows like (d / log(q d))^(p/2), p = 2, 3, 4": ex.Identity(
            lambda view, at: max(abs(slope - p / 2) for p, slope in slopes(view).items()),
            0.03,
            control="the exponent p, of kernels",
            control_difference=lambda view, at: min(abs(slope - p) for p, slope in slopes(view).items()),
        ),
    },
    numbers={
        **{
            f"correlation of He{p} at <u, v> = 1/2": ex.Value(
                ex.Of("correlation", "correlations", {"degree": ex.Nth(row), **_HALF})
            )
            for row, p in enumerate(DEGREES)
        },
        "queries over the least number, He{degree}": ex.Value(ex.Of("ratio", "game"), False, each="degree"),
        "exponent of the bound for He{p}, largest d": _exponents,
    },
    remarks="The notes print the correlation as <u, v>, without the power p that their next line uses, and the error "
    "that cannot be reached as 2 * 2 eps; it is 2 - 2 eps. The bound is for an adversary's answers; n = 1/tau^2 "
    "samples is an analogy. It says nothing of reused batches or of transformed labels.",
    figure={
        "Nearly orthogonal: uncorrelated": ex.Panel(
            _draw_powers, x="overlap <u, v>", y="correlation of He_p", legend=None
        ),
        "Many directions are nearly orthogonal": ex.Panel(
            ex.Overlay(ex.Of("largest", "family"), "dim", "eps of the bound", "random directions"),
            y="largest overlap",
            xscale="log",
            yscale="log",
        ),
        "What queries must cost": ex.Panel(
            _draw_bound, x="dimension d", y=f"samples 1/tau^2, {QUERIES:.0e} queries", xscale="log", yscale="log"
        ),
    },
    shows=("csq_bound",),
)
