"""The catalogue: every entry is a target, and its data obey the relations that the theory demands."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.citations import CITATIONS
from featlab.gaussian import hermite_all
from featlab.targets import CatalogueEntry, catalogue, target

ENTRIES = pytest.mark.parametrize("entry", catalogue.values(), ids=catalogue.keys())
KNOWN_COSTS = {"d", "d log d", "d^1.5", "d^2", "d^3", "d^4", "none"}


@ENTRIES
def test_every_entry_is_a_target(entry: CatalogueEntry) -> None:
    made = target(entry.text, noise=entry.noise)
    assert entry.rank in (None, made.rank)
    assert entry.words
    assert set(entry.citations) <= set(CITATIONS)


@ENTRIES
def test_the_data_are_consistent(entry: CatalogueEntry) -> None:
    """l <= leap; k* <= leap; coordinate leap <= leap; verdict and alpha follow the hardest and the first stage."""
    exponents = (entry.information_exponent, entry.generative_exponent, entry.coordinate_leap)
    assert all(x is None or entry.leap is None or x <= entry.leap for x in exponents)
    if entry.verdict is not None and entry.generative_exponent is not None:
        assert entry.verdict == {1: "TRIVIAL", 2: "EASY"}.get(entry.generative_exponent, "HARD")
    if entry.stages is not None:
        assert entry.generative_exponent == max(stage.exponent for stage in entry.stages)
        assert entry.alpha_c == entry.stages[0].alpha
        assert entry.rank == sum(stage.dimension for stage in entry.stages)
    if entry.giant_steps:
        assert entry.information_exponent == 1
        assert list(entry.giant_steps) == sorted(set(entry.giant_steps))
    if entry.costs is not None:
        assert set(entry.costs) <= KNOWN_COSTS


@pytest.mark.parametrize("entry", [e for e in catalogue.values() if e.costs is not None], ids=lambda e: e.name)
def test_costs_follow_from_the_exponents(entry: CatalogueEntry) -> None:
    """SGD d^max(1, L-1) (log at 2), CSQ d^max(1, L/2), SQ d^max(1, k/2), reuse d^max(1, k-1), one giant step d^l."""
    costs = entry.costs
    assert costs is not None
    assert entry.leap is not None
    assert entry.generative_exponent is not None
    assert entry.information_exponent is not None

    def power(exponent: float, logarithm: bool = False) -> str:
        return "d log d" if logarithm else ("d" if exponent <= 1 else f"d^{exponent:g}")

    assert costs.one_pass_sgd == power(max(1, entry.leap - 1), entry.leap == 2)
    assert costs.csq_bound == power(max(1, entry.leap / 2))
    assert costs.sq_bound == power(max(1, entry.generative_exponent / 2))
    assert costs.batch_reuse == power(max(1, entry.generative_exponent - 1), entry.generative_exponent == 2)
    assert costs.one_giant_step == power(entry.information_exponent)
    degree = target(entry.text).degree
    assert costs.random_features == ("none" if degree is None else power(degree))


@pytest.mark.parametrize(
    "entry",
    [e for e in catalogue.values() if e.rank == 1 and e.information_exponent is not None],
    ids=lambda e: e.name,
)
def test_information_exponents_of_single_index_entries(entry: CatalogueEntry) -> None:
    """By a fine sum, independent of the analysis: the first non-zero E[f He_k] is at the stated k (error 1e-6)."""
    made = target(entry.text)
    x = (np.arange(400_000) + 0.5) / 400_000 * 24 - 12
    weight = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * 24 / 400_000
    if made.hidden:  # sign(h + s xi) averages to erf(h / (s sqrt 2)): here only the parity and the first moment matter
        assert entry.information_exponent == 1
        return
    value = made.link(x[:, None])
    moments = (hermite_all(6, x) * value * weight).sum(axis=1)[1:]
    assert entry.information_exponent == 1 + int(np.argmax(np.abs(moments) > 1e-6))
    assert np.abs(moments[entry.information_exponent - 1]) > 1e-2


def test_the_classified_table_is_complete() -> None:
    """The twenty-two classified targets are there, with the thresholds of the literature."""
    classified = [entry for entry in catalogue.values() if entry.costs is not None]
    assert len(classified) == 22
    assert catalogue["two-parity"].alpha_c == pytest.approx(np.pi**2 / 4)
    assert catalogue["three-parity"].alpha_c is None
    assert catalogue["grand-staircase"].text == "He4(h1) + sign(h1*h2*h3)"


def test_the_catalogue_is_read_only() -> None:
    with pytest.raises(TypeError):
        catalogue["new"] = catalogue["tanh"]  # type: ignore[index]
