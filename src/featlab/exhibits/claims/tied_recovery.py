"""Gradient flow on one batch finds the direction of a single-index target (Bietti et al. 2022, arXiv:2210.15651).

The theorem: with n of order max(d^s, d^((s+3)/2)) samples, s the information exponent, a start succeeds with
probability .49 at least, and then 1 - |m| is of order max(d/n, d^4/n^2) at most. Put to the test at several d, for
single starts, with the constant 1 in front of n; and 1 - |m| = K (d - 1)/n, with a K that is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex

RECOVERED = 0.8  # projecting a linear target on d/2 samples gives sqrt(1/2)
PROBABILITY = 0.49
HERMITE, AUTHORS = "He_s", "hats"
_LINKS = {1: "h1", 2: "He2(h1)/sqrt(2)", 3: "He3(h1)/sqrt(6)"}
_TEACHERS = {1: "hats", 2: "hats-two"}  # names in the catalogue; of the third see the remarks
_DIMS: dict[ex.Size, Mapping[int, tuple[int, ...]]] = {
    ex.Size.QUICK: {1: (20,)},
    ex.Size.PAPER: {1: (10, 20, 40, 80), 2: (10, 20, 40), 3: (10, 16, 24)},
    ex.Size.LARGE: {1: (20, 40, 80), 2: (20, 40, 80), 3: (20, 30, 40)},
}
_BETWEEN = (1.0, 1.5, 2.0)  # powers of d that n goes through, from d/2 up to what the theorem asks for
_OPTIONS: dict[ex.Size, dict[str, Any]] = {
    ex.Size.QUICK: {"seeds": 24, "restarts": 1, "time": 200.0},
    ex.Size.PAPER: {"seeds": 48, "restarts": 4, "time": 800.0},
    ex.Size.LARGE: {"seeds": 48, "restarts": 4, "time": 1600.0},
}
_RULE = {
    "learner": "tied-flow", "width": 100, "bias_scale": 1.5, "penalty": 0.01, "frozen_time": 40.0,
    "interval": 20.0, "max_steps": 20_000, "design": "dense",
    "observe": ["overlap", "restart_cosine", "restart_loss", "restart_knots", "restart_signs", "restart_second_layer"],
}  # fmt: skip
_MANY = 12  # samples over dimension from which on the first order in d/n is computed
# What is judged of many batches: the constant K, at one d and n for every target, and the order of the exponents.
_PRECISE, _ORDER = "precise", "order"
_PRECISE_SIZES: dict[ex.Size, dict[str, Any]] = {
    ex.Size.QUICK: {"dim": 40, "samples": [2000], "seeds": 48},
    ex.Size.PAPER: {"dim": 40, "samples": [2000], "seeds": 80},
    ex.Size.LARGE: {"dim": 80, "samples": [8000], "seeds": 80},
}
# For He3 the next order in d/n, about 4.5 d/n of K, is as large as what is to be seen unless n is larger still.
_FARTHER: dict[ex.Size, dict[str, Any]] = {
    ex.Size.PAPER: {"dim": 20, "samples": [8000], "seeds": 100, "restarts": 2},
    ex.Size.LARGE: {"dim": 40, "samples": [16_000], "seeds": 100, "restarts": 2},
}
_ORDER_SIZES: dict[str, Any] = {"dim": 20, "samples": [round(20**1.5)], "seeds": 96}
_AT_REST = 0.1  # of 1 - |m|: by how much |m| may change in the last interval


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """For each information exponent and dimension, the flow on more and more samples."""
    from featlab.targets.literature import catalogue

    options = _OPTIONS[size]
    end = options["time"]
    fixed = {**_RULE, **options, "times": [0.0, end]}

    def part(role: str, family: str, s: int, dim: int, samples: list[int], key: int, **other: Any) -> ex.Part:
        known = catalogue[_TEACHERS[s]] if family == AUTHORS else None
        own = {"target": known.text if known else _LINKS[s], "noise": known.noise if known else 0.01, "dim": dim}
        study = ex.Study({**fixed, **own, **other}, {"samples": samples}, key=key + s + (10 if known else 0))
        facts = {"s": s, "family": family, "role": role}
        return ex.Part(study, words=f"{family}, s = {s}, d = {dim}", facts=facts)

    shares, precise, order = {}, {}, {}
    for family, s in [(HERMITE, s) for s in _DIMS[size]] + [
        (AUTHORS, s) for s in _TEACHERS if size is not ex.Size.QUICK
    ]:
        between = _BETWEEN if family == HERMITE and size is not ex.Size.QUICK else ()
        for dim in _DIMS[size][s]:
            shares[_name(family, s, dim)] = part("", family, s, dim, _samples(dim, s, between), 140)
        rest = {"times": [0.0, end - _RULE["interval"], end]}
        sizes = {**_PRECISE_SIZES[size], **rest, **(_FARTHER[size] if s == max(_LINKS) else {})}
        precise[f"{_PRECISE}-{family.lower()}-s{s}"] = part(_PRECISE, family, s, key=160, **sizes)
        if family == HERMITE and size is not ex.Size.QUICK:
            order[f"{_ORDER}-s{s}"] = part(_ORDER, family, s, key=180, **_ORDER_SIZES)
    return {**shares, **precise, **order}


def _samples(dim: int, s: int, between: tuple[float, ...]) -> list[int]:
    """From d/2 up to what the theorem asks for."""
    from featlab.theory import sufficient_samples

    most = sufficient_samples(dim, s)
    return [dim // 2, *(round(dim**power) for power in between if dim**power < most), round(most)]


def _name(family: str, s: int, dim: int) -> str:
    return f"{family.lower()}-s{s}-d{dim}"


def theory(data: ex.Data) -> ex.Data:
    """|m| = 1 - K (d - 1)/n of every seed, K given what it has reached, and nothing if that is not the direction; and
    along a line of n, with the mean K of the largest n."""
    import xarray as xr

    found = {}
    for name, part in data.items():
        samples, dim = part["samples"], part["dim"]
        rows = [_constants(part.isel(samples=at)) for at in range(samples.size)]
        constants = xr.DataArray(rows, {"samples": samples, "seed": part["seed"]}, ("samples", "seed"))
        overlap = 1 - constants * (dim - 1) / samples
        found[name] = xr.Dataset({"overlap": overlap}, {"power": power(part).round(2)})
        many = dim.item() * np.geomspace(_MANY / 3, samples[-1].item() / dim.item() * 3, 30)
        line = 1 - constants[-1].mean() * (dim - 1) / xr.DataArray(many, dims="samples", coords={"samples": many})
        found[f"{name} line"] = xr.Dataset({"overlap": line, "dim": dim}).set_coords("dim")
    return found


def power(data: ex.Dataset) -> ex.Array:
    """Of d, which n is."""
    return data["samples"].copy(data=np.log(data["samples"].values) / np.log(data["dim"].item()))


def _constants(runs: ex.Dataset) -> list[float]:
    from featlab.targets import target
    from featlab.theory.tied.neurons import Neurons
    from featlab.theory.tied.precision import direction_error

    fixed, last = ex.parameters_at(runs), runs.isel(time=-1)
    goal, found = target(fixed["target"], noise=fixed["noise"]), []
    moved = _last_change(runs)
    for seed in range(last.sizes["seed"]):
        best = last.isel(seed=seed, restart=int(np.argmin(last["restart_loss"].values[seed])))
        cosine = best["restart_cosine"].values[0]
        neurons = Neurons(best["restart_knots"].values, best["restart_signs"].values)
        reached = (fixed["penalty"], 1 if cosine > 0 else -1, best["restart_second_layer"].values)
        rests = moved[seed] < _AT_REST * (1 - abs(cosine))
        many = abs(cosine) >= RECOVERED and rests and fixed["samples"] >= _MANY * fixed["dim"]
        found.append(direction_error(goal, neurons, *reached) if many else np.nan)
    return found


def _last_change(runs: ex.Dataset) -> np.ndarray:
    """By how much |m| of the chosen start changed between the last two looks; zero where only start and end are."""
    looks = abs(runs["overlap"]).transpose("seed", "time", ...).values.reshape(runs.sizes["seed"], runs.sizes["time"])
    return abs(looks[:, -1] - looks[:, -2]) if runs.sizes["time"] > 2 else np.zeros(len(looks))


def cosine(data: ex.Dataset) -> ex.Array:
    """|m| of the chosen start, with log n / log d beside it."""
    return abs(data["overlap"]).assign_coords(power=power(data))


def error(data: ex.Dataset) -> ex.Array:
    """1 - |m|, with n/d beside it."""
    return (1 - cosine(data)).assign_coords(ratio=data["samples"] / data["dim"])


def succeeded(data: ex.Dataset) -> ex.Array:
    """The share of a seed's starts, each for itself, that find the direction."""
    return (abs(data["restart_cosine"]) > RECOVERED).mean(["restart", "direction"]).assign_coords(power=power(data))


