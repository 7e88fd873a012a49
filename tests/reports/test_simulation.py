"""A dataset on the screen and as plain data: the numbers shown are those of the dataset."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from featlab.learners import Extragradient, GiantSteps, Readout, StepLaw, TwoLayer
from featlab.reports.run_records import simulation_record
from featlab.reports.simulation import brief, mean_and_error, simulation_text


def dataset(*, seeds: int = 5, times: int = 3, neurons: int = 1, directions: int = 1) -> xr.Dataset:
    rng = np.random.default_rng(1)
    axes = ("seed", "time", "neuron", "direction")
    cosine = rng.uniform(-1, 1, (seeds, times, neurons, directions))
    return xr.Dataset(
        {
            "overlap": (axes, 2 * cosine, {"meaning": "M"}),
            "cosine": (axes, cosine),
            "subspace": (("seed", "time", "component"), rng.uniform(0, 1, (seeds, times, directions))),
            "risk": (("seed", "time"), rng.uniform(0, 1, (seeds, times))),
            "outcome": ("seed", np.full(seeds, "ok", dtype="<U11")),
            "diverged_step": ("seed", np.full(seeds, -1)),
        },
        coords={"seed": np.arange(seeds), "time": np.arange(times) / 10.0, "step": ("time", np.arange(times))},
        attrs={
            "target": "h1",
            "dim": 10,
            "design": "virtual",
            "design_bytes_per_seed": 1_234_567,
            "dtype": "float32",
        },
    )


def text(given: xr.Dataset, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(simulation_text(given, GiantSteps(), TwoLayer()))
    return capture.get()


def test_numbers_of_the_table() -> None:
    given = dataset()
    overlap, cosine = given["overlap"].values[:, 1, 0, 0], np.abs(given["cosine"].values[:, 1, 0, 0])
    error = np.std(overlap, ddof=1) / 5**0.5
    risk = np.median(given["risk"].values[:, 1])
    row = f"0.1 {np.median(cosine):.4f} {np.mean(overlap):.4f} +- {error:.4f} {risk:.4g}"
    assert row in " ".join(text(given).split())
    assert "virtual, 1.23 MB a seed" in text(given)


def test_several_neurons_and_directions() -> None:
    given = dataset(neurons=4, directions=2)
    inside = np.sqrt(np.mean(np.sum(given["cosine"].values[:, 0] ** 2, axis=2), axis=1))
    shown = text(given)
    assert "in subspace" in shown
    assert f"{np.median(inside):.4f}" in shown
    assert "1: all" in shown
    unit = np.broadcast_to(np.eye(4), (5, given.sizes["time"], 4, 4))
    given["gram"] = (("seed", "time", "neuron", "other_neuron"), unit)
    assert "share h1" in text(given)
    assert "1: found" in " ".join(text(given).split())
    assert "overlap" not in text(dataset(neurons=4, directions=3)).split("Outcome")[0]


def test_inputs_are_shown_unless_they_are_isotropic() -> None:
    given = dataset()
    assert "inputs" not in text(given.assign_attrs(inputs="Isotropic()"))
    assert "inputs   Hypercube(anisotropy=0.5)" in text(given.assign_attrs(inputs="Hypercube(anisotropy=0.5)"))


def test_a_learner_without_a_risk_shows_what_it_measures() -> None:
    given = dataset(neurons=4, directions=2).rename(risk="accuracy")
    shown = text(given)
    assert "accuracy" in shown
    assert f"{np.median(given['accuracy'].values[:, 1]):.4g}" in shown
    assert "risk" not in shown
    assert "overlap" not in shown


def test_what_was_asked_for_is_shown() -> None:
    """No cosines beside the risk and the overlaps, and nothing of the usual at all."""
    given = dataset()
    overlap = given["overlap"].values[:, 1, 0, 0]
    assert f"0.1 {np.mean(overlap):.4f} +-" in " ".join(text(given.drop_vars(["cosine", "subspace"])).split())
    given["norm"] = given["overlap"].isel(direction=0)
    few = given.drop_vars(["cosine", "subspace", "overlap"])
    assert f"0.1 {np.median(given['risk'].values[:, 1]):.4g}" in " ".join(text(few).split())
    alone = text(few.drop_vars("risk"))
    assert "norm" in alone
    assert f"0.1 {np.median(overlap):.4g}" in " ".join(alone.split())


def test_many_times_are_thinned_and_it_is_said() -> None:
    shown = text(dataset(times=40))
    assert "12 of 40 times are shown" in shown
    assert " 3.9 " in shown
    assert "times are shown" not in text(dataset(times=12))


def test_missing_values_are_dashes_and_nulls() -> None:
    given = dataset(seeds=2)
    for name in ("overlap", "cosine", "risk"):
        given[name][:, 2] = np.nan
    given["outcome"][:] = "diverged"
    given["diverged_step"][:] = np.array([7, 9])
    assert "0.2 - - -" in " ".join(text(given).split())
    assert "Outcome: 2 diverged (first at step 7)." in text(given)
    record = json.loads(json.dumps(simulation_record(given), allow_nan=False))
    assert record["data"]["risk"]["values"][0][2] is None
    assert record["data"]["overlap"]["meaning"] == "M"
    assert record["dim"] == 10
    assert record["step"] == [0, 1, 2]


def test_mean_and_error() -> None:
    values = np.array([1.0, 3.0, np.nan])
    assert mean_and_error(values) == pytest.approx((2.0, 1.0))
    assert mean_and_error(values[:1]) == (1.0, None)
    assert mean_and_error(values[2:]) is None


def test_descriptions_without_their_defaults() -> None:
    learner = Extragradient(StepLaw(0.1, 1), -0.5, loss="correlation")
    assert brief(learner) == "Extragradient(step_size=0.1/d, inner_step=-0.5, loss=correlation)"
    assert brief(Readout(GiantSteps(2), 100)) == "Readout(first=GiantSteps(steps=2), samples=100)"
    assert brief(StepLaw(2, 0.5)) == "2/d^0.5"
    assert brief(TwoLayer()) == "TwoLayer()"
