"""Attacks on stores of studies: flipped bits, `--fresh` under the eyes of readers, kills in the middle of both.

flips: one bit of a store's file is flipped. What is read must be what was written, or marked as missing, or refused by
name; after a repair and a run the dataset must be the old one.
fresh: a study is started over again and again while others read its store without pause. Every copy that is set aside
must hold every run, and no reader may ever find anything but the whole truth.
kills: a driver that starts over in a loop, with a new key each time, is killed at random moments. Every run that it
acknowledged must be in the store or in a copy.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from benchmarks.attack import Attack, Limits
from benchmarks.study import SHORT, nothing
from featlab.errors import FeatlabError
from featlab.study import Runner, Study, check, run
from featlab.study import open as open_study
from featlab.study.store import Reader

RUNS = 40
READERS = 2
LIFE_SECONDS = 0.15
QUICK = Runner(nothing, "nothing")
_ROOT = Path(__file__).parents[1]


def _study(key: int = 0, points: int = RUNS) -> Study:
    return Study(axes={"x": range(points)}, key=key)


def flip_bits(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """One flipped bit at a time, anywhere in the file."""
    chance, store, found = random.Random(seed), directory / "a.sqlite", Counter[str]()
    run(_study(), QUICK, store)
    written, expected = store.read_bytes(), open_study(store)
    for _ in limits.rounds():
        damaged = bytearray(written)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        for file in directory.iterdir():
            file.unlink()
        store.write_bytes(damaged)
        for what in (_read(store, expected), _healed(store, expected)):
            found[what] += 1
    return found


def _read(store: Path, expected: object) -> str:
    try:
        dataset = open_study(store)
    except FeatlabError:
        return "refused"
    except Exception as fault:  # noqa: BLE001 - whatever it is, it has no name of ours
        print(f"raw error: {fault!r}")
        return "raw errors"
    if dataset.identical(expected):  # type: ignore[arg-type]
        return "unharmed"
    return "marked missing" if "missing" in dataset["run_outcome"] else "changed silently"


def _healed(store: Path, expected: object) -> str:
    try:
        sound = check(store, repair=True).good
        run(_study(), QUICK, store)
        whole = open_study(store).identical(expected)  # type: ignore[arg-type]
    except FeatlabError:
        return "beyond repair"
    except Exception as fault:  # noqa: BLE001 - whatever it is, it has no name of ours
        print(f"raw error: {fault!r}")
        return "raw errors"
    if not whole:
        return "wrong after repair"
    return "nothing to repair" if sound else "repaired"


def start_over(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """`--fresh` in a loop while others read."""
    store, found = directory / "a.sqlite", Counter[str]()
    run(_study(seed), QUICK, store)
    diaries = [directory / f"reader-{number}" for number in range(READERS)]
    readers = [_started(store, diary) for diary in diaries]
    try:
        while not all(diary.stat().st_size for diary in diaries):
            assert all(reader.poll() is None for reader in readers)
            time.sleep(0.01)
        for _ in limits.rounds():
            _one_cycle(store, seed, found)
    finally:
        for reader in readers:
            reader.terminate()
            reader.wait()
    for diary in diaries:
        words = Counter(diary.read_text(encoding="ascii").split("\n"))
        found["readings"] += words["read"]
        found["wrong readings"] += words["wrong"]
    return found


def _started(store: Path, diary: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.attack_store", "read", str(store)]
    with diary.open("wb") as out:
        return subprocess.Popen(command, stdout=out, cwd=_ROOT)


def _one_cycle(store: Path, key: int, found: Counter[str]) -> None:
    def looked_at(aside: Path) -> None:
        with closing(Reader(aside)) as copy:
            found["runs lost"] += RUNS - len(copy.outcomes())
        aside.unlink()

    try:
        run(_study(key), QUICK, store, fresh=True, on_set_aside=looked_at)
        found["cycles"] += 1
    except FeatlabError as fault:
        print(fault)
        found["refused cycles"] += 1


def _keep_reading(store: str) -> None:
    """A reader that says of each reading whether it found what a store may hold: runs of this study, all sound."""
    while True:
        try:
            dataset = open_study(store)
            print("read" if dataset.sizes["x"] == RUNS else "wrong", flush=True)
        except FeatlabError as fault:
            print(fault, file=sys.stderr)
            print("wrong", flush=True)


def kill_those_who_start_over(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Drivers that start over are killed; what they acknowledged must be somewhere."""
    chance, store, found = random.Random(seed), directory / "a.sqlite", Counter[str]()
    said: set[str] = set()
    kept: dict[Path, set[str]] = {}
    for number in limits.rounds():
        command = [sys.executable, "-m", "benchmarks.attack_store", "drive", str(store), str(1000 * number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as driver:
            assert driver.stdout is not None
            first = driver.stdout.readline()
            time.sleep(chance.uniform(0, LIFE_SECONDS))
            driver.kill()
            rest = driver.stdout.read()
        said.update((first + rest[: rest.rfind("\n") + 1]).split())
        for file in directory.glob("a*.sqlite"):
            if file == store or file not in kept:
                with Reader(file) as reader:
                    kept[file] = set(reader.outcomes())
        found["kills"] += 1
        found["runs lost"] = len(said.difference(*kept.values()))
    found["acknowledged"], found["copies"] = len(said), len(kept) - 1
    return found


def _keep_starting_over(store: str, key: int) -> None:
    while True:
        key += 1
        run(
            _study(key, 10),
            SHORT,
            store,
            fresh=True,
            on_acknowledged=lambda done: print(*(r.id for r in done), flush=True),
        )


ATTACKS = (
    Attack(
        "flips", "one bit of a store is flipped", flip_bits, ("changed silently", "raw errors", "wrong after repair")
    ),
    Attack(
        "fresh",
        "a study starts over while others read it",
        start_over,
        ("runs lost", "wrong readings", "refused cycles"),
    ),
    Attack("kills", "drivers that start over are killed", kill_those_who_start_over, ("runs lost",)),
)

if __name__ == "__main__":
    if sys.argv[1] == "read":
        _keep_reading(sys.argv[2])
    else:
        _keep_starting_over(sys.argv[2], int(sys.argv[3]))