def _shares(s: int) -> ex.Panel:
    """The share of starts that succeed over n, of one exponent at all its dimensions."""
    return ex.Panel(
        ex.Overlay(
            ex.Of(succeeded, where=_END),
            "power",
            None,
            "{family}, d = {dim}",
            only=lambda at: at["s"] == s and not at["role"],
        ),
        ex.Mark(PROBABILITY, "probability .49", along="y"),
        x="log n / log d",
        y="share of starts that succeed",
        legend="upper left",
        ylim=(-0.03, 1.5),
    )


_END = {"time": ex.LAST}
_MOST = {**_END, "samples": ex.LAST}

EXHIBIT = ex.Exhibit(
    id="tied-recovery",
    title="One batch, one direction: found",
    claim="Projected gradient flow on max(d^s, d^((s+3)/2)) samples finds the direction of a single-index target of "
    "information exponent s with probability .49 at least, with an error 1 - |m| of order d/n.",
    document=ex.TIED_NETWORK,
    papers=("bietti2022",),
    protocol="Targets He_s/sqrt(s!) with label noise of standard deviation .1, and the authors' piecewise linear "
    "teachers (hats) with theirs, .01, for s = 1 and 2. N = 100 relu neurons with biases N(0, 1.5^2) and random "
    "signs, lambda = .01; theta alone up to T0 = 40, then both layers up to T = 800 (quick: 200); T, T0 and the "
    "factor 1 in front of the theorem's n are ours. Four starts on each of 48 batches: each counts for itself, |m| > "
    ".8 is success, the share that succeeds is held to .49; the control has d/2 samples. K is that of the start with "
    "the lowest training loss, given the second layer that it has reached; it is tested on batches of its own, of "
    "which those count where the flow has come to rest, up to 2 d/n of itself.",
    caption="Points are means over batches, for the error medians, with two standard errors. Dotted: probability .49. "
    "Lines: K d/n, computed without fitting.",
    studies=studies,
    theory=theory,
    checks={
        "{words}: on n = {samples} samples a start succeeds with probability .49 at least": ex.Above(
            ex.Of(succeeded, where=_MOST),
            PROBABILITY,
            ex.Of(succeeded, where={**_END, "samples": ex.FIRST}),
            "half as many samples as dimensions",
            only=lambda at: not at["role"],
        ),
        "{words}, n = {samples}: 1 - |m| = K (d - 1)/n": ex.Close(
            ex.Of(error, where=_MOST),
            allowance=lambda at: 2 * at["dim"] / at["samples"],
            only=lambda at: at["role"] == _PRECISE,
        ),
        "d = 20, n = d^1.5: fewer starts succeed for a larger information exponent": ex.Ordered(
            [ex.Of(succeeded, f"{_ORDER}-s{s}", _MOST, f"s = {s}") for s in (3, 2, 1)], least=0.2
        ),
    },
    numbers={
        "|m| of the chosen start, {words}, n = {samples}": ex.Value(ex.Of(cosine, where=_END), each="samples"),
        "share of starts that succeed, {words}, n = {samples}": ex.Value(
            ex.Of(succeeded, where=_END), False, each="samples"
        ),
    },
    remarks=(
        (
            "The theorem's other error term, d^4/n^2, is not seen: at these n it is of order 1, 1/d and 1/d^2 for "
            "s = 1, 2 and 3, and the error is of order d/n. K is derived here, not by the source, and is a limit: in a "
            "loop of its own, least squares over theta by a quasi-Newton method, the error for He3 is 9(3)%, 2(3)% and "
            "-1(3)% larger at n = 50, 100 and 400 d."
        ),
        (
            "The authors' teacher for s = 3 has a third coefficient of -.016, the next ones being .22 and .06: what "
            "the theorem's order hides is of order 1/.016^2 there, and d^3 samples are no test of it."
        ),
    ),
    settled="Sizes and times were set after earlier protocols, whose data are not used here: every batch is drawn with "
    "new keys. With T = 200 the authors' s = 2 had shares of .38(5) and .41(5), below .49; in a pilot at d = 20 (48 "
    "batches, keys of its own) T = 200, 400, 800 and 1600 gave .46(4), .54(4), .60(4) and .64(4), and four times the "
    "samples no more: the flow had not come to its end. T is 800 since. K had failed for He3 at n = 50 d, 17(5)% off, "
    "and the verdict was: contradicted. The cause was the next order in d/n, by the loop of the first remark, so that "
    "n is 400 d; and, for s = 1 by 8%, the integrator's tolerance, which was .01 and is .002 for everybody since. The "
    "authors' teacher of s = 3 had a share of .06 at n = d^3 in a first pilot, and was left out for the reason above. "
    "The quick size was set after four looks, so that the flow comes to rest and 20% can be told.",
    figure={
        **{f"s = {s}: single starts that succeed": _shares(s) for s in _LINKS},
        "How well the direction is found": ex.Panel(
            ex.Overlay(
                ex.Of(error, where=_END, theory="{study} line"),
                "ratio",
                "",
                "",
                only=lambda at: not at["role"],
                summary=ex.median,
            ),
            x="n / d",
            y="error 1 - |m|",
            xscale="log",
            yscale="log",
            legend=None,
        ),
    },
    shows=("information_exponent",),
)
