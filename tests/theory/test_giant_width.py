import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.theory.giant.width import Quadratic, Step, Trained, draw_trained, least_risk, quadratic, turned

SUM = "h1 + He2(h1) + h2 + He2(h2)"
DIFFERENCE = "h1 + He2(h1) + h2 - He2(h2)"


def test_a_quadratic_target_is_read_off():
    found = quadratic(DIFFERENCE)
    assert found.linear == pytest.approx([1, 1])
    assert found.form == pytest.approx(np.diag([1.0, -1.0]), abs=1e-12)
    assert found.square == pytest.approx(6)
    for other in ("He3(h1)", "h1 + 1", "tanh(h1)"):
        with pytest.raises(InvalidParameter, match="linear and quadratic"):
            quadratic(other)


@pytest.mark.parametrize("text", [SUM, DIFFERENCE])
def test_the_frame_of_the_spike(text):
    """Without noise its first axis is l, and E Var(y | t) is what it leaves; noise turns it by the stated cosine."""
    exact, noisy = (turned(quadratic(text), ratio) for ratio in (np.inf, 3.0))
    assert exact.linear == pytest.approx([2**0.5, 0, 0])
    known = exact.linear[0] ** 2 + 2 * exact.form[0, 0] ** 2
    assert exact.square - known == pytest.approx(2 if text == SUM else 4)
    assert noisy.square == pytest.approx(6)
    assert noisy.linear[0] / 2**0.5 == pytest.approx((2 / (2 + 6 / 3)) ** 0.5)


def _by_samples(goal: Quadratic, trained: Trained, count: int = 400_000) -> float:
    """E[y^2] - b.G^{-1} b from samples of t, the target's coordinates across it, and the neurons' fields."""
    draw, rank = np.random.default_rng(0), len(goal.linear) - 1
    rows = np.vstack([np.eye(rank, trained.across.shape[1]), trained.across])
    t, across = (
        draw.standard_normal(count),
        draw.standard_normal((count, len(rows))) @ np.linalg.cholesky(rows @ rows.T).T,
    )
    x = np.column_stack([t, across[:, :rank]])
    y = x @ goal.linear + np.sum((x @ goal.form) * x, axis=1) - np.trace(goal.form)
    features = np.maximum(np.outer(t, trained.along) + across[:, rank:] + trained.biases, 0)
    pull = features.T @ y / count
    return goal.square - pull @ np.linalg.solve(features.T @ features / count, pull)


def test_the_least_risk_is_that_of_samples():
    """Four neurons that know something of the target across the spike; and not that of four that do not."""
    goal = turned(quadratic(SUM), 20.0)
    trained = draw_trained(goal, 4, 300, Step(2.0, 20.0), np.random.default_rng(3))
    trained.across[:, :3] *= 4  # as much as 4/sqrt(300) = .23
    known = Trained(trained.along, trained.across, np.linalg.norm(trained.across, axis=1), trained.biases)
    unknown = Trained(trained.along, trained.across * (np.arange(299) > 2), known.norms, trained.biases)
    sampled = _by_samples(goal, known)
    # Of 400,000 samples the mean of y phi scatters by about 1%, and with it b.G^{-1} b = E[y^2] - risk.
    allowed = 0.01 * (goal.square - sampled)
    assert abs(least_risk(goal, known) - sampled) < allowed
    assert abs(least_risk(goal, unknown) - sampled) > allowed


def test_without_a_dimension_it_is_that_of_neurons_at_right_angles():
    goal = turned(quadratic(DIFFERENCE), np.inf)
    draw = np.random.default_rng(1)
    along, biases = draw.standard_normal((2, 12))
    across = np.eye(12, 20, k=4)  # nothing along the target's coordinates
    finite, infinite = (Trained(along, rows, np.ones(12), biases) for rows in (across, None))
    assert least_risk(goal, finite) == pytest.approx(least_risk(goal, infinite), rel=1e-9)


def test_many_neurons_without_a_dimension_leave_what_the_spike_does_not_know():
    goal, step, draw = turned(quadratic(DIFFERENCE), np.inf), Step(2.0, np.inf), np.random.default_rng(2)
    excess = [least_risk(goal, draw_trained(goal, p, np.inf, step, draw)) - 4 for p in (64, 512, 4096)]
    assert excess[0] > excess[1] > excess[2] > 0
    assert excess[2] < 0.004
