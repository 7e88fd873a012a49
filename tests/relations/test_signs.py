"""Functions of signs against their closed form: what the first stage sees, for every way to group the sign patterns.

What a label tells is which patterns it groups together. For signs s of the directions, E[z | group] = sqrt(2/pi) E[s]
and E[z z^T - I | group] = (2/pi) (E[s s^T] - I) off the diagonal and 0 on it, the averages being over the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featlab.analysis import analyse
from featlab.analysis.grids import Grid, GridPair
from featlab.analysis.levels import Level, find_level
from featlab.analysis.probes import label_probes
from featlab.analysis.staircase import Kind
from featlab.analysis.structured.grand import grand_of
from featlab.analysis.structured.structure import structure_of
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
from featlab.gaussian.quadrature import Rule, nested_rule
from featlab.targets import target

Groups = tuple[int, ...]


def patterns(rank: int) -> np.ndarray:
    return np.array(list(product((1.0, -1.0), repeat=rank)))


def groupings(size: int) -> Iterator[Groups]:
    """Every way to group so many patterns: numbers of groups in the order of their first member."""

    def grown(begun: Groups) -> Iterator[Groups]:
        if len(begun) == size:
            yield begun
            return
        for group in range(max(begun, default=-1) + 2):
            yield from grown((*begun, group))

    return grown(())


def up_to_symmetry(rank: int) -> list[Groups]:
    """One grouping of each orbit of permutations and flips of the directions."""
    signs = patterns(rank)
    place = {tuple(row): index for index, row in enumerate(signs)}
    moves = [
        [place[tuple(np.array(flip) * row[list(order)])] for row in signs]
        for order in permutations(range(rank))
        for flip in product((1.0, -1.0), repeat=rank)
    ]

    def moved(groups: Groups, move: list[int]) -> Groups:
        numbers: dict[int, int] = {}
        return tuple(numbers.setdefault(groups[index], len(numbers)) for index in move)

    chosen, seen = [], set[Groups]()
    for groups in groupings(len(signs)):
        if groups not in seen:
            orbit = {moved(groups, move) for move in moves}
            seen |= orbit
            chosen.append(min(orbit))
    return sorted(chosen)


def text_of(groups: Groups, rank: int) -> str:
    """A function of signs whose value is the number of the group, by its Walsh expansion."""
    signs, terms = patterns(rank), []
    for chosen in product((False, True), repeat=rank):
        weight = float(np.mean(np.array(groups) * np.prod(np.where(chosen, signs, 1.0), axis=1)))
        if abs(weight) > 1e-12:
            inside = "*".join(f"h{index + 1}" for index in range(rank) if chosen[index])
            terms.append(f"{weight!r}*sign({inside})" if inside else repr(weight))
    return " + ".join(terms)


def first_stage(groups: Groups, rank: int) -> tuple[Kind, int, float | None]:
    """Its kind, the number of its directions and its critical ratio, in closed form."""
    signs, numbers = patterns(rank), np.array(groups)
    means, operator = [], np.zeros((rank**2, rank**2))
    for group in range(max(groups) + 1):
        chosen = signs[numbers == group]
        means.append(np.sqrt(2 / np.pi) * chosen.mean(axis=0))
        second = (2 / np.pi) * (chosen.T @ chosen / len(chosen) - np.eye(rank))
        operator += len(chosen) / len(signs) * np.kron(second, second)
    seen = int(np.linalg.matrix_rank(np.array(means), tol=1e-9))
    if seen:
        return Kind.TRIVIAL, seen, 0.0
    values, vectors = np.linalg.eigh(operator)
    if values[-1] < 1e-9:
        return Kind.HARD, rank, None
    top = vectors[:, values > values[-1] - 1e-9].reshape(rank, rank, -1)
    return Kind.EASY, int(np.linalg.matrix_rank(top.reshape(rank, -1), tol=1e-6)), 1 / values[-1]


def depends_on_all(groups: Groups, rank: int) -> bool:
    cube = np.array(groups).reshape((2,) * rank)
    return all(bool(np.any(cube.take(0, axis) != cube.take(1, axis))) for axis in range(rank))


def check(groups: Groups, rank: int) -> None:
    kind, directions, ratio = first_stage(groups, rank)
    found = analyse(target(text_of(groups, rank))).grand_staircase[0]
    assert found.kind is kind
    if kind is Kind.EASY:
        assert ratio is not None
        assert found.alpha == pytest.approx(ratio, abs=3 * (found.alpha_error or 0) + 1e-9)
        assert found.directions.shape[1] == directions
    if kind is Kind.TRIVIAL:  # what the first directions open at once is one stage with them
        assert found.directions.shape[1] >= directions


THREE = [groups for groups in up_to_symmetry(3) if depends_on_all(groups, 3)]
OF_KIND = {kind: [one for one in THREE if first_stage(one, 3)[0] is kind] for kind in Kind if kind is not Kind.OPEN}


def test_there_are_so_many() -> None:
    assert {kind: len(some) for kind, some in OF_KIND.items()} == {Kind.TRIVIAL: 175, Kind.EASY: 3, Kind.HARD: 1}


@pytest.mark.parametrize("groups", OF_KIND[Kind.EASY], ids=lambda groups: "".join(map(str, groups)))
def test_every_ratio_of_three_signs(groups: Groups) -> None:
    """The whole operator, by rays and bins, which know nothing of signs."""
    found = second_moments(target(text_of(groups, 3)), nothing(3))
    expected = 1 / (first_stage(groups, 3)[2] or np.nan)
    assert found.top == pytest.approx(expected, abs=found.error + 1e-9)
    assert abs(1.05 * found.top - expected) > 10 * found.error


@pytest.mark.parametrize("kind", OF_KIND)
def test_three_signs_by_the_whole_analysis(kind: Kind) -> None:
    check(OF_KIND[kind][-1], 3)


@settings(max_examples=3, deadline=None, derandomize=True)
@given(st.sampled_from([groups for groups in up_to_symmetry(2) if depends_on_all(groups, 2)]))
def test_two_signs(groups: Groups) -> None:
    check(groups, 2)


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, Rule]:
    """Two small rules of three directions, cut at the coordinate planes: exact for the signs and polynomials here."""
    fine, coarse = (nested_rule((), 3, nodes) for nodes in (6, 5))
    return fine, coarse


def level_of(groups: Groups, rules: tuple[Rule, Rule]) -> Level:
    """What the analysis finds first of a label that is the number of the group, without any text of it."""

    def labelled(rule: Rule) -> Grid:
        places = (rule.points < 0) @ np.array([4, 2, 1])
        return Grid(rule, np.array(groups, dtype=float)[places], 3)

    grids = GridPair(labelled(rules[0]), labelled(rules[1]), 0)
    return find_level(grids, label_probes(grids.fine, 0), nothing(3), 3)


def test_all_groupings_of_three_signs(rules: tuple[Rule, Rule]) -> None:
    """Kind and directions of the first stage of all 179; the ratios of the EASY ones are tested above."""
    orders = {Kind.TRIVIAL: 1, Kind.EASY: 2, Kind.HARD: 3}
    for groups in THREE:
        kind, directions, _ = first_stage(groups, 3)
        found = level_of(groups, rules)
        assert (found.order, found.doubt) == (orders[kind], None), groups
        if kind is Kind.TRIVIAL:
            assert found.directions.shape[1] == directions, groups
    parity, product_of_two = (0, 1, 1, 0, 1, 0, 0, 1), (0, 0, 1, 1, 1, 1, 0, 0)
    assert level_of(product_of_two, rules).order != level_of(parity, rules).order, "negative control"


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 5), min_size=8, max_size=8), st.booleans())
def test_four_signs(halves: list[int], even: bool) -> None:
    """Groupings that a global flip leaves alone see no direction at order 1; odd ones see some, mostly.

    By the patterns themselves (`structured`), which take up to sixteen signs.
    """
    opposite = halves[::-1] if even else [9 - number for number in halves[::-1]]
    numbers: dict[int, int] = {}
    groups = tuple(numbers.setdefault(number, len(numbers)) for number in halves + opposite)
    if not depends_on_all(groups, 4):
        return
    kind, directions, ratio = first_stage(groups, 4)
    structure = structure_of(target(text_of(groups, 4)))
    assert structure is not None
    assert structure.patterns is not None
    found = grand_of(structure).stages[0]
    assert found.kind is kind
    assert found.alpha == (None if ratio is None else pytest.approx(ratio, rel=1e-9))
    if kind is Kind.EASY:
        assert found.directions.shape[1] == directions


def test_another_ratio_would_be_refused() -> None:
    """Negative control: four labels that tell the signs up to a global flip, pi^2/8; not the pi^2/4 of two of them."""
    numbers: dict[tuple[float, ...], int] = {}
    groups = tuple(numbers.setdefault(tuple(row[0] * row), len(numbers)) for row in patterns(3))
    assert first_stage(groups, 3) == (Kind.EASY, 3, pytest.approx(np.pi**2 / 8))
    found = second_moments(target(text_of(groups, 3)), nothing(3))
    assert found.top == pytest.approx(8 / np.pi**2, abs=found.error + 1e-9)
    assert abs(found.top - 4 / np.pi**2) > 100 * found.error
