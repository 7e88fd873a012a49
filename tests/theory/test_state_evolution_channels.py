"""F(Q) and H(Q): against grids, exact cases, each other, the analysis, and the identity dH = 1/2 Tr(F dQ)."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from benchmarks.known_channels import of_radius
from scipy.integrate import quad
from scipy.special import erf

from featlab.analysis.level_sets import Fibres, log_partition
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.interruption import stoppable
from featlab.targets import target
from featlab.theory.bayes import label_rule, neighbourhood, single_index
from featlab.theory.bayes.channel import Channel
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.rules import omega_given
from featlab.theory.bayes.single_index import SingleIndex
from featlab.theory.bayes.state_evolution import overlap_curve
from featlab.theory.bayes.symmetry import fold, interchangeable, invariances, reflections
from tests.theory.channel_reference import of_absolute_value, of_square_with_random_sign, on_grids

STAIRCASE = "h1**2 + sign(h1*h2*h3)"


def told(text: str, noise: float = 0.0, *, generic: bool = False) -> Channel:
    return channel_of(target(text, noise=noise), generic)


@pytest.mark.parametrize("q", [0.1, 0.69, 0.85])
def test_phase_retrieval_on_a_grid(q: float) -> None:
    information, entropy = on_grids(of_absolute_value, np.linspace(0, 8, 801), q, 301)
    for generic in (False, True):
        found = told("abs(h1)", generic=generic).at(np.array([[q]]))
        assert found.information[0, 0] == pytest.approx(information, rel=1e-4)
        assert found.entropy == pytest.approx(entropy, rel=1e-5)
        assert found.information[0, 0] != pytest.approx(1.2 * information, rel=1e-4), "negative control"


@pytest.mark.parametrize("q", [0.01, 0.7])
def test_the_staircase_before_its_second_step_on_a_grid(q: float) -> None:
    u = np.linspace(0, 1, 1501)
    y = np.unique(np.concatenate([-1 + 2 * np.sin(0.5 * np.pi * u) ** 4, 1 + 40 * u**4]))  # crowded at -1 and 1
    information, entropy = on_grids(of_square_with_random_sign, y, q, 201)
    found = told(STAIRCASE).at(np.diag([q, 0.0, 0.0]))
    assert found.information[0, 0] == pytest.approx(information, rel=2e-4)
    assert found.entropy == pytest.approx(entropy, abs=3e-4)
    assert np.all(found.information[1:, 1:] == 0)


def test_the_staircase_once_its_first_direction_is_known_is_the_two_parity() -> None:
    found = told(STAIRCASE).at(np.diag([1 - 1e-7, 0.5, 0.3])).information
    parity = told("sign(h1*h2)").at(np.diag([0.5, 0.3])).information
    assert np.diag(found)[1:] == pytest.approx(np.diag(parity), rel=1e-3)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.8, 0.99, 1 - 1e-6])
def test_closed_forms_of_one_direction_equal_the_generic_path(q: float) -> None:
    for text in ("abs(h1)", "h1**2"):
        fast, slow = (told(text, generic=generic).at(np.array([[q]])) for generic in (False, True))
        assert slow.information[0, 0] == pytest.approx(fast.information[0, 0], rel=1e-5, abs=1e-20)
        assert slow.entropy == pytest.approx(fast.entropy, abs=1e-5)


@pytest.mark.parametrize("overlap", [(1e-4, 1e-4), (0.2, 0.6), (0.8, 0.8), (0.99, 0.99)])
def test_two_parity_equals_the_generic_path(overlap: tuple[float, float]) -> None:
    fast, slow = (told("sign(h1*h2)", generic=generic).at(np.diag(overlap)) for generic in (False, True))
    assert np.diag(slow.information) == pytest.approx(np.diag(fast.information), rel=2e-4)
    assert slow.entropy == pytest.approx(fast.entropy, rel=1e-4)
    assert np.diag(slow.information) != pytest.approx(1.2 * np.diag(fast.information), rel=2e-4), "negative control"


def test_three_parity_is_tied_by_the_entropy() -> None:
    """dH = 1/2 Tr(F dM), and -log 2 without an overlap; along a diagonal that is not a multiple of the identity."""
    parity, overlap, step = told("sign(h1*h2*h3)"), np.diag([0.9, 0.6, 0.3]), 1e-4
    assert parity.at(np.zeros((3, 3))).entropy == pytest.approx(-np.log(2), abs=1e-12)
    information = parity.at(overlap).information
    for axis in range(3):
        shift = step * np.diag(np.eye(3)[axis])
        slope = (parity.at(overlap + shift).entropy - parity.at(overlap - shift).entropy) / (2 * step)
        assert slope == pytest.approx(0.5 * information[axis, axis], rel=1e-5)
        assert slope != pytest.approx(0.6 * information[axis, axis], rel=1e-5), "negative control"


def test_three_parity_keeps_what_it_was_told() -> None:
    """From an informed start, n = 10 d: .94303 by a plain loop over a midpoint grid of 400^3 points; the generic path,
    whose rules in three directions are coarse, gave .937."""
    q = overlap_curve("sign(h1*h2*h3)", [10.0], "informed").diagonal[0]
    assert q == pytest.approx(0.94303, abs=5e-5)


@pytest.mark.parametrize("overlap", [(0.3, 0.2, 0.5), (0.985, 0.2, 0.2)])
def test_the_staircase_equals_the_generic_path(overlap: tuple[float, float, float]) -> None:
    """Label by label, with one direction known to a deviation of 0.12 too."""
    fast, slow = (told(STAIRCASE, generic=generic).at(np.diag(overlap)) for generic in (False, True))
    assert np.diag(slow.information) == pytest.approx(np.diag(fast.information), rel=1e-3)
    assert np.diag(slow.information) != pytest.approx(1.2 * np.diag(fast.information), rel=1e-3), "negative control"
    assert slow.entropy == pytest.approx(fast.entropy, abs=5e-3)


@pytest.mark.parametrize(("rank", "q", "tolerance"), [(3, 0.3, 1e-3), (4, 0.05, 1e-2)])
def test_squared_norms(rank: int, q: float, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What |z|^2 tells is what |z| tells. Four fields are looked at by few lines and labels, to be quick."""
    if rank == 4:
        monkeypatch.setattr(label_rule, "_NODES", 1)
        monkeypatch.setattr(label_rule, "_FEW_EDGES", (0.0, 0.8, 2.2, 5.0))
    found = told(" + ".join(f"h{axis + 1}**2" for axis in range(rank))).at(q * np.eye(rank)).information
    expected = of_radius(rank, q)
    assert np.diag(found) == pytest.approx(expected, rel=tolerance)
    assert np.diag(found) != pytest.approx(1.05 * expected, rel=tolerance), "negative control"


