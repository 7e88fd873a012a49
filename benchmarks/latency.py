"""How long a person waits: commands of the README and of `featlab compare --help`, each in a process of its own.

    python -m benchmarks.latency                  # every case
    python -m benchmarks.latency simulate explain # some of them

Cold: nothing compiled is kept, in a folder made for it. Warm: the same again, with what the first run has kept there.
Goals are in seconds on two idle cores, and as ratios of processor time, which a busy machine distorts less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.measuring import Row, show, until_steady
from featlab.compiled import VARIABLE

SIMULATE_SECONDS, COMPARE_RATIO = 2.5, 1.5
README = (
    *("He3(h1)", "--learner", "reused-batch", "--dim", "1e6", "--samples", "3e6", "--steps", "2"),
    *("--step-size", "0.2", "--start", "orthogonal"),
)
ONE_PASS = ("tanh(h1)", "--learner", "online-sgd", "--dim", "1000", "--times", "0,1,2,4,8", "--step-size", "0.5/d")
COMPARED = {
    "width-3 relu": (*ONE_PASS, "--width", "3"),
    "Bayes-AMP": ("sign(h1*h2)", "--learner", "bayes-amp", "--dim", "300", "--samples", "2100"),
}
SEEDS = {"width-3 relu": (), "Bayes-AMP": ("--seeds", "4")}
# A target, and the seconds that its analysis may take: two up to rank 2, five for rank 3.
EXPLAINED = {"h1 + abs(h2)": 2.0, "He3(h1)": 2.0, "He4(h1) + sign(h1*h2*h3)": 5.0}
_SOUND = (0, 1, 3)  # a comparison says its verdict by its exit code


class Cost(NamedTuple):
    """Seconds on the clock, and of processors."""

    wall: float
    cpu: float


def cost(arguments: tuple[str, ...], kept: Path) -> Cost:
    """That of a `featlab` command that keeps its compiled programs there."""
    environment = os.environ | {VARIABLE: str(kept)}
    before, begin = os.times(), perf_counter()
    done = subprocess.run([sys.executable, "-m", "featlab", *arguments], env=environment, capture_output=True)
    wall, after = perf_counter() - begin, os.times()
    if done.returncode not in _SOUND:
        raise RuntimeError(f"featlab {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()}")
    return Cost(wall, after.children_user + after.children_system - before.children_user - before.children_system)


def cold_and_warm(case: str, arguments: tuple[str, ...], goal: float | None = None, warm: int = 3) -> Iterator[Row]:
    """One cold run and the best of several warm ones, repeated until they are steady; the goal is for these."""
    with tempfile.TemporaryDirectory(prefix="featlab-latency-") as folder:
        first = cost(arguments, Path(folder))
        again: list[Cost] = []

        def once() -> float:
            again.append(cost(arguments, Path(folder)))
            return again[-1].wall

        timing = until_steady(once, warm)
    least = min(one.cpu for one in again)
    yield Row(case, f"cold, {first.cpu:.1f} s of processors", first.wall, "s")
    yield Row(case, f"warm, {least:.1f} s of processors", timing.seconds, "s", timing, at_most=goal)


def simulate() -> Iterator[Row]:
    """The README's example at d = 10^6."""
    yield from cold_and_warm("simulate, README", ("simulate", *README, "--seeds", "4"), SIMULATE_SECONDS)


def explain() -> Iterator[Row]:
    """The analysis, without the demonstration."""
    for text, goal in EXPLAINED.items():
        yield from cold_and_warm(f"explain {text}", ("explain", text, "--no-simulation"), goal)


def compare() -> Iterator[Row]:
    """A comparison against the two commands that it is made of, all of them cold and all of them warm."""
    for name, arguments in COMPARED.items():
        asked = (*arguments, *SEEDS[name])
        parts = (("simulate", *asked), ("predict", *arguments), ("compare", *asked))
        with tempfile.TemporaryDirectory(prefix="featlab-latency-") as folder:
            for state in ("cold", "warm"):
                places = [Path(folder) / part[0] for part in parts]
                one, two, both = (cost(part, place) for part, place in zip(parts, places, strict=True))
                setting = f"{state}, {one.cpu:.1f} + {two.cpu:.1f} s of processors; compare {both.cpu:.1f}"
                ratio = both.cpu / (one.cpu + two.cpu)
                yield Row(f"compare {name}", setting, ratio, "x both", at_most=COMPARE_RATIO)


CASES: dict[str, Callable[[], Iterator[Row]]] = {"simulate": simulate, "explain": explain, "compare": compare}


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}")
    chosen = parser.parse_args(arguments).cases or list(CASES)
    if unknown := set(chosen) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}: they are {', '.join(CASES)}")
    print(show([row for name in chosen for row in CASES[name]()]))


if __name__ == "__main__":
    main(sys.argv[1:])
