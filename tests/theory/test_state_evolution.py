"""State evolution against published curves, thresholds and jumps; the slow iteration; what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.learners import TwoLayer
from featlab.learners.amp import BayesAmp
from featlab.targets import target
from featlab.theory.bayes import path
from featlab.theory.bayes.channel import Channel, ChannelAverages
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.errors import bayes_errors
from featlab.theory.bayes.predictor import amp_start, predict_amp
from featlab.theory.bayes.state_evolution import (
    family_of,
    overlap_curve,
    state_evolution,
    update,
)
from featlab.theory.bayes.thresholds import threshold_sequence
from featlab.theory.question import NoPrediction, Question, Start
from tests.theory.channel_reference import of_absolute_value, on_grids

STAIRCASE = "h1**2 + sign(h1*h2*h3)"
# Two-parity (Troiani et al. 2024, Fig. 1): alpha -> diagonal overlap.
TWO_PARITY = {
    2.5: 0.0134,
    2.6: 0.0561,
    2.8: 0.1473,
    3.0: 0.2427,
    3.25: 0.3611,
    3.5: 0.4708,
    4.0: 0.6438,
    4.5: 0.7548,
    5.0: 0.8235,
    6.0: 0.8969,
    7.0: 0.9325,
    8.0: 0.9523,
}
# Real phase retrieval; 1.1 and 1.12 as the grid of `channel_reference` has them.
PHASE_RETRIEVAL = {0.6: 0.052, 0.8: 0.216, 1.0: 0.476, 1.1: 0.691, 1.12: 0.767}


def test_the_two_parity_curve() -> None:
    for start in ("slightly informed", "informed"):
        q = overlap_curve("sign(h1*h2)", list(TWO_PARITY), start).diagonal[:, 0]
        assert q == pytest.approx(list(TWO_PARITY.values()), abs=1e-4)
        assert 1.2 * q != pytest.approx(list(TWO_PARITY.values()), abs=2e-3), "negative control"
    generic = overlap_curve("sign(h1*h2)", list(TWO_PARITY), generic=True).diagonal[:, 0]
    assert generic == pytest.approx(list(TWO_PARITY.values()), abs=2e-3)


def test_phase_retrieval_jumps_between_112_and_113() -> None:
    curve = overlap_curve("abs(h1)", [*PHASE_RETRIEVAL, 1.13]).diagonal[:, 0]
    assert curve[:-1] == pytest.approx(list(PHASE_RETRIEVAL.values()), abs=6e-4)
    assert 1.2 * curve[:-1] != pytest.approx(list(PHASE_RETRIEVAL.values()), abs=6e-4), "negative control"
    assert curve[-1] == 1.0
    square = overlap_curve("h1**2", [1.12, 1.13], generic=True).diagonal[:, 0]
    assert square == pytest.approx([curve[-2], 1.0], abs=1e-3)


def test_the_fixed_point_of_phase_retrieval_on_a_grid() -> None:
    """The value at alpha = 1.1, by a dense grid: q is where alpha F / (1 + alpha F) = q."""
    q = state_evolution("abs(h1)", 1.1).overlap[0, 0]
    information, _ = on_grids(of_absolute_value, np.linspace(0, 8, 801), q, 301)
    assert 1.1 * information / (1 + 1.1 * information) == pytest.approx(q, abs=1e-5)
    off, _ = on_grids(of_absolute_value, np.linspace(0, 8, 801), 0.8 * q, 301)
    assert 1.1 * off / (1 + 1.1 * off) != pytest.approx(0.8 * q, abs=1e-5), "negative control"


def test_the_staircase_curve() -> None:
    """q1 first, then exactly the two-parity curve for the others (Troiani et al. 2024, Fig. 2)."""
    found = overlap_curve(STAIRCASE, [0.55, 0.7, 0.8, 1.0, 1.5, 2.4, 3.5, 4.0])
    assert all(found.converged)
    assert found.diagonal[:5, 0] == pytest.approx([0.0, 0.057, 0.118, 0.279, 1.0], abs=1e-3)
    assert found.diagonal[:6, 1:] == pytest.approx(np.zeros((6, 2)), abs=1e-6)
    assert found.diagonal[6:, 1] == pytest.approx([TWO_PARITY[3.5], TWO_PARITY[4.0]], abs=2e-4)
    assert found.diagonal[6:, 2] == pytest.approx(found.diagonal[6:, 1], abs=1e-6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abs(h1)", [(0.5, "continuous"), (1.128, "jump")]),
        ("sign(h1*h2)", [(2.4674, "continuous")]),
        ("h1*h2", [(0.593751, "continuous"), (2.0, "perfect")]),
        ("tanh(h1)", [(0.0, "trivial"), (1.0, "perfect")]),
        ("h1**2*exp(-h1**2)", []),
        (STAIRCASE, [(0.575166, "continuous"), (1.4001, "jump"), (2.4674, "continuous")]),
    ],
)
def test_what_happens_as_alpha_grows(text: str, expected: list[tuple[float, str]]) -> None:
    found = threshold_sequence(text, highest=3.0)
    assert [event.kind for event in found] == [kind for _, kind in expected]
    alphas = [event.alpha for event in found]
    assert alphas == pytest.approx([alpha for alpha, _ in expected], rel=1e-3)
    assert not expected or 1.2 * alphas[-1] != pytest.approx(expected[-1][0], rel=1e-3), "negative control"


def test_leaps_end_where_the_slow_iteration_does() -> None:
    for text, alpha in (("sign(h1*h2)", 2.8), ("abs(h1)", 1.128), ("tanh(h1)", 0.6)):
        fast = state_evolution(text, alpha)
        slow = state_evolution(text, alpha, leaps=False, iterations=3000, tolerance=1e-9)
        assert slow.converged
        assert fast.converged
        assert len(fast.path) < 40
        assert fast.overlap == pytest.approx(slow.overlap, abs=1e-5)
    damped = state_evolution("sign(h1*h2)", 4.0, leaps=False, damping=0.5, tolerance=1e-9)
    assert damped.overlap[0, 0] == pytest.approx(TWO_PARITY[4.0], abs=1e-4)


def test_starts() -> None:
    assert not state_evolution("sign(h1*h2)", 4.0, "uninformed").overlap.any(), "Q = 0 is a fixed point"
    assert state_evolution("tanh(h1)", 0.6, "uninformed").overlap[0, 0] > 0.3, "a trivial direction leaves it"
    assert not state_evolution("sign(h1*h2)", 2.4).overlap.any()
    assert state_evolution("abs(h1)", 1.05).overlap[0, 0] == pytest.approx(0.568, abs=1e-3)
    assert state_evolution("abs(h1)", 1.05, "informed").overlap[0, 0] > 1 - 1e-6
    given = state_evolution("sign(h1*h2)", 4.0, np.array([[0.3, 0.1], [0.1, 0.2]]))
    assert given.overlap == pytest.approx(TWO_PARITY[4.0] * np.eye(2), abs=2e-3)


def test_a_trivial_direction_delays_the_next_threshold() -> None:
    """h1 + |h2|: with h1 known exactly h2 appears at 0.5, but message passing knows h1 only in part."""
    overlap = state_evolution("h1 + abs(h2)", 0.7, np.diag([0.4, 0.0])).overlap
    assert 0.3 < overlap[0, 0] < 0.6
    told = channel_of(target("h1 + abs(h2)"))
    grown = update(told, 0.7, np.diag([overlap[0, 0], 1e-4]))[1, 1]
    assert grown < 0.9e-4, "it still shrinks at 0.7"


def test_not_converged_is_a_value() -> None:
    found = state_evolution("sign(h1*h2)", 2.5, leaps=False, iterations=3)
    assert not found.converged
    assert "iterations" in found.remedy


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="alpha"):
        state_evolution("abs(h1)", -1.0)
    with pytest.raises(InvalidParameter, match="start"):
        state_evolution("abs(h1)", 1.0, "warm")
    with pytest.raises(InvalidParameter, match="eigenvalues"):
        state_evolution("sign(h1*h2)", 1.0, np.diag([1.5, 0.0]))
    with pytest.raises(InvalidParameter, match="damping"):
        state_evolution("abs(h1)", 1.0, damping=1.0)
    with pytest.raises(InvalidParameter, match="highest"):
        threshold_sequence("abs(h1)", highest=0.0)
    with pytest.raises(InvalidParameter, match=r"state evolution at alpha = .* is not finished after 0\.5 s"):
        threshold_sequence("h1 + abs(h2)", budget=0.5)


def test_the_table_of_a_family_is_the_channel() -> None:
    family = family_of(target("He3(h1)"))
    for q in (0.05, 0.4, 0.9):
        gain = channel_of(target("He3(h1)")).at(np.array([[q]])).information[0, 0]
        angle = np.arcsin(np.sqrt(q))
        assert float(family.reciprocal(np.array(angle))) == pytest.approx((1 - q) * gain / q, rel=1e-4)


def question(learner: BayesAmp, samples: int | None = 3500) -> Question:
    return Question(target("sign(h1*h2)"), learner, TwoLayer(), 500, samples, np.array([0, 1, 2, 60]))


def test_bayes_amp_is_predicted_iteration_by_iteration() -> None:
    learner = BayesAmp(damping=0.0, start="informed", start_overlap=0.3)
    found = predict_amp(question(learner), amp_start(learner, 2, 500))
    told, overlap = channel_of(target("sign(h1*h2)")), 0.3 * np.eye(2)
    assert found.values["overlap"][0] == pytest.approx(overlap)
    for place in (1, 2):
        overlap = update(told, 7.0, overlap)
        assert found.values["overlap"][place] == pytest.approx(overlap, rel=1e-9)
    assert found.values["overlap"][3] == pytest.approx(TWO_PARITY[7.0] * np.eye(2), abs=1e-4)
    assert found.values["gram"] == pytest.approx(found.values["overlap"])
    risk = [bayes_errors("sign(h1*h2)", one).plug_in for one in found.values["overlap"]]
    assert found.values["risk"] == pytest.approx(risk)
    turned = Start(np.array([[0.0, 0.3], [-0.3, 0.0]]), 0.3 * np.eye(2), np.zeros(2), np.zeros(2))
    assert predict_amp(question(learner), turned).values["overlap"] == pytest.approx(found.values["overlap"])


@pytest.mark.parametrize(("alpha", "start", "damping"), [(4.0, 0.3, 0.0), (4.0, 0.1, 0.5), (2.6, 0.05, 0.0)])
def test_the_error_that_a_path_states_is_the_error(
    alpha: float, start: float, damping: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A channel that is off by e, with and against it; of two directions, e made visible, and as it says itself."""
    of, exact = target("sign(h1*h2)"), channel_of(target("sign(h1*h2)"))
    right = path.path_of(of, alpha, start * np.eye(2), 30, damping)
    for off in (-3e-3, 3e-3):
        monkeypatch.setattr(path, "channel_of", lambda _, off=off: Off(exact, off))
        wrong = path.path_of(of, alpha, start * np.eye(2), 30, damping)
        actual = np.abs(wrong.overlaps - right.overlaps)[1:, 0, 0]
        stated = wrong.errors[1:, 0, 0]
        assert np.all(actual <= 1.1 * stated)
        assert np.all(actual >= 0.3 * stated), "negative control: an error that is stated much too large"
    monkeypatch.setattr(path, "channel_of", lambda of: channel_of(of, True))
    generic = path.path_of(of, alpha, start * np.eye(2), 30, damping)
    assert np.all(np.abs(generic.overlaps - right.overlaps) <= generic.errors)