def test_a_label_with_an_atom_and_three_directions() -> None:
    """Labels above zero of relu(h1 h2 h3) tell what they tell of h1 h2 h3, and its atom what a negative sign tells."""
    overlap = 0.1 * np.eye(3)
    found, whole, sign = (
        told(text).at(overlap).information for text in ("relu(h1*h2*h3)", "h1*h2*h3", "sign(h1*h2*h3)")
    )
    assert np.diag(found) == pytest.approx(0.5 * np.diag(whole + sign), rel=2e-3)
    assert np.diag(found) != pytest.approx(0.5 * np.diag(whole), rel=2e-3), "negative control: without the atom"


@pytest.mark.parametrize(("noise", "q"), [(0.5, 0.0), (0.5, 0.97), (1e-3, 0.3), (1e-3, 0.97)])
def test_a_linear_label_with_noise_is_gaussian(noise: float, q: float) -> None:
    """y = z + noise: Z = N(y; omega, v + noise), so F = 1 / (v + noise) and H is minus a Gaussian's entropy."""
    found = told("h1", noise).at(np.array([[q]]))
    variance = 1 - q + noise
    assert found.information[0, 0] == pytest.approx(1 / variance, rel=1e-4)
    assert found.entropy == pytest.approx(-0.5 * np.log(2 * np.pi * np.e * variance), abs=2e-3)


def test_a_sum_of_a_direction_and_an_absolute_value_from_nothing() -> None:
    """y = z1 + |z2| has the density 2 phi(y/sqrt 2)/sqrt 2 Phi(y/sqrt 2), and E[z1 | y] follows by an integral."""

    def moment(y: float, power: int) -> float:
        return quad(lambda t: 2 * (y - t) ** power * np.exp(-0.5 * ((y - t) ** 2 + t * t)) / (2 * np.pi), 0, 12)[0]

    y = np.linspace(-6, 9, 301)
    density, mean = (np.array([moment(one, power) for one in y]) for power in (0, 1))
    half = 0.5 * (1 + erf(y / 2))
    assert density == pytest.approx(2 * np.exp(-(y**2) / 4) / np.sqrt(4 * np.pi) * half, abs=1e-9)
    expected = np.trapezoid(mean**2 / density, y)
    found = told("h1 + abs(h2)").at(np.zeros((2, 2))).information
    assert found[0, 0] == pytest.approx(expected, rel=3e-3)
    assert found[1, 1] == pytest.approx(0, abs=1e-12)
    assert found[0, 0] != pytest.approx(1.2 * expected, rel=3e-3), "negative control"


