"""Zero or not zero: decided against the numerical error, and left undecided where that cannot be done."""

from __future__ import annotations

import re

import numpy as np
import pytest

from featlab.analysis import analyse
from featlab.analysis.grids import GridPair, build_grids
from featlab.analysis.levels import find_level
from featlab.analysis.probes import correlation_probes, discrete_levels, label_probes
from featlab.analysis.subspaces import nothing
from featlab.targets import target


def level_of(text: str, max_order: int = 12):
    of = target(text)
    grids = build_grids(of)
    return find_level(grids, correlation_probes(0), nothing(of.rank), max_order)


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6])
def test_a_tiny_coefficient_counts_and_its_size_is_told(size: float) -> None:
    level = level_of(f"He3(h1)+{size!r}*h1")
    assert level.order == 1
    assert level.signal == pytest.approx(size / np.sqrt(6), rel=1e-3)
    assert level_of("He3(h1)").order == 3, "negative control: without it the level is 3"


def test_the_absolute_value_without_its_low_orders_has_exponent_four() -> None:
    """|h| minus its He0 and He2 parts: 64-node Gauss-Hermite reports a spurious c2 = -4e-3 here."""
    mean = repr(float(np.sqrt(2 / np.pi)))
    assert level_of(f"abs(h1)-{mean}-{mean}/2*He2(h1)").order == 4
    assert level_of(f"abs(h1)-{mean}-0.99*{mean}/2*He2(h1)").order == 2, "negative control: one percent off is seen"


@pytest.mark.parametrize("order", [1, 5, 9, 12, 25, 40])
def test_single_hermite_polynomials_have_their_own_order(order: int) -> None:
    level = level_of(f"He({order}, h1)", 40)
    assert (level.order, level.doubt) == (order, None)
    assert level.signal == pytest.approx(1, rel=1e-6)


def test_what_cannot_be_resolved_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rules so coarse that they disagree by a good part of the signal leave the question open, with the number."""
    of = target("sign(h1**2+h2**2-1)")
    assert find_level(build_grids(of), correlation_probes(0), nothing(2), 4).order == 2
    monkeypatch.setattr("featlab.analysis.grids._BUDGET", {2: 300})
    level = find_level(build_grids(of), correlation_probes(0), nothing(2), 4)
    assert level.doubt is not None
    assert "undecided" in level.doubt


@pytest.mark.parametrize(("text", "rule"), [("sign(h1**2 + h2**2 - 1)", 300), ("(h1 + h2)**20 + h1", None)])
def test_a_doubt_does_not_contradict_itself(text: str, rule: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size that is not sure is less than 80 of the errors that are told beside it. Of the second label, whose tests
    are not all as good, the middle error would be a 150th of it."""
    if rule:
        monkeypatch.setattr("featlab.analysis.grids._BUDGET", {2: rule})
    grids = build_grids(target(text))
    probes = label_probes(grids.fine, 0) if rule is None else correlation_probes(0)
    level = find_level(grids, probes, nothing(2), 4)
    if level.order is not None:
        known = level.surest
        level = find_level(grids, label_probes(grids.fine, known.shape[1]), known, 4, level.surest_tilt)
    assert level.doubt is not None
    size, error = map(float, re.findall(r"[\d.]+e[+-]\d+", level.doubt))
    assert size < 81 * error


def test_an_undecided_level_ends_the_staircase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.analysis.verdict._MOST_REFINEMENTS", 0)
    monkeypatch.setattr("featlab.analysis.grids._BUDGET", {2: 300})
    analysis = analyse(target("sign(h1**2+h2**2-1)"))
    assert analysis.verdict == "UNDECIDED"
    assert (analysis.information_exponent, analysis.leap, analysis.generative_exponent) == (None, None, None)
    assert analysis.sample_cost["one_pass_sgd"].text == "unknown"
    assert analysis.doubts


def test_labels_of_few_values_are_discrete() -> None:
    assert discrete_levels(build_grids(target("sign(h1*h2)")).fine) == pytest.approx([-1, 1])
    assert discrete_levels(build_grids(target("h1**2+sign(h2)")).fine) is None


def test_label_functions_see_what_correlations_do_not() -> None:
    of = target("He3(h1)")
    grids: GridPair = build_grids(of)
    assert find_level(grids, label_probes(grids.fine, 0), nothing(1), 3).order == 1
    assert find_level(grids, correlation_probes(0), nothing(1), 3).order == 3


def test_a_label_without_conditional_mean_is_invisible_to_correlations() -> None:
    """y = h1 xi1: E[y | h1] = 0, so no correlational method ever learns; its variance tells |h1|."""
    analysis = analyse(target("h1*xi1"))
    assert analysis.leap is None
    assert analysis.generative_exponent == 2
    assert any("no correlation" in doubt for doubt in analysis.doubts)


def test_noise_inside_a_polynomial_link_does_not_count_for_its_degree() -> None:
    assert analyse(target("h1**2*xi1**2+xi1*h1**3")).sample_cost["random_features"].text == "d^2"


def test_a_slightly_wrong_subspace_does_not_make_a_false_discovery() -> None:
    """He3(h1) + He2(h2): h2 is even and must not look trivial because h1 is known to 1e-8 only."""
    of = target("He3(h1)+He2(h2)")
    grids = build_grids(of)
    off = 1e-8
    known = np.array([[np.cos(off)], [np.sin(off)]])
    probes = label_probes(grids.fine, 1)
    assert find_level(grids, probes, known, 4, known_tilt=off).order == 2
    assert find_level(grids, probes, known, 4).order == 1, "control: without the tilt it would be believed"