@dataclass
class Off:
    """A channel whose F is off by a part of itself, and says so."""

    inner: Channel
    part: float

    def at(self, overlap: Floats) -> ChannelAverages:
        found = self.inner.at(overlap)
        return ChannelAverages((1 + self.part) * found.information, found.entropy)

    def relative_error(self, overlap: Floats) -> float:
        return abs(self.part)


@pytest.mark.parametrize(("alpha", "start"), [(10.0, 0.9), (8.0, 0.6)])
def test_a_slow_path_is_interpolated(alpha: float, start: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upwards and downwards: with few evaluations the same path."""
    of = target("sign(h1*h2*h3)")
    exact = path.path_of(of, alpha, start * np.eye(3), 25)
    slow = Counted(channel_of(of), 1e-3)
    monkeypatch.setattr(path, "channel_of", lambda _: slow)
    found = path.path_of(of, alpha, start * np.eye(3), 25)
    shared = slice(0, min(len(found.overlaps), len(exact.overlaps)))
    assert found.overlaps[shared] == pytest.approx(exact.overlaps[shared], abs=1e-4)
    assert np.all(np.abs(found.overlaps[shared] - exact.overlaps[shared]) <= 0.5 * found.errors[shared] + 1e-12)
    assert slow.calls <= 14


@dataclass
class Counted:
    """A channel that says that it is off, and counts how often it is asked."""

    inner: Channel
    part: float
    calls: int = 0

    def at(self, overlap: Floats) -> ChannelAverages:
        self.calls += 1
        return self.inner.at(overlap)

    def relative_error(self, overlap: Floats) -> float:
        return self.part


def test_bayes_amp_states_its_errors() -> None:
    """Of links without a closed form, risks too; drafts state none."""
    learner = BayesAmp(damping=0.0, start="informed", start_overlap=0.3)
    asked = replace(question(learner), target=target("tanh(h1)", noise=0.3), steps=np.array([0, 1]))
    found = predict_amp(asked, amp_start(learner, 1, 500))
    assert set(found.errors) == {"overlap", "gram", "risk", "posterior_risk"}  # those of norms follow from them
    assert found.errors["overlap"][0, 0, 0] == 0
    q = found.values["overlap"][1, 0, 0]
    off = channel_of(asked.target).relative_error(0.3 * np.eye(1)) * q * (1 - q)
    assert found.errors["overlap"][1, 0, 0] == pytest.approx(off)
    assert 0 < found.errors["risk"][1] < off
    assert not predict_amp(replace(asked, draft=True), amp_start(learner, 1, 500)).errors


def test_starts_of_bayes_amp() -> None:
    weak = BayesAmp(start="random")
    found = predict_amp(question(weak), amp_start(weak, 2, 500))
    assert found.values["overlap"][0] == pytest.approx(np.eye(2) / 500)
    assert "damped" in found.words
    assert "logarithm" in found.words
    with pytest.raises(NoPrediction, match="spectral"):
        amp_start(BayesAmp(start="spectral"), 2, 500)
    with pytest.raises(InvalidParameter, match="samples"):
        predict_amp(question(weak, None), amp_start(weak, 2, 500))
    with pytest.raises(NoPrediction, match="2 rows"):
        predict_amp(question(weak), Start(np.ones((1, 3)), np.eye(1), np.zeros(1), np.zeros(1)))
