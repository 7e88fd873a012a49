"""Pictures of theory over simulation show both datasets, and the verdict."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from featlab.comparison import compare
from featlab.figures import comparison_figure, prediction_figure, to_svg
from tests.comparison.synthetic import measurement, prediction, truth

TRUTH = truth()


def both(noise: float = 0.02) -> tuple[xr.Dataset, xr.Dataset]:
    data = measurement(TRUTH, noise=noise)
    return prediction(TRUTH, target="h1"), data.assign_attrs(target="h1")


def test_lines_are_theory_and_points_simulation() -> None:
    theory, data = both()
    axes = comparison_figure(theory, data).axes[0]
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.lines}
    np.testing.assert_allclose(lines["theory, h1, neuron 2"], TRUTH[:, 1, 0])
    points = {str(bars.get_label()): bars for bars in axes.containers}
    drawn = points["simulation, h1, neuron 2, 2 s.e."]
    np.testing.assert_allclose(np.asarray(drawn.lines[0].get_ydata()), data["overlap"].mean("seed")[:, 1, 0])
    low, high = drawn.lines[2][0].get_segments()[3][:, 1]
    error = data["overlap"].values[:, 3, 1, 0].std(ddof=1) / np.sqrt(12)
    assert high - low == pytest.approx(4 * error)


@pytest.mark.parametrize(
    ("factor", "noise", "words"),
    [(1.0, 0.02, "simulation agree"), (1.2, 0.02, "simulation disagree"), (1.0, 2.0, "simulation: cannot tell")],
)
def test_the_verdict_is_the_title(factor: float, noise: float, words: str) -> None:
    theory, data = both(noise)
    figure = comparison_figure(theory * factor, data)
    assert words in figure.get_suptitle()
    assert "h1, d = 10,000" in figure.get_suptitle()
    found = compare(theory * factor, data)
    nameless = comparison_figure(theory * factor, xr.Dataset(data.data_vars), found)
    assert nameless.get_suptitle().startswith("Theory and simulation")


def test_what_stands_still_as_predicted_has_no_panel() -> None:
    theory, data = both()
    still = np.ones_like(TRUTH)
    theory["norm"], data["norm"] = prediction(still)["overlap"], measurement(still, noise=0.0)["overlap"]
    assert len(comparison_figure(theory, data).axes) == 1
    data["norm"] = data["norm"] * 1.1
    assert len(comparison_figure(theory, data).axes) == 2


def test_other_axes_than_time() -> None:
    """Overlaps against the sample ratio."""
    theory, data = (one.rename(time="alpha").drop_vars("step") for one in both())
    figure = comparison_figure(theory, data)
    assert figure.axes[0].get_xlabel() == "samples over dimension, n / d"
    assert "agree" in figure.get_suptitle()


def test_absolute_values_are_drawn_as_compared() -> None:
    theory, data = both()
    data["overlap"].values[::2] *= -1
    axes = comparison_figure(theory, data, compare(theory, data, signless=True)).axes[0]
    assert axes.get_ylabel().startswith("|")
    assert all(np.all(np.asarray(line.get_ydata()) >= 0) for line in axes.lines)


def test_a_prediction_alone() -> None:
    figure = prediction_figure(prediction(TRUTH, target="h1"))
    np.testing.assert_allclose(np.asarray(figure.axes[0].lines[0].get_ydata()), TRUTH[:, 0, 0])
    assert "prediction for d to infinity" in figure.get_suptitle()


def test_as_svg() -> None:
    svg = to_svg(comparison_figure(*both()), "theory over simulation", "both")
    assert svg.startswith("<svg")
    assert "theory, h1, neuron 1" in svg


def test_the_limit_of_several_sizes_is_marked() -> None:
    """The verdict is of the limit, which may be far from what was measured at the size that is drawn."""
    theory, _ = both()
    data = [
        measurement(TRUTH + 100 / dim, noise=0.001, dim=dim, key=dim).assign_attrs(target="h1")
        for dim in (1000, 4000, 16000)
    ]
    found = compare([theory] * 3, data)
    figure = comparison_figure(theory, data[0], found)
    assert "theory and simulation agree in the limit" in figure.get_suptitle()
    assert "open marks: the limit of several sizes" in figure.get_suptitle()
    axes = figure.axes[0]
    assert len(axes.get_legend().get_texts()) == 2 * TRUTH[0].size
    measured, limit = axes.containers[:2]
    there = np.asarray(measured.lines[0].get_ydata()), np.asarray(limit.lines[0].get_ydata())
    np.testing.assert_allclose(there[0], TRUTH[:, 0, 0] + 0.1, atol=0.005)
    np.testing.assert_allclose(there[1], TRUTH[:, 0, 0], atol=0.01)
    assert limit.lines[0].get_markerfacecolor() == "none"


def test_a_result_without_a_history_has_no_axis_of_time() -> None:
    theory, data = (one.isel(time=[0]) for one in both())
    axes = comparison_figure(theory, data).axes[0]
    assert axes.get_xlabel() == ""
    assert list(axes.get_xticks()) == []


def test_time_of_a_flow_is_not_called_steps() -> None:
    """Where the interval is 1 its numbers are those of steps."""
    theory, data = both()
    for one in (theory, data):
        one["time"].attrs["units"] = "time of the flow"
    assert comparison_figure(theory, data).axes[0].get_xlabel() == "time of the flow"
