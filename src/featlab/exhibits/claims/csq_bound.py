"""Correlational queries need about d^(p/2) samples for He_p (Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144).

The argument has three steps: exponentially many directions are nearly orthogonal; He_p of two of them has the
correlation <u, v>^p, which is tiny; so that one query tells next to nothing about which of them is the target's. The
first two are measured here, the third is a computation, `featlab.theory.csq`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import factorial, sqrt
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from featlab.exhibits.checks import above, close, identity, standard_error
from featlab.exhibits.documents import FIRST_STEP
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.gaussian.hermite import hermite
from featlab.study import Runner, Study
from featlab.theory.csq import csq_samples, near_orthogonal_directions

DEGREES = (1, 2, 3, 4)
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 0.9)
QUERIES = 1e6
# Samples, pairs and repeats; the dimensions in which `count` directions are drawn.
_SIZES: dict[Size, dict[str, Any]] = {
    Size.QUICK: {"dim": 64, "samples": 40_000, "pairs": 8, "repeats": 12, "count": 300, "dims": [64, 256, 1024]},
    Size.PAPER: {"dim": 500, "samples": 100_000, "pairs": 16, "repeats": 24, "count": 3000, "dims": [64, 256, 1024]},
    Size.LARGE: {
        "dim": 2000,
        "samples": 200_000,
        "pairs": 32,
        "repeats": 24,
        "count": 10_000,
        "dims": [256, 1024, 4096],
    },
}
_REMARKS = (
    (
        "The notes print the correlation as <u, v>, without the power p that their next line uses, and the error that "
        "cannot be reached as 2 * 2 eps; it is 2 - 2 eps."
    ),
    (
        "The bound is for queries answered by an adversary; n = 1 / tau^2 samples is an analogy. It says nothing of "
        "reused batches or of transformed labels."
    ),
)
_CHUNK = 10_000
_FEWER = 4  # the control: as many directions in a space of a fourth of the dimension


def measure_correlations(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Means of f_u(x) f_v(x), f_u = He_p(<u, x>) / sqrt(p!), over samples and pairs (u, v) of given overlaps."""
    rng = np.random.default_rng(key)
    first, other = rng.standard_normal((2, point["pairs"], point["dim"]))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    other -= np.sum(first * other, axis=1, keepdims=True) * first
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    sums, left = np.zeros((len(DEGREES), len(OVERLAPS))), point["samples"]
    while left:
        rows = min(left, _CHUNK)
        left -= rows
        fields = rng.standard_normal((rows, point["dim"])) @ np.concatenate([first, other]).T
        u, perpendicular = fields[:, : point["pairs"]], fields[:, point["pairs"] :]
        for column, overlap in enumerate(OVERLAPS):
            v = overlap * u + sqrt(1 - overlap**2) * perpendicular
            for row, degree in enumerate(DEGREES):
                sums[row, column] += np.mean(hermite(degree, u) * hermite(degree, v), axis=1).sum() / factorial(degree)
    return [{"correlation": (sums / point["samples"]).tolist()}]


