"""One gradient step under a spike learns what kernels do not: what counts is the information exponent, not the degree.

Ba et al. 2023: from n ~ d samples with a spike theta = d^g along the target, a relu network learns after one step if
g > 1 - 1/k, k the information exponent; a kernel needs g > 1 - 1/p, p the degree. The first is where the gradient
aligns; it is sufficient, and the risk falls earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from featlab import exhibits as ex

LEARNED = 0.5
FAR = (10**6, 10**12)
_SPIKES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class _Case:
    """A target of information exponent k and degree 3, and the spike of its contrast: below 1 - 1/k, and well below the
    kernel's 1 - 1/3. An earlier prototype had, at d = 900 and 400 neurons, these risks, and this exponent at d = 10^12.
    """

    k: int
    words: str
    target: str
    spike: float
    earlier: Mapping[str, float]
    earlier_exponent: float


_CASES = (
    _Case(
        2,
        "He2 + He3",
        "(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)",
        0.4,
        {"network": 0.087, "kernel": 0.882, "features": 0.993},
        0.518,
    ),
    _Case(3, "He3", "He3(h1)/sqrt(6)", 0.5, {"network": 0.088, "kernel": 0.99, "features": 0.991}, 0.674),
)
# d, neurons, cases and their spikes; n = 2d.
_SIZES: dict[ex.Size, tuple[int, int, list[tuple[_Case, tuple[float, ...]]]]] = {
    ex.Size.QUICK: (300, 100, [(_CASES[0], (_CASES[0].spike,))]),
    ex.Size.PAPER: (900, 400, [(case, _SPIKES) for case in _CASES]),
    ex.Size.LARGE: (2000, 400, [(case, _SPIKES) for case in _CASES]),
}
_KERNELS = tuple(f"kernel_{case.k}" for case in _CASES)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """For each k: the network after one step, a kernel, and as many random neurons as the network has."""
    dim, width, cases = _SIZES[size]
    parts = {}
    for case, spikes in cases:
        k, axes, facts = case.k, {"spike": spikes}, {"k": case.k, "next": case.k + 1}
        shared = {"dim": dim, "seeds": 9, "observe": ["risk"], "design": "dense", "target": case.target}
        network = {**shared, "samples": 2 * dim, "width": width}
        # Twice the seeds: a strong spike makes the kernel's risk scatter.
        kernel = {**shared, "seeds": 18, "samples": 2 * dim, "learner": "kernel-ridge", "kernel": "exponential"}
        features = {**shared, "readout": 2 * dim, "learner": "random-features", "width": width, "biases": "gaussian"}
        features["activation"] = "relu"
        step, simulated = "one-step-readout", "simulate"
        parts[f"network_{k}"] = ex.Part(ex.Study(network, axes, key=700 + k), step, "network, one step", facts)
        parts[f"kernel_{k}"] = ex.Part(ex.Study(kernel, axes, key=710 + k), simulated, "kernel ridge", facts)
        parts[f"features_{k}"] = ex.Part(ex.Study(features, axes, key=720 + k), simulated, "random features", facts)
    return parts


def theory(data: ex.Data) -> ex.Data:
    """For each k: the kernel's risk over spikes; and where the gradient aligns, at this d and as d grows."""
    import xarray as xr

    from featlab.theory import aligning_exponent

    found = {}
    for name in [name for name in _KERNELS if name in data]:
        part = data[name]
        dims = [part["dim"].item(), *FAR]
        aligns = np.array([aligning_exponent(part["target"].item(), dim=dim, ratio=2) for dim in dims])
        found[f"{name}, aligning"] = xr.Dataset({"exponent": ("dim", aligns)}, {"dim": dims})
        spikes = np.union1d(part["spike"].values, np.linspace(0.05, 0.8, 9)).tolist()
        risks = ex.predict_over(part, "spike", spike=spikes)[["risk"]].isel(time=0)
        found[name] = risks.assign(aligned=limit(dims[1:], aligns[1:]))
    return found


def limit(dims: list[int], aligns: np.ndarray) -> float:
    """Extrapolated from two large d: signal over noise is C d^((k g - k + 1)/2), and so g = 1 - 1/k + c/log d."""
    return float((np.diff(np.log(dims) * aligns) / np.diff(np.log(dims))).item())


def learned(data: ex.Dataset) -> ex.Array:
    """Whether the risk is below half of the variance."""
    return data["risk"] < LEARNED


