"""The first stage three times: the analysis, linearised state evolution, and message passing at a large dimension.

    python -m benchmarks.growth [--dim D] [--seeds N]

Where nothing is known of the directions, a small overlap q grows by alpha / alpha_c in one iteration (Troiani et al.
2024). Prints alpha / alpha_c of the analysis, the growth of state evolution at q = 1e-5 and at the q that message
passing starts from, and the growth of message passing with its standard error.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
from featlab.learners import BayesAmp
from featlab.simulation import simulate
from featlab.targets import target
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.state_evolution import update

# Targets and samples per dimension, about twice the critical ratio.
CASES = [("abs(h1)", 1.0), ("sign(h1*h2)", 5.0), ("h1*h2", 1.2), ("He4(h1)", 1.3), ("h1*h2*h3", 5.0)]
START, TINY = 0.02, 1e-5  # overlaps
DIM, SEEDS = 100_000, 16


@dataclass(frozen=True)
class Growth:
    """Of an overlap in one iteration: alpha / alpha_c, state evolution at TINY and START, a simulation from START."""

    analysis: float
    tiny: float
    small: float
    measured: float
    error: float


def growth(text: str, alpha: float, dim: int = DIM, seeds: int = SEEDS) -> Growth:
    """The three, for a target whose directions are interchangeable."""
    of = target(text)
    channel, eye = channel_of(of), np.eye(of.rank)
    tiny, small = (float(update(channel, alpha, q * eye)[0, 0]) / q for q in (TINY, START))
    learner = BayesAmp(iterations=1, damping=0.0, start="informed", start_overlap=START)
    sizes = {"dim": dim, "samples": int(alpha * dim), "seeds": seeds, "times": (0, 1)}
    overlaps = simulate(text, learner, **sizes, observe=("overlap",), progress=False).overlap.values
    before, after = np.diagonal(overlaps, axis1=2, axis2=3).mean(axis=2).T
    measured = after.mean() / before.mean()
    error = float(np.std(after - measured * before, ddof=1) / np.sqrt(seeds) / before.mean())
    return Growth(alpha * second_moments(of, nothing(of.rank)).top, tiny, small, float(measured), error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    chosen = parser.parse_args()
    print(f"{'target':14} {'alpha':>6} {'alpha/alpha_c':>13} {'q = 1e-5':>9} {'q = 0.02':>9}  simulated from 0.02")
    for text, alpha in CASES:
        found = growth(text, alpha, chosen.dim, chosen.seeds)
        print(
            f"{text:14} {alpha:6.2f} {found.analysis:13.4f} {found.tiny:9.4f} {found.small:9.4f}  {found.measured:.4f} "
            f"+- {found.error:.4f}"
        )


if __name__ == "__main__":
    main()
