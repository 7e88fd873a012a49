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
_BELOW = 0.1  # a spike below the threshold of every k > 1
_SPIKES = (_BELOW, 0.4, 0.5, 0.6, 0.77)
_MORE = 0.5  # what a kernel leaves is larger than what the network leaves by this share of it at least


@dataclass(frozen=True)
class _Case:
    """A target of information exponent k and degree p, of equal parts in He_k and He_p; and the spike of its contrast,
    above 1 - 1/k, and below the kernel's 1 - 1/p where there is room."""

    k: int
    p: int
    target: str
    above: float

    @property
    def name(self) -> str:
        """In the names of its studies."""
        return f"{self.k}{self.p}"

    @property
    def words(self) -> str:
        """As readers know it."""
        return f"He{self.k}" if self.k == self.p else f"He{self.k} + He{self.p}"


_CASES = (
    _Case(1, 3, "(h1 + He3(h1)/sqrt(6))/sqrt(2)", _BELOW),
    _Case(2, 3, "(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)", 0.6),
    _Case(2, 4, "(He2(h1)/sqrt(2) + He4(h1)/sqrt(24))/sqrt(2)", 0.6),
    _Case(3, 3, "He3(h1)/sqrt(6)", 0.77),
    _Case(3, 4, "(He3(h1)/sqrt(6) + He4(h1)/sqrt(24))/sqrt(2)", 0.77),
)
_EARLY = {"23": 0.4, "33": 0.5}  # below 1 - 1/k, where the network learns at these d all the same
# d, neurons, cases and their spikes; n = 2d.
_SIZES: dict[ex.Size, tuple[int, int, list[tuple[_Case, tuple[float, ...]]]]] = {
    ex.Size.QUICK: (240, 80, [(_CASES[1], (_BELOW, 0.4, 0.6))]),
    ex.Size.PAPER: (500, 300, [(case, _SPIKES) for case in _CASES]),
    ex.Size.LARGE: (2000, 400, [(case, _SPIKES) for case in _CASES]),
}
_KERNELS = tuple(f"kernel_{case.name}" for case in _CASES)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """For each target: the network after one step, a kernel, and as many random neurons as the network has."""
    dim, width, cases = _SIZES[size]
    parts = {}
    for case, spikes in cases:
        axes, facts = {"spike": spikes}, {"k": case.k, "p": case.p, "next": case.k + 1, "link": case.words}
        shared = {"dim": dim, "seeds": 12, "observe": ["risk"], "design": "dense", "target": case.target}
        network = {**shared, "samples": 2 * dim, "width": width}
        # More seeds: a strong spike makes the kernel's risk scatter, and the tails of degree 4 more so.
        kernel = {
            **shared,
            "seeds": 18 if case.p < 4 else 36,
            "samples": 2 * dim,
            "learner": "kernel-ridge",
            "kernel": "exponential",
        }
        features = {**shared, "readout": 2 * dim, "learner": "random-features", "width": width, "biases": "gaussian"}
        features["activation"] = "relu"
        step, simulated, key = "one-step-readout", "simulate", 10 * case.k + case.p
        for learner, fixed, kind, words, first in (
            ("network", network, step, "network, one step", 700),
            ("kernel", kernel, simulated, "kernel ridge", 1700),
            ("features", features, simulated, "random features", 2700),
        ):
            # Random neurons are a control at two places only.
            places = {"spike": sorted({_BELOW, _EARLY.get(case.name, _BELOW)})} if learner == "features" else axes
            study = ex.Study(fixed, places, key=first + key)
            parts[f"{learner}_{case.name}"] = ex.Part(study, kind, words, facts)
    return parts


def theory(data: ex.Data) -> ex.Data:
    """For each k: the kernel's risk over spikes; and where the gradient aligns, at this d and as d grows."""
    import xarray as xr

    from featlab.theory import aligning_exponent

    found = {}
    for name in [name for name in _KERNELS if name in data]:
        part = data[name]
        dims = [part["dim"].item(), *FAR]
        aligns = np.array([aligning_exponent(part["target"].item(), dim=dim, ratio=2) for dim in dims], np.float64)
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


def _there(quantity: ex.Reading, learner: str, case: _Case, spike: float, words: str = "{words}") -> ex.Of:
    return ex.Of(quantity, f"{learner}_{case.name}", {"spike": spike}, words)


def _learns(case: _Case) -> ex.Contrast:
    """Above its threshold, not below; where there is no below, random neurons are the control."""
    below = _there(learned, "network" if case.k > 1 else "features", case, _BELOW, "{words} at d^{spike:g}")
    return ex.Contrast(_there(learned, "network", case, case.above, "{words} at d^{spike:g}"), below)


