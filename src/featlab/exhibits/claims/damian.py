"""One gradient step on n ~ d^2 samples finds the directions of a polynomial (Damian, Lee, Soltanolkotabi 2022,
arXiv:2206.15144).

With the mean and the linear part of the labels taken off, the gradient at a random neuron w is H w / sqrt(2 pi) plus
noise of size sqrt(d/n), H = E[grad^2 f]: from n ~ d^2 on it points into the span of H. A ridge regression on the
neurons after the step then does what kernels need d^p samples for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featlab.exhibits.checks import close, contrast, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import FIRST_STEP
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Study
from featlab.theory.step_alignment import step_alignment

# Degrees 1, 2 and 4 in two directions; variance 1.25, of which polynomials of degree 2 leave 1/2.
TARGET = "0.5*(He2(h1)/sqrt(2) + He2(h2)/sqrt(2)) + sqrt(0.5)*He2(h1)*He2(h2)/2 + 0.5*h1"
BLIND = "He3(h1)/sqrt(6)"
FOUND = 0.5
RATIOS = np.geomspace(0.1, 20, 16)
_SIZES: dict[Size, dict[str, Any]] = {
    Size.QUICK: {"sizes": [[40, 6400]], "width": 128, "repeats": 8, "blind": False, "kernel": []},
    Size.PAPER: {
        "sizes": [[32, 4096], [32, 8192], [64, 1024], [64, 4096], [64, 16_384]],
        "width": 1024, "repeats": 8, "blind": True, "kernel": [[32, 4096], [64, 1024], [64, 4096]],
    },
    Size.LARGE: {
        "sizes": [[64, 4096], [64, 16_384], [128, 4096], [128, 16_384], [128, 65_536]],
        "width": 1024, "repeats": 8, "blind": True, "kernel": [[64, 4096], [128, 4096]],
    },
}  # fmt: skip
_RULE = {
    "learner": "preprocessed-step", "second_layer": "signs", "row_norm": 1.5, "test_samples": 2**16, "seeds": 1,
    "design": "dense", "observe": ["cosine", "risk"],
}  # fmt: skip
_EARLIER = {(32, 4096): 0.309, (32, 8192): 0.140, (64, 1024): 0.89, (64, 4096): 0.578, (64, 16_384): 0.257}
_EARLIER_RANDOM = {(32, 8192): 0.540, (64, 4096): 0.943, (64, 16_384): 0.848}
_EARLIER_KERNEL = {(32, 4096): 0.620, (64, 1024): 0.96, (64, 4096): 0.727}


def studies(size: Size) -> Mapping[str, Part]:
    """The step on more and more samples; where its Hessian vanishes; and a kernel."""
    sizes = _SIZES[size]
    rule, repeats = {**_RULE, "width": sizes["width"]}, sizes["repeats"]
    parts = {"step": Part(Study({**rule, "target": TARGET}, {"dim,samples": sizes["sizes"]}, repeats=repeats, key=66))}
    if sizes["blind"]:
        largest = {"dim,samples": sizes["sizes"][-1:]}
        parts["blind"] = Part(Study({**rule, "target": BLIND}, largest, repeats=repeats, key=62))
    if sizes["kernel"]:
        kernel = {
            "learner": "kernel-ridge",
            "kernel": "relu-ntk",
            "target": TARGET,
            "test_samples": 2**14,
            "design": "dense",
        }
        parts["kernel"] = Part(Study(kernel, {"dim,samples": sizes["kernel"]}, repeats=4, key=63))
    return parts


@dataclass(frozen=True, eq=False)
class Predicted:
    """Shares of squared norms in the target's directions: of each size and run; and along RATIOS, by dimension."""

    aligned: np.ndarray
    lines: dict[int, np.ndarray]


