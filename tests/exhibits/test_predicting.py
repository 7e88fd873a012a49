import json

import pytest
import xarray as xr

from featlab.exhibits.predicting import at_point, parameters_at


@pytest.fixture
def data():
    """The results of a study over dim, with samples derived from it."""
    return xr.Dataset(
        {
            "overlap": (("dim", "seed", "time"), [[[0.1, 0.2]], [[0.3, 0.4]]]),
            "step": (("dim", "seed", "time"), [[[0, 5]], [[0, 7]]]),
        },
        {"dim": [10, 20], "samples": ("dim", [30, 60]), "seed": [0], "time": [0.0, 1.0]},
        {"fixed": json.dumps({"target": "h1", "learner": "online-sgd"})},
    )


def test_the_parameters_of_a_point_are_shared_placed_and_derived(data):
    assert parameters_at(data, dim=20) == {"target": "h1", "learner": "online-sgd", "dim": 20, "samples": 60}


def test_a_place_off_the_axis_is_a_change_of_the_parameter(data):
    assert parameters_at(data, dim=15, samples=45)["samples"] == 45
    assert parameters_at(data, dim=15)["dim"] == 15


def test_a_point_is_labelled_as_a_simulation(data):
    found = at_point(data, dim=20)
    assert found["overlap"].dims == ("seed", "time")
    assert found["step"].values.tolist() == [0, 7]
    assert "step" in found.coords
    assert (found.attrs["dim"], found.attrs["samples"]) == (20, 60)
