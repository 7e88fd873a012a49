"""The map of powers of d: colours, lines and points are what was given."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.figures import MeasuredExponent, complexity_figure, to_svg
from featlab.theory.flows.complexity import complexity_map

G1, G2 = np.linspace(0, 0.5, 11), np.linspace(0, 1, 21)


def test_the_map_shows_its_numbers_lines_and_points() -> None:
    found = complexity_map(3, G1, G2)
    figure = complexity_figure(G1, G2, found.samples, title="k = 3", measured=[MeasuredExponent(0.2, 0.8, 1.4)])
    axes, bar = figure.axes
    mesh, *_, points = axes.collections
    assert np.asarray(mesh.get_array()).reshape(found.samples.shape) == pytest.approx(found.samples)
    assert mesh.get_clim() == pytest.approx((1.0, 3.0))
    lines = {line.get_label(): line.get_data() for line in axes.lines}
    assert lines["g2 = g1"][1] == pytest.approx([0, 0.5])
    assert lines["g2 = 2 g1"][1] == pytest.approx([0, 1])
    assert np.asarray(points.get_offsets()) == pytest.approx(np.array([[0.2, 0.8]]))
    assert np.asarray(points.get_array()) == pytest.approx([1.4])
    assert points.get_clim() == mesh.get_clim(), "the same colours"
    assert bar.get_ylabel() == "power of d"
    assert "g1: &lt;mu, beta&gt;" in to_svg(figure, "map", "map")


def test_a_constant_map_is_drawn() -> None:
    """k = 1 costs d everywhere: no contours, and nothing fails."""
    found = complexity_map(1, G1, G2)
    axes = complexity_figure(G1, G2, found.samples).axes[0]
    assert axes.collections[0].get_clim() == (1.0, 2.0)


def test_the_grid_must_fit() -> None:
    with pytest.raises(InvalidParameter, match="a row for each g2"):
        complexity_figure(G1, G2, np.ones((11, 21)))
