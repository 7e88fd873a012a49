"""What an accuracy epsilon costs: d/epsilon^2 samples, 1/epsilon neurons, ln(1/epsilon) more time suffice
(Mousavi-Hosseini et al. 2023, arXiv:2309.03843).

They are upper bounds. Of Algorithm 1 (the normalised flow of one neuron, then ridge regression on relu features with
drawn biases) the error of the direction is C d/n, so that d/epsilon samples are enough; a network whose second layer is
an integral representation of the link, as such bounds are proved with, has an error C/N, and ridge regression a much
smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

LINK = np.array([0.0, 1.0, 2**-0.5, 6**-0.5]) / 3**0.5  # (He1 + He2/sqrt2 + He3/sqrt6)/sqrt3
TEXT = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
NOISE, REACH = 0.25, 4.0  # variance of the noise; biases are uniform on (-4, 4)
WIDTH, RIDGE = 256, 1e-7
ACCURACIES = [0.05, 0.02, 0.01, 0.005, 0.002]
MANY = 256  # samples for each dimension, where C d/n is expected up to a twentieth
FINITE_STEPS = 0.02  # what steps of the flow on fresh samples may change
_START, _STEPS, _RATE = 0.3, 60, 1.0
_SIZES: dict[ex.Size, dict[str, Any]] = {
    ex.Size.QUICK: {
        "dims": [16], "ratios": [16, 64, 256], "seeds": 8, "directions": 96, "widths": [8, 16, 32], "draws": 256,
        "flow": {"samples": 4000, "rate": 0.05, "neurons": 8},
    },
    ex.Size.PAPER: {
        "dims": [16, 32, 64], "ratios": [16, 64, 256, 1024], "seeds": 24, "directions": 96, "draws": 1024,
        "widths": [8, 16, 32, 64, 128, 256], "flow": {"samples": 40_000, "rate": 0.02, "neurons": 16},
    },
    ex.Size.LARGE: {
        "dims": [16, 64, 256], "ratios": [16, 64, 256, 1024], "seeds": 24, "directions": 128,
        "widths": [8, 16, 32, 64, 128, 256, 512], "draws": 4096,
        "flow": {"samples": 10**6, "rate": 0.01, "neurons": 16},
    },
}  # fmt: skip
_SAMPLES, _DIRECTIONS, _WIDTHS, _TIME = "samples", "directions", "widths", "time"


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Algorithm 1 over n and d, its direction alone from many samples; networks along the target's own direction over
    their width; flows on fresh samples."""
    own, derived = _SIZES[size], {"samples": "ratio*dim"}
    axes = {"dim": own["dims"], "ratio": own["ratios"]}
    runs = ex.Study({"seeds": own["seeds"], "width": WIDTH}, axes, derived, key=711)
    directions = ex.Study({"seeds": own["directions"], "width": 0}, {**axes, "ratio": [MANY]}, derived, key=714)
    widths = ex.Study({"draws": own["draws"]}, {"width": own["widths"]}, key=712)
    flow = ex.Study({"dim": 16, "correlation": 0.3, **own["flow"]}, key=715)
    return {
        _SAMPLES: ex.Part(runs, f"{__name__}:RUNS"),
        _DIRECTIONS: ex.Part(directions, f"{__name__}:RUNS"),
        _WIDTHS: ex.Part(widths, f"{__name__}:NETWORKS"),
        _TIME: ex.Part(flow, f"{__name__}:FLOWS"),
    }


def _link() -> Any:
    return np.polynomial.HermiteE(LINK)


