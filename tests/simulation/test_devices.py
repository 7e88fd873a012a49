"""Several devices, simulated by JAX on a CPU: seeds are spread over them, or samples, and are what they are on one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import featlab
from featlab.simulation.devices import grouped, sample_devices

DEVICES, SEEDS, LARGE = 4, 8, {"virtual": 160_000, "retraced": 20_000, "by one": 160_000}
SCRIPT = """
import json, jax, featlab
from featlab.compiled import keep
from featlab.simulation import run
from featlab.simulation.designs import choose

keep()
start, placed, tables = run.start, [], []

def watched(problem, keys):
    carry = start(problem, keys)
    weights = carry.state.network.weights
    placed.append([len(keys), weights.sharding.shard_shape(weights.shape)[0]])
    batch = getattr(carry.state, "batch", None)
    if hasattr(batch, "asked"):
        kept = [part for part in jax.tree.leaves(batch) if part.ndim == 3 and part.shape[-1] > 1000]
        tables.append([table.sharding.shard_shape(table.shape)[-1] for table in kept])
    return carry

run.start = watched
large = {}
for name, samples in {large}.items():
    choose.reads_once = lambda width, uses: name == "by one"  # as on a GPU
    design = "virtual" if name == "by one" else name
    sizes = dict(dim=10_000, samples=samples, seeds=1, design=design, progress=False, observe="overlap")
    large[name] = featlab.simulate("He3(h1)", featlab.ReusedBatch(2, 0.2), **sizes).overlap.values.ravel().tolist()
placed.clear()
learner = featlab.OnlineSgd(0.002)
found = featlab.simulate("tanh(h1)", learner, dim=200, times=[0, 1], seeds=range({seeds}), progress=False)
print(json.dumps([len(jax.devices()), placed, found.overlap.values.ravel().tolist(), tables, large]))
"""


@pytest.fixture(scope="module")
def on_several() -> list:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{seeds}", str(SEEDS)).replace("{large}", repr(LARGE))],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_seeds_are_spread_and_are_what_they_are_on_one_device(on_several: list) -> None:
    devices, placed, overlaps, _, _ = on_several
    assert devices == DEVICES
    assert placed == [[SEEDS, SEEDS // DEVICES]]  # each device holds its part of the weights, not all of them
    here = featlab.simulate(
        "tanh(h1)", featlab.OnlineSgd(0.002), dim=200, times=[0, 1], seeds=range(SEEDS), progress=False
    )
    np.testing.assert_allclose(overlaps, here["overlap"].values.ravel(), atol=1e-6)


@pytest.mark.parametrize("design", LARGE)
def test_samples_of_a_large_seed_are_spread_and_are_what_they_are_on_one_device(on_several: list, design: str) -> None:
    _, _, _, tables, large = on_several
    each = LARGE["virtual"] // DEVICES
    assert tables == [[each] * 2, [each] * 3]  # each device has its samples, not all
    kind = "virtual" if design == "by one" else design
    sizes = {"dim": 10_000, "samples": LARGE[design], "seeds": 1, "design": kind, "observe": "overlap"}
    here = featlab.simulate("He3(h1)", featlab.ReusedBatch(2, 0.2), progress=False, **sizes)
    np.testing.assert_allclose(large[design], here["overlap"].values.ravel(), atol=1e-6)
    assert abs(large[design][-1]) > 1e-3  # far from zero, so that equality says something


@pytest.mark.parametrize(("count", "devices"), [(12, 4), (10, 2), (7, 1)])
def test_a_batch_is_spread_over_as_many_devices_as_divide_it(monkeypatch, count: int, devices: int) -> None:
    monkeypatch.setattr(jax, "local_devices", lambda: [None] * 4)
    assert sample_devices(count) == devices


@pytest.mark.parametrize(("count", "at_once", "devices"), [(6, 6, 3), (7, 8, 3), (100, 16, 4), (5, 2, 4), (9, 4, 1)])
def test_every_seed_has_its_place(count: int, at_once: int, devices: int) -> None:
    groups, size = grouped(count, at_once, devices, min(count, at_once))
    assert size % devices == 0
    assert groups * size >= count > (groups - 1) * size
    assert size <= max(at_once, devices)
