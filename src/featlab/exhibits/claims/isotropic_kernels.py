"""From n ~ d isotropic samples, kernels and random features learn the linear part of a target and nothing else.

Ghorbani et al. 2021 (arXiv:1904.12191), Mei et al. 2022: as n, d -> infinity in proportion, no ridge brings the risk of
kernel ridge regression or random features below ||P_{>1} f*||^2, the energy of the target beyond degree one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.comparison import FiniteSize
from featlab.exhibits.checks import above, close, mean_and_error, standard_error
from featlab.exhibits.documents import STRUCTURED_DATA
from featlab.exhibits.predicting import parameters_at, predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import INK, add_legend
from featlab.study import Study

TARGETS = ("relu(h1)", "tanh(h1)", "h1 + He2(h1)")
NETWORK_TARGET = "h1 + He2(h1)"
# d, n/d of the kernel and of random features (2d relu neurons), n/d and neurons of the network, seeds.
_SIZES = {
    Size.QUICK: (150, (2.0,), (4.0,), (8.0,), 50, 12),
    Size.PAPER: (300, (0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 1.0, 2.0, 4.0, 8.0), (4.0, 8.0), 200, 10),
    Size.LARGE: (1000, (0.5, 1.0, 2.0, 4.0), (0.5, 1.0, 2.0, 4.0), (4.0,), 400, 10),
}
# Each target is compiled anew, which is most of the time at quick size.
_QUICK_TARGETS = {"kernel": TARGETS[1:], "features": (NETWORK_TARGET,)}
_NAMES = {"kernel": "kernel ridge", "features": "random features"}
_NETWORK = "network, one gradient step"


def studies(size: Size) -> Mapping[str, Part]:
    """A kernel and random features on three targets; a trained network as the control."""
    dim, ratios, feature_ratios, network_ratios, width, seeds = _SIZES[size]
    fixed = {"dim": dim, "seeds": seeds, "observe": ["risk"], "design": "dense"}
    targets = _QUICK_TARGETS if size is Size.QUICK else dict.fromkeys(_NAMES, TARGETS)
    kernel = {**fixed, "learner": "kernel-ridge", "kernel": "exponential"}
    features = {**fixed, "learner": "random-features", "activation": "relu", "width": 2 * dim}
    samples = {"samples": "round(ratio*dim)"}
    return {
        "kernel": Part(Study(kernel, {"target": targets["kernel"], "ratio": ratios}, samples, key=201)),
        "features": Part(
            Study(
                features,
                {"target": targets["features"], "ratio": feature_ratios},
                {"readout": samples["samples"]},
                key=202,
            )
        ),
        "network": Part(
            Study({**fixed, "target": NETWORK_TARGET, "width": width}, {"ratio": network_ratios}, samples, key=203),
            "one-step-readout",
        ),
    }


def floors() -> dict[str, float]:
    """||P_{>1} f*||^2 of each target."""
    from featlab.learners.kernel_functions import kernel_function
    from featlab.theory.kernels.staircase import kernel_floor

    return {target: kernel_floor(target, kernel_function("exponential"), 1) for target in TARGETS}


def prediction(data: Data) -> dict[str, xr.DataArray]:
    """The risks at the best ridge, at this d, on a smooth axis of n/d that holds the simulated ones."""
    return {name: _lines(data[name], option) for name, option in (("kernel", "samples"), ("features", "readout"))}


def _lines(data: xr.Dataset, option: str) -> xr.DataArray:
    ratios = np.union1d(data["ratio"].values, np.geomspace(0.5, 8, 13))
    dim = _dim(data)
    risks = [
        [float(predict_at(data, target=target, **{option: round(ratio * dim)})["risk"][0]) for ratio in ratios]
        for target in data["target"].values
    ]
    return xr.DataArray(risks, {"target": data["target"].values, "ratio": ratios}, ("target", "ratio"))


def verdict(data: Data, predicted: dict[str, xr.DataArray]) -> Finding:
    """Theory and simulation agree, neither learner gets below the floor, and a network does."""
    network = _risks(data["network"]).isel(ratio=-1).values
    checks, numbers = [], []
    for name in _NAMES:
        risks = _risks(data[name])
        checks += _checks(name, risks, predicted[name], network, _dim(data[name]))
        for target in risks["target"].values:
            last = risks.sel(target=target).isel(ratio=-1)
            theory = float(predicted[name].sel(target=target, ratio=last["ratio"]))
            floor, ratio = floors()[target], float(last["ratio"])
            words = f"risk over ||P_>1 f*||^2, {_NAMES[name]}, {target}, n/d = {ratio:g}"
            numbers.append(Number(words, theory / floor, *mean_and_error(last.values / floor)))
    words = f"risk over ||P_>1 f*||^2, {_NETWORK}, {NETWORK_TARGET}, n/d = {float(data['network']['ratio'][-1]):g}"
    numbers.append(Number(words, None, *mean_and_error(network / floors()[NETWORK_TARGET])))
    return Finding(checks, numbers)


def _checks(name: str, risks: xr.DataArray, predicted: xr.DataArray, network: np.ndarray, dim: int) -> list[Check]:
    theory = predicted.sel(target=risks["target"], ratio=risks["ratio"])
    bound = xr.DataArray([floors()[target] for target in risks["target"].values], dims="target")
    shares, others = (risks / bound).values, (network / floors()[NETWORK_TARGET])[:, None, None]
    return [
        close(
            f"the risk of {_NAMES[name]} is the predicted one",
            (risks / theory).values,
            1.0,
            allowance=FiniteSize(),
            dim=dim,
        ),
        above(
            f"at its best ridge {_NAMES[name]} stays above ||P_>1 f*||^2",
            shares,
            1.0,
            control=f"a network after one gradient step must get below it, on {NETWORK_TARGET}",
            control_samples=others,
        ),
    ]


def _dim(data: xr.Dataset) -> int:
    return int(parameters_at(data)["dim"])


def _risks(data: xr.Dataset) -> xr.DataArray:
    """Seeds first."""
    return data["risk"].isel(time=0, drop=True).transpose("seed", ...)


def figure(data: Data, predicted: dict[str, xr.DataArray]) -> Figure:
    """Risk against samples, a panel for each target."""
    targets = data["kernel"]["target"].values.tolist()
    made, axes = panels(targets, x="samples over dimension, n / d", y=["risk at the best ridge", "", ""])
    for panel, target in zip(axes, targets, strict=True):
        for series, (name, words) in enumerate(_NAMES.items()):
            if target in data[name]["target"].values:
                line, risks = predicted[name].sel(target=target), _risks(data[name]).sel(target=target)
                theory_line(panel, line["ratio"], line, series=series, label=f"theory, {words}")
                error = standard_error(risks)
                measured_points(panel, risks["ratio"], risks.mean("seed"), error, series=series, label=words)
        if target == NETWORK_TARGET:
            risks = _risks(data["network"])
            measured_points(panel, risks["ratio"], risks.mean("seed"), standard_error(risks), series=2, label=_NETWORK)
        mark(panel, floors()[target], "", along="y")
        panel.text(0.5, 0.97 * floors()[target], "energy beyond degree one", va="top", color=INK, fontsize=8)
        panel.set_xscale("log", base=2)
        panel.set_xticks([0.5, 1, 2, 4, 8], ["1/2", "1", "2", "4", "8"])
        panel.set_ylim(bottom=0)
        panel.margins(y=0.15)
    add_legend(axes[-1], loc="lower left")
    return made


EXHIBIT = Exhibit(
    id="isotropic-kernels",
    title="Kernels learn the linear part only",
    claim="From n ~ d isotropic samples, kernel ridge regression and random features cannot do better than "
    "||P_>1 f*||^2, at any ridge.",
    document=STRUCTURED_DATA,
    papers=("ghorbani2021", "mei2022", "ba2022"),
    protocol="The kernel exp(<x, y>/d), and 2d random relu neurons, on relu, tanh and He1 + He2 of one direction; the "
    "ridge is the one with the smallest leave-one-out error. The theorem is for d -> infinity; theory here is at this "
    "d, where degree two may be learned in part. The control is a relu network after one large gradient step on n "
    "samples and ridge regression on as many fresh ones. The source gives no sizes: d, n/d and widths are ours.",
    caption="Lines are theory at this d, points means over seeds with two standard errors; dotted, the energy of the "
    "target beyond degree one.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("random_features",),
)
