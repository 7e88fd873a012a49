"""Pictures show what they are given: numbers are read back from the drawn artists."""

from __future__ import annotations

import itertools
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from featlab.figures import cost_figure, energy_figure, link_figure, staircase_figure, to_svg
from featlab.figures.link import approximation, mean_label, telling_degrees
from featlab.figures.panels import panels
from featlab.figures.style import EASY, HARD, INK, TRIVIAL, add_legend
from featlab.reports import Explanation
from featlab.targets import target

Explained = Callable[..., Explanation]


def _texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_link_curve_is_the_link(explained: Explained) -> None:
    analysis = explained("He3(h1)").analysis
    (axes,) = link_figure(analysis.target, analysis.energies).axes
    curves = {line.get_label(): line for line in axes.lines}
    x, y = curves["link"].get_data()
    np.testing.assert_allclose(y, x**3 - 3 * x, atol=1e-10)
    x, y = curves["up to degree 3"].get_data()
    np.testing.assert_allclose(y, x**3 - 3 * x, atol=1e-6)


def test_link_curve_breaks_at_jumps_only(explained: Explained) -> None:
    for text, breaks in (("sign(h1)", 1), ("abs(h1)", 0)):
        analysis = explained(text).analysis
        (axes,) = link_figure(analysis.target, analysis.energies).axes
        drawn = next(line for line in axes.lines if line.get_label() == "link").get_ydata()
        assert np.isnan(drawn).sum() == breaks


def test_approximation_is_the_projection(explained: Explained) -> None:
    """The best linear approximation of sign is sqrt(2/pi) h; of degree 3, minus sqrt(2/pi)/6 He3 more."""
    energies = explained("sign(h1)").analysis.energies
    x = np.linspace(-2, 2, 9)
    slope = np.sqrt(2 / np.pi)
    np.testing.assert_allclose(approximation(energies, 1, x), slope * x, atol=1e-10)
    np.testing.assert_allclose(approximation(energies, 3, x), slope * (x - (x**3 - 3 * x) / 6), atol=1e-10)
    assert telling_degrees(energies) == [1, 3, 5]


def test_noise_inside_the_link_is_averaged() -> None:
    """E[sign(h + xi/2) | h] = erf(sqrt(2) h) (the probability that xi > -2h, twice, less one)."""
    from scipy.special import erf

    h = np.linspace(-2, 2, 7)[:, None]
    smooth = target("tanh(h1) + h1*xi1**2")
    np.testing.assert_allclose(mean_label(smooth, h), np.tanh(h[:, 0]) + h[:, 0], atol=1e-10)
    jump = target("sign(h1 + 0.5*xi1)")
    # A rule cut only at zero resolves a jump elsewhere to about the weight of its largest node.
    np.testing.assert_allclose(mean_label(jump, h), erf(np.sqrt(2) * h[:, 0]), atol=0.15)


@pytest.mark.parametrize(("text", "panels"), [("h1 + abs(h2)", 1), ("sign(h1*h2*h3)", 3)])
def test_maps_are_slices(explained: Explained, text: str, panels: int) -> None:
    analysis = explained(text).analysis
    figure = link_figure(analysis.target, analysis.energies)
    maps = [axes for axes in figure.axes if axes.images]
    assert len(maps) == panels
    values = maps[0].images[0].get_array()
    axis = np.linspace(-3.2, 3.2, 160)
    fields = np.ones((160, 160, analysis.target.rank))
    fields[..., 0], fields[..., 1] = np.meshgrid(axis, axis)
    np.testing.assert_allclose(values, analysis.target.link(fields))


def test_energy_bars_are_shares(explained: Explained) -> None:
    """h1 + abs(h2): E[(h1)^2] = 1, Var|h| = 1 - 2/pi, of which degree 2 has (2/pi)/2."""
    analysis = explained("h1 + abs(h2)").analysis
    (axes,) = energy_figure(analysis.energies, 1).axes
    heights = [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)]
    variance = 2 - 2 / np.pi
    np.testing.assert_allclose(heights[:3], [1 / variance, 1 / np.pi / variance, 0], atol=1e-9)
    assert axes.get_title(loc="left") == f"lowest degree 1, with {1 / variance:.1%} of the variance"


