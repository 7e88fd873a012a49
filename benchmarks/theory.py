"""How long state evolution takes, against what was promised and against the obvious way to do it.

python -m benchmarks.theory [--output PATH]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.measuring import RESULTS, Row, machine, save, show, time_best
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS / "theory.json")
    chosen = parser.parse_args(arguments)
    rows = [*iterations(), *curves()]
    print(show(rows))
    save(chosen.output, machine(), rows)


if __name__ == "__main__":
    main()
