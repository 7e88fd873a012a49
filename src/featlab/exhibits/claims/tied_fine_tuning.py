"""Once the shared direction is found, ridge regression on fresh samples fits the link (Bietti et al. 2022,
arXiv:2210.15651).

The theorem bounds the excess risk by max(d/n, d^4/n^2) + n'^(-beta/(beta+1)), for n' fresh samples. Seen here: it falls
much faster with n', down to what the direction itself leaves, about s (1 - m^2), which no second layer can mend. The
same number of random features, on as many samples, learns next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import above, close, contrast, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import TIED_NETWORK
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.runners.questions import experiment_of
from featlab.study import Runner, Study
from featlab.targets import Target, target
from featlab.theory.tied.loss import population_loss
from featlab.theory.tied.neurons import Neurons
from featlab.theory.tied.rates import tuning_exponent

TARGETS = {1: "h1", 2: "He2(h1)/sqrt(2)", 3: "He3(h1)/sqrt(6)"}
LEARNED = 0.1
_RIDGES = 10.0 ** np.arange(-9, 0)  # the authors' grid
_TEST = 20_000
# (information exponent, dimension, samples of the flow)
_SIZES: dict[Size, dict[str, Any]] = {
    Size.QUICK: {"problems": [[2, 20, 400]], "seeds": 8, "restarts": 4, "time": 100.0, "tuning": [100, 1000, 10_000]},
    Size.PAPER: {
        "problems": [[1, 100, 1000], [2, 100, 10_000], [3, 40, 10_119]],
        "seeds": 12, "restarts": 8, "time": 200.0, "tuning": [100, 300, 1000, 3000, 10_000, 30_000],
    },
    Size.LARGE: {
        "problems": [[1, 400, 8000], [2, 200, 40_000], [3, 60, 27_885]],
        "seeds": 12, "restarts": 8, "time": 400.0, "tuning": [100, 300, 1000, 3000, 10_000, 30_000, 100_000],
    },
}  # fmt: skip
_RULE: dict[str, Any] = {
    "learner": "tied-flow", "width": 100, "bias_scale": 1.5, "penalty": 0.01, "noise": 0.01, "frozen_time": 40.0,
    "interval": 20.0, "max_steps": 20_000,
}  # fmt: skip
_OBSERVED = ("excess_risk", "restart_cosine", "restart_loss", "restart_knots", "restart_signs")
_EARLIER = {1: 0.0014}  # after 1000 fresh samples


def tune(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Run the flow, then fit the second layer on n' fresh samples; the same with as many random features.

    The risk of a fitted second layer is computed, not sampled: it is a quadratic form of Hermite series.
    """
    from featlab.simulation import simulate

    asked = {**point, "target": TARGETS[point["exponent"]], "times": [point["time"]], "design": "dense"}
    experiment = experiment_of(asked, observe=_OBSERVED, key=key)
    runs = simulate(experiment, progress=False).isel(time=-1)
    rows, goal = [], experiment.target
    for seed, rng in enumerate(np.random.default_rng(key).spawn(point["seeds"])):
        run = runs.isel(seed=seed)
        best = int(np.argmin(run["restart_loss"].values))
        cosine = float(run["restart_cosine"].values[best, 0])
        knots, signs = (run[name].values[best].astype(np.float64) for name in ("restart_knots", "restart_signs"))
        tuned = [_tuned(goal, Neurons(knots, signs), cosine, count, rng) for count in point["tuning"]]
        random = [_random_features(goal, point, count, rng) for count in point["tuning"]]
        own = {"cosine": cosine, "flow": float(run["excess_risk"]), "knots": knots.tolist(), "signs": signs.tolist()}
        rows.append({"seed": seed, **own, "tuned": tuned, "random": random})
    return rows


def _tuned(goal: Target, neurons: Neurons, cosine: float, count: int, rng: np.random.Generator) -> float:
    """The excess risk after ridge regression on so many samples of (z, u), correlated like target and network."""
    fields, other, noise = rng.standard_normal((3, count))
    labels = goal.link(fields[:, None]) + np.sqrt(goal.noise) * noise
    second = _ridge(neurons.features(cosine * fields + np.sqrt(1 - cosine**2) * other), labels)
    loss = population_loss(goal, neurons, _RIDGES[0])
    return loss.value(second, cosine) - _RIDGES[0] * second @ second - goal.noise


