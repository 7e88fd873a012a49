"""The first stage three times: the analysis, linearised state evolution, and message passing at a large dimension.

    python -m benchmarks.growth [--catalogue | --dim D --seeds N]

Where nothing is known of the directions, a small overlap q grows by alpha / alpha_c in one iteration (Troiani et al.
2024). Prints alpha / alpha_c of the analysis, the growth of state evolution at q = 1e-5 and at the q that message
passing starts from, and the growth of message passing with its standard error. With --catalogue, for every target of
the catalogue the critical ratios of the analysis, the largest of their stated errors and the processor time; where the
first stage is EASY also state evolution's ratio, its difference and its time.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from time import process_time

import numpy as np

from featlab.analysis.staircase import Kind
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments, symmetric_basis
from featlab.analysis.verdict import MOST_DIRECTIONS, analyse
from featlab.errors import InvalidParameter
from featlab.learners import BayesAmp
from featlab.simulation import simulate
from featlab.targets import Target, catalogue, target
from featlab.targets.relabelling import informative
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.state_evolution import update

# Targets and samples per dimension, about twice the critical ratio.
CASES = [("abs(h1)", 1.0), ("sign(h1*h2)", 5.0), ("h1*h2", 1.2), ("He4(h1)", 1.3), ("h1*h2*h3", 5.0)]
START, SLIGHT, TINY = 0.02, 1e-4, 1e-5  # overlaps
TIE = 1e-3
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


@dataclass(frozen=True)
class Ratios:
    """alpha_c by the analysis, with its error, and by state evolution at a small overlap."""

    analysis: float
    error: float
    evolution: float

    @property
    def difference(self) -> float:
        """Relative to the analysis."""
        return self.evolution / self.analysis - 1


def critical_ratios(of: Target) -> Ratios:
    """Both, of a target whose first stage is EASY.

    The overlap is q M, M the projection of the identity on the eigenmatrices of F with the largest eigenvalue, which is
    positive semidefinite; what is of order q is extrapolated away.
    """
    told = informative(of)
    moments, basis = second_moments(told, nothing(told.rank)), symmetric_basis(told.rank)
    values, vectors = np.linalg.eigh(moments.operator)
    top = vectors[:, values > values[-1] * (1 - TIE)]
    matrix = np.tensordot(top @ (top.T @ np.einsum("aii->a", basis)), basis, axes=1)
    channel = channel_of(of)
    once, twice = (
        float(np.sum(matrix * channel.at(q * matrix).information) / np.sum(matrix**2)) / q for q in (SLIGHT, 2 * SLIGHT)
    )
    return Ratios(1 / moments.top, moments.error / moments.top**2, 1 / (2 * once - twice))


def print_catalogue() -> None:
    """Every target of up to four directions: its critical ratios, the worst stated error, processor time.

    Where the first stage is EASY, state evolution's critical ratio at a small overlap, too.
    """
    print(f"{'target':26} {'rank':>4} {'seconds':>7} {'worst error':>11}  ratios of the analysis; state evolution")
    for name, entry in catalogue.items():
        of = target(entry.text, noise=entry.noise)
        if of.rank > MOST_DIRECTIONS:
            continue
        begin = process_time()
        stages = analyse(of).grand_staircase
        seconds = process_time() - begin
        ratios = [(stage.alpha, stage.alpha_error or 0.0) for stage in stages if stage.alpha]
        worst = max((error / alpha for alpha, error in ratios), default=0.0)
        told = ", ".join(f"{alpha:.6g}" for alpha, _ in ratios) or "-"
        first = _first_by_evolution(of) if stages and stages[0].kind is Kind.EASY else ""
        print(f"{name:26} {of.rank:4d} {seconds:7.2f} {worst:11.1e}  {told}{first}", flush=True)


def _first_by_evolution(of: Target) -> str:
    begin = process_time()
    try:
        found = critical_ratios(of)
    except InvalidParameter as refused:
        return f"; {refused}"
    return f"; {found.evolution:.6g} ({found.difference:+.1e}, {process_time() - begin:.1f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogue", action="store_true")
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    chosen = parser.parse_args()
    if chosen.catalogue:
        print_catalogue()
        return
    print(f"{'target':14} {'alpha':>6} {'alpha/alpha_c':>13} {'q = 1e-5':>9} {'q = 0.02':>9}  simulated from 0.02")
    for text, alpha in CASES:
        found = growth(text, alpha, chosen.dim, chosen.seeds)
        print(
            f"{text:14} {alpha:6.2f} {found.analysis:13.4f} {found.tiny:9.4f} {found.small:9.4f}  {found.measured:.4f} "
            f"+- {found.error:.4f}"
        )


if __name__ == "__main__":
    main()
