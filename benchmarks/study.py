"""Studies under strain: what a point costs beside its own work, and how many kills a study survives.

    python -m benchmarks.study                    # both, at the sizes of the goals (1000 kills take about ten minutes)
    python -m benchmarks.study overhead
    python -m benchmarks.study kills --kills 50

overhead: 10^5 points that do nothing are run in this process, and opened as a dataset.
kills: a driver is killed with SIGKILL at random moments. It prints the id of every run as soon as it is acknowledged;
after each kill all of them must be in the store. In the end nothing may be missing or twice there, and the dataset must
be that of an undisturbed run, bit by bit.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from featlab.study import Study, run
from featlab.study.records import Record
from featlab.study.runner import Runner
from featlab.study.store import Reader, Store

POINTS = 10**5
KILLS = 1000
MILLISECONDS_PER_POINT, OPEN_SECONDS = 2.0, 3.0
# How long a driver lives after its first acknowledgement; its start takes a few times longer.
LIFE_SECONDS = 0.06


def nothing(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """A point that costs nothing."""
    return [{"y": point["x"] * 0.5, "u": key / 2**64}]


def short(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """A point that takes about a millisecond."""
    time.sleep(0.001)
    return nothing(point, key)


def overhead(points: int, directory: Path) -> tuple[float, float]:
    """Milliseconds for each point in process, and seconds for opening all of them."""
    from featlab.study import open as open_study

    store = directory / "overhead.sqlite"
    begin = time.perf_counter()
    run(Study(axes={"x": range(points)}), nothing, store)
    running = time.perf_counter() - begin
    begin = time.perf_counter()
    dataset = open_study(store)
    opening = time.perf_counter() - begin
    assert dataset.sizes["x"] == points
    return 1e3 * running / points, opening


SHORT = Runner(short, "short")


def _study(points: int) -> Study:
    return Study(axes={"x": range(points)}, key=11)


class LyingStore(Store):
    """Acknowledges before it writes: what must be found out."""

    def add(self, record: Record) -> list[Record]:
        """Say it is safe; write it when many are waiting."""
        self._waiting.append(record)
        if len(self._waiting) >= 30:
            self.flush()
        return [record]


def drive(store: Path, points: int, *, lying: bool = False) -> None:
    """The driver that is killed: prints the ids of acknowledged runs, one line for each transaction."""
    if lying:
        import featlab.study.drive

        featlab.study.drive.Store = LyingStore  # type: ignore[misc]
    run(_study(points), SHORT, store, on_acknowledged=lambda done: print(*(one.id for one in done), flush=True))


def kill_drivers(kills: int, points: int, directory: Path, *, seed: int = 0, lying: bool = False) -> dict[str, int]:
    """Kill that many drivers, let the last one finish, and count.

    A run that was stored, but whose driver was killed before it could say so, is stored and not acknowledged.
    """
    chance, store = random.Random(seed), directory / "killed.sqlite"
    command = [sys.executable, "-m", "benchmarks.study", "drive", "--store", str(store), "--points", str(points)]
    command += ["--lying"] if lying else []
    acknowledged: set[str] = set()
    lost = at_work = twice = 0
    for _ in range(kills):
        told = _killed(command, chance)
        at_work += bool(told)
        twice += len(acknowledged & set(told))
        acknowledged.update(told)
        lost += len(acknowledged - _stored(store))
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT).stdout.split()
    twice += len(acknowledged & set(told))
    acknowledged.update(told)
    stored = len(_stored(store))
    return {
        "stored": stored,
        "acknowledged": len(acknowledged),
        "lost": lost,
        "twice": twice,
        "killed at work": at_work,
    }


def same_as_undisturbed(points: int, directory: Path) -> bool:
    """Whether the killed study's dataset is that of a study which nobody killed, bit by bit."""
    from featlab.study import open as open_study

    run(_study(points), SHORT, directory / "undisturbed.sqlite")
    one, other = (open_study(directory / f"{name}.sqlite") for name in ("killed", "undisturbed"))
    return one.identical(other) and all(
        one[name].values.tobytes() == other[name].values.tobytes() for name in other.variables
    )


_ROOT = Path(__file__).parents[1]


def _killed(command: Sequence[str], chance: random.Random) -> list[str]:
    """Start a driver, kill it: one in ten before it acknowledges anything, the others at a random moment after."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as driver:
        assert driver.stdout is not None
        first = ""
        if chance.random() < 0.1:
            time.sleep(chance.uniform(0, 0.3))
        else:
            first = driver.stdout.readline()
            time.sleep(chance.uniform(0, LIFE_SECONDS))
        driver.kill()
        # The last line may be torn: what was not said to the end was not said.
        rest = driver.stdout.read()
    return (first + rest[: rest.rfind("\n") + 1]).split()


def _stored(store: Path) -> set[str]:
    if not store.exists() or store.stat().st_size == 0:
        return set()
    with Reader(store) as reader:
        return set(reader.outcomes())


def main(arguments: list[str] | None = None) -> None:
    """Run the cases asked for and print what was found; exit code 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "case", nargs="?", choices=("overhead", "kills", "drive"), help="one of them; both if not given"
    )
    parser.add_argument("--kills", type=int, default=KILLS, help="how many drivers to kill")
    parser.add_argument("--points", type=int, help="how many points")
    parser.add_argument("--store", type=Path, help="drive: where the results go")
    parser.add_argument("--lying", action="store_true", help="drive: a store that acknowledges too early")
    options = parser.parse_args(arguments)
    if options.case == "drive":
        drive(options.store, options.points, lying=options.lying)
        return
    met = True
    with tempfile.TemporaryDirectory() as name:
        if options.case in (None, "overhead"):
            pace, opening = overhead(options.points or POINTS, Path(name))
            print(f"overhead {pace:.3g} ms a point (goal {MILLISECONDS_PER_POINT}), opened in {opening:.3g} s")
            met = pace <= MILLISECONDS_PER_POINT and opening <= OPEN_SECONDS
        if options.case in (None, "kills"):
            points = options.points or 60 * options.kills
            found = kill_drivers(options.kills, points, Path(name))
            same = same_as_undisturbed(points, Path(name))
            print(f"{options.kills} kills, {points:,} points:", ", ".join(f"{n:,} {what}" for what, n in found.items()))
            print("dataset identical to an undisturbed run" if same else "dataset differs from an undisturbed run")
            met = met and same and not found["lost"] and not found["twice"] and found["stored"] == points
    if not met:
        sys.exit("a goal was missed")


if __name__ == "__main__":
    main()
