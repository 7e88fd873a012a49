"""How fast the learners of the literature run: against a plain loop, and against the work that must be done.

python -m benchmarks.learners                        # every family; benchmarks/results/learners-<machine>.json
python -m benchmarks.learners kernels                # some of them
python -m benchmarks.learners --small                # all of them in seconds, at sizes that mean nothing
"""

from __future__ import annotations

import argparse
import importlib
import platform
from pathlib import Path

from benchmarks.measuring import RESULTS, machine, save, show

# Modules of benchmarks.cases, each with a function rows(small) -> list[Row].
CASES: tuple[str, ...] = (
    "kernels",
    "langevin",
    "flows",
    "depth",
    "first_step",
    "dimension_reduction",
    "tied",
    "structured",
)


def main(arguments: list[str] | None = None) -> None:
    """Run the cases named, or all; print the table and save it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"some of {', '.join(CASES)}; all of them if none")
    parser.add_argument("--small", action="store_true", help="tiny sizes: shows that it runs, measures nothing")
    parser.add_argument("--machine", default=platform.node() or "unknown", help="a name for the machine")
    parser.add_argument("--output", type=Path, help="where to save; benchmarks/results/learners-<machine>.json")
    options = parser.parse_args(arguments)
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    where = {"name": options.machine, **machine()}
    rows = [
        row
        for case in options.cases or CASES
        for row in importlib.import_module(f"benchmarks.cases.{case}").rows(options.small)
    ]
    print(show(rows))
    path = options.output or (None if options.small else RESULTS / f"learners-{options.machine}.json")
    if path is not None:
        save(path, where, rows)


if __name__ == "__main__":
    main()
