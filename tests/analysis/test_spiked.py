"""What is said of a target under a spike, and what is not."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from featlab.analysis import Verdict, analyse
from featlab.analysis.sample_cost import Status
from featlab.analysis.spiked_cost import (
    kernel_reach,
    law_of,
    learned_degree,
    normalised_flow_exponent,
    one_step_exponent,
    spiked_costs,
    start_exponent,
)
from featlab.errors import InvalidParameter
from featlab.targets import Spiked, SpikeLaw, target


@pytest.mark.parametrize(
    ("g1", "g2", "exponent"),
    [
        (0.3, 0.1, 4.0),  # g2 < g1: d^k
        (0.3, 0.4, 1 + 3 * (1 - 2 * 0.1)),  # g1 < g2 < 2 g1
        (0.3, 0.8, 1 + 3 * 0.2),  # 2 g1 < g2
        (0.0, 0.5, 1 + 3 * 0.5),
        (0.5, 1.0, 1.0),
        (0.0, 1.0, 1.0),
    ],
)
def test_the_three_regimes_of_the_normalised_flow(g1: float, g2: float, exponent: float) -> None:
    assert normalised_flow_exponent(g1, g2, 4) == pytest.approx(exponent)


@pytest.mark.parametrize("g1", [0.0, 0.2, 0.35, 0.5])
def test_the_flow_costs_less_the_stronger_the_spike_and_nothing_jumps(g1: float) -> None:
    strengths = np.linspace(0, 1, 1001)
    exponents = np.array([normalised_flow_exponent(g1, float(g2), 3) for g2 in strengths])
    steps = np.diff(exponents)
    assert np.all(steps <= 1e-12)
    assert np.abs(steps).max() <= 2 * 2 * 1e-3 + 1e-9  # slope at most 2 (k-1)
    assert exponents[[0, -1]] == pytest.approx([3, 1])


def test_an_information_exponent_of_one_costs_d_everywhere() -> None:
    assert {normalised_flow_exponent(g1, g2, 1) for g1 in (0.0, 0.3) for g2 in (0.0, 0.4, 0.9)} == {1.0}


def test_the_start_is_that_of_a_random_neuron() -> None:
    """d^-s against <w, S beta>/(|S^{1/2} w| |S^{1/2} beta|), its root mean square over w, at d = 10^9 and 10^12."""
    for g1, g2 in ((0.3, 0.1), (0.3, 0.45), (0.3, 0.8), (0.0, 0.5)):
        sizes = []
        for dim in (1e9, 1e12):
            m, theta = dim**-g1, dim**g2
            image = 1 + (2 * theta + theta**2) * m**2  # |S beta|^2
            sizes.append(np.sqrt(image / (1 + theta * m**2) / dim))
        measured = -np.log(sizes[1] / sizes[0]) / np.log(1e3)
        assert measured == pytest.approx(start_exponent(g1, g2), abs=0.02)
        assert abs(measured - start_exponent(0.0, 0.95)) > 0.02, "control: another regime's exponent"


@pytest.mark.parametrize(("g2", "degree"), [(0.0, 1), (0.4, 1), (0.5, 1), (0.51, 2), (0.66, 2), (0.7, 3), (1.0, inf)])
def test_degrees_that_kernels_learn(g2: float, degree: float) -> None:
    assert learned_degree(g2) == degree
    assert all(g2 > 1 - 1 / j for j in range(2, int(min(degree, 9)) + 1))


def test_kernels_learn_more_only_if_the_target_is_mostly_along_the_spike() -> None:
    assert kernel_reach(SpikeLaw(0.7, 0.3)) == 3
    assert kernel_reach(SpikeLaw(0.7, 0.4)) == 1


@pytest.mark.parametrize(
    ("law", "order", "exponent"),
    [
        (SpikeLaw(0.0), 3, 3.0),
        (SpikeLaw(0.2), 2, 2 - 3 * 0.2),
        (SpikeLaw(0.4), 2, 1.0),  # below 1 - 1/k, above (k-1)/(k+1): the feature aligns, the gradient does not
        (SpikeLaw(0.8), 3, 1.0),
        (SpikeLaw(0.55), 6, 1.0),
        (SpikeLaw(0.5, 0.1), 2, 1.0),
        (SpikeLaw(0.2, 0.4), 2, 2.0),  # 3 g2 < 2 g1: as without a spike
        (SpikeLaw(0.4, 0.4), 2, None),  # S beta is not beta
        (SpikeLaw(0.0, overlap_scale=0.5), 1, None),
    ],
)
def test_one_gradient_step(law: SpikeLaw, order: int, exponent: float | None) -> None:
    found = one_step_exponent(law, order)
    assert found is None if exponent is None else found == pytest.approx(exponent)


def test_the_theorem_on_one_step_is_called_sufficient_and_only_where_it_holds() -> None:
    def status(law: SpikeLaw) -> Status:
        return spiked_costs(law, rank=1, information_exponent=2, degree=3)["one_gradient_step"].status

    assert status(SpikeLaw(0.51)) is Status.SUFFICIENT
    assert status(SpikeLaw(0.5)) is Status.HEURISTIC
    assert status(SpikeLaw(0.7, 0.1)) is Status.HEURISTIC


def test_numbers_are_read_as_constants() -> None:
    assert law_of(Spiked(9.0, 1.0)) == SpikeLaw(0.0, strength_scale=9.0)
    assert law_of(Spiked(9.0, 0.0)) == SpikeLaw(0.0, 0.5, strength_scale=9.0)


@pytest.fixture(scope="module")
def aligned() -> dict[str, str]:
    found = analyse(target("He2(h1) + He3(h1)", inputs=SpikeLaw(0.55)))
    assert found.verdict is Verdict.OPEN
    assert (found.information_exponent, found.leap, found.generative_exponent) == (2, 2, 1)
    assert (found.alpha_c, found.alpha_c_error) == (None, None)
    assert (found.regimes, found.giant_steps, found.one_step.size) == ((), (), 0)
    assert [stage.alpha for stage in found.grand_staircase] == [None]
    assert any("do not carry over" in remark for remark in found.remarks)
    assert any("degrees up to 2 and leaves 75%" in remark for remark in found.remarks)
    return {name: cost.text for name, cost in found.sample_cost.items()}


def test_costs_of_an_aligned_target(aligned: dict[str, str]) -> None:
    assert aligned == {
        "normalised_flow": "d^1.45",
        "one_gradient_step": "d",
        "kernels_linear": "> d",
        "kernels_bound": "d^Theta(1.35)",
    }


def test_a_strong_spike_lets_kernels_fit_and_a_link_that_is_no_polynomial_does_not() -> None:
    def texts(degree: int | None) -> list[str]:
        costs = spiked_costs(SpikeLaw(0.7), rank=1, information_exponent=1, degree=degree)
        return [costs[name].text for name in ("kernels_linear", "kernels_bound")]

    assert texts(3) == ["d", "d^Theta(0.9)"]
    assert texts(4) == ["> d", "d^Theta(1.2)"]
    assert texts(None) == ["none", "none"]


def test_several_directions_have_exponents_and_no_costs() -> None:
    found = analyse(target("h1 + h1*h2", inputs=SpikeLaw(0.5, (0.1, 0.3))))
    assert found.leap == 1
    assert found.sample_cost == {}
    assert any("one direction only" in remark for remark in found.remarks)


def test_isotropic_targets_have_no_remarks_and_their_old_costs() -> None:
    found = analyse(target("He2(h1) + He3(h1)"))
    assert not found.remarks
    assert "amp" in found.sample_cost
    assert "normalised_flow" not in found.sample_cost


@pytest.mark.parametrize(("g1", "g2", "order"), [(0.6, 0.5, 2), (0.1, 1.2, 2), (0.1, 0.5, 0)])
def test_exponents_out_of_range(g1: float, g2: float, order: int) -> None:
    with pytest.raises(InvalidParameter):
        normalised_flow_exponent(g1, g2, order)