def measure_coherence(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The largest overlap of so many random directions, and of as many in a fourth of the dimension."""
    seed = int(np.random.default_rng(key).integers(2**32))
    found = [_largest_overlap(point["count"], dim, seed) for dim in (point["dim"], point["dim"] // _FEWER)]
    return [{"largest": found[0], "largest_in_fewer": found[1]}]


def _largest_overlap(count: int, dim: int, seed: int) -> float:
    directions = near_orthogonal_directions(count, dim, seed)
    return float(np.max(np.abs(directions @ directions.T - np.eye(count))))


CORRELATIONS = Runner(measure_correlations, axes={"correlation": ("degree", "overlap")})
COHERENCE = Runner(measure_coherence)


def studies(size: Size) -> Mapping[str, Part]:
    """Correlations at given overlaps, and the largest overlap of many random directions."""
    sizes = _SIZES[size]
    sample = {name: sizes[name] for name in ("dim", "samples", "pairs")}
    repeats = sizes["repeats"]
    family = Study({"count": sizes["count"]}, {"dim": sizes["dims"]}, repeats=repeats, key=72)
    return {
        "correlations": Part(Study(sample, repeats=repeats, key=71), f"{__name__}:CORRELATIONS"),
        "family": Part(family, f"{__name__}:COHERENCE"),
    }


def prediction(data: Data) -> dict[str, Any]:
    """<u, v>^p; the eps of which exp(d eps^2 / 4) directions exist; and the samples that He_p needs, by d."""
    count, dims = json.loads(data["family"].attrs["fixed"])["count"], data["family"]["dim"].values
    large = np.geomspace(1e2, 1e12, 41).round().astype(int)
    return {
        "correlation": np.array(OVERLAPS) ** np.array(DEGREES)[:, None],
        "coherence": np.sqrt(4 * np.log(count) / dims),
        "dims": large,
        "samples": {p: np.array([csq_samples(QUERIES, int(d), p) for d in large]) for p in DEGREES[1:]},
    }


def verdict(data: Data, predicted: dict[str, Any]) -> Finding:
    """Correlations are powers of overlaps, overlaps are small, and the bound that follows grows like d^(p/2)."""
    correlations = data["correlations"]["correlation"].transpose("repeat", ...).values
    largest, control = (data["family"][name].values.T for name in ("largest", "largest_in_fewer"))
    slopes = {p: _last_slope(predicted["dims"], found) for p, found in predicted["samples"].items()}
    off = max(abs(slope - p / 2) for p, slope in slopes.items())
    checks = [
        close(
            "He_p(<u, x>) / sqrt(p!) and the same of v have the correlation <u, v>^p",
            correlations,
            predicted["correlation"],
        ),
        above(
            "so many random directions have overlaps below the eps of which exp(d eps^2 / 4) = their number",
            predicted["coherence"] - largest,
            0.0,
            control="as many directions in a fourth of the dimension",
            control_samples=predicted["coherence"] - control,
        ),
        identity(
            "the bound grows like (d / log(q d))^(p/2), p = 2, 3, 4",
            off,
            0.03,
            control="the exponent p, of kernels",
            control_difference=min(abs(slope - p) for p, slope in slopes.items()),
        ),
    ]
    means, errors = correlations.mean(axis=0), standard_error(correlations)
    half = OVERLAPS.index(0.5)
    numbers = [
        Number(f"correlation of He{p} at <u, v> = 1/2", 0.5**p, float(means[row, half]), float(errors[row, half]))
        for row, p in enumerate(DEGREES)
    ]
    numbers += [Number(f"exponent of the bound for He{p}, largest d", p / 2, slope) for p, slope in slopes.items()]
    return Finding(checks, numbers, _REMARKS)


def _last_slope(dims: np.ndarray, samples: np.ndarray) -> float:
    """d log n / d log(d / log(q d)) at the largest dimensions."""
    scale = np.log(dims / np.log(QUERIES * dims))
    return float((np.log(samples[-1]) - np.log(samples[-5])) / (scale[-1] - scale[-5]))


def figure(data: Data, predicted: dict[str, Any]) -> Figure:
    """Correlation against overlap; the largest overlap; samples against dimension."""
    made, (powers, family, bound) = panels(
        ["Nearly orthogonal: uncorrelated", "Many directions are nearly orthogonal", "What queries must cost"],
        x=["overlap <u, v>", "dimension d", "dimension d"],
        y=["correlation of He_p", "largest overlap", f"samples 1/tau^2, {QUERIES:.0e} queries"],
    )
    correlations, line = data["correlations"]["correlation"].transpose("repeat", ...).values, np.linspace(0, 0.9, 60)
    for row, p in enumerate(DEGREES):
        theory_line(powers, line, line**p, series=row, label=f"<u, v>^{p}")
        found = correlations[:, row]
        measured_points(powers, OVERLAPS, found.mean(axis=0), standard_error(found), series=row, label=f"He{p}")
    add_legend(powers, ncols=2)
    largest, dims = data["family"]["largest"].values.T, data["family"]["dim"].values
    theory_line(family, dims, predicted["coherence"], label="eps of the bound")
    measured_points(family, dims, largest.mean(axis=0), standard_error(largest), label="random directions")
    family.set_xscale("log")
    family.set_yscale("log")
    add_legend(family)
    for row, (p, samples) in enumerate(predicted["samples"].items(), start=1):
        useful = (samples > 1) & (predicted["dims"] <= 1e7)
        theory_line(bound, predicted["dims"][useful], samples[useful], series=row, label=f"He{p}, about d^{p / 2:g}")
    bound.set_xscale("log")
    bound.set_yscale("log")
    add_legend(bound)
    return made


EXHIBIT = Exhibit(
    id="csq-bound",
    title="What correlational queries must cost",
    claim="Without a Hessian to see, learning He_p of an unknown direction by q correlational queries takes a "
    "tolerance of (log(q d) / d)^(p/4), that is about d^(p/2) samples.",
    document=FIRST_STEP,
    papers=("damian2022",),
    protocol="Pairs of random directions with given overlaps, He_p correlated over Gaussian inputs; random sign "
    "vectors, their largest overlap against the eps of which exp(d eps^2 / 4) directions exist. The bound is computed "
    "with its constants, as the smallest over eps of eps^p + 2 q exp(-d eps^2 / 4); the notes have it up to constants.",
    caption="Left and middle: points are means with two standard errors, lines the argument. Right: the bound.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("csq_bound",),
)