@pytest.mark.parametrize(
    ("text", "noise", "tolerance"),
    [
        ("He4(h1)", 0.0, 1e-3),
        ("h1*h2", 0.0, 1e-3),
        ("h1*h2", 0.1, 1e-3),
        ("h1**2", 0.1, 1e-3),
        ("He4(h1)", 0.1, 1e-3),  # the noise is a fifteenth of the label, whose tails run over many cells
        ("sign(h1*h2)", 0.2, 2e-3),
        ("sign(h1*h2 + 0.5*xi1)", 0.0, 2e-3),
        (STAIRCASE, 0.0, 1e-3),
        ("h1*h2*h3", 0.0, 1e-3),
    ],
)
def test_small_overlaps_grow_at_the_rate_of_the_analysis(text: str, noise: float, tolerance: float) -> None:
    """F(q M) / q -> E[G M G], whose largest eigenvalue the analysis finds by quite another way."""
    of = target(text, noise=noise)
    expected = second_moments(of, nothing(of.rank)).restricted(np.eye(of.rank))
    q = 1e-5
    growth = np.linalg.eigvalsh(told(text, noise).at(q * np.eye(of.rank)).information)[-1] / q
    assert growth == pytest.approx(expected, rel=tolerance)
    assert growth != pytest.approx(1.2 * expected, rel=tolerance), "negative control"


def test_a_noisy_committee_of_absolute_values_by_a_plain_sum() -> None:
    """y = (|z1| + |z2|)/2 + noise has G(y) = g(y) I, g = E[z1^2 - 1 | y], so that alpha_c = 1 / E[g^2] = 1.3194."""
    noise, step, bins = 0.05, 0.01, 2400
    z = step * (np.arange(800) + 0.5)
    chance = np.exp(-0.5 * z * z) / np.sum(np.exp(-0.5 * z * z))
    label = np.add.outer(np.arange(800), np.arange(800)).ravel()  # in steps of half of the one in z, less 1/2 z_0
    law = np.bincount(label, np.outer(chance, chance).ravel(), bins)
    seen = np.bincount(label, np.outer(chance * (z * z - 1), chance).ravel(), bins)
    apart = 0.5 * step * np.arange(-300, 301)
    kernel = np.exp(-0.5 * apart**2 / noise) / np.sum(np.exp(-0.5 * apart**2 / noise))
    law, seen = (np.convolve(column, kernel) for column in (law, seen))
    expected = np.sum(seen[law > 1e-14] ** 2 / law[law > 1e-14])
    assert 1 / expected == pytest.approx(1.3194, abs=5e-5)
    q = 1e-4
    once, twice = (told("(abs(h1) + abs(h2))/2", noise).at(one * np.eye(2)).information[0, 0] for one in (q, 2 * q))
    assert (2 * once - 0.5 * twice) / q == pytest.approx(expected, rel=1e-3)
    assert (2 * once - 0.5 * twice) / q != pytest.approx(1.3194 / 1.3253 * expected, rel=1e-3), "what it once was"


def test_three_discrete_fields_equal_the_closed_form() -> None:
    overlap = np.diag([0.9, 0.3, 0.3])
    fast, slow = (told("sign(h1*h2*h3)", generic=generic) for generic in (False, True))
    wanted, found = (np.diag(channel.at(overlap).information) for channel in (fast, slow))
    assert found == pytest.approx(wanted, rel=slow.relative_error(overlap))
    assert found != pytest.approx(1.005 * wanted, rel=slow.relative_error(overlap)), "negative control"


