"""Does theory agree with simulation where nobody looked? python -m benchmarks.agree --each 20 --processes 2

Random experiments for every learner that has a theory (`drawn_experiments`) are predicted, simulated and compared, each
in a process that may take so many seconds, until all are done or the whole time is up. Printed: how many agree, cannot
be told, disagree, are refused (theory says why), take too long or fail, by learner; and every disagreement and failure
with the call that repeats it. `--read cases.json` tells the same of cases that were written with `--json`, and with
`--docs` puts the table into docs/predicting.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

_KINDS = ("agrees", "cannot tell", "disagrees", "refused", "over time", "error")
_SHOWN = ("disagrees", "error")
_MOST_SEEDS = 512
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "predicting.md"


@dataclass(frozen=True)
class Case:
    """One experiment: by which numbers it was drawn, what came out, why, and how long it took."""

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

    begin, text = perf_counter(), ""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        experiment = drawn(learner, key, number)
        text = json.dumps(experiment_to_text(experiment), default=str)
        found = predict_and_simulate(experiment, most_seeds=_MOST_SEEDS, progress=False).comparison
        kind, reason = str(found.verdict), found.reason
    except _OverTime:
        kind, reason = "over time", f"more than {seconds} s"
    except FeatlabError as refusal:
        kind, reason = "refused", str(refusal)
    except Exception:  # noqa: BLE001  # whatever it is, it belongs in the table
        kind, reason = "error", traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
    return Case(learner, key, number, kind, reason, perf_counter() - begin, text)


def _stop(*_: object) -> None:
    raise _OverTime


def _compared(arguments: tuple[Any, ...]) -> Case:
    return compared(*arguments)


def run(
    learners: Sequence[str], key: int, each: int, processes: int, seconds: int, within: float = inf
) -> Iterator[Case]:
    """All cases, as they end; those that have not ended `within` so many seconds are left out."""
    work = [(learner, key, number, seconds) for number in range(each) for learner in learners]
    end = perf_counter() + within
    # A process keeps what it has compiled, which takes memory: after some experiments another takes its place.
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=6) as pool:
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


def with_table(page: str, new: str) -> str:
    """A page with its table of cases replaced: the lines from its head on that begin with a bar."""
    lines = page.split("\n")
    begin = next(place for place, line in enumerate(lines) if line.startswith("| learner | agrees |"))
    end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
    return "\n".join([*lines[:begin], new, *lines[end:]])


def main(arguments: Sequence[str]) -> None:
    """Draw, compare, print."""
    from benchmarks.drawn_experiments import LEARNERS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", default=",".join(LEARNERS), help="which, separated by commas")
    parser.add_argument("--each", type=int, default=20, help="experiments for each learner")
    parser.add_argument("--key", type=int, default=1, help="other experiments for another key")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120, help="an experiment may take so long")
    parser.add_argument("--within", type=float, default=inf, help="seconds for all; what has not ended is left out")
    parser.add_argument("--json", type=Path, help="write every case there")
    parser.add_argument("--read", type=Path, help="run nothing: tell of the cases written there")
    parser.add_argument("--docs", action="store_true", help="put the table into docs/predicting.md")
    asked = parser.parse_args(arguments)
    cases = read(asked.read) if asked.read else []
    sizes = (asked.key, asked.each, asked.processes, asked.seconds, asked.within)
    for case in () if asked.read else run(asked.learners.split(","), *sizes):
        cases.append(case)
        print(f"{case.learner} {case.number}: {case.kind} ({case.seconds:.0f} s)", file=sys.stderr, flush=True)
        if asked.json:
            asked.json.write_text("\n".join(json.dumps(asdict(one)) for one in cases))
    print(table(cases))
    if asked.docs:
        _PAGE.write_text(with_table(_PAGE.read_text(), table(cases)))
    for case in sorted(cases, key=lambda one: (one.learner, one.number)):
        if case.kind in _SHOWN:
            print(f"\n{case.learner}, key {case.key}, number {case.number}: {case.kind}\n{case.text}\n{case.reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
