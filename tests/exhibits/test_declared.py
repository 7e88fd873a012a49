"""Declared checks and numbers read what they name, at the places they name, and speak of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from featlab import exhibits as ex
from featlab.exhibits.combined import judged
from featlab.exhibits.values import tabled

DIMS, TIMES, SEEDS = [10, 20, 40], [0.0, 1.0, 2.0], 30


def results(scale=1.0, key=0):
    """Noise of one percent around scale * dim * (1 + time)."""
    mean = scale * np.multiply.outer(DIMS, 1 + np.array(TIMES))[:, None]
    noise = np.random.default_rng(key).normal(1, 0.01, (len(DIMS), SEEDS, len(TIMES)))
    coords = {"dim": DIMS, "seed": range(SEEDS), "time": TIMES}
    fixed = json.dumps({"target": "h1", "width": 3})
    return xr.Dataset({"height": (("dim", "seed", "time"), mean * noise)}, coords, {"fixed": fixed})


def theory(data):
    """On a finer grid of times."""
    times = np.linspace(0, 2, 9)
    return {
        "one": xr.Dataset(
            {"height": (("dim", "time"), np.multiply.outer(DIMS, 1 + times))}, {"dim": DIMS, "time": times}
        )
    }


@pytest.fixture
def view():
    data = {"one": results(), "two": results(scale=2.0, key=1)}
    parts = {name: ex.Part(ex.Study(), words=f"number {name}", facts={"power": 1}) for name in data}
    return ex.View.of(data, theory, parts, [*data, "three"])


def check(declared, view, statement="s"):
    (found,) = judged({statement: declared}, view)
    return found


ONE, END = ex.Of("height", "one"), {"time": ex.LAST}


def test_words_speak_of_the_place(view):
    found = judged(
        {"{words}, d = {dim}, width {width}, power {power}": ex.Agrees("height", "one", each="dim", allowance=0.01)},
        view,
    )
    assert [one.statement for one in found] == [f"number one, d = {dim}, width 3, power 1" for dim in DIMS]
    assert all(one.passed for one in found)


def test_theory_is_taken_where_it_was_measured(view):
    assert check(ex.Close(ONE, allowance=0.01), view).passed
    off = ex.Close(ex.Of(lambda data: data["height"] * (1.2 if "seed" in data.dims else 1), "one"))
    assert check(off, view).result is ex.CheckResult.FAILS


def test_theory_that_lies_elsewhere_is_no_prediction(view):
    apart = ex.View(view.data, {"one": view.theory["one"].assign_coords(dim=[11, 21, 41])}, view.parts, view.known)
    with pytest.raises(KeyError):
        judged({"s": ex.Close(ONE)}, apart)


def test_a_prediction_for_each_run_is_taken_off():
    """Runs scatter widely around 1, and theory knows by how much; what it does not know is left out."""
    own = xr.DataArray(np.random.default_rng(0).normal(1, 0.5, 20), dims="seed", coords={"seed": range(20)})
    measured = own + np.random.default_rng(1).normal(0, 0.01, 20)
    data = {"one": xr.Dataset({"height": measured.where(own["seed"] > 0, 100.0)}, attrs={"fixed": "{}"})}
    told = ex.View.of(
        data,
        lambda data: {"one": xr.Dataset({"height": own.where(own["seed"] > 0)})},
        {"one": ex.Part(ex.Study())},
        data,
    )
    assert check(ex.Close("height"), told).passed
    assert not check(ex.Close("height", 1.0), told).passed


def test_of_some_runs_only(view):
    """Those above the mean lie above what all runs tend to."""
    high = ex.Of("height", "one", END, runs=lambda data: data["height"] > data["height"].mean("seed"))
    place = ex.Place("one", {"dim": 20})
    every, some = (view.measured(of, place).values for of in (ex.Of("height", "one", END), high))
    assert np.array_equal(some, every[every > every.mean()])
    tends_to = ex.Close(high, lambda at: 3.0 * at["dim"], each="dim", only=lambda at: at["dim"] == 20)
    assert check(tends_to, view).result is ex.CheckResult.FAILS


def test_an_axis_without_labels_is_spoken_of_by_its_number(view):
    bare = {"one": view.data["one"].drop_vars("time")}
    parts = {"one": ex.Part(ex.Study(), names={"time": {0: "early", 1: "later", 2: "late"}})}
    told = ex.View(bare, {}, parts, view.known)
    rows = tabled({"{time}: {time_words}": ex.Value(ex.Of("height", "one", {"dim": 10}), False, each="time")}, told)
    assert [row.name for row in rows] == ["0: early", "1: later", "2: late"]


def test_a_study_of_another_size_is_passed_over_and_an_unknown_one_refused(view):
    assert judged({"s": ex.Close(ex.Of("height", "three"))}, view) == []
    assert judged({"s": ex.Contrast(ONE, ex.Of("height", "three"), beyond=1.0)}, view) == []
    with pytest.raises(ValueError, match="unknown study 'four'"):
        judged({"s": ex.Close(ex.Of("height", "four"))}, view)


def test_an_axis_and_a_label_that_are_not_there_are_named(view):
    with pytest.raises(ValueError, match="no axis 'depth'"):
        judged({"s": ex.Close(ex.Of("height", "one", {"depth": 1}))}, view)
    with pytest.raises(ValueError, match="dim: no point at 15, expected one of"):
        judged({"s": ex.Close(ex.Of("height", "one", {"dim": 15}))}, view)


@pytest.mark.parametrize(
    "where", [{"dim": 20}, {"dim": ex.Nth(1)}, {"dim": lambda dim: dim == 20}, {"dim": slice(1, 2)}]
)
def test_places_are_given_in_several_ways(view, where):
    assert float(view.measured(ex.Of("height", "one", {**where, **END})).mean()) == pytest.approx(60, rel=0.01)


def test_exponents_along_an_axis(view):
    fitted = ex.Exponent(ex.Of("height", "one", END), "dim", lambda at: at["power"], wrong=2)
    assert check(fitted, view).passed
    assert check(ex.Exponent(ex.Of("height", "one", END), "dim", 2, wrong=1), view).result is not ex.CheckResult.HOLDS
    few = ex.Exponent(ex.Of("height", "one", END), "dim", 1, wrong=2, least=4)
    assert judged({"s": few}, view) == []


def test_orders_of_studies_and_along_an_axis(view):
    both = [ex.Of("height", name, {**END, "dim": 10}) for name in ("one", "two")]
    assert check(ex.Ordered(both), view).passed
    assert check(ex.Ordered(both[::-1]), view).result is ex.CheckResult.FAILS
    along = ex.Of("height", "one", END, "d = {dim}")
    assert "d = 10 " in check(ex.Ordered(along, along="dim"), view).detail
    assert check(ex.Ordered(along, along="dim", descending=True), view).result is ex.CheckResult.FAILS


def test_contrasts_and_bounds(view):
    small, large = (ex.Of("height", name, {**END, "dim": 10}) for name in ("one", "two"))
    assert check(ex.Contrast(large, small, beyond=45.0), view).detail.startswith("number two recovered in 30 of 30")
    assert check(ex.Above(large, 45.0, small, "the other"), view, "above {bound:g}").statement == "above 45"
    assert check(ex.Above(small, 45.0, large, "the other", below=True), view).passed
    assert check(
        ex.Above(ONE, lambda theory: 0.9 * theory["height"], ex.Of(lambda data: 0.5 * data["height"], "one"), "half"),
        view,
    ).passed


def test_a_correction_counts_where_the_stated_fails(view):
    both = ex.Corrected(ex.Close(ONE, 1.0), ex.Close(ONE, allowance=0.01), "Not 1.", statement="amended")
    found = check(both, view)
    assert found.statement == "amended"
    assert found.correction.startswith("Not 1.")


def test_numbers(view):
    rows = tabled(
        {
            "{study}, d = {dim}": ex.Value(
                ex.Of("height", where=END), False, each="dim", earlier={("two", 20): 5.0}, by=("study", "dim")
            ),
            "predicted": ex.Value(ex.Of("height", "one", {**END, "dim": 10})),
        },
        view,
    )
    assert [row.name for row in rows[:2]] == ["one, d = 10", "one, d = 20"]
    assert [row.earlier for row in rows] == [None] * 4 + [5.0, None, None]
    assert rows[-1].predicted == pytest.approx(30)
    assert rows[-1].measured == pytest.approx(30, rel=0.01)
    assert rows[0].predicted is None


def test_a_plain_function_may_stand_for_any(view):
    found = judged({"s": lambda view, statement: ex.Close(ONE).judge(view, statement)}, view)
    assert [one.statement for one in found] == ["s"]


@pytest.fixture
def zipped():
    """Points (dim, samples) that were zipped: height is samples / dim."""
    dims, samples = np.array([10, 10, 20]), np.array([100, 400, 400])
    heights = (samples / dims)[:, None] * np.random.default_rng(0).normal(1, 0.01, (3, SEEDS))
    along = {"dim": ("dim_samples", dims), "samples": ("dim_samples", samples)}
    data = {"one": xr.Dataset({"height": (("dim_samples", "seed"), heights)}, along, {"fixed": "{}"})}
    return ex.View.of(data, lambda data: {}, {"one": ex.Part(ex.Study())}, data)


def test_conditions_on_zipped_axes_are_asked_of_the_parameters(zipped):
    square = ex.Of("height", "one", {"dim_samples": lambda at: at["samples"] > at["dim"] ** 2})
    assert zipped.measured(square).shape == (SEEDS, 1)
    assert float(zipped.measured(square).mean()) == pytest.approx(40, rel=0.01)


def test_points_of_zipped_axes_that_share_a_parameter_are_one_place(zipped):
    places = list(zipped.places(ONE, "dim"))
    assert [zipped.measured(ONE, place).shape for place in places] == [(SEEDS, 2), (SEEDS, 1)]
    assert [zipped.fields("one", place.where)["dim"] for place in places] == [10, 20]
    assert "samples" not in zipped.fields("one", places[0].where)  # which they do not share


def test_the_control_of_a_contrast_may_be_the_runs_of_several(view):
    small, smaller, large = (ex.Of("height", name, {**END, "dim": at}) for name, at in OTHERS)
    found = check(ex.Contrast(large, [small, smaller], beyond=70.0), view)
    assert found.passed
    assert "number one or number one recovered in 0 of 60 runs" in found.detail
    assert not check(ex.Contrast(large, [small, large], beyond=70.0), view).refused


OTHERS = [("one", 20), ("one", 10), ("two", 20)]


def test_layers_are_left_out_where_their_study_has_not_the_panels_point(view):
    """Of the other study only d = 10 is left, on the axis or as a parameter; a mark takes its value from theory."""
    from featlab.exhibits.drawn import drawn

    for other in (view.data["two"].isel(dim=[0]), view.data["two"].isel(dim=0)):
        told = {"one": xr.Dataset({"level": ("dim", [1.0, 2.0, 3.0])}, {"dim": DIMS})}
        less = ex.View({"one": view.data["one"], "two": other}, told, view.parts, view.known)
        layers = [ex.Overlay(ex.Of("height", name), "time", None) for name in ("one", "two")]
        made = drawn({"{dim}": ex.Panel(*layers, ex.Mark("level", "", along="y"), each="dim")}, less)
        assert [len(axes.containers) for axes in made.axes] == [2, 1, 1]
        assert [axes.lines[-1].get_ydata()[0] for axes in made.axes] == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="give it an axis"):
        drawn({"": ex.Panel(ex.Mark("level", ""))}, less)


def test_a_panel_may_be_of_some_sizes_only(view):
    from featlab.exhibits.drawn import drawn

    curves = ex.Overlay(ex.Of("height", "one", {"dim": 10}), "time")
    panels = {
        "here": ex.Panel(curves, only=lambda view: "two" in view.data, legend={"loc": "upper left", "ncols": 2}),
        "not here": ex.Panel(curves, only=lambda view: "three" in view.data),
    }
    assert [axes.get_title(loc="left") for axes in drawn(panels, view).axes] == ["here"]


def test_a_picture_has_a_panel_for_each_place(view):
    from featlab.exhibits.drawn import drawn

    curves = ex.Overlay("height", "time", line="theory", points="{words}")
    made = drawn(
        {
            "d = {dim}": ex.Panel(curves, each="dim", ylim=(0, 9)),
            "gone": ex.Panel(ex.Overlay(ex.Of("height", "three"), "time")),
        },
        view,
    )
    assert [axes.get_title(loc="left") for axes in made.axes if axes.get_visible()] == [
        "d = 10",
        "d = 20",
        "d = 40",
    ] * 2
    assert made.axes[0].get_ylim() == (0, 9)


def test_in_the_limit_each_place_is_confirmed_and_theory_goes_on(view):
    def limit(view, statement):
        return ex.identity(statement, 0.0, 1e-3, control="one", control_difference=1.0)

    agrees = ex.Agrees("height", "one", each="dim", allowance=0.01)
    found = judged({"d = {dim} and on": ex.InTheLimit(agrees, limit)}, view)
    assert [one.statement for one in found] == [f"d = {dim} and on" for dim in DIMS]
    assert all(one.result is ex.CheckResult.IN_THE_LIMIT and one.passed for one in found)
    assert "At finite size: " in found[0].detail
    assert "In the limit: difference 0" in found[0].detail
