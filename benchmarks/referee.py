"""Theory, simulation and a plain loop, where the first two once disagreed: python -m benchmarks.referee --docs

Seven experiments of a first round of random ones disagreed. For each of them: what is predicted, what featlab's runs
have and what the loops of `plain_loops` have at several sizes, and the limit of the loops, by value = limit + c / size,
with the number of standard errors by which theory differs from it. `--json` writes the numbers (and keeps those of
other cases), `--read` tells of those that were written, `--docs` puts the table into docs/predicting.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import featlab
from benchmarks import plain_loops
from benchmarks.pages import with_table
from benchmarks.plain_loops import SIGMAS, Floats
from featlab import StepLaw, TwoLayer

RESULTS = Path(__file__).resolve().parent / "results" / "referee.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "predicting.md"
HEAD = "| experiment | predicted |"


@dataclass(frozen=True)
class Case:
    """One experiment at several sizes.

    Attributes:
        name, quantity: in words.
        sizes: d; n where theory is for n to infinity.
        seeds: of the loop, at each size.
        asked: of a size: the arguments of `featlab.predict`.
        read: the number in the datasets, of one seed or of a prediction.
        loop: of a random generator and a size: the same number.
        runs: how many of featlab's for each loop.
    """

    name: str
    quantity: str
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    asked: Callable[[int], dict[str, Any]]
    read: Callable[[Any], Any]
    loop: Callable[[np.random.Generator, int], float]
    runs: int = 4


@dataclass(frozen=True)
class Found:
    """What came out of a case: means and standard errors at each size, and the limit of the loops."""

    name: str
    quantity: str
    sizes: tuple[int, ...]
    predicted: float | None
    runs: tuple[tuple[float, float], ...]
    loops: tuple[tuple[float, float], ...]
    limit: tuple[float, float]

    @property
    def z(self) -> float | None:
        """By how many standard errors theory differs from the limit of the loops."""
        return None if self.predicted is None else (self.predicted - self.limit[0]) / self.limit[1]


def limit(sizes: Sequence[int], means: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of value = limit + c / size, by weighted least squares: the limit and its standard error."""
    values, errors = np.array(means).T
    design = np.stack([np.ones(len(sizes)), 1 / np.array(sizes)], axis=1) / errors[:, None]
    covariance = np.linalg.inv(design.T @ design)
    return float((covariance @ design.T @ (values / errors))[0]), float(np.sqrt(covariance[0, 0]))


def judged(case: Case, share: float = 1.0) -> Found:
    """The case, with that share of its seeds (at least two)."""
    runs, loops, predicted = [], [], None
    for size, count in zip(case.sizes, case.seeds, strict=True):
        seeds, asked = max(2, round(share * count)), case.asked(size)
        value = float(case.read(featlab.predict(**asked)))
        predicted = None if np.isnan(value) else value
        runs.append(_mean(case.read(featlab.simulate(**asked, seeds=case.runs * seeds, key=7, progress=False)).values))
        rngs = [np.random.default_rng([7, size, seed]) for seed in range(seeds)]
        loops.append(_mean(np.array([case.loop(rng, size) for rng in rngs])))
        print(case.name, size, predicted, runs[-1], loops[-1], file=sys.stderr, flush=True)
    fit = limit(case.sizes, loops)
    return Found(case.name, case.quantity, case.sizes, predicted, tuple(runs), tuple(loops), fit)