def prediction(data: Data) -> Predicted:
    """From where the neurons began."""
    part = data["step"]
    starts = part["cosine"].isel(time=0, seed=0).transpose("dim_samples", "repeat", "neuron", "direction").values
    sizes = _sizes(part)
    aligned = [
        [step_alignment(TARGET, start, dim, samples).mean() for start in runs]
        for runs, (dim, samples) in zip(starts, sizes, strict=True)
    ]
    lines = {}
    for runs, (dim, _) in zip(starts, sizes, strict=True):
        lines[dim] = np.array([step_alignment(TARGET, runs[0], dim, round(r * dim**2)).mean() for r in RATIOS])
    return Predicted(np.array(aligned), lines)


def _aligned(part: xr.Dataset, time: int) -> np.ndarray:
    """The mean over neurons of |cos|^2 with the target's directions, (size, run)."""
    squares = (part["cosine"].isel(time=time, seed=0) ** 2).sum("direction").mean("neuron")
    return np.asarray(squares.transpose("dim_samples", "repeat").values)


def _risks(part: xr.Dataset, time: int) -> np.ndarray:
    return np.asarray(part["risk"].isel(time=time, seed=0).transpose("dim_samples", "repeat").values)


def _sizes(part: xr.Dataset) -> list[tuple[int, int]]:
    return [(int(d), int(n)) for d, n in zip(part["dim"].values, part["samples"].values, strict=True)]


def verdict(data: Data, predicted: Predicted) -> Finding:
    """The step points as predicted, finds the directions from 4 d^2 samples, and lowers the risk."""
    part = data["step"]
    aligned, expected, sizes = _aligned(part, 1), predicted.aligned, _sizes(part)
    risks, before = _risks(part, 1), _risks(part, 0)
    control = _aligned(data["blind"], 1)[0] if "blind" in data else _aligned(part, 0)[-1]
    enough = [at for at, (dim, samples) in enumerate(sizes) if samples >= 4 * dim**2]
    checks = [
        close(
            "from n = 4 d^2 on neurons have the predicted cosine with the target's directions",
            (aligned - expected + expected.mean(axis=1, keepdims=True))[enough].T,
            expected[enough].mean(axis=1),
            allowance=1 / min(dim for dim, _ in sizes),
        ),
        contrast(
            f"from n = 4 d^2 on most of a neuron lies in the target's directions (|cos|^2 > {FOUND})",
            aligned[enough] > FOUND,
            control > FOUND,
            name="after the step",
            control_name="He3, which has no Hessian" if "blind" in data else "before the step",
        ),
    ]
    checks += [
        ordered(
            f"the step lowers the risk, d = {dim}, n = {samples}",
            {"after": risks[at], "random features": before[at]},
        )
        for at, (dim, samples) in enumerate(sizes)
        if at in enough
    ]
    numbers = []
    for at, (dim, samples) in enumerate(sizes):
        words = f"d = {dim}, n = {samples}"
        numbers += [
            Number(f"|cos|^2, {words}", float(expected[at].mean()), *mean_and_error(aligned[at])),
            Number(f"risk, {words}", None, *mean_and_error(risks[at]), _EARLIER.get((dim, samples))),
            Number(
                f"risk of random features, {words}",
                None,
                *mean_and_error(before[at]),
                _EARLIER_RANDOM.get((dim, samples)),
            ),
        ]
    if "kernel" in data:
        numbers += _against_kernels(data["kernel"], checks, dict(zip(sizes, risks, strict=True)))
    return Finding(checks, numbers, _REMARKS)


def _against_kernels(kernel: xr.Dataset, checks: list[Check], risks: dict[tuple[int, int], np.ndarray]) -> list[Number]:
    numbers = []
    for place, found in zip(_sizes(kernel), _risks(kernel, -1), strict=True):
        words = f"d = {place[0]}, n = {place[1]}"
        numbers.append(Number(f"risk of a kernel, {words}", None, *mean_and_error(found), _EARLIER_KERNEL.get(place)))
        if place[1] >= place[0] ** 2:
            checks.append(ordered(f"better than a kernel, {words}", {"after the step": risks[place], "kernel": found}))
    return numbers