def run_algorithm(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Of each seed 1 - m^2 after the flow; and with a width the excess risk after ridge regression on as many fresh
    samples."""
    found = []
    for seed in range(point["seeds"]):
        random = np.random.default_rng([key, seed])
        direction = _normalised_minimum(*_batch(random, point))
        size = float(np.linalg.norm(direction))
        found.append({"seed": seed, "away": 1 - (direction[0] / size) ** 2})
        if point["width"]:
            inputs, labels = _batch(random, point)
            biases = random.uniform(-REACH, REACH, point["width"])
            second = _ridge(_features(inputs @ direction, biases), labels)
            found[-1]["excess"] = _excess(direction[0] / size, size, biases, second)
    return found


def _batch(random: np.random.Generator, point: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    inputs = random.standard_normal((point["samples"], point["dim"]))
    return inputs, _link()(inputs[:, 0]) + NOISE**0.5 * random.standard_normal(point["samples"])


def _normalised_minimum(inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """w with |S^{1/2} w| = 1, S of the batch, where the flow of relu(<w, x>) ends: by steps on the sphere of S^{1/2} w,
    from a correlation of about .3."""
    factor = np.linalg.cholesky(inputs.T @ inputs / len(inputs))
    white = np.linalg.solve(factor, inputs.T).T
    place = np.zeros(len(factor))
    place[0], place[-1] = _START, (1 - _START**2) ** 0.5
    for _ in range(_STEPS):
        field = white @ place
        slope = ((np.maximum(field, 0) - labels) * (field > 0)) @ white / len(white)
        place = place - _RATE * (slope - place * (place @ slope))
        place /= np.linalg.norm(place)
    return np.linalg.solve(factor.T, place)


def _features(field: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """A constant, the field, and relu(<w, x> + b_i)."""
    return np.column_stack([np.ones_like(field), field, np.maximum(field[:, None] + biases, 0) / len(biases) ** 0.5])


def _ridge(features: np.ndarray, labels: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """The second layer: least of the mean square plus 1e-7 of its own square."""
    weighted = (features.T * weights) / np.sum(weights * np.ones(len(labels)))
    return np.linalg.solve(weighted @ features + RIDGE * np.eye(features.shape[1]), weighted @ labels)


def _grid() -> tuple[np.ndarray, np.ndarray]:
    """Points for N(0, 1) and their chances: relu networks have kinks everywhere."""
    points = np.linspace(-8, 8, 3201)
    chances = np.exp(-(points**2) / 2)
    return points, chances / chances.sum()


def _excess(cosine: float, size: float, biases: np.ndarray, second: np.ndarray) -> float:
    """E (f - g)^2 with z = m u + sqrt(1 - m^2) e: over u on a grid, over e by a rule exact for a cubic squared."""
    points, chances = _grid()
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    weights = weights / weights.sum()
    outputs = _features(size * points, biases) @ second
    goals = _link()(cosine * points[:, None] + np.sqrt(max(1 - cosine**2, 0.0)) * nodes)
    return float(chances @ (outputs[:, None] - goals) ** 2 @ weights)


def run_networks(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Of each draw of biases the error of ridge regression on infinitely many samples, and of the sampled network."""
    from featlab.theory.flows.accuracy import sampled_network

    points, chances = _grid()
    goal, found = _link()(points), []
    for draw in range(point["draws"]):
        biases = np.random.default_rng([key, draw]).uniform(-REACH, REACH, point["width"])
        features = _features(points, biases)
        fitted = features @ _ridge(features, goal, chances)
        sampled = sampled_network(_link(), REACH, points, biases)
        errors = {"ridge": chances @ (fitted - goal) ** 2, "sampled": chances @ (sampled - goal) ** 2}
        found.append({"seed": draw, **{name: float(error) for name, error in errors.items()}})
    return found


def run_flows(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """When 1 - m gets below each accuracy, for neurons that go uphill on fresh samples."""
    from featlab.gaussian.activations import activation
    from featlab.gaussian.crossings import hitting_times
    from featlab.simulation.neuron_gradients import fresh_steps
    from featlab.targets import target

    sizes = {name: point[name] for name in ("correlation", "dim", "samples", "rate", "neurons")}
    steps = round(8 / point["rate"])
    ways = fresh_steps(target(TEXT, noise=NOISE), activation("relu"), **sizes, steps=steps, seed=key).correlation
    clock = point["rate"] * np.arange(steps + 1)
    times = np.array([hitting_times(clock, ways, 1 - accuracy) for accuracy in ACCURACIES]).T
    return [
        {"seed": seed, "accuracy": accuracy, "taken": float(time)}
        for seed, own in enumerate(times)
        for accuracy, time in zip(ACCURACIES, own, strict=True)
    ]


RUNS = Runner(run_algorithm, index=("seed",))
NETWORKS = Runner(run_networks, index=("seed",))
FLOWS = Runner(run_flows, index=("seed", "accuracy"))


def theory(data: ex.Data) -> ex.Data:
    """C d/n of the direction, floor + C/N of the sampled network, and the time of the population's flow."""
    import xarray as xr

    from featlab.gaussian.activations import activation
    from featlab.theory.flows.accuracy import direction_error, sampled_network_error

    scale, found = direction_error(_link(), activation("relu"), NOISE), {}
    for name in (_SAMPLES, _DIRECTIONS):
        dims, ratios = data[name]["dim"].values, data[name]["ratio"].values
        away = scale * (1 - 1 / dims[:, None]) / ratios
        found[name] = xr.Dataset({"away": (("dim", "ratio"), away)}, {"dim": dims, "ratio": ratios})
    widths, (floor, size) = data[_WIDTHS]["width"].values, sampled_network_error(_link(), REACH)
    found[_WIDTHS] = xr.Dataset({"sampled": ("width", floor + size / widths)}, {"width": widths})
    times = [_flow_time(accuracy) for accuracy in ACCURACIES]
    found[_TIME] = xr.Dataset({"taken": ("accuracy", times)}, {"accuracy": ACCURACIES})
    return found


def _flow_time(accuracy: float) -> float:
    """From a correlation .3 to 1 - epsilon."""
    from featlab.gaussian.activations import activation
    from featlab.targets import target
    from featlab.theory.flows.averages import Averages
    from featlab.theory.flows.time import run_time

    return run_time(Averages(target(TEXT, noise=NOISE), activation("relu")), _START, accuracy)


def _slope_in_the_limit(factor: float) -> Any:
    """How far the slope of the time in ln(1/epsilon), at 10^-6, is from the factor over E[g' sigma']."""

    def of(view: ex.View, at: Mapping[str, Any]) -> float:
        from featlab.gaussian.activations import activation
        from featlab.theory.flows.accuracy import ending_rate

        slope = (_flow_time(1e-7) - _flow_time(1e-6)) / np.log(10)
        return float(slope * ending_rate(_link(), activation("relu")) / (2 * factor) - 1)

    return of


def half_as_wide(data: ex.Dataset) -> ex.Array:
    """Twice the error of the sampled network, which half as many neurons would have."""
    return 2 * data["sampled"]


_AWAY, _EXCESS = ex.Of("away", _SAMPLES), ex.Of("excess", _SAMPLES)
_RIDGE, _SAMPLED = ex.Of("ridge", _WIDTHS, words="ridge"), ex.Of("sampled", _WIDTHS, words="sampled")

EXHIBIT = ex.Exhibit(
    id="accuracy-and-width",
    title="What accuracy costs in samples, neurons and time",
    claim="For an accuracy epsilon d/epsilon^2 samples (where this is more than what finding the direction takes), "
    "1/epsilon neurons and a time ln(1/epsilon) more are enough.",
    document=ex.STRUCTURED_DATA,
    papers=("mousavi2023",),
    protocol="Target (He1 + He2/sqrt2 + He3/sqrt6)/sqrt3, information exponent 1, noise of variance 1/4, isotropic "
    "inputs. Algorithm 1: a relu neuron goes down the loss of n samples, normalised and whitened by their covariance "
    "(60 steps from a correlation .3); then ridge regression (1e-7) of n fresh labels on a constant, the field and 256 "
    "relu features with biases uniform on (-4, 4). Excess risks are integrals, not test errors. Widths: the same "
    "regression with infinitely many samples along the target's own direction; and the sampled network, Taylor's "
    "integral of the link by drawn biases, as such bounds are proved with. Time: neurons go uphill in the correlation "
    "on fresh samples, d = 16. The source has no experiment. Its bounds are one-sided: errors must fall at least like "
    "(d/n)^1/2, and at least like 1/N.",
    caption="Lines are C d/n and C/N as computed, and in the last panel the integral of the flow's speed. Points are "
    "means over runs with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "d = {dim}, n = 256 d: 1 - m^2 = C d/n": ex.Close(
            ex.Of("away", _DIRECTIONS), each="dim", relative=True, allowance=0.05
        ),
        "d = {dim}: 1 - m^2 falls at least like n^-1/2": ex.Exponent(
            _AWAY, "ratio", -0.5, wrong=-1.5, each="dim", at_most=True
        ),
        "d = {dim}: the excess risk falls at least like n^-1/2": ex.Exponent(
            _EXCESS, "ratio", -0.5, wrong=-2.0, each="dim", at_most=True
        ),
        "n = {ratio} d: the excess risk does not grow with d": ex.Exponent(
            _EXCESS, "dim", 0.0, wrong=-1.0, each="ratio", only=lambda at: at["ratio"] >= MANY, at_most=True
        ),
        "the sampled network has the error C/N": ex.Close(_SAMPLED, relative=True),
        "its error falls like 1/N": ex.Exponent(_SAMPLED, "width", -1.0, wrong=-0.5),
        "the error of ridge regression falls at least like 1/N": ex.Exponent(
            _RIDGE, "width", -1.0, wrong=-4.5, at_most=True
        ),
        "and is below that of the sampled network": ex.Above(
            _RIDGE, "sampled", ex.Of(half_as_wide, _WIDTHS), "a network half as wide", below=True
        ),
        "the time to 1 - m = epsilon is that of the population's flow": ex.Close(
            ex.Of("taken", _TIME), relative=True, allowance=FINITE_STEPS
        ),
        "which grows by 1/(2 E[g' sigma']) with ln(1/epsilon) in the end": ex.Identity(
            _slope_in_the_limit(0.5),
            1e-3,
            control="1/E[g' sigma']",
            control_difference=_slope_in_the_limit(1.0),
            study=_TIME,
        ),
    },
    numbers={
        "n/d times 1 - m^2, d = {dim}, n = {ratio} d": ex.Value(
            ex.Of(lambda data: data["away"] * data["ratio"], _DIRECTIONS, {"ratio": ex.LAST}), each="dim"
        ),
        "excess risk, d = {dim}, n = {ratio} d": ex.Value(_EXCESS, False, each=("dim", "ratio")),
        "error of ridge regression, N = {width}": ex.Value(_RIDGE, False, each="width"),
        "error of the sampled network, N = {width}": ex.Value(_SAMPLED, each="width"),
    },
    remarks="The bounds hold with room to spare: the direction, and with it the risk, costs d/epsilon samples rather "
    "than d/epsilon^2, and ridge regression is far below 1/N, since it weighs the kinks that it has; 1/N is the law of "
    "a network whose weights are given by an integral. How the source itself proves its 1/N was not looked up. "
    "Ridge regression ends at 4e-5, by its penalty and beyond the biases' reach, which flattens its fitted exponent.",
    settled="Three looks before the protocol was fixed, at quick size. The first had accuracies from .1 to .005, of "
    "which the largest were not yet in the straight part (slopes .83 to .88 where .814 is claimed); .05 to .002 "
    "since. In the second the integral of the sampled network began at -4 rather than at 0, with C = 1833: an error "
    "above that of no network at all, and so scattered that 256 draws could not refuse 20%. The third had 64 draws at "
    "quick size, which could not either; there are 256, and 1024 at paper size. A first run at paper size had all "
    "bounds as they are here, but 24 seeds for C d/n, which could not tell at d = 16 and 64 (ratios within 1.9 "
    "standard errors): directions have a study of their own since, at n = 256 d only, for want of time. And the slope "
    "of the time (.8279 +- .0009, accuracies from .05) was compared with that for epsilon to zero (.8138), which "
    "contradicted it: times are compared with the integral that has this limit. Both with new seeds; the other runs "
    "were not made again.",
    figure={
        "samples": ex.Panel(
            ex.Overlay(ex.Of("away", _SAMPLES, {"dim": ex.LAST}), "ratio", "C d/n", "1 - m^2, d = {dim}"),
            ex.Overlay(ex.Of("excess", _SAMPLES, {"dim": ex.LAST}), "ratio", None, "excess risk, d = {dim}", series=1),
            x="samples over dimension, n/d",
            y="error",
            xscale="log",
            yscale="log",
        ),
        "neurons": ex.Panel(
            ex.Overlay(_SAMPLED, "width", "C/N", "the sampled network"),
            ex.Overlay(_RIDGE, "width", None, "ridge regression", series=1),
            x="neurons N",
            y="error, infinitely many samples",
            xscale="log",
            yscale="log",
        ),
        "time": ex.Panel(
            ex.Overlay(ex.Of("taken", _TIME), "accuracy", "the population's flow", "fresh samples, d = {dim}"),
            x="accuracy epsilon",
            y="time to 1 - m = epsilon",
            xscale="log",
        ),
    },
    shows=("normalised_flow",),
)
