"""Pictures of trajectories show the dataset they are given."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from featlab.figures import trajectory_figure


def dataset(times: np.ndarray, *, seeds: int = 9, neurons: int = 1, directions: int = 2, dim: int = 400) -> xr.Dataset:
    rng = np.random.default_rng(0)
    cosine = rng.uniform(-1, 1, (seeds, len(times), neurons, directions))
    return xr.Dataset(
        {
            "cosine": (("seed", "time", "neuron", "direction"), cosine),
            "risk": (("seed", "time"), rng.uniform(0, 2, (seeds, len(times)))),
            "outcome": ("seed", np.full(seeds, "ok", dtype="<U11")),
        },
        coords={"seed": np.arange(seeds), "time": times, "step": ("time", np.rint(times * dim).astype(int))},
        attrs={"dim": dim},
    )


def lines(figure: Figure, panel: int) -> dict[str, np.ndarray]:
    return {str(line.get_label()): np.asarray(line.get_ydata()) for line in figure.axes[panel].lines}


def test_lines_are_medians_and_bands_quartiles() -> None:
    given = dataset(np.linspace(0, 4, 5))
    figure = trajectory_figure(given)
    cosine = np.abs(given["cosine"].values[:, :, 0, 1])
    drawn = lines(figure, 0)
    np.testing.assert_allclose(drawn["h2"], np.median(cosine, axis=0))
    np.testing.assert_allclose(drawn["1/sqrt(d)"], 400**-0.5)
    np.testing.assert_allclose(lines(figure, 1)["median and quartiles"], np.median(given["risk"].values, axis=0))
    band = figure.axes[1].collections[0].get_paths()[0].vertices
    low, high = np.quantile(given["risk"].values, (0.25, 0.75), axis=0)
    assert band[:, 1].min() == pytest.approx(low.min())
    assert band[:, 1].max() == pytest.approx(high.max())


def test_without_a_risk_the_first_measure_is_drawn() -> None:
    given = dataset(np.linspace(0, 4, 5)).rename(risk="accuracy")
    given["accuracy"].attrs["meaning"] = "P(sign f = y)"
    figure = trajectory_figure(given)
    np.testing.assert_allclose(lines(figure, 1)["median and quartiles"], np.median(given["accuracy"].values, axis=0))
    assert figure.axes[1].get_title(loc="left") + figure.axes[1].get_title() == "Accuracy"
    assert figure.axes[1].get_ylabel() == "P(sign f = y)"


def test_single_seeds_are_there_but_not_too_many() -> None:
    few, many = (trajectory_figure(dataset(np.linspace(0, 4, 5), seeds=count, directions=1)) for count in (9, 100))
    assert len(few.axes[1].lines) == 9 + 1
    assert len(many.axes[1].lines) == 24 + 1


def test_several_neurons_show_what_of_them_lies_in_the_subspace() -> None:
    given = dataset(np.linspace(0, 4, 5), neurons=3)
    given["cosine"] /= 2
    inside = np.sqrt(np.sum(given["cosine"].values ** 2, axis=3).mean(axis=2))
    figure = trajectory_figure(given)
    np.testing.assert_allclose(lines(figure, 0)["subspace"], np.median(inside, axis=0))
    np.testing.assert_allclose(lines(figure, 0)["sqrt(2/d)"], (2 / 400) ** 0.5)
    assert figure.axes[0].get_ylabel() == "share of the weights within"


def test_times_over_decades_get_a_logarithmic_axis() -> None:
    decades = trajectory_figure(dataset(np.concatenate([[0], np.geomspace(1e-3, 10, 20)])))
    even = trajectory_figure(dataset(np.linspace(0, 10, 21)))
    assert decades.axes[0].get_xscale() == "log"
    assert even.axes[0].get_xscale() == "linear"


def test_steps_and_times_are_told_apart() -> None:
    given = dataset(np.arange(4.0), dim=1)
    assert trajectory_figure(given).axes[0].get_xlabel() == "steps"
    assert trajectory_figure(dataset(np.arange(4.0))).axes[0].get_xlabel() == "time, steps / d"


def test_a_diverged_seed_leaves_the_picture_and_is_counted() -> None:
    given = dataset(np.linspace(0, 4, 5), seeds=3)
    given["outcome"][0] = "diverged"
    given["cosine"][0, 2:] = np.nan
    given["risk"][:, 4] = np.nan  # at the last time no seed has a value
    figure = trajectory_figure(given)
    middle = np.nanmedian(np.abs(given["cosine"].values[:, :, 0, 0]), axis=0)
    np.testing.assert_allclose(lines(figure, 0)["h1"], middle)
    assert len(lines(figure, 1)["median and quartiles"]) == 4
    assert figure.axes[1].get_title(loc="right") == "1 of 3 seeds diverged"
    assert trajectory_figure(dataset(np.arange(3.0))).axes[1].get_title(loc="right") == ""
