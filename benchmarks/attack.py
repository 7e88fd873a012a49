"""The campaign of attacks: what must never happen is counted, and a count above zero is a failure.

    python -m benchmarks.attack                       # every attack, each for a minute at most
    python -m benchmarks.attack flips fresh --seconds 300 --tries 500
    python -m benchmarks.attack --list

An attack is a function of limits, a seed and an empty directory that returns counts; it names those that have to be
zero. The attacks on one part of featlab are in a module of their own, which lists them in `ATTACKS`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECONDS, TRIES = 60.0, 500


@dataclass
class Limits:
    """How long an attack may go on, in seconds and in tries, whichever ends first."""

    seconds: float = SECONDS
    tries: int = TRIES
    _begin: float = field(default_factory=time.monotonic)

    def rounds(self) -> Iterator[int]:
        """The number of each try, until it is enough."""
        for number in range(self.tries):
            if time.monotonic() - self._begin >= self.seconds:
                return
            yield number


@dataclass(frozen=True)
class Attack:
    """An attack: what it does, in words, and the counts that must be zero."""

    name: str
    words: str
    run: Callable[[Limits, int, Path], Counter[str]]
    never: tuple[str, ...]

    def failures(self, found: Counter[str]) -> dict[str, int]:
        """What happened and must not."""
        return {what: found[what] for what in self.never if found[what]}


def attacks() -> dict[str, Attack]:
    """All of them by name."""
    from benchmarks import attack_cores, attack_inputs, attack_limits, attack_signals, attack_sizes, attack_store

    parts = (attack_store, attack_cores, attack_inputs, attack_signals, attack_limits, attack_sizes)
    return {attack.name: attack for part in parts for attack in part.ATTACKS}


def shown(attack: Attack, found: Counter[str], seconds: float) -> str:
    """What was counted, in one line; what must be zero is said also when it is."""
    never = ", ".join(f"{found[what]:,} {what}" for what in attack.never)
    others = ", ".join(f"{count:,} {what}" for what, count in sorted(found.items()) if what not in attack.never)
    return f"{attack.name:<8} {'FAILED' if attack.failures(found) else 'held':<7} {never}; {others} ({seconds:.0f} s)"


def row(attack: Attack, found: Counter[str]) -> str:
    """The same as a row of a table in Markdown."""
    never = ", ".join(f"{found[what]:,} {what}" for what in attack.never)
    others = ", ".join(f"{count:,} {what}" for what, count in sorted(found.items()) if what not in attack.never)
    return f"| `{attack.name}` | {attack.words} | {others} | {never} |"


def main(arguments: list[str] | None = None) -> None:
    """Attack, print the counts; exit code 1 if anything happened that must not."""
    known = attacks()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(known)}; all if none is given")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the longest time for each attack")
    parser.add_argument("--tries", type=int, default=TRIES, help="the most tries of each attack")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print the counts as rows in Markdown")
    parser.add_argument("--list", action="store_true", help="say what the attacks are")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in known:
            parser.error(f"no attack {name!r}; there are {', '.join(known)}")
    failed = False
    for name in options.names or known:
        if options.list:
            print(f"{name:<8} {known[name].words}")
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as directory:
            found = known[name].run(Limits(options.seconds, options.tries), options.seed, Path(directory))
        line = row(known[name], found) if options.table else shown(known[name], found, time.monotonic() - begin)
        print(line, flush=True)
        failed = failed or bool(known[name].failures(found))
    if failed:
        sys.exit("something happened that must never happen")


if __name__ == "__main__":
    main()