@pytest.mark.parametrize(
    ("text", "noise", "q", "tolerance"),
    [
        ("abs(h1)", 0.0, 0.5, 1e-5),
        ("He3(h1)", 0.0, 0.5, 1e-5),
        ("relu(h1)", 0.0, 0.7, 1e-5),
        ("sign(h1)", 0.0, 0.7, 1e-5),
        ("sign(h1*h2)", 0.0, 0.5, 1e-4),
        ("sign(h1*h2 + 0.5*xi1)", 0.0, 0.2, 1e-3),
        ("h1*h2", 0.0, 0.5, 2e-3),
        ("abs(h1)", 0.01, 0.5, 1e-2),
        (STAIRCASE, 0.0, 0.5, 1e-4),
        ("h1*h2*h3", 0.0, 0.5, 2e-3),
    ],
)
def test_the_information_is_the_slope_of_the_entropy(text: str, noise: float, q: float, tolerance: float) -> None:
    channel, rank = told(text, noise), target(text).rank
    step = 0.01 if tolerance < 1e-3 else 0.02
    ahead, behind = (channel.at((q + sign * step) * np.eye(rank)).entropy for sign in (1, -1))
    further, back = (channel.at((q + 2 * sign * step) * np.eye(rank)).entropy for sign in (1, -1))
    slope = (8 * (ahead - behind) - (further - back)) / (12 * step)
    half_trace = 0.5 * np.trace(channel.at(q * np.eye(rank)).information)
    assert slope == pytest.approx(half_trace, rel=tolerance)
    assert slope != pytest.approx(1.2 * half_trace, rel=tolerance), "negative control"


def test_off_diagonal_overlaps() -> None:
    """F turns with the directions: h1 h2 = (u^2 - v^2) / 2 in the axes turned by 45 degrees."""
    product, squares = told("h1*h2"), told("h1**2 - h2**2")
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    overlap = np.array([[0.4, 0.2], [0.2, 0.4]])
    found, turned = product.at(overlap), squares.at(turn @ overlap @ turn.T)
    assert turn @ found.information @ turn.T == pytest.approx(turned.information, rel=3e-3, abs=2e-3)


def test_tangent_planes_as_the_overlap_becomes_perfect() -> None:
    """(1 - q) F -> E[n n^T], n the unit normal of the level set: I / 2 for z1 z2 and for z1^2 + z2^2."""
    for text in ("h1*h2", "h1**2 + h2**2"):
        for q in (0.999, 1 - 1e-6):
            assert (1 - q) * told(text).at(q * np.eye(2)).information == pytest.approx(0.5 * np.eye(2), abs=4e-3)
    assert (1e-6) * told("He4(h1)").at((1 - 1e-6) * np.eye(1)).information[0, 0] == pytest.approx(1, abs=2e-3)


def test_symmetries() -> None:
    assert len(reflections(target("h1*h2"))) == 4
    assert invariances(target("h1*h2")).signs.tolist() == [[1, 1], [-1, -1]]
    assert interchangeable(target("h1*h2"))
    assert not interchangeable(target("h1 + abs(h2)"))
    assert not interchangeable(target("relu(h1) + relu(h2)")), "interchangeable axes, but no reflections"
    tilted = np.array([[0.5, 0.2], [0.2, 0.5]])
    assert fold(target("h1*h2"), tilted).halved == (0,)
    assert fold(target("h1*h2"), np.eye(2)).halved == (0, 1)
    points = np.array([[-1.0, 2.0], [1.0, -2.0]])
    assert invariances(target("h1*h2")).representative(points).tolist() == [[1, -2], [1, -2]]


@pytest.mark.parametrize("q", [0.0, 0.3, 0.999])
def test_preimages_that_are_points_are_summed_as_any(q: float) -> None:
    channel = SingleIndex(target("h1 + 0.9*He2(h1)"))
    z, weights, fibres = channel._outer
    assert np.all(fibres.is_point)
    nodes, inner = omega_given(z, q)
    parts = [log_partition(fibres, omega[:, None], np.array([[1 - q]])) for omega in nodes.T]
    information = sum(
        weight * (weights @ gradient[:, 0] ** 2) for weight, (_, gradient) in zip(inner, parts, strict=True)
    )
    entropy = sum(weight * (weights @ log_z) for weight, (log_z, _) in zip(inner, parts, strict=True))
    found = channel.at(np.array([[q]]))
    assert found.information[0, 0] == pytest.approx(information, rel=1e-12)
    assert found.entropy == pytest.approx(entropy, rel=1e-12)