def _random_features(goal: Target, point: dict[str, Any], count: int, rng: np.random.Generator) -> float:
    """The excess risk of as many neurons of random directions, on the samples of the flow and the fresh ones."""
    dim, width = point["dim"], point["width"]
    weights = rng.standard_normal((dim, width))
    weights /= np.linalg.norm(weights, axis=0)
    biases = point["bias_scale"] * rng.standard_normal(width)

    def sample(rows: int) -> tuple[np.ndarray, np.ndarray]:
        inputs = rng.standard_normal((rows, dim))
        return np.maximum(inputs @ weights - biases, 0) / np.sqrt(width), goal.link(inputs[:, :1])

    features, clean = sample(count + point["samples"])
    second = _ridge(features, clean + np.sqrt(goal.noise) * rng.standard_normal(len(clean)))
    test, values = sample(_TEST)
    return float(np.mean((values - test @ second) ** 2))


def _ridge(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(Phi^T Phi + n lambda)^-1 Phi^T y, lambda by exact leave-one-out over the grid."""
    left, values, right = np.linalg.svd(features, full_matrices=False)
    towards, errors = left.T @ labels, []
    for ridge in _RIDGES:
        kept = values**2 / (values**2 + len(labels) * ridge)
        missed = (labels - left @ (kept * towards)) / (1 - left**2 @ kept)
        errors.append(np.mean(missed**2))
    ridge = _RIDGES[int(np.argmin(errors))]
    return np.asarray(right.T @ (values / (values**2 + len(labels) * ridge) * towards))


_COUNTS = {"tuned": ("place",), "random": ("place",), "knots": ("unit",), "signs": ("unit",)}
RUNNER = Runner(tune, index=("seed",), axes=_COUNTS)


def studies(size: Size) -> Mapping[str, Part]:
    """The flow well above its threshold, then more and more fresh samples."""
    options = dict(_SIZES[size])
    problems = options.pop("problems")
    return {
        "tuning": Part(Study({**_RULE, **options}, {"exponent,dim,samples": problems}, key=51), f"{__name__}:RUNNER")
    }


def prediction(data: Data) -> dict[str, np.ndarray]:
    """What no second layer on these neurons can mend, given their direction: (problem, seed)."""
    part = data["tuning"]
    return {
        "floor": np.array(
            [
                [_floor(part.isel(exponent_dim_samples=at, seed=seed)) for seed in range(part.sizes["seed"])]
                for at in range(part.sizes["exponent_dim_samples"])
            ]
        )
    }


def _floor(run: xr.Dataset) -> float:
    goal = target(TARGETS[int(run["exponent"])], noise=_RULE["noise"])
    neurons = Neurons(run["knots"].values, run["signs"].values)
    return population_loss(goal, neurons, _RIDGES[0]).projected(float(run["cosine"])) - goal.noise


def verdict(data: Data, predicted: dict[str, np.ndarray]) -> Finding:
    """Down to the floor, faster than the bound, below the flow's own and far below random features."""
    part, checks, numbers = data["tuning"], [], []
    fixed = json.loads(part.attrs["fixed"])
    counts, bound = np.array(fixed["tuning"]), tuning_exponent(fixed["bias_scale"])
    for at, floor in enumerate(predicted["floor"]):
        runs = part.isel(exponent_dim_samples=at)
        s, tuned, random = int(runs["exponent"]), runs["tuned"].values, runs["random"].values
        freedom = fixed["width"] * (floor.mean() + fixed["noise"]) / counts[-1]  # each neuron costs that at most
        falls = _decay(counts, tuned - floor[:, None])
        checks += [
            close(
                f"s = {s}: with {counts[-1]} fresh samples the excess risk is what the direction leaves",
                tuned[:, -1] - floor + floor.mean(),
                floor.mean(),
                allowance=float(freedom / floor.mean()),
            ),
            ordered(f"s = {s}: fine-tuning helps", {"fine-tuned": tuned[:, -1], "the flow's own": runs["flow"].values}),
        ]
        if s > 1:  # random features learn a linear target too
            checks += [
                above(
                    f"s = {s}: above that it falls at least like n'^-{bound:.2f}",
                    falls,
                    bound,
                    control="random features",
                    control_samples=_decay(counts, random),
                ),
                contrast(
                    f"s = {s}: excess risk below {LEARNED}",
                    tuned[:, -1] < LEARNED,
                    random[:, -1] < LEARNED,
                    name="fine-tuned",
                    control_name="as many random features",
                ),
            ]
        numbers += [
            Number(
                f"excess risk, s = {s}, n' = {count}",
                float(floor.mean()) if count == counts[-1] else None,
                *mean_and_error(tuned[:, place]),
                _EARLIER.get(s) if count == 1000 and fixed["time"] == 200 else None,
            )
            for place, count in enumerate(counts)
        ]
        numbers += [
            Number(f"excess risk of the flow's own network, s = {s}", None, *mean_and_error(runs["flow"].values)),
            Number(f"excess risk of random features, s = {s}, most samples", None, *mean_and_error(random[:, -1])),
            Number(f"exponent of the decay in n', s = {s} (bound {bound:.2f})", None, *mean_and_error(falls)),
        ]
    return Finding(checks, numbers, _REMARKS)


def _decay(counts: np.ndarray, risks: np.ndarray) -> np.ndarray:
    """-d log(risk) / d log(n') of each seed, by least squares."""
    logs = np.log(counts) - np.log(counts).mean()
    return -np.log(risks) @ logs / (logs @ logs)


_REMARKS = (
    (
        "The theorem's n'^(-beta/(beta+1)), beta = (1 - 1/tau^2)/(3 + 1/tau^2), is an upper bound with an exponent "
        "below 1/4 for every tau; with a fixed number of neurons the decay is near 1/n'."
    ),
)


def figure(data: Data, predicted: dict[str, np.ndarray]) -> Figure:
    """Excess risk against fresh samples, for each target."""
    part = data["tuning"]
    counts = np.array(json.loads(part.attrs["fixed"])["tuning"])
    titles = [
        f"s = {int(s)}, d = {int(d)}, n = {int(n)}"
        for s, d, n in zip(*(part[name].values for name in ("exponent", "dim", "samples")), strict=True)
    ]
    made, places = panels(titles, x="fresh samples n'", y="excess risk")
    bound = tuning_exponent(_RULE["bias_scale"])
    for at, axes in enumerate(places):
        runs, floor = part.isel(exponent_dim_samples=at), predicted["floor"][at].mean()
        for series, (name, words) in enumerate({"tuned": "fine-tuned", "random": "as many random features"}.items()):
            found = runs[name].values
            measured_points(axes, counts, found.mean(axis=0), standard_error(found), series=series, label=words)
        first = runs["tuned"].values[:, 0].mean()
        theory_line(
            axes,
            counts,
            floor + (first - floor) * (counts / counts[0]) ** -bound,
            series=3,
            label="decay of the theorem's bound",
        )
        theory_line(axes, counts, np.full(len(counts), floor), series=0, label="theory: what the direction leaves")
        mark(axes, float(runs["flow"].mean()), "the flow's own network", along="y")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(top=30)  # room for the legend
    add_legend(places[0], loc="upper right")
    return made


EXHIBIT = Exhibit(
    id="tied-fine-tuning",
    title="Fine-tuning the second layer",
    claim="After the flow, ridge regression on n' fresh samples brings the excess risk down to what the direction "
    "leaves, at least like n'^(-beta/(beta+1)), with far fewer neurons than random features would need.",
    document=TIED_NETWORK,
    papers=("bietti2022",),
    protocol="The flow of tied-recovery well above its threshold; then c is fitted again on n' samples by ridge "
    "regression (lambda by leave-one-out from the authors' grid 1e-9 to .1), and its excess risk computed exactly. The "
    "control are 100 random features, fitted to the n + n' samples. The fitted number of neurons is kept, where the "
    "theorem lets it grow.",
    caption="Points are means over seeds with two standard errors; the theorem's decay is drawn through the first.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