_REMARKS = (
    (
        "The prototype's .140 and .540 (random features) at d = 32, n = 8 d^2 are one draw of a heavy-tailed test "
        "sample: in independent plain code 8 seeds give .202 (.014) and .696 (.025), as featlab does; test samples of "
        "4,000 scatter by .11 and .20, with a correlation of .95 between the two, so that both fall together."
    ),
    (
        "Rows of norm 1.5 are the prototype's choice; with .5 the risk is lower (.12 instead of .17 on the same three "
        "seeds at d = 32, n = 8 d^2), as neurons then bend over the whole range of the samples."
    ),
    (
        "At n ~ d^2 the predicted cosine is too high by a tenth: the fluctuation along the directions is of degree 5 "
        "in the fields, and not yet Gaussian."
    ),
    "The notes' d^{2r} is d^2 r, and their coefficients c_k are those of relu, not of its derivative.",
)


def figure(data: Data, predicted: Predicted) -> Figure:
    """Alignment and risk against n/d^2."""
    part = data["step"]
    made, (cosines, risk) = panels(
        ["One step finds the directions", "and a ridge regression the function"],
        x="samples over squared dimension, n / d^2",
        y=["mean |cos|^2 with the target's directions", "risk"],
    )
    sizes, aligned = np.array(_sizes(part)), _aligned(part, 1)
    random_start = _aligned(part, 0)
    for series, dim in enumerate(np.unique(sizes[:, 0])):
        mine = sizes[:, 0] == dim
        ratio = sizes[mine, 1] / dim**2
        theory_line(cosines, RATIOS, predicted.lines[dim], series=series, label=f"theory, d = {dim}")
        _points(cosines, ratio, aligned[mine], series, f"after the step, d = {dim}")
        _points(cosines, ratio, random_start[mine], series + 2, f"before, d = {dim}")
        _points(risk, ratio, _risks(part, 1)[mine], series, f"after the step, d = {dim}")
        _points(risk, ratio, _risks(part, 0)[mine], series + 2, f"random features, d = {dim}")
    if "kernel" in data:
        places, found = np.array(_sizes(data["kernel"])), _risks(data["kernel"], -1)
        _points(risk, places[:, 1] / places[:, 0] ** 2, found, 1, "kernel, both d")
    mark(risk, 0.5, "the best quadratic", along="y")
    for axes in (cosines, risk):
        axes.set(xscale="log", xlim=(RATIOS[0], RATIOS[-1]), ylim=(0, 1 if axes is cosines else 1.6))
    add_legend(cosines, loc="upper left")
    add_legend(risk, loc="upper right", ncols=2)
    return made


def _points(axes: Axes, x: np.ndarray, samples: np.ndarray, series: int, label: str) -> None:
    measured_points(axes, x, samples.mean(axis=1), standard_error(samples, axis=1), series=series, label=label)


EXHIBIT = Exhibit(
    id="damian",
    title="One step finds the directions of a polynomial",
    claim="One gradient step on n of order d^2 samples, the linear part of the labels taken off, moves the neurons "
    "into the span of the target's Hessian, and a second layer then learns what kernels need more samples for.",
    document=FIRST_STEP,
    papers=("damian2022",),
    protocol="A polynomial of degree 4 in two directions; relu neurons, weights after the step of norm 1.5 (root mean "
    "square), biases N(0, 1), second layer by ridge regression on the same samples, lambda by leave-one-out (the "
    "limit of the paper's gradient descent with weight decay). Random features are the same fit before the step. The "
    "predicted cosine is that of mean gradient and Gaussian fluctuation, to relative order 1/d. The kernel is the NTK "
    "of relu.",
    caption="Points are means over runs with two standard errors; lines the prediction from the neurons' start.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
