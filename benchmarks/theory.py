"""How long state evolution takes, against what was promised and against the obvious way to do it; how exact it is.

    python -m benchmarks.theory [--output PATH] [--errors]

With --errors only the last: the largest relative error of the diagonal of F, of three and four directions without a
closed form, and the processor time. Products of directions and squared norms have a known law (`known_channels`); a
polynomial and a parity have a closed form, which is gone around.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.known_channels import of_product, of_radius
from benchmarks.measuring import RESULTS, Row, machine, save, show, time_best
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
from featlab.gaussian.hermite import Floats
from featlab.targets import target
from featlab.theory.bayes.channels import build_channel
from featlab.theory.bayes.family import Family
from featlab.theory.bayes.state_evolution import state_evolution, update

ALPHAS = 40
# One iteration of Tree-AMP (tramp) for the same model takes about this long; a round number, not measured here.
TREE_AMP_SECONDS = 0.16


def iterations() -> list[Row]:
    """One iteration for |h|, and for the slower channels."""
    rows = []
    for text, allowed in (
        ("abs(h1)", 1e-3),
        ("He4(h1)", 1e-3),
        ("sign(h1*h2)", None),
        ("h1**2 + sign(h1*h2*h3)", None),
    ):
        of = target(text)
        told, overlap = build_channel(of), 0.5 * np.eye(of.rank)
        update(told, 1.0, overlap)  # nodes are laid once
        timing = time_best(lambda told=told, overlap=overlap: update(told, 1.0, overlap), 20)
        rows.append(Row("iteration", text, 1e3 * timing.seconds, "ms", timing, at_most=allowed and 1e3 * allowed))
    rows.append(
        Row(
            "iteration",
            "abs(h1), against 160 ms reported for Tree-AMP",
            TREE_AMP_SECONDS * 1e3 / rows[0].value,
            "x",
            at_least=100,
        )
    )
    return rows


def curves() -> list[Row]:
    """alpha_c and the overlap at 40 alphas for links of two directions, all nodes laid anew; and 40 runs one by one."""
    rows = []
    for text, low, high in (("h1*h2", 0.5, 2.5), ("sign(h1*h2)", 2.0, 8.0)):
        of = target(text)
        alphas = np.linspace(low, high, ALPHAS)

        def once(of=of, alphas=alphas) -> None:  # type: ignore[no-untyped-def]
            second_moments(of, nothing(of.rank)).restricted(np.eye(of.rank))
            family = Family(build_channel(of, generic=True), of.rank)
            for alpha in alphas:
                family.from_below(alpha, 1e-4)

        timing = time_best(once, 2)
        rows.append(Row("alpha_c and 40 alphas", f"{text}, generic", timing.seconds, "s", timing, at_most=5.0))

        def iterate(of=of, alphas=alphas) -> None:  # type: ignore[no-untyped-def]
            for alpha in alphas:
                state_evolution(of, alpha, leaps=False, iterations=1000, tolerance=1e-5)

        if text == "sign(h1*h2)":
            slow = time_best(iterate, 1)
            rows.append(Row("40 alphas, iterated", f"{text}, closed form", slow.seconds, "s", slow))
            rows.append(Row("table against iteration", text, slow.seconds / timing.seconds, "x"))
    return rows


PRODUCT, STAIRCASE = "h1*h2*h3", "h1**2 + sign(h1*h2*h3)"
# Overlaps, by target: all directions alike, as on the way to a perfect overlap, and one known before the others.
OVERLAPS = {
    PRODUCT: [(q,) * 3 for q in (0.5, 0.8, 0.85, 0.9, 0.95, 0.99)]
    + [(0.9, 0.1, 0.1), (0.93, 0.6, 0.6), (0.97, 0.5, 0.5), (0.99, 0.1, 0.1), (0.995, 0.3, 0.3)],
    "h1**2 + h2**2 + h3**2": [(q,) * 3 for q in (0.5, 0.8, 0.9, 0.95, 0.99)],
    STAIRCASE: [(0.97, 0.5, 0.5), (0.985, 0.2, 0.2), (0.995, 0.3, 0.3), (0.99, 0.9, 0.8), (0.99, 0.98, 0.98)],
    "h1*h2*h3*h4": [(q,) * 4 for q in (0.8, 0.9, 0.97)],
    "h1**2 + h2**2 + h3**2 + h4**2": [(q,) * 4 for q in (0.8, 0.9, 0.97)],
}
# The goal: 1e-3 for three directions, 5e-3 for four.
GOALS = {3: 1e-3, 4: 5e-3}


def _diagonal(text: str, overlap: tuple[float, ...]) -> Floats:
    """That of F at a diagonal Q, by another integral."""
    if text == STAIRCASE:
        return np.diag(build_channel(target(text)).at(np.diag(overlap)).information)
    if "*h" in text:
        return of_product(overlap, 4 if len(overlap) == 3 else 3)
    return np.full(len(overlap), of_radius(len(overlap), overlap[0]))


def errors() -> list[Row]:
    """The largest relative error of the diagonal of F at each overlap, and its processor time, level sets kept."""
    rows = []
    for text, overlaps in OVERLAPS.items():
        channel = build_channel(target(text), generic=True)
        for overlap in overlaps:
            begin = process_time()
            found = np.diag(channel.at(np.diag(overlap)).information)
            seconds = process_time() - begin
            error = float(np.max(np.abs(found / _diagonal(text, overlap) - 1)))
            where = f"{text} at {', '.join(map(str, overlap))}"
            rows.append(Row("error of F", where, error, "", at_most=GOALS[len(overlap)]))
            rows.append(Row("processor time of F", where, seconds, "s", at_most=5.0))
            print(show(rows[-2:]), flush=True)
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS / "theory.json")
    parser.add_argument("--errors", action="store_true", help="of three and four directions; nothing is written")
    chosen = parser.parse_args(arguments)
    if chosen.errors:
        errors()
        return
    rows = [*iterations(), *curves()]
    print(show(rows))
    save(chosen.output, machine(), rows)


if __name__ == "__main__":
    main()
