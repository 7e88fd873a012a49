"""Nothing in a picture lies over anything else: every combination of a few is rendered, and texts are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from featlab.comparison import compare
from featlab.figures import RacedCurve, comparison_figure, prediction_figure, race_figure, trajectory_figure
from featlab.figures.race import SHARE
from featlab.figures.style import add_legend, new_figure
from featlab.results import QUANTITIES, attributes

TIMES = {"one": [0.0], "few": [0.0, 1.0, 4.0], "decades": [0.0, 0.01, 0.1, 1.0, 10.0]}
SHAPES = [(1, 1), (1, 3), (3, 1), (2, 2), (3, 4)]  # neurons, directions
SEEDS = 6


def datasets(times: list[float], shape: tuple[int, int], sign: float, last: str = "ok") -> tuple[xr.Dataset, ...]:
    """A prediction for each seed and runs around it, of which every other ends with the given sign."""
    rng = np.random.default_rng(3)
    size = np.linspace(0.2, 0.95, len(times))[:, None, None] * rng.uniform(0.2, 1.0, shape)
    signs = np.where(np.arange(SEEDS) % 2, sign, 1.0)[:, None, None, None]
    theory = signs * size
    runs = theory + 0.01 * rng.standard_normal(theory.shape)
    coordinates = {
        "seed": np.arange(SEEDS),
        "time": times,
        "step": ("time", np.rint(np.array(times) * 100).astype(int)),
    }
    axes, about = ("seed", "time", "neuron", "direction"), {"target": "h1 + h2*h3", "dim": 100, "student": "TwoLayer()"}

    def labelled(values: np.ndarray) -> xr.Dataset:
        risk = 1.3 - np.mean(values**2, axis=(2, 3))
        data: dict[str, Any] = {"overlap": (axes, values), "cosine": (axes, values), "risk": (("seed", "time"), risk)}
        return xr.Dataset(data, coords=coordinates, attrs=about)

    measured = labelled(runs)
    measured["outcome"] = ("seed", np.array([last] + ["ok"] * (SEEDS - 1)))
    return labelled(theory), measured


def pictures() -> Iterator[Any]:
    for place, ((name, times), shape) in enumerate(product(TIMES.items(), SHAPES)):
        sign = (1.0, -1.0)[place % 2]
        theory, runs = datasets(times, shape, sign, "diverged")
        words = f"{name}, {shape[0]} neurons, {shape[1]} directions, {'either sign' if sign < 0 else 'one sign'}"
        yield pytest.param(lambda t=theory, r=runs: comparison_figure(t, r), id=f"comparison, {words}")
        if name != "few":
            yield pytest.param(lambda t=theory: prediction_figure(t), id=f"prediction, {words}")
            yield pytest.param(lambda r=runs: trajectory_figure(r), id=f"run, {words}")


def measures() -> Iterator[Any]:
    """Runs that measure one thing over time, by the name it has there, however long."""
    for name, (axes, _) in QUANTITIES.items():
        if not axes:
            _, runs = datasets(TIMES["few"], (1, 1), 1.0)
            runs = runs.drop_vars("risk").assign({name: runs["risk"].assign_attrs(attributes(name))})
            yield pytest.param(lambda r=runs: trajectory_figure(r), id=f"run, {name}")


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text of a rendered figure with the box it fills."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    every = [figure._suptitle] if figure._suptitle is not None else []
    for axes in figure.axes:
        every += [*axes.texts, axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        every += [label for label in (*axes.get_xticklabels(), *axes.get_yticklabels()) if _within(label, axes)]
        every += axes.get_legend().get_texts() if axes.get_legend() else []
    shown = [text for text in every if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


def _within(label: Any, axes: Axes) -> bool:
    """Whether a number of an axis is drawn: some lie beyond its ends."""
    frame, (x, y) = axes.bbox.expanded(1.001, 1.001), label.get_transform().transform(label.get_position())
    return frame.x0 <= x <= frame.x1 or frame.y0 <= y <= frame.y1


def faults(figure: Figure) -> list[str]:
    """Texts over texts, over data or beyond the picture."""
    FigureCanvasAgg(figure).draw()
    found, whole = texts(figure), figure.bbox.expanded(1.002, 1.002)
    said = [f"{words!r} leaves the picture" for words, box in found if not _holds(whole, box)]
    for place, (words, box) in enumerate(found):
        said += [f"{words!r} over {other!r}" for other, there in found[:place] if _share(box, there) > 1]
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_transform() != axes.transData:
                continue
            points = axes.transData.transform(np.column_stack([_dense(line.get_xdata()), _dense(line.get_ydata())]))
            seen = [point for point in points if np.all(np.isfinite(point)) and axes.bbox.contains(*point)]
            said += [f"{words!r} over data" for words, box in found if any(box.contains(*point) for point in seen)]
    return said


def _dense(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    return np.interp(np.linspace(0, len(values) - 1, 8 * len(values)), np.arange(len(values)), values)


def _holds(whole: Bbox, box: Bbox) -> bool:
    return whole.x0 <= box.x0 and whole.y0 <= box.y0 and box.x1 <= whole.x1 and box.y1 <= whole.y1


def _share(one: Bbox, other: Bbox) -> float:
    """The common area, in pixels."""
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else both.width * both.height


def long_names() -> Iterator[Any]:
    """A target too long for a line, with spaces or without, over one panel and over two."""
    for name in (" + ".join(f"He3(h{k})" for k in range(1, 20)), "h1*" * 50 + "h2"):
        theory, runs = (one.assign_attrs(target=name) for one in datasets(TIMES["few"], (1, 1), 1.0))
        for kept in (["risk"], ["risk", "overlap"]):
            yield pytest.param(lambda t=theory[kept], r=runs: comparison_figure(t, r), id=f"{name[:9]}, comparison")
            yield pytest.param(lambda t=theory[kept]: prediction_figure(t), id=f"{name[:9]}, prediction")
        curve = RacedCurve("one", SHARE, None, (np.array([1.0, 2.0]), np.array([0.1, 0.2])))
        yield pytest.param(lambda c=curve, n=name: race_figure([c], n), id=f"{name[:9]}, race")


def limits() -> Iterator[Any]:
    """Comparisons of three sizes, whose limit is marked, too."""
    for shape in SHAPES:
        pairs = [datasets(TIMES["few"], shape, 1.0) for _ in range(3)]
        runs = [run.assign_attrs(dim=dim) for (_, run), dim in zip(pairs, (100, 400, 1600), strict=True)]
        found = compare([theory for theory, _ in pairs], runs)
        yield pytest.param(
            lambda t=pairs[0][0], r=runs[0], f=found: comparison_figure(t, r, f), id=f"limit, {shape[0]} neurons"
        )


@pytest.mark.parametrize("draw", [*pictures(), *measures(), *long_names(), *limits()])
def test_no_text_lies_over_data_or_text(draw: Any) -> None:
    assert faults(draw()) == []


def test_it_would_be_noticed() -> None:
    theory, runs = datasets(TIMES["few"], (3, 1), 1.0)
    figure = comparison_figure(theory, runs)
    figure.axes[0].legend(loc="center")
    assert any("over data" in fault for fault in faults(figure))
    figure = comparison_figure(theory, runs)
    figure.axes[0].set_title("a title", loc="center", x=0.1)
    assert any("over 'Overlap" in fault or "over 'a title'" in fault for fault in faults(figure))


def test_a_legend_stands_beside_its_panel_whatever_place_is_named() -> None:
    for options in (
        {},
        {"loc": "best"},
        {"loc": "upper right", "ncols": 1},
        {"loc": "center left", "bbox_to_anchor": (1, 0.5)},
    ):
        figure = new_figure(4, 3)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], label="a line")
        add_legend(axes, **options)
        FigureCanvasAgg(figure).draw()
        assert Bbox.intersection(axes.get_legend().get_window_extent(), axes.bbox) is None


def test_a_race_names_lines_and_points() -> None:
    x = np.array([1.0, 2.0])
    both, line = (
        RacedCurve(name, SHARE, seen, (x, 0.1 * x)) for name, seen in (("both", (x, x / 4, 0 * x)), ("line", None))
    )
    axes = race_figure([both, line], "a race").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["both", "line"]
    drawn = [artist for artist in axes.get_legend().findobj(Line2D) if artist.get_linestyle() not in ("None", "none")]
    assert len(drawn) >= 2


def test_signs_that_flip_are_not_shown() -> None:
    """The mean over seeds of either sign is nothing; that of the absolute values is what is predicted."""
    theory, runs = datasets(TIMES["few"], (1, 1), -1.0)
    axes = comparison_figure(theory, runs).axes[0]
    assert axes.get_ylabel().startswith("|")
    size = abs(theory["overlap"]).mean("seed").values.ravel()
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata()), size)
    points = np.asarray(axes.containers[0].lines[0].get_ydata())
    np.testing.assert_allclose(points, abs(runs["overlap"]).mean("seed").values.ravel())
    one_sign = comparison_figure(*datasets(TIMES["few"], (1, 1), 1.0)).axes[0]
    assert not one_sign.get_ylabel().startswith("|")


def test_one_point_of_theory_is_a_mark() -> None:
    theory, runs = datasets(TIMES["one"], (1, 2), 1.0)
    for figure in (comparison_figure(theory, runs), prediction_figure(theory)):
        told = [line for line in figure.axes[0].lines if str(line.get_label()).startswith(("theory", "h"))]
        assert {line.get_marker() for line in told} == {"_"}


def test_curves_differ_and_those_left_out_are_counted() -> None:
    theory, runs = datasets(TIMES["few"], (3, 4), 1.0)
    for figure in (comparison_figure(theory, runs), prediction_figure(theory)):
        axes = figure.axes[0]
        drawn = [line for line in axes.lines if str(line.get_label()).startswith(("theory", "h"))]
        assert len({(line.get_color(), str(line.get_linestyle()), line._unscaled_dash_pattern) for line in drawn}) == 8
        assert axes.get_title(loc="left").endswith("8 of 12")
