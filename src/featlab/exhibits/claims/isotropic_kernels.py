"""From n ~ d isotropic samples, kernels and random features learn the linear part of a target and nothing else.

Ghorbani et al. 2021 (arXiv:1904.12191), Mei et al. 2022: as n, d -> infinity in proportion, no ridge brings the risk of
kernel ridge regression or random features below ||P_{>1} f*||^2, the energy of the target beyond degree one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from featlab import exhibits as ex

TARGETS = ("relu(h1)", "tanh(h1)", "h1 + He2(h1)")
NETWORK_TARGET = "h1 + He2(h1)"
_KERNEL, _FEATURES, _NETWORK = "kernel", "features", "network"
_FIXED = (_KERNEL, _FEATURES)
# Each target is compiled anew, which is most of the time at quick size.
_QUICK_TARGETS = {_KERNEL: TARGETS[1:], _FEATURES: (NETWORK_TARGET,)}
_DOUBLING = (0.5, 1.0, 2.0, 4.0, 8.0)
_RATIOS: dict[ex.Size, dict[str, tuple[float, ...]]] = {
    ex.Size.QUICK: {_KERNEL: (2.0,), _FEATURES: (4.0,), _NETWORK: (8.0,)},
    ex.Size.PAPER: {_KERNEL: _DOUBLING, _FEATURES: _DOUBLING, _NETWORK: (4.0, 8.0)},
    ex.Size.LARGE: {_KERNEL: _DOUBLING[:4], _FEATURES: _DOUBLING[:4], _NETWORK: (4.0,)},
}
# d, seeds, and the neurons of the network; random features are 2d relu neurons.
_SIZES = {ex.Size.QUICK: (150, 12, 50), ex.Size.PAPER: (300, 10, 200), ex.Size.LARGE: (1000, 10, 400)}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """A kernel and random features on three targets; a trained network as the control."""
    (dim, seeds, width), ratios, count = _SIZES[size], _RATIOS[size], "round(ratio*dim)"
    targets = _QUICK_TARGETS if size is ex.Size.QUICK else dict.fromkeys(_FIXED, TARGETS)
    fixed = {"dim": dim, "seeds": seeds, "observe": ["risk"], "design": "dense"}
    kernel = {**fixed, "learner": "kernel-ridge", "kernel": "exponential"}
    features = {**fixed, "learner": "random-features", "activation": "relu", "width": 2 * dim}
    network = {**fixed, "target": NETWORK_TARGET, "width": width}
    axes = {name: {"target": targets[name], "ratio": ratios[name]} for name in _FIXED}
    return {
        _KERNEL: ex.Part(ex.Study(kernel, axes[_KERNEL], {"samples": count}, key=201), words="kernel ridge"),
        _FEATURES: ex.Part(ex.Study(features, axes[_FEATURES], {"readout": count}, key=202), words="random features"),
        _NETWORK: ex.Part(
            ex.Study(network, {"ratio": ratios[_NETWORK]}, {"samples": count}, key=203),
            "one-step-readout",
            words="network, one gradient step",
        ),
    }


def theory(data: ex.Data) -> ex.Data:
    """The risks at the best ridge, at this d, on a smooth axis of n/d that holds the simulated ones; and the floors."""
    return {name: _risks(data[name], count) for name, count in ((_KERNEL, "samples"), (_FEATURES, "readout"))}


def _risks(part: ex.Dataset, count: str) -> ex.Dataset:
    import xarray as xr

    ratios, dim = np.union1d(part["ratio"].values, np.geomspace(0.5, 8, 13)), part["dim"].item()
    found = [ex.predict_over(part, "target", **{count: round(ratio * dim)})["risk"].isel(time=0) for ratio in ratios]
    risks = xr.concat(found, "ratio", coords="minimal", compat="override")
    return xr.Dataset({"risk": risks}).assign_coords(ratio=ratios).assign(floor=floor(part))


def floor(data: ex.Dataset) -> ex.Array:
    """||P_{>1} f*||^2 of each target."""
    import xarray as xr

    from featlab.learners.kernel_functions import kernel_function
    from featlab.theory.kernels.staircase import kernel_floor

    kernel = kernel_function("exponential")
    energy = np.vectorize(lambda target: kernel_floor(str(target), kernel, 1), otypes=[float])
    return xr.apply_ufunc(energy, data["target"])


def share(data: ex.Dataset) -> ex.Array:
    """The risk over the energy beyond degree one."""
    return data["risk"] / floor(data)


def _panel_of(study: str, series: int, line: str | None = "theory, {words}") -> ex.Overlay:
    return ex.Overlay(ex.Of("risk", study), "ratio", line, series=series)


_LAST = {"ratio": ex.LAST}
_TRAINED = ex.Of(share, _NETWORK, _LAST)
_SHARE = "risk over ||P_>1 f*||^2, {words}, {target}, n/d = {ratio:g}"

EXHIBIT = ex.Exhibit(
    id="isotropic-kernels",
    title="Kernels learn the linear part only",
    claim="From n ~ d isotropic samples, kernel ridge regression and random features cannot do better than "
    "||P_>1 f*||^2, at any ridge.",
    document=ex.STRUCTURED_DATA,
    papers=("ghorbani2021", "mei2022", "ba2022"),
    protocol="The kernel exp(<x, y>/d), and 2d random relu neurons, on relu, tanh and He1 + He2 of one direction; the "
    "ridge is the one with the smallest leave-one-out error. The theorem is for d -> infinity; theory here is at this "
    "d, where degree two may be learned in part. The control is a relu network after one large gradient step on n "
    "samples and ridge regression on as many fresh ones. The source gives no sizes: d, n/d and widths are ours.",
    caption="Lines are theory at this d, points means over seeds with two standard errors; dotted, the energy of the "
    "target beyond degree one.",
    studies=studies,
    theory=theory,
    checks={
        "the risk of {words} is the predicted one": ex.Close(
            ex.Of("risk", _FIXED), relative=True, allowance=(1.0, 0.5)
        ),
        "at its best ridge {words} stays above ||P_>1 f*||^2": ex.Above(
            ex.Of(share, _FIXED),
            1.0,
            _TRAINED,
            f"a network after one gradient step must get below it, on {NETWORK_TARGET}",
        ),
    },
    numbers={_SHARE: [ex.Value(ex.Of(share, _FIXED, _LAST), each="target"), ex.Value(_TRAINED, False)]},
    figure={
        "{target}": ex.Panel(
            _panel_of(_KERNEL, 0),
            _panel_of(_FEATURES, 1),
            _panel_of(_NETWORK, 2, None),
            ex.Mark("floor", "energy beyond degree one", along="y", under=True),
            y="risk at the best ridge",
            each="target",
            ticks={"x": {0.5: "1/2", 1: "1", 2: "2", 4: "4", 8: "8"}},
            xscale="log",
            ylim=(0, None),
        )
    },
    shows=("random_features",),
)
