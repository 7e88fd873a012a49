"""Several devices, simulated by JAX on a CPU: seeds are spread over them, and are what they are on one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import featlab
from featlab.simulation.devices import grouped

DEVICES, SEEDS = 3, 6
SCRIPT = """
import json, jax, featlab
from featlab.simulation import run

start, placed = run.start, []

def watched(problem, keys):
    carry = start(problem, keys)
    weights = carry.state.network.weights
    placed.append([len(keys), weights.sharding.shard_shape(weights.shape)[0]])
    return carry

run.start = watched
learner = featlab.OnlineSgd(0.002)
found = featlab.simulate("tanh(h1)", learner, dim=200, times=[0, 1], seeds=range({seeds}), progress=False)
print(json.dumps([len(jax.devices()), placed, found.overlap.values.ravel().tolist()]))
"""


def test_seeds_are_spread_and_are_what_they_are_on_one_device() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{seeds}", str(SEEDS))], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    devices, placed, overlaps = json.loads(done.stdout)
    assert devices == DEVICES
    assert placed == [[SEEDS, SEEDS // DEVICES]]  # each device holds its part of the weights, not all of them
    here = featlab.simulate(
        "tanh(h1)", featlab.OnlineSgd(0.002), dim=200, times=[0, 1], seeds=range(SEEDS), progress=False
    )
    np.testing.assert_allclose(overlaps, here["overlap"].values.ravel(), atol=1e-6)


@pytest.mark.parametrize(("count", "at_once", "devices"), [(6, 6, 3), (7, 8, 3), (100, 16, 4), (5, 2, 4), (9, 4, 1)])
def test_every_seed_has_its_place(count: int, at_once: int, devices: int) -> None:
    groups, size = grouped(count, at_once, devices, min(count, at_once))
    assert size % devices == 0
    assert groups * size >= count > (groups - 1) * size
    assert size <= max(at_once, devices)
