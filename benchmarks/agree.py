"""Does theory agree with simulation where nobody looked? python -m benchmarks.agree --each 20 --json cases.json

Random experiments for every learner that has a theory (`drawn_experiments`) are predicted, simulated and compared, each
for so many seconds of processor time at most, until all are done or the whole time is up. Printed: how many agree,
cannot be told, disagree, are refused (theory says why), take too long or fail, by learner; and every disagreement and
failure with the experiment that repeats it.

`--json` adds a line to that file as each case ends. The next call with the same file goes on after those that it has,
so that hundreds are run in pieces. `--docs` puts the table of all of them into docs/predicting.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.pages import with_table

_KINDS = ("agrees", "cannot tell", "disagrees", "refused", "over time", "error")
_SHOWN = ("disagrees", "error")
_MOST_SEEDS = 160
_HEAD = "| learner | agrees |"
# Half the time of the compiler, and products on one thread, as in tests.
_QUICK = "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true"
_QUICK += " --xla_cpu_multi_thread_eigen=false"
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "predicting.md"


@dataclass(frozen=True)
class Case:
    """One experiment: by which numbers it was drawn, what came out, why, and how much processor time it took."""

    learner: str
    key: int
    number: int
    kind: str
    reason: str
    seconds: float
    text: str


class _OverTime(Exception):
    """The time of an experiment is up."""


def compared(learner: str, key: int, number: int, seconds: int) -> Case:
    """Draw an experiment, predict, simulate and compare it."""
    from benchmarks.drawn_experiments import drawn
    from featlab.comparison.compared_run import predict_and_simulate
    from featlab.errors import FeatlabError
    from featlab.experiments.text import experiment_to_text

    begin, text = process_time(), ""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        experiment = drawn(learner, key, number)
        text = json.dumps(experiment_to_text(experiment), default=str)
        found = predict_and_simulate(experiment, most_seeds=_MOST_SEEDS, progress=False).comparison
        kind, reason = str(found.verdict), found.reason
    except _OverTime:
        kind, reason = "over time", f"more than {seconds} s of processor time"
    except FeatlabError as refusal:
        kind, reason = "refused", str(refusal)
    except Exception:  # noqa: BLE001  # whatever it is, it belongs in the table
        kind, reason = "error", traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Case(learner, key, number, kind, reason, process_time() - begin, text)


def _stop(*_: object) -> None:
    raise _OverTime


def _compared(arguments: tuple[Any, ...]) -> Case:
    return compared(*arguments)


def run(
    learners: Sequence[str], key: int, each: int, processes: int, seconds: int, within: float, known: Sequence[Case]
) -> Iterator[Case]:
    """All cases that are not known yet, as they end; what has not ended `within` so many seconds is left out."""
    done = {(case.learner, case.key, case.number) for case in known}
    wanted = [(learner, key, number) for number in range(each) for learner in learners]
    work = [(*one, seconds) for one in wanted if one not in done]
    end = perf_counter() + within
    # A process keeps what it has compiled, which takes memory: after some experiments another takes its place.
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=24) as pool:
        cases = pool.imap_unordered(_compared, work)
        for _ in work:
            try:
                yield cases.next(max(0.0, end - perf_counter()) if isfinite(end) else None)
            except multiprocessing.TimeoutError:
                return


def table(cases: Sequence[Case]) -> str:
    """How many of each kind, by learner, as a table in Markdown."""
    counts = Counter((case.learner, case.kind) for case in cases)
    names = list(dict.fromkeys(case.learner for case in cases))
    rows = [[name, *(str(counts[name, kind]) for kind in _KINDS)] for name in sorted(names)]
    total = ["all", *(str(sum(counts[name, kind] for name in names)) for kind in _KINDS)]
    lines = [["learner", *_KINDS], *rows, total]
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|---" + "|---:" * len(_KINDS) + "|", *body])


def read(path: Path) -> list[Case]:
    """The cases that were written there, as far as they go."""
    return [Case(**json.loads(line)) for line in path.read_text().splitlines()]


def main(arguments: Sequence[str]) -> None:
    """Draw, compare, print."""
    from benchmarks.drawn_experiments import LEARNERS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", default=",".join(LEARNERS), help="which, separated by commas")
    parser.add_argument("--each", type=int, default=20, help="experiments for each learner; 0, none are run")
    parser.add_argument("--key", type=int, default=1, help="other experiments for another key")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="of processor time, that an experiment may take")
    parser.add_argument("--within", type=float, default=inf, help="seconds for all; what has not ended is left out")
    parser.add_argument("--json", type=Path, help="add a line for every case; go on after those that are there")
    parser.add_argument("--docs", action="store_true", help="put the table into docs/predicting.md")
    asked = parser.parse_args(arguments)
    # Compiling takes most of the time: the compiler optimises less. Read when the processes start.
    os.environ.setdefault("XLA_FLAGS", _QUICK)
    cases = read(asked.json) if asked.json and asked.json.exists() else []
    sizes = (asked.key, asked.each, asked.processes, asked.seconds, asked.within)
    for case in run(asked.learners.split(","), *sizes, cases):
        cases.append(case)
        print(f"{case.learner} {case.number}: {case.kind} ({case.seconds:.0f} s)", file=sys.stderr, flush=True)
        if asked.json:
            with asked.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(case)) + "\n")
    print(table(cases))
    if asked.docs:
        page = _PAGE.read_text(encoding="utf-8")
        _PAGE.write_text(with_table(page, _HEAD, table(cases)), encoding="utf-8")
    for case in sorted(cases, key=lambda one: (one.learner, one.number)):
        if case.kind in _SHOWN:
            print(f"\n{case.learner}, key {case.key}, number {case.number}: {case.kind}\n{case.text}\n{case.reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
