"""One gradient step on n ~ d^2 samples finds the directions of a polynomial (Damian, Lee, Soltanolkotabi 2022,
arXiv:2206.15144).

With the mean and the linear part of the labels taken off, the gradient at a random neuron w is H w / sqrt(2 pi) plus
noise of size sqrt(d/n), H = E[grad^2 f]: from n ~ d^2 on it points into the span of H. A ridge regression on the
neurons after the step then does what kernels need d^p samples for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex

# Degrees 1, 2 and 4 in two directions; variance 1.25, of which polynomials of degree 2 leave 1/2.
TARGET = "0.5*(He2(h1)/sqrt(2) + He2(h2)/sqrt(2)) + sqrt(0.5)*He2(h1)*He2(h2)/2 + 0.5*h1"
BLIND = "He3(h1)/sqrt(6)"
FOUND, RATIOS = 0.5, np.geomspace(0.1, 20, 16)
_QUICK = [[40, 6400]]
_PAPER = [[32, 4096], [32, 8192], [64, 4096], [64, 16_384]]
_LARGE = [[64, 4096], [64, 16_384], [128, 4096], [128, 16_384], [128, 65_536]]
# Neurons; dimension and samples of the steps, and of the kernel.
_SIZES: dict[ex.Size, tuple[int, list[list[int]], list[list[int]]]] = {
    ex.Size.QUICK: (128, _QUICK, []),
    ex.Size.PAPER: (1024, _PAPER, [[32, 4096], [64, 4096]]),
    ex.Size.LARGE: (1024, _LARGE, [[64, 4096], [128, 4096]]),
}
_RULE = {"learner": "preprocessed-step", "second_layer": "signs", "row_norm": 1.5, "test_samples": 2**18, "seeds": 1}
_LOOKS = {"design": "dense", "observe": ["cosine", "risk"]}
_KERNEL = {"learner": "kernel-ridge", "kernel": "relu-ntk", "test_samples": 2**18, "design": "dense", "target": TARGET}
_SIZE = "dim_samples"
_AFTER, _BEFORE = {"time": ex.LAST}, {"time": ex.FIRST}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The step on more and more samples; beyond the quick size, where its Hessian vanishes; and a kernel."""
    width, sizes, kernel_sizes = _SIZES[size]

    def part(key: int, fixed: dict[str, Any], places: list[list[int]], repeats: int, words: str) -> ex.Part:
        facts = {"alone": not kernel_sizes, "least_dim": places[0][0]}
        return ex.Part(ex.Study(fixed, {"dim,samples": places}, repeats=repeats, key=key), words=words, facts=facts)

    rule = {**_RULE, **_LOOKS, "width": width}
    parts = {"step": part(66, {**rule, "target": TARGET}, sizes, 8, "after the step")}
    if kernel_sizes:
        parts["blind"] = part(62, {**rule, "target": BLIND}, sizes[-1:], 8, "He3, which has no Hessian")
        parts["kernel"] = part(63, _KERNEL, kernel_sizes, 16, "kernel")
    return parts


def theory(data: ex.Data) -> ex.Data:
    """Shares of squared norms in the target's directions: of each size and run; and over n/d^2, by dimension."""
    import xarray as xr

    from featlab.theory.step_alignment import step_alignment

    part = data["step"]
    starts = part["cosine"].isel(time=0, seed=0).transpose(_SIZE, "repeat", "neuron", "direction").values
    dims, samples = part["dim"].values.tolist(), part["samples"].values.tolist()
    found, lines = [], {}
    for dim, count, runs in zip(dims, samples, starts, strict=True):
        found.append([step_alignment(TARGET, start, dim, count).mean() for start in runs])
        lines[dim] = [step_alignment(TARGET, runs[0], dim, round(ratio * dim**2)).mean() for ratio in RATIOS]
    return {
        "step": xr.Dataset({"aligned": ((_SIZE, "repeat"), found)}),
        "lines": xr.Dataset({"aligned": (("dim", "ratio"), [*lines.values()])}, {"dim": [*lines], "ratio": RATIOS}),
    }


def aligned(data: ex.Dataset) -> ex.Array:
    """The mean over neurons of |cos|^2 with the target's directions."""
    return data["aligned"] if "aligned" in data else (data["cosine"] ** 2).sum("direction").mean("neuron")


def _enough(at: Mapping[str, Any]) -> bool:
    return bool(at["samples"] >= 4 * at["dim"] ** 2)


def _better_than_a_kernel(view: ex.View, statement: str) -> list[ex.Check]:
    """Where both were run, from n = d^2 on."""
    found = []
    for place in view.places(ex.Of("risk", "kernel"), _SIZE):
        dim, samples = (view.fields("kernel", place.where)[name] for name in ("dim", "samples"))
        same = {_SIZE: lambda at, dim=dim, samples=samples: (at["dim"], at["samples"]) == (dim, samples)}
        both = [ex.Of("risk", "step", {**_AFTER, **same}), ex.Of("risk", "kernel", {**_AFTER, **place.where})]
        if samples >= dim**2:
            found += ex.Ordered(both).judge(view, statement.format(dim=dim, samples=samples))
    return found