def _mean(values: Floats) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _message_passing() -> Case:
    learner = featlab.BayesAmp(1, damping=0.0, start="informed", start_overlap=0.3)
    return Case(
        "message passing, `0.058*(sin(h1)*abs(h2) + 2*He5(h2))`, n = 1.5 d, q = .3 at the start",
        "norm of h1's estimate after one iteration",
        (250, 1000, 2000),
        (24, 12, 6),
        lambda d: {
            "target": "0.058*(sin(h1)*abs(h2) + 2*He5(h2))",
            "learner": learner,
            "dim": d,
            "samples": 3 * d // 2,
        },
        lambda found: found.norm[..., -1, 0],
        lambda rng, d: float(plain_loops.folded_message_passing(rng, dim=d, samples=3 * d // 2, overlap=0.3)[0]),
        runs=1,
    )


def _reuse(activation: str, step: float) -> Case:
    student = TwoLayer(activation=activation, start="planted", planted=((0.3,),))
    loop = partial(plain_loops.reused_batch, link=lambda h: h + h**2 - 1, sigma=SIGMAS[activation], steps=2)
    return Case(
        f"batch reuse, {activation} on `h1 + He2(h1)` from a cosine of .3, n = 4 d, step {step:g}",
        "norm after two steps",
        (125, 500, 2000),
        (400, 100, 25),
        lambda d: {
            "target": "h1 + He2(h1)",
            "learner": featlab.ReusedBatch(2, step),
            "dim": d,
            "samples": 4 * d,
            "student": student,
        },
        lambda found: found.norm[..., -1, 0],
        lambda rng, d: float(loop(rng, dim=d, samples=4 * d, step=step, cosine=0.3)[-1, 1]),
    )


def _extragradient() -> Case:
    student = TwoLayer(activation="He2", start="planted", planted=((0.3,),), biases=0.3)
    link = lambda h: h**2 - 1 + 0.5 * (h**3 - 3 * h)  # noqa: E731
    loop = partial(plain_loops.extragradient, link=link, sigma=SIGMAS["He2"], bias=0.3, cosine=0.3, times=1)
    return Case(
        "extragradient, He2 with bias .3 on `He2(h1) + 0.5*He3(h1)` from a cosine of .3, gamma d = .01, rho d = .02",
        "norm at t = 1",
        (125, 500, 2000),
        (400, 100, 25),
        lambda d: {
            "target": "He2(h1) + 0.5*He3(h1)",
            "learner": featlab.Extragradient(StepLaw(0.01, 1), StepLaw(0.02, 1)),
            "dim": d,
            "times": [0, 1],
            "student": student,
        },
        lambda found: found.norm[..., -1, 0],
        lambda rng, d: float(loop(rng, dim=d, step=0.01, inner=0.02)[-1, 1]),
    )


def _flow() -> Case:
    student = TwoLayer(activation="tanh", start="planted", planted=((0.3,),))
    loop = partial(plain_loops.spherical_flow, link=lambda h: np.tanh(2 * h), sigma=SIGMAS["tanh"], dim=20)
    return Case(
        "spherical flow, d = 20, tanh on `tanh(2*h1)` from a cosine of .3; sizes are n",
        "overlap after ten steps",
        (400, 1600, 6400),
        (200, 100, 50),
        lambda n: {
            "target": "tanh(2*h1)",
            "learner": featlab.SphericalFlow(10),
            "dim": 20,
            "samples": n,
            "times": [0, 10],
            "student": student,
        },
        lambda found: found.overlap[..., -1, 0, 0],
        lambda rng, n: float(loop(rng, samples=n, cosine=0.3, steps=10)[-1]),
    )


def _readout() -> Case:
    loop = partial(plain_loops.readout, link=lambda h: h + (h**3 - 3 * h) / 2, sigma=SIGMAS["He3"], scale=1.0)
    return Case(
        "readout, He3 on `h1 + 0.5*He3(h1)` after a giant step with c = 1, 2 p = d, batch 3 d, n = 4 d, lambda = .1",
        "risk",
        (50, 200, 800),
        (80, 20, 5),
        lambda d: {
            "target": "h1 + 0.5*He3(h1)",
            "learner": featlab.Readout(featlab.GiantSteps(1, scale=1.0), 4 * d, 0.1),
            "dim": d,
            "samples": 3 * d,
            "student": TwoLayer(d // 2, "He3", "signs"),
        },
        lambda found: found.risk[..., -1],
        lambda rng, d: float(loop(rng, dim=d, width=d // 2, batch=3 * d, samples=4 * d, ridge=0.1)[1]),
    )


CASES: dict[str, Callable[[], Case]] = {
    "message-passing": _message_passing,
    "reuse-He2": partial(_reuse, "He2", 0.1),
    "reuse-square": partial(_reuse, "square", 0.1),
    "reuse-He3": partial(_reuse, "He3", 0.002),
    "reuse-He2-far": partial(_reuse, "He2", 0.2),
    "extragradient": _extragradient,
    "flow": _flow,
    "readout": _readout,
}


def table(found: Sequence[Found]) -> str:
    """A line for each case, in Markdown."""
    lines = [f"{HEAD} sizes | featlab's runs | plain loop | its limit | z |", "|---|---:|---:|---:|---:|---:|---:|"]
    for one in found:
        predicted, z = ("none", "") if one.predicted is None else (f"{one.predicted:.4f}", f"{one.z:.1f}")
        runs, loops = (", ".join(with_error(*value) for value in part) for part in (one.runs, one.loops))
        sizes = ", ".join(f"{size:,}" for size in one.sizes)
        last = with_error(*one.limit) if one.predicted is not None else ""
        lines.append(f"| {one.name}: {one.quantity} | {predicted} | {sizes} | {runs} | {loops} | {last} | {z} |")
    return "\n".join(lines)


def with_error(value: float, error: float) -> str:
    """Such as 0.3785(14): the error in units of the last digit, two digits of it."""
    digits = max(0, 1 - int(np.floor(np.log10(error)))) if error > 0 else 4
    return f"{value:.{digits}f}({round(error * 10**digits)})"


def read(path: Path) -> list[Found]:
    """What was written."""

    def pairs(rows: Any) -> tuple[tuple[float, float], ...]:
        return tuple((float(mean), float(error)) for mean, error in rows)

    return [
        Found(**{**row, "sizes": tuple(row["sizes"]), "runs": pairs(row["runs"]), "loops": pairs(row["loops"])})
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]


def _together(before: Sequence[Found], found: Sequence[Found]) -> list[Found]:
    """What was found last of each case, in the order of `CASES`."""
    latest = {one.name: one for one in (*before, *found)}
    return [latest[name] for name in (make().name for make in CASES.values()) if name in latest]


def main(arguments: Sequence[str]) -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="which, separated by commas")
    parser.add_argument("--share", type=float, default=1.0, help="that share of the seeds")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    parser.add_argument("--read", type=Path, help="run nothing: tell of the numbers written there")
    parser.add_argument("--docs", action="store_true", help="put the table into docs/predicting.md")
    asked = parser.parse_args(arguments)
    found = read(asked.read) if asked.read else [judged(CASES[name](), asked.share) for name in asked.cases.split(",")]
    if asked.json:
        found = _together(read(asked.json) if asked.json.exists() else [], found)
        asked.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    print(table(found))
    if asked.docs:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), HEAD, table(found)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
