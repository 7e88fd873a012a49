"""How many samples each algorithm needs, as a power of the dimension d, and how well that is known.

With l the information exponent, L the rotation-invariant leap and k* the generative exponent (largest over the stages):

    one-pass SGD                d^max(1, L-1), times log d at L = 2
    correlational queries       at least d^max(1, L/2)
    statistical queries         at least d^max(1, k*/2)
    message passing (AMP)       d if k* <= 2, else no linear number of samples
    batch reuse, extragradient  d^max(1, k*-1), times log d at k* = 2
    one giant step              d^l (to find the directions of the degree-l tensor)
    random features, kernels    d^degree for a polynomial; never exactly for anything else
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log

from featlab.citations import Citation, cite


class Status(StrEnum):
    """How well a statement is known."""

    THEOREM = "theorem"
    SUFFICIENT = "sufficient"  # a theorem that so many samples suffice, which is not known to be sharp
    CONJECTURE = "conjecture"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Constant:
    """What a power of d is multiplied by, where that is known: c in n = c d^exponent (log d)^logs.

    Attributes:
        value, low, high: c, and the ends of its interval.
        source: where it comes from.
        at_least: True when it is a lower bound.
    """

    value: float
    low: float
    high: float
    source: str
    at_least: bool = False


@dataclass(frozen=True)
class SampleCost:
    """Samples n ~ d^exponent (log d)^logs; exponent None means that no power of d suffices, or that it is unknown.

    Attributes:
        name: the key in reports; label: the algorithm in words; meaning: what the number of samples buys.
        known: False when an undecided exponent leaves the cost undetermined.
        beyond: True when more than this power is needed, and how much more was not computed.
        loose: True when the exponent is known up to a constant factor only.
        constant: of the power of d, where it is known.
    """

    name: str
    label: str
    exponent: float | None
    logs: int
    status: Status
    papers: tuple[Citation, ...]
    meaning: str
    known: bool = True
    beyond: bool = False
    loose: bool = False
    constant: Constant | None = None

    @property
    def text(self) -> str:
        """ "d", "d log d", "d^1.5", "> d^12", "d^Theta(1.5)", "none", or "unknown"."""
        if not self.known:
            return "unknown"
        if self.exponent is None:
            return "none"
        if self.loose:
            return f"d^Theta({self.exponent:g})"
        power = "d" if self.exponent == 1 else f"d^{self.exponent:g}"
        return ("> " if self.beyond else "") + power + (" log d" if self.logs else "")

    def samples(self, dim: float) -> float | None:
        """The power of d as a number, without its unknown constant; None if it is not a number."""
        return None if self.exponent is None or self.loose else dim**self.exponent * log(dim) ** self.logs


def cost(
    name: str,
    label: str,
    meaning: str,
    papers: tuple[str, ...],
    exponent: float | None,
    status: Status = Status.THEOREM,
    *,
    logs: bool = False,
    known: bool = True,
    beyond: bool = False,
    loose: bool = False,
) -> SampleCost:
    """A cost, its papers given by their keys."""
    return SampleCost(name, label, exponent, int(logs), status, cite(*papers), meaning, known, beyond, loose)


def critical_constant(ratios: Sequence[tuple[float | None, float | None]]) -> Constant | None:
    """Of message passing, from the critical ratio n/d of each stage of the grand staircase with its error: the largest.

    Later ratios take what was found before as exactly known, so that with several stages it is a lower bound. None
    where one of them is not known, or AMP starts at any ratio: then nothing but its curve tells how many are enough.
    """
    if not ratios or any(ratio is None for ratio, _ in ratios):
        return None
    largest, error = max((ratio or 0.0, error or 0.0) for ratio, error in ratios)
    if largest == 0:
        return None
    return Constant(largest, largest - error, largest + error, "the critical ratio", at_least=len(ratios) > 1)


def sample_costs(
    *,
    rank: int,
    information_exponent: int | None,
    leap: int | None,
    generative_exponent: int | None,
    degree: int | None,
    degree_for_most: int | None,
    searched_degree: int,
    amp_constant: Constant | None = None,
) -> dict[str, SampleCost]:
    """The costs from the exponents; an exponent of None (undecided) makes the costs that need it unknown."""
    order, single = generative_exponent, rank == 1
    of_reuse = single and order is not None and order <= 2
    costs = [
        cost(
            "one_pass_sgd",
            "one-pass SGD",
            "SGD that sees each sample once finds every direction",
            ("benarous2021",) if single else ("abbe2023", "benarous2021"),
            None if leap is None else max(1.0, leap - 1.0),
            Status.THEOREM if single else Status.CONJECTURE,
            logs=leap == 2,
            known=leap is not None,
        ),
        cost(
            "csq_bound",
            "any correlational-query method (lower bound)",
            "no method that only correlates the labels with functions of the input does with less",
            ("damian2022", "abbe2023"),
            None if leap is None else max(1.0, leap / 2),
            known=leap is not None,
        ),
        cost(
            "sq_bound",
            "any statistical-query or low-degree method (lower bound)",
            "no known polynomial-time method does with less",
            ("damian2024",) if single else ("damian2025",),
            None if order is None else max(1.0, order / 2),
            known=order is not None,
        ),
        cost(
            "amp",
            "approximate message passing",
            "AMP finds every direction from a number of samples linear in d",
            ("troiani2024",),
            1.0 if order is not None and order <= 2 else None,
            known=order is not None,
        ),
        cost(
            "batch_reuse",
            "SGD that reuses a batch, extragradient",
            "gradient descent that sees a sample twice finds every direction",
            ("dandi2024", "lee2024", "arnaboldi2024") if single else ("dandi2024", "arnaboldi2024"),
            None if order is None else max(1.0, order - 1.0),
            Status.THEOREM if of_reuse else Status.CONJECTURE,
            logs=order == 2,
            known=order is not None,
        ),
        cost(
            "one_giant_step",
            "one giant gradient step",
            "finds the directions of the lowest-degree part of the target",
            ("dandi2023",),
            None if information_exponent is None else float(information_exponent),
            known=information_exponent is not None,
        ),
        cost(
            "random_features",
            "random features, kernels",
            "fits the target exactly (d to infinity); a kernel learns one degree with each power of d",
            ("mei2022",),
            None if degree is None else float(max(1, degree)),
        ),
        cost(
            "random_features_99",
            "random features, kernels, to 99%",
            "explains 99% of the variance",
            ("mei2022",),
            float(searched_degree if degree_for_most is None else degree_for_most),
            beyond=degree_for_most is None,
        ),
    ]
    found = {one.name: one for one in costs}
    if found["amp"].exponent is not None:
        found["amp"] = replace(found["amp"], constant=amp_constant)
    return found
