"""The same run on one core and on all: the same to the last bit where that is promised, within a bound elsewhere.

docs/studies.md says which runs are promised what. Each is run twice, in processes that may use one core and every core.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.attack import Attack, Limits

# The largest difference that was ever measured, relative to the largest value of the quantity in the run.
BOUND = 7e-7
EXACT = ("one-pass", "giant steps", "reused batch, virtual", "reused batch, dice")
_ROOT = Path(__file__).parents[1]


def _cases() -> dict[str, Callable[[int], object]]:
    import featlab

    reuse, readout = featlab.ReusedBatch(steps=3, step_size=0.2), featlab.RandomFeatures(300, ridge=1e-3)
    sizes = {"dim": 500, "samples": 2000, "seeds": 2, "progress": False}
    one_step = {**sizes, "samples": None}
    he3, wide = "He3(h1)", featlab.TwoLayer(100)
    return {
        "one-pass": lambda key: featlab.simulate(he3, featlab.OnlineSgd(0.1), key=key, **sizes),
        "giant steps": lambda key: featlab.simulate(he3, featlab.GiantSteps(steps=2), key=key, **sizes),
        "reused batch, virtual": lambda key: featlab.simulate(he3, reuse, design="virtual", key=key, **sizes),
        "reused batch, dice": lambda key: featlab.simulate(he3, reuse, design="dice", key=key, **sizes),
        "reused batch, streamed": lambda key: featlab.simulate(he3, reuse, design="streamed", key=key, **sizes),
        "message passing": lambda key: featlab.simulate("h1*h2", featlab.BayesAmp(), key=key, **sizes),
        "readout": lambda key: featlab.simulate("He2(h1)", readout, student=wide, key=key, **one_step),
        "kernel": lambda key: featlab.simulate("He2(h1)", featlab.KernelRidge(), key=key, **{**sizes, "dim": 50}),
    }


def compare_core_counts(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Every case with a new key in each try."""
    found = Counter[str]()
    everything = sorted(os.sched_getaffinity(0))
    for number in limits.rounds():
        one = _values(directory / f"{number}-one", seed + number, everything[:1])
        other = _values(directory / f"{number}-all", seed + number, everything)
        for case, values in one.items():
            found[_verdict(case, values, other[case])] += 1
    return found


def _values(file: Path, key: int, cores: list[int]) -> dict[str, dict[str, np.ndarray]]:
    command = [sys.executable, "-m", "benchmarks.attack_cores", str(file), str(key), *map(str, cores)]
    # The libraries of linear algebra choose their threads by the cores, unless they are told otherwise.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    subprocess.run(command, check=True, cwd=_ROOT, env=environment)
    return pickle.loads(file.read_bytes())  # noqa: S301 - written by the line above


def _verdict(case: str, one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> str:
    if all(values.tobytes() == other[name].tobytes() for name, values in one.items()):
        return "the same to the last bit"
    worst = max(_difference(values, other[name]) for name, values in one.items())
    print(f"{case}: differs by {worst:.2g}", file=sys.stderr)
    if case in EXACT:
        return "other bits than promised"
    return "within the bound" if worst <= BOUND else "beyond the bound"


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference relative to the largest value; infinite if one has a NaN where the other has none."""
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return np.inf
    largest = np.nanmax(np.abs(one), initial=0.0)
    return float(np.nanmax(np.abs(one - other), initial=0.0) / largest) if largest else 0.0


ATTACKS = (
    Attack(
        "cores",
        "the same run on one core and on all",
        compare_core_counts,
        ("other bits than promised", "beyond the bound"),
    ),
)

if __name__ == "__main__":
    os.sched_setaffinity(0, set(map(int, sys.argv[3:])))
    runs = {name: case(int(sys.argv[2])) for name, case in _cases().items()}
    kept = {
        case: {name: values.values for name, values in run.data_vars.items() if values.dtype.kind == "f"}  # type: ignore[attr-defined]
        for case, run in runs.items()
    }
    Path(sys.argv[1]).write_bytes(pickle.dumps(kept))