def _aligning(view: ex.View, name: str) -> list[ex.Number]:
    return [
        ex.Number(name.format(link=case.words, dim=at["dim"].item()), at.item())
        for case in _CASES
        if case.k > 1 and f"kernel_{case.name}" in view.data
        for at in view.theory[f"kernel_{case.name}, aligning"]["exponent"]
    ]


def _panel(case: _Case) -> ex.Panel:
    """Risk over the spike."""
    kernel, network = 1 - 1 / case.p, 1 - 1 / case.k
    marks = [ex.Mark(network, f"network, 1 - 1/{case.k}")] if 1 < case.k < case.p else []
    return ex.Panel(
        ex.Overlay(ex.Of("risk", f"network_{case.name}"), "spike", None),
        ex.Overlay(ex.Of("risk", f"kernel_{case.name}"), "spike", "theory, {words}", series=1),
        ex.Overlay(ex.Of("risk", f"features_{case.name}"), "spike", None, series=2),
        *marks,
        ex.Mark(kernel, f"kernel, 1 - 1/{case.p}" if case.k < case.p else f"both, 1 - 1/{case.p}"),
        x=r"exponent g of the spike, $\theta = d^g$",
        y="risk (1: nothing is learned)",
        legend="upper left",
        xlim=(0, 0.85),
        ylim=(0, 2.0),
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
    "random relu neurons as the network has, at their best ridge. Five targets, k = 1, 2, 3 and p = 3, 4: each network "
    "at theta = d^(1 - 1/k + .1), its control at d^.1, and the kernel where the network is. Where the gradient's "
    "signal-to-noise is 1 is computed exactly, to d = 10^12.",
    caption="Points are means over seeds with two standard errors; the line is the kernel's theory at this d; dotted, "
    "where the limits of large d change.",
    studies=studies,
    theory=theory,
    checks={
        "{link}, theta = d^{spike:g}, above d^(1 - 1/{k}): the network learns (risk < 0.5 of the variance)": [
            _learns(case) for case in _CASES
        ],
        "{link}, theta = d^{spike:g}: the kernel leaves half as much again as the network at least": [
            ex.Ordered([_there("risk", learner, case, case.above) for learner in ("network", "kernel")], least=_MORE)
            for case in _CASES
            if case.k < case.p
        ],
        "{link}, theta = d^{spike:g}, below d^(1 - 1/{k}): the network learns, as the condition is sufficient only": [
            ex.Contrast(
                _there(learned, "network", case, _EARLY[case.name]),
                [_there(learned, learner, case, _EARLY[case.name]) for learner in ("kernel", "features")],
            )
            for case in _CASES
            if case.name in _EARLY
        ],
        # Theory of the kernel neglects terms of relative order 1/d; it was within 2% at d = 400.
        "{link}: the kernel's risk is the predicted one": ex.Close(ex.Of("risk", _KERNELS), allowance=(8.0, 1.0)),
        "{link}: as d grows, the gradient of n = 2d samples aligns at 1 - 1/{k}; extrapolated "
        "{aligned:.4f}": ex.Identity(
            lambda view, at: at["aligned"] - (1 - 1 / at["k"]),
            0.01,
            control="the exponent of k = {next}, 1 - 1/{next}",
            control_difference=lambda view, at: at["aligned"] - (1 - 1 / at["next"]),
            study=_KERNELS[1:],
        ),
    },
    numbers={
        "{link}, theta = d^{spike:g}: risk, {words}": [
            ex.Value(_there("risk", learner, case, spike), predicted=learner == "kernel")
            for case in _CASES
            for spike in sorted({_BELOW, _EARLY.get(case.name, case.above), case.above})
            for learner in ("network", "kernel", "features")
            if learner != "features" or spike in (_BELOW, _EARLY.get(case.name))
        ],
        "{link}: spike exponent of signal-to-noise 1, d = {dim:.0e}": _aligning,
    },
    remarks="For p = 4 the risk of single runs scatters by a factor of ten: labels of degree 4 have heavy tails.",
    settled="Before this protocol the quick size and six runs at d = 400 of He1 + He3, He2 + He4 and He3 + He4 were "
    "seen, which set the numbers of runs and the half in the comparison with the kernel. An earlier protocol had "
    "d = 900, He2 + He3 and He3 only, and no network below its threshold. A first start at paper size was stopped to "
    "save time, and spikes d^.25 and d^.7 left out, before any of its results had been looked at. At that size 18 runs "
    "of the kernel could not tell its prediction for p = 4 from one that is 20% off; it has 36 there.",
    figure={f"{case.words}: k = {case.k}, p = {case.p}": _panel(case) for case in _CASES},
    shows=("one_gradient_step", "kernels"),
)
