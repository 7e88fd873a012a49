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

from dataclasses import dataclass
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
class SampleCost:
    """Samples n ~ d^exponent (log d)^logs; exponent None means that no power of d suffices, or that it is unknown.

    Attributes:
        name: the key in reports; label: the algorithm in words; meaning: what the number of samples buys.
        known: False when an undecided exponent leaves the cost undetermined.
        beyond: True when more than this power is needed, and how much more was not computed.
        loose: True when the exponent is known up to a constant factor only.
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


def sample_costs(
    *,
    rank: int,
    information_exponent: int | None,
    leap: int | None,
    generative_exponent: int | None,
    degree: int | None,
    degree_for_most: int | None,
    searched_degree: int,
) -> dict[str, SampleCost]:
    """The costs from the exponents; an exponent of None (undecided) makes the costs that need it unknown."""
    single = rank == 1
    costs = [
        _one_pass_sgd(leap, single),
        _csq_bound(leap),
        _sq_bound(generative_exponent, single),
        _amp(generative_exponent),
        _batch_reuse(generative_exponent, single),
        _one_giant_step(information_exponent),
        _random_features(degree),
        _random_features_99(degree_for_most, searched_degree),
    ]
    return {cost.name: cost for cost in costs}


def _half(exponent: int | None) -> float | None:
    return None if exponent is None else max(1.0, exponent / 2)


def _less_one(exponent: int | None) -> float | None:
    return None if exponent is None else max(1.0, exponent - 1.0)


def _cost(
    name: str,
    label: str,
    power: float | None,
    status: Status,
    papers: tuple[str, ...],
    meaning: str,
    logs: int = 0,
) -> SampleCost:
    """A cost whose exponent follows from an exponent of the target: undecided there (None) is unknown here."""
    return SampleCost(name, label, power, logs, status, cite(*papers), meaning, known=power is not None)


def _csq_bound(leap: int | None) -> SampleCost:
    meaning = "no method that only correlates the labels with functions of the input does with less"
    label = "any correlational-query method (lower bound)"
    return _cost("csq_bound", label, _half(leap), Status.THEOREM, ("damian2022", "abbe2023"), meaning)


def _sq_bound(generative_exponent: int | None, single: bool) -> SampleCost:
    label = "any statistical-query or low-degree method (lower bound)"
    papers = ("damian2024",) if single else ("damian2025",)
    meaning = "no known polynomial-time method does with less"
    return _cost("sq_bound", label, _half(generative_exponent), Status.THEOREM, papers, meaning)


def _one_giant_step(information_exponent: int | None) -> SampleCost:
    meaning = "finds the directions of the lowest-degree part of the target"
    power = None if information_exponent is None else float(information_exponent)
    return _cost("one_giant_step", "one giant gradient step", power, Status.THEOREM, ("dandi2023",), meaning)


def _one_pass_sgd(leap: int | None, single: bool) -> SampleCost:
    status = Status.THEOREM if single else Status.CONJECTURE
    papers = ("benarous2021",) if single else ("abbe2023", "benarous2021")
    meaning = "SGD that sees each sample once finds every direction"
    return _cost("one_pass_sgd", "one-pass SGD", _less_one(leap), status, papers, meaning, logs=int(leap == 2))


def _amp(generative_exponent: int | None) -> SampleCost:
    papers = cite("troiani2024")
    label, meaning = "approximate message passing", "AMP finds every direction from a number of samples linear in d"
    if generative_exponent is None:
        return SampleCost("amp", label, None, 0, Status.THEOREM, papers, meaning, known=False)
    exponent = 1.0 if generative_exponent <= 2 else None
    return SampleCost("amp", label, exponent, 0, Status.THEOREM, papers, meaning)


def _batch_reuse(generative_exponent: int | None, single: bool) -> SampleCost:
    proven = single and generative_exponent is not None and generative_exponent <= 2
    papers = ("dandi2024", "lee2024", "arnaboldi2024") if single else ("dandi2024", "arnaboldi2024")
    return _cost(
        "batch_reuse",
        "SGD that reuses a batch, extragradient",
        _less_one(generative_exponent),
        Status.THEOREM if proven else Status.CONJECTURE,
        papers,
        "gradient descent that sees a sample twice finds every direction",
        logs=int(generative_exponent == 2),
    )


def _random_features(degree: int | None) -> SampleCost:
    meaning = "fits the target exactly (d to infinity); a kernel learns one degree with each power of d"
    exponent = None if degree is None else float(max(1, degree))
    papers = cite("mei2022")
    return SampleCost("random_features", "random features, kernels", exponent, 0, Status.THEOREM, papers, meaning)


def _random_features_99(degree: int | None, searched: int) -> SampleCost:
    label, papers = "random features, kernels, to 99%", cite("mei2022")
    name, meaning = "random_features_99", "explains 99% of the variance"
    if degree is None:
        return SampleCost(name, label, float(searched), 0, Status.THEOREM, papers, meaning, beyond=True)
    return SampleCost(name, label, float(degree), 0, Status.THEOREM, papers, meaning)
