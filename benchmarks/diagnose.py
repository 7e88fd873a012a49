"""`featlab.diagnose` on data whose truth is known: false alarms, numbers of directions, exponents, coverage, cost.

python -m benchmarks.diagnose --output evidence.json    # everything but the cost
python -m benchmarks.diagnose --seconds 450             # what can be counted until then, all cases to the same share
python -m benchmarks.diagnose --only noise --draws 40   # one part; so can the others be made smaller
python -m benchmarks.diagnose --read evidence.json      # the tables of what was saved
python -m benchmarks.diagnose --read evidence.json --publish    # counts, and the tables of docs/your-data.md by them
python -m benchmarks.diagnose --only cost               # n = 10^5, d = 10^3: seconds and memory

noise: how often noise shows a direction. targets: those of the catalogue of rank <= 3, on random orthonormal
directions of inputs of five laws, with noise of a tenth of the variance or as much as it. real: data sets that ship
with scikit-learn, and labels planted on their inputs.
Exponents are right if they are those of the catalogue; a direction more or less is wrong. Coverage: the true angle of
each direction to the span of the true ones is below its upper bound, above its lower one, and below its median; all
coefficients of the label, and all of its functions, along the directions of half of the rows are in their intervals at
once; the share of a picture's grid where the band holds the curve. Methods and cases were fixed with draws of `--key
0`; the default key was not looked at before.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import featlab
from benchmarks.diagnose_counts import counted, lines, put_into
from benchmarks.diagnose_draws import AS_THEY_ARE, LAWS, NOISY, noise_draw, real_draw, shipped, target_draw
from benchmarks.measuring import RESULTS
from featlab.files import write_text

COUNTS = RESULTS / "diagnose.json"
PAGE = Path(__file__).parents[1] / "docs" / "your-data.md"
PARTS = ("noise", "real", "targets")
REAL = ("diabetes", "breast_cancer", "wine", "digits")
PLANTED = ("tanh(h1)", "h1**2", "h1 + h1*h2")
DEVELOPMENT, EVIDENCE = 0, 11
# Of targets: the law of the inputs, n/d and d.
CASES = (
    ("isotropic", 1.5, 60),
    ("isotropic", 10, 15),
    ("isotropic", 10, 60),
    ("isotropic", 40, 15),
    ("isotropic", 160, 15),
    (NOISY, 10, 15),
    (NOISY, 40, 15),
    ("spiked", 40, 15),
    ("heavy-tailed", 40, 15),
    (AS_THEY_ARE, 40, 15),
    ("discrete", 40, 15),
)

Draw = Callable[[int], dict[str, Any]]
Case = tuple[dict[str, Any], Draw, int]
Task = tuple[int, int]  # which case, which seed
Keep = Callable[[list[dict[str, Any]]], None]
_KEPT_EVERY = 15.0  # seconds


def jobs(part: str, draws: int | None, names: list[str], key: int) -> list[Case]:
    """What is run: how it is called, by which function of the seed, and how often."""
    if part == "noise":
        kinds = [(law, kind) for law in LAWS for kind in ("continuous", "binary")]
        return [
            ({"law": law, "labels": kind}, partial(noise_draw, law, kind, 150, 10, key), draws or 125)
            for law, kind in kinds
        ]
    if part == "targets":
        ranks = {name: entry.rank for name, entry in featlab.catalogue.items() if entry.rank and entry.rank <= 3}
        return [
            (
                {"target": name, "rank": rank, "law": law, "ratio": ratio, "dim": dim},
                partial(target_draw, name, law, int(dim * ratio), dim, key),
                draws or 16,
            )
            for law, ratio, dim in CASES
            for name, rank in ranks.items()
            if not names or name in names
        ]
    planted = [
        ({"data": name, "planted": text}, partial(real_draw, name, text, key), draws or 20)
        for name in REAL
        for text in PLANTED
    ]
    return [*(({"data": name}, partial(shipped, name), 1) for name in REAL), *planted]


def measured(cases: Sequence[Case], processes: int, deadline: float, keep: Keep) -> list[dict[str, Any]]:
    """The draws of all cases that are done by the deadline, the first of every case before the second of any; `keep` is
    given those that are there every few seconds, and at the end."""
    most = max(draws for _, _, draws in cases)
    tasks = [(place, seed) for seed in range(most) for place, case in enumerate(cases) if seed < case[2]]
    found: list[dict[int, dict[str, Any]]] = [{} for _ in cases]

    def rows() -> list[dict[str, Any]]:
        return [
            case | {"draws": [own[seed] for seed in sorted(own)]}
            for (case, _, _), own in zip(cases, found, strict=True)
        ]

    kept = perf_counter()
    for (place, seed), answer in _answers(cases, tasks, processes, deadline):
        found[place][seed] = answer
        if perf_counter() > kept + _KEPT_EVERY:
            keep(rows())
            kept = perf_counter()
    keep(rows())
    return rows()


def _answers(cases: Sequence[Case], tasks: list[Task], processes: int, deadline: float) -> Iterator[tuple[Task, Any]]:
    """Draws as they are done. Few are handed over ahead of time, so that little is running at the deadline."""
    if processes == 1:
        for task in tasks:
            if perf_counter() > deadline:
                return
            yield task, cases[task[0]][1](task[1])
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # read by the processes that are started next
    waiting, running = iter(tasks), dict[Future[dict[str, Any]], Task]()
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        while True:
            while len(running) < 2 * processes and perf_counter() < deadline and (task := next(waiting, None)):
                running[pool.submit(cases[task[0]][1], task[1])] = task
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield running.pop(one), one.result()


def cost(rows: int, dim: int) -> dict[str, float]:
    """Seconds by the clock and of the processor, and the peak of memory, of a whole diagnosis."""
    draw = np.random.default_rng(0)
    inputs = draw.standard_normal((rows, dim))
    labels = inputs[:, 0] * inputs[:, 1] + inputs[:, 2] + 0.3 * draw.standard_normal(rows)
    clock, processor = perf_counter(), process_time()
    found = featlab.diagnose(inputs, labels)
    clock, processor = perf_counter() - clock, process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n = {rows:,}, d = {dim:,}: {clock:.0f} s by the clock, {processor:.0f} s of the processor, {peak:.1f} GB")
    print(f"{found.findings.directions.count} directions; {found.advice}")
    return {"rows": rows, "dim": dim, "seconds": clock, "processor_seconds": processor, "gigabytes": peak}


def publish(saved: dict[str, Any]) -> None:
    """The counts, without the draws, and the tables of the page that show them."""
    kept = {part: counted(part, saved[part]) for part in PARTS}
    page = PAGE.read_text(encoding="utf-8")
    for part, counts in kept.items():
        page = put_into(page, lines(part, counts))
    COUNTS.write_text(json.dumps({"key": saved["key"], **kept}, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("noise", "targets", "real", "cost"), help="these parts alone")
    parser.add_argument("--draws", type=int, help="of each case")
    parser.add_argument("--names", nargs="+", default=[], help="names of the catalogue")
    parser.add_argument("--key", type=int, default=EVIDENCE, help="of all draws")
    parser.add_argument("--seconds", type=float, default=np.inf, help="after which no draw is begun")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="where every draw is saved, as JSON, every few seconds")
    parser.add_argument("--read", type=Path, help="only show what is saved there")
    parser.add_argument(
        "--publish", action="store_true", help=f"with --read: save counts as {COUNTS.name}, and tables in {PAGE.name}"
    )
    given = parser.parse_args(arguments)
    if given.read:
        saved = json.loads(given.read.read_text(encoding="utf-8"))
        for part in PARTS:
            print(part, *lines(part, counted(part, saved.get(part, []))), sep="\n")
        if given.publish:
            publish(saved)
        return
    record: dict[str, Any] = {"key": given.key}

    def keep(part: str, rows: list[dict[str, Any]]) -> None:
        record[part] = rows
        if given.output:
            write_text(given.output, json.dumps(record, indent=1))

    end = perf_counter() + given.seconds
    for part in given.only or PARTS:
        if part == "cost":
            record[part] = cost(10**5, 10**3)
            continue
        if part == "real" and find_spec("sklearn") is None:
            print("real: left out, scikit-learn is not installed")
            continue
        begin = perf_counter()
        cases = jobs(part, given.draws, given.names, given.key)
        counts = counted(part, measured(cases, given.processes, end, partial(keep, part)))
        print(f"{part}, {perf_counter() - begin:.0f} s", *lines(part, counts), sep="\n", flush=True)


if __name__ == "__main__":
    main()