@pytest.mark.parametrize("text", ["He4(h1)", "He3(h1)"])
def test_half_of_a_symmetric_link_is_the_whole(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    half = SingleIndex(target(text))
    half.at(np.array([[0.2]]))  # its nodes are laid when they are first asked for
    monkeypatch.setattr(single_index, "reflections", lambda of: ((1,),))
    monkeypatch.setattr(single_index, "_NUMBERS", 2**12)
    whole = SingleIndex(target(text))
    for q in (0.2, 0.9):
        found, expected = (one.at(np.array([[q]])) for one in (half, whole))
        assert found.information[0, 0] == pytest.approx(expected.information[0, 0], rel=1e-9)
        assert found.entropy == pytest.approx(expected.entropy, rel=1e-9)
    assert half._outer[0].size < whole._outer[0].size


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="at most four directions"):
        told("h1*h2*h3*h4 + h5")


def eigenvalues(matrix: Floats) -> Floats:
    return np.linalg.eigvalsh(matrix)


def test_more_knowledge_tells_more() -> None:
    """F is monotone: what state evolution's two ends rest on."""
    for text in ("abs(h1)", "He3(h1)"):
        gains = [told(text).at(q * np.eye(1)).information[0, 0] for q in (0.1, 0.3, 0.6, 0.9)]
        assert gains == sorted(gains)
    low, high = np.diag([0.2, 0.3]), np.array([[0.5, 0.1], [0.1, 0.5]])
    rise = told("sign(h1*h2)").at(high).information - told("sign(h1*h2)").at(low).information
    assert eigenvalues(rise)[0] > 0


@pytest.mark.parametrize("text", ["He4(h1) + sign(h1*h2*h3)", "He3(h2) + 2*sign(h1*h2*h3)", "h1 - sign(h1*h2*h3)"])
def test_a_polynomial_and_a_parity_is_tied_by_the_entropy(text: str) -> None:
    """dH = 1/2 Tr(F dQ) in each direction, where F and H come from different integrals."""
    channel_here, overlap = told(text), np.array([0.5, 0.3, 0.6])
    information = np.diag(channel_here.at(np.diag(overlap)).information)
    slopes = []
    for axis in range(3):
        shift = 1e-3 * np.eye(3)[axis]
        high, low = (channel_here.at(np.diag(overlap + sign * shift)).entropy for sign in (1, -1))
        slopes.append((high - low) / 2e-3)
    assert 2 * np.array(slopes) == pytest.approx(information, rel=2e-4)
    assert 2 * np.array(slopes) != pytest.approx(1.2 * information, rel=2e-4), "negative control"


@pytest.mark.parametrize(("text", "inner"), [("tanh(h1*h2)", "h1*h2"), ("erf(He2(h1))", "He2(h1)")])
def test_an_increasing_function_tells_what_its_link_tells(text: str, inner: str) -> None:
    """F is the same; H is that of the density of the outer label. A saturated label is no trouble."""
    overlap = 0.4 * np.eye(target(text).rank)
    outer, plain = told(text).at(overlap), told(inner).at(overlap)
    assert np.array_equal(outer.information, plain.information)
    points = np.random.default_rng(3).standard_normal((400_000, target(text).rank))
    u = target(inner).link(points)
    slope = 2 * (np.log(2) - np.abs(u) - np.log1p(np.exp(-2 * np.abs(u))))
    if "erf" in text:
        slope = np.log(2 / np.sqrt(np.pi)) - u**2
    assert plain.entropy - outer.entropy == pytest.approx(np.mean(slope), abs=5 * np.std(slope) / len(u) ** 0.5)


def _near(monkeypatch: pytest.MonkeyPatch, cells: int) -> Fibres:
    monkeypatch.setattr(neighbourhood, "_CELLS", cells)
    link = target("clip(h1, -1, 1)*step(h2 - 0.5) + abs(h2)")
    through = np.random.default_rng(3).standard_normal((30, 2))
    grading = neighbourhood.Grading((0.3, 0.1), 1.0, (7.0, 3.0), 4, 61)
    return neighbourhood.level_set_around(link, through, grading)


def test_level_sets_do_not_depend_on_how_many_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together, apart = _near(monkeypatch, 10**9), _near(monkeypatch, 10_000)
    for name in ("direction", "base", "low", "high", "log_weights"):
        assert np.array_equal(getattr(together, name), getattr(apart, name)), name


def test_level_sets_take_bounded_memory_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def peak(cells: int) -> int:
        tracemalloc.start()
        try:
            _near(monkeypatch, cells)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(10_000) < 0.5 * peak(10**9)
    over = threading.Event()
    over.set()
    with stoppable(over), pytest.raises(KeyboardInterrupt):
        _near(monkeypatch, 10_000)