def _over_ratio(quantity: ex.Reading, when: Mapping[str, Any], words: str, series: int = 0) -> ex.Overlay:
    """Of the step, each dimension in its own colour."""
    of = ex.Of(quantity, "step", when)
    return ex.Overlay(of, "samples", None, f"{words}, d = {{dim}}", x=_ratio, each="dim", series=series)


def _ratio(values: ex.Array, at: Mapping[str, Any]) -> Any:
    return values["samples"].values / values["dim"].values ** 2


def _lines(axes: Any, view: ex.View) -> None:
    from featlab.figures.panels import theory_line

    for series, line in enumerate(view.theory["lines"]["aligned"]):
        theory_line(axes, line["ratio"], line, series=series, label=f"theory, d = {line['dim'].item()}")


_STEP = ex.Of(aligned, "step", {**_AFTER, _SIZE: _enough})
_X: dict[str, Any] = {"x": "samples over squared dimension, n / d^2", "xscale": "log", "xlim": (RATIOS[0], RATIOS[-1])}

EXHIBIT = ex.Exhibit(
    id="damian",
    title="One step finds the directions of a polynomial",
    claim="One gradient step on n of order d^2 samples, the linear part of the labels taken off, moves the neurons "
    "into the span of the target's Hessian, and a second layer then learns what kernels need more samples for.",
    document=ex.FIRST_STEP,
    papers=("damian2022",),
    protocol="A polynomial of degree 4 in two directions; relu neurons, weights after the step of norm 1.5 (root mean "
    "square), biases N(0, 1), second layer by ridge regression on the same samples, lambda by leave-one-out (the "
    "limit of the paper's gradient descent with weight decay). Random features are the same fit before the step. The "
    "predicted cosine is that of mean gradient and Gaussian fluctuation, to relative order 1/d. The kernel is the NTK "
    "of relu.",
    caption="Points are means over runs with two standard errors; lines the prediction from the neurons' start.",
    studies=studies,
    theory=theory,
    checks={
        "from n = 4 d^2 on neurons have the predicted cosine with the target's directions": ex.Close(
            _STEP, allowance=lambda at: 1 / at["least_dim"]
        ),
        "from n = 4 d^2 on most of a neuron lies in the target's directions (|cos|^2 > 0.5)": [
            ex.Contrast(_STEP, ex.Of(aligned, "blind", _AFTER), FOUND),
            ex.Contrast(
                _STEP,
                ex.Of(aligned, "step", {**_BEFORE, _SIZE: ex.LAST}, "before the step"),
                FOUND,
                only=lambda at: at["alone"],
            ),
        ],
        "the step lowers the risk, d = {dim}, n = {samples}": ex.Ordered(
            [ex.Of("risk", "step", _AFTER, "after"), ex.Of("risk", "step", _BEFORE, "random features")],
            each=_SIZE,
            only=_enough,
        ),
        "better than a kernel, d = {dim}, n = {samples}": _better_than_a_kernel,
    },
    numbers={
        "|cos|^2, d = {dim}, n = {samples}": ex.Value(ex.Of(aligned, "step", _AFTER), each=_SIZE),
        "risk, d = {dim}, n = {samples}": ex.Value(ex.Of("risk", "step", _AFTER), False, each=_SIZE),
        "risk of random features, d = {dim}, n = {samples}": ex.Value(
            ex.Of("risk", "step", _BEFORE), False, each=_SIZE
        ),
        "risk of a kernel, d = {dim}, n = {samples}": ex.Value(ex.Of("risk", "kernel", _AFTER), False, each=_SIZE),
    },
    remarks=(
        (
            "The prototype's .140 and .540 (random features) at d = 32, n = 8 d^2 are one draw of a heavy-tailed test "
            "sample: in independent plain code 8 seeds give .202 (.014) and .696 (.025), as featlab does; test samples "
            "of 4,000 scatter by .11 and .20, with a correlation of .95 between the two, so that both fall together. "
            "Test samples are therefore 262,144 now, and the kernel has 16 runs: with 16,384 and 4 an earlier protocol "
            "could not tell."
        ),
        (
            "Rows of norm 1.5 are the prototype's choice; with .5 the risk is lower (.12 instead of .17 on the same "
            "three seeds at d = 32, n = 8 d^2), as neurons then bend over the whole range of the samples."
        ),
        (
            "At n ~ d^2 the predicted cosine is too high by a tenth: the fluctuation along the directions is of degree "
            "5 in the fields, and not yet Gaussian."
        ),
        "The notes' d^{2r} is d^2 r, and their coefficients c_k are those of relu, not of its derivative.",
    ),
    figure={
        "One step finds the directions": ex.Panel(
            _lines,
            _over_ratio(aligned, _AFTER, "after the step"),
            _over_ratio(aligned, _BEFORE, "before", series=2),
            **_X,
            y="mean |cos|^2 with the target's directions",
            legend="upper left",
            ylim=(0, 1),
        ),
        "and a ridge regression the function": ex.Panel(
            _over_ratio("risk", _AFTER, "after the step"),
            _over_ratio("risk", _BEFORE, "random features", series=2),
            ex.Overlay(ex.Of("risk", "kernel", _AFTER), "samples", None, "kernel, both d", x=_ratio, series=1),
            ex.Mark(0.5, "the best quadratic", along="y"),
            **_X,
            y="risk",
            legend={"loc": "upper right", "ncols": 2},
            ylim=(0, 1.6),
        ),
    },
    shows=("one_giant_step",),
)
