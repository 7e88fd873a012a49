"""The catalogue: named targets of the literature with what the papers say of them, as data.

`catalogue` maps names to entries. A value that no source states is None; nothing here is computed by featlab.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple


class Stage(NamedTuple):
    """One stage of the grand staircase: how a batch of directions becomes learnable once the earlier ones are known.

    kind is "trivial", "easy" or "hard"; exponent the generative exponent of the stage (1, 2, or 3 and more); alpha its
    sample ratio n/d for weak recovery (0 if trivial, None if hard or not stated); dimension the number of directions.
    """

    kind: str
    exponent: int
    alpha: float | None
    dimension: int


def trivial(dimension: int) -> Stage:
    return Stage("trivial", 1, 0.0, dimension)


def easy(alpha: float | None, dimension: int) -> Stage:
    return Stage("easy", 2, alpha, dimension)


def hard(exponent: int, dimension: int) -> Stage:
    return Stage("hard", exponent, None, dimension)


class SampleCosts(NamedTuple):
    """Samples as functions of the dimension d, written "d", "d log d", "d^1.5", or "none" if no number suffices."""

    one_pass_sgd: str
    csq_bound: str
    sq_bound: str
    batch_reuse: str
    one_giant_step: str
    random_features: str


@dataclass(frozen=True)
class CatalogueEntry:
    """A target of the literature.

    Attributes:
        name: its key in the catalogue.
        text: the target in the language.
        words: what it is known for.
        citations: keys into `featlab.citations.CITATIONS`.
        noise: variance of the label noise in the source.
        rank: number of directions that matter.
        information_exponent: smallest degree of a non-zero Hermite coefficient.
        leap: rotation-invariant leap.
        coordinate_leap: leap in the coordinates as typed.
        generative_exponent: the largest over the stages.
        verdict: "TRIVIAL", "EASY" or "HARD", of the hardest stage.
        alpha_c: weak-recovery ratio of the first stage: 0 if trivial; None if hard or not stated.
        stages: the grand staircase.
        giant_steps: dimensions of the subspaces learned by giant steps with n = O(d); () if nothing is learned.
        costs: sample costs.
        residual_variance: (samples, width, variance left) after one giant step and a fitted second layer.
        tolerance: relative accuracy of the stated alphas.
    """

    name: str
    text: str
    words: str
    citations: tuple[str, ...]
    noise: float = 0.0
    rank: int | None = None
    information_exponent: int | None = None
    leap: int | None = None
    coordinate_leap: int | None = None
    generative_exponent: int | None = None
    verdict: str | None = None
    alpha_c: float | None = None
    stages: tuple[Stage, ...] | None = None
    giant_steps: tuple[int, ...] | None = None
    costs: SampleCosts | None = None
    residual_variance: tuple[tuple[str, str, float], ...] = field(default=(), repr=False)
    tolerance: float = 1e-3


def _collected() -> Mapping[str, CatalogueEntry]:
    from featlab.targets.literature_examples import EXAMPLES
    from featlab.targets.literature_table import TABLE

    entries = [*TABLE, *EXAMPLES]
    named = {entry.name: entry for entry in entries}
    if len(named) != len(entries):
        raise ValueError("two entries of the catalogue have the same name")
    return MappingProxyType(named)


def __getattr__(name: str) -> Mapping[str, CatalogueEntry]:
    if name == "catalogue":
        return _collected()
    raise AttributeError(f"module 'featlab.targets.literature' has no attribute {name!r}")