def _there(quantity: ex.Reading, learner: str, case: _Case) -> ex.Of:
    """At the spike of the contrast."""
    return ex.Of(quantity, f"{learner}_{case.k}", {"spike": case.spike})


def _aligning(view: ex.View, name: str) -> list[ex.Number]:
    return [
        ex.Number(
            name.format(k=case.k, dim=at["dim"].item()),
            at.item(),
            earlier=case.earlier_exponent if at["dim"] == FAR[-1] else None,
        )
        for case in _CASES
        if f"kernel_{case.k}" in view.data
        for at in view.theory[f"kernel_{case.k}, aligning"]["exponent"]
    ]


def _panel(case: _Case) -> ex.Panel:
    """Risk over the spike."""
    k = case.k
    aligns = [ex.Mark(1 - 1 / k, f"gradient aligns, 1 - 1/{k}"), ex.Mark(2 / 3, "kernel, 1 - 1/3")]
    return ex.Panel(
        ex.Overlay(ex.Of("risk", f"network_{k}"), "spike", None),
        ex.Overlay(ex.Of("risk", f"kernel_{k}"), "spike", "theory, {words}", series=1),
        ex.Overlay(ex.Of("risk", f"features_{k}"), "spike", None, series=2),
        *(aligns if k < 3 else [ex.Mark(2 / 3, "both, 1 - 1/3")]),
        x=r"exponent g of the spike, $\theta = d^g$",
        y="risk (1: nothing is learned)",
        legend="upper left",
        xlim=(0, 0.85),
        ylim=(0, 1.7),
    )


EXHIBIT = ex.Exhibit(
    id="one-step-under-spike",
    title="One step under a spike",
    claim="With n ~ d samples and an aligned spike, one gradient step learns a target of information exponent k from "
    "theta = d^(1 - 1/k) on, whatever its degree p; a kernel needs d^(1 - 1/p).",
    document=ex.STRUCTURED_DATA,
    papers=("ba2023", "mousavi2023"),
    protocol="Relu networks with Gaussian biases, n = 2d: one step so large that the start is forgotten, new biases as "
    "wide as the features, ridge regression with leave-one-out on 2d fresh samples. Kernel exp(<x, y>/d) and as many "
    "random relu neurons as the network has, at their best ridge. Contrast at theta = d^.4 for He2 + He3 (k = 2) and "
    "d^.5 for He3 (k = 3), both below 1 - 1/k: the condition is sufficient, not sharp. Where the gradient's "
    "signal-to-noise is 1 is computed exactly, to d = 10^12.",
    caption="Points are means over seeds with two standard errors; the line is the kernel's theory at this d; dotted, "
    "where the limits of large d change.",
    studies=studies,
    theory=theory,
    checks={
        "k = {k}, theta = d^{spike:g}: the network learns (risk < 0.5 of the variance)": [
            ex.Contrast(
                _there(learned, "network", case),
                [_there(learned, "kernel", case), _there(learned, "features", case)],
            )
            for case in _CASES
        ],
        # Theory of the kernel neglects terms of relative order 1/d; it was within 2% at d = 400.
        "k = {k}: the kernel's risk is the predicted one": ex.Close(ex.Of("risk", _KERNELS), allowance=(8.0, 1.0)),
        "k = {k}: as d grows, the gradient of n = 2d samples aligns at 1 - 1/{k}; extrapolated "
        "{aligned:.4f}": ex.Identity(
            lambda view, at: at["aligned"] - (1 - 1 / at["k"]),
            0.01,
            control="the exponent of k = {next}, 1 - 1/{next}",
            control_difference=lambda view, at: at["aligned"] - (1 - 1 / at["next"]),
            study=_KERNELS,
        ),
    },
    numbers={
        "k = {k}, theta = d^{spike:g}: risk, {words}": [
            ex.Value(_there("risk", learner, case), predicted=learner == "kernel", earlier={900: earlier}, by="dim")
            for case in _CASES
            for learner, earlier in case.earlier.items()
        ],
        "k = {k}: spike exponent of signal-to-noise 1, d = {dim:.0e}": _aligning,
    },
    remarks="The network's step forgets its start and its biases are as wide as its features, as measured, with "
    "nothing tuned; how the earlier prototype chose them is not known, and its risks may differ for that reason.",
    figure={f"{case.words}: information exponent {case.k}, degree 3": _panel(case) for case in _CASES},
    shows=("one_gradient_step", "kernels"),
)