def test_energy_title_shows_a_tiny_share(explained: Explained) -> None:
    analysis = explained("1e-5*h1 + He3(h1)").analysis
    (axes,) = energy_figure(analysis.energies, analysis.information_exponent).axes
    assert axes.get_title(loc="left") == "lowest degree 1, with 2e-11 of the variance"


def test_staircase_blocks(explained: Explained) -> None:
    left, right = staircase_figure(explained("h1 + abs(h2)").analysis).axes
    for axes in (left, right):
        new = [patch for patch in axes.patches if patch.get_alpha() is None]
        boxes = [(patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()) for patch in new]
        assert boxes == [(0, 0, 1, 1), (1, 1, 1, 1)]
    assert [text.get_text() for text in left.texts] == ["h1\norder 1", "h2\norder 2"]
    assert [text.get_text() for text in right.texts] == ["h1\norder 1", "h2\nalpha 0.5"]


def test_staircase_colours(explained: Explained) -> None:
    from matplotlib.colors import to_hex

    left, right = staircase_figure(explained("He3(h1)").analysis).axes
    assert to_hex(left.patches[-1].get_facecolor()) == HARD
    assert to_hex(right.patches[-1].get_facecolor()) == TRIVIAL
    _, right = staircase_figure(explained("abs(h1)").analysis).axes
    assert to_hex(right.patches[-1].get_facecolor()) == EASY


def test_undecided_is_drawn_as_such(explained: Explained) -> None:
    figure = staircase_figure(explained("3e-11*h1 + abs(h1)").analysis)
    assert _texts(figure) == ["undecided", "undecided"]


def test_cost_bars(explained: Explained) -> None:
    costs = explained("He3(h1)").analysis.sample_cost
    figure = cost_figure(costs, 1000)
    axes = figure.axes[0]
    lengths = [patch.get_width() for patch in axes.patches]
    assert lengths == [3, 3, 3, 2, 1, 1, 1.5, 1]  # from random features (bottom) to the SQ bound (top)
    assert _texts(figure) == ["d^3", "d^3", "d^3", "d^2", "d", "d", "d^1.5", "d"]
    assert "d = 1,000" in axes.child_axes[0].get_xlabel()


def test_cost_without_a_bar_says_why(explained: Explained) -> None:
    words = _texts(cost_figure(explained("sign(h1*h2*h3)").analysis.sample_cost))
    assert "not from n = O(d)" in words
    assert "never exactly: not a polynomial" in words
    assert "undecided" in _texts(cost_figure(explained("3e-11*h1 + abs(h1)").analysis.sample_cost))


def test_svg_is_one_described_element(explained: Explained) -> None:
    figure = staircase_figure(explained("He3(h1)").analysis)
    svg = to_svg(figure, 'a "label" <b>', "one")
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.attrib["aria-label"] == 'a "label" <b>'
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert ids
    assert len(ids) == len(set(ids))
    assert all(name.startswith("one-") for name in ids)
    assert INK not in svg
    assert "currentColor" in svg
    assert svg == to_svg(figure, 'a "label" <b>', "one")


@pytest.mark.parametrize(
    ("labels", "columns"), [(("a", "b", "c"), 2), (("what is predicted of the direction",) * 3, 1)]
)
def test_legends_of_panels_side_by_side_stay_apart(labels: tuple[str, ...], columns: int) -> None:
    figure, frames = panels(["one", "two", "three"], x=["x"] * 3, y=["y", "", ""])
    for axes in frames:
        for label in labels:
            axes.plot([0, 1], [0, 1], label=label)
        add_legend(axes)
    figure.draw_without_rendering()
    boxes = [axes.get_legend().get_window_extent() for axes in frames]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert boxes[-1].x1 <= figure.bbox.x1
    lines = {text.get_window_extent().y0 for text in frames[0].get_legend().get_texts()}
    assert len(lines) == -(-len(labels) // columns)


def test_no_pyplot() -> None:
    """In a process of its own: a test that was here before may have drawn as notebooks do, with pyplot."""
    code = """
import sys
import featlab
from featlab.figures import cost_figure, to_svg
to_svg(cost_figure(featlab.analyse(featlab.target("h1")).sample_cost, 100), "costs", "a")
print([name in sys.modules for name in ("matplotlib.figure", "matplotlib.pyplot")])
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[True, False]"
