"""A record survives kills and damage, goes on where it was, and is about one experiment."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import featlab
from featlab.errors import InvalidParameter, Unwritable
from featlab.lines import to_line

EXPERIMENT = featlab.Experiment.of(
    "h1", featlab.OnlineSgd(featlab.StepLaw(0.5, 1.0)), dim=10, times=(0, 0.5, 1), seeds=2
)
NAMES = ("overlap", "norm")
DIRECTIONS = np.eye(1, 10)


def weights(seed: int, step: int) -> np.ndarray:
    return np.random.default_rng([seed, step]).standard_normal((1, 10))


def filled(path: Path | None, seeds: tuple[int, ...] = (0, 1)) -> featlab.Recorder:
    recorder = featlab.Recorder(path, experiment=EXPERIMENT, names=NAMES)
    for seed in seeds:
        for step in range(11):
            assert recorder.look(step, weights(seed, step), DIRECTIONS, seed=seed) == (step in (0, 5, 10))
    recorder.close()
    return recorder


def read(path: Path) -> xr.Dataset:
    return featlab.Recorder(path).dataset()


def test_what_is_recorded_is_what_is_observed(tmp_path: Path) -> None:
    recorded = filled(tmp_path / "mine.jsonl").dataset()
    stack = np.array([[weights(seed, step) for step in (0, 5, 10)] for seed in (0, 1)])
    seen = featlab.observe(stack, DIRECTIONS, steps=(0, 5, 10), seeds=(0, 1), experiment=EXPERIMENT, names=NAMES)
    xr.testing.assert_identical(recorded, seen)
    xr.testing.assert_identical(read(tmp_path / "mine.jsonl"), seen)
    xr.testing.assert_identical(filled(None).dataset(), seen)


def test_wherever_a_kill_tears_the_file(tmp_path: Path) -> None:
    """All looks before the torn one are there, and the next process goes on to the same record."""
    path = tmp_path / "mine.jsonl"
    whole = filled(path).dataset()
    content = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(content) if byte == ord("\n")]
    for cut in [*range(0, len(content), 97), *ends, *(end - 1 for end in ends)]:
        path.write_bytes(content[:cut])
        again = featlab.Recorder(path, experiment=EXPERIMENT, names=NAMES)
        # A line is whole but for its end: nothing of it is lost.
        complete = sum(cut >= end - 1 for end in ends)
        assert again.missing() == [seed for seed in (0, 1) if complete < 3 * (seed + 1)]
        if complete:
            outcomes = again.dataset().outcome.values.tolist()
            assert (
                outcomes
                == ["ok" if complete >= 3 else "interrupted", "ok" if complete == 6 else "interrupted"][
                    : -(-complete // 3)
                ]
            )
        filled(path, tuple(again.missing()))
        xr.testing.assert_identical(read(path), whole)


def test_a_damaged_line_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    filled(path)
    content = bytearray(path.read_bytes())
    for at in range(0, len(content) - 1, 101):
        damaged = content.copy()
        damaged[at] ^= 4
        path.write_bytes(damaged)
        found = read(path).overlap
        sound = np.isfinite(found)
        assert int(sound.sum()) >= 4
        expected = np.array([[weights(seed, step) @ DIRECTIONS.T for step in (0, 5, 10)] for seed in (0, 1)])
        assert np.all((found == expected.reshape(found.shape)) | ~sound)


def test_a_killed_process_loses_nothing_that_it_was_told_is_there(tmp_path: Path) -> None:
    program = f"""
import os, signal
import numpy as np
import featlab
recorder = featlab.Recorder({str(tmp_path / "mine.jsonl")!r})
for step in range(1000):
    recorder.look(step, np.full((1, 10), step), np.eye(1, 10))
    print(step, flush=True)
    if step == 7:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    found = read(tmp_path / "mine.jsonl")
    assert found.step.values.tolist() == list(map(int, done.stdout.split()))
    assert found.overlap.values.reshape(-1).tolist() == list(range(8))


def test_a_look_that_is_made_again_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    for value in (1.0, 2.0):
        with featlab.Recorder(path, names=NAMES) as recorder:
            recorder.look(3, np.full((1, 10), value), DIRECTIONS, time=0.3)
    assert read(path).overlap.values.tolist() == [[[[2.0]]]]
    assert read(path).time.values.tolist() == [0.3]


@pytest.mark.parametrize("change", [{"dim": 20}, {"target": featlab.target("h1", noise=0.1)}, {"key": 1}])
def test_another_experiment_needs_another_record(tmp_path: Path, change: dict) -> None:
    filled(tmp_path / "mine.jsonl")
    with pytest.raises(InvalidParameter, match=r"mine\.jsonl: got .* as before; another experiment needs a record"):
        featlab.Recorder(tmp_path / "mine.jsonl", experiment=replace(EXPERIMENT, **change))


@pytest.mark.parametrize("content", [b"somebody's\n", to_line({"featlab_record": 2}).encode(), b"\x00" * 100, b"{}\n"])
def test_a_file_that_is_no_record_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidParameter, match="a record of featlab"):
        featlab.Recorder(path)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_said() -> None:
    recorder = featlab.Recorder("/none/mine.jsonl")
    with pytest.raises(Unwritable, match="cannot be written: No such file"):
        recorder.look(0, np.ones((1, 10)), DIRECTIONS)


def test_what_nobody_can_know_is_asked() -> None:
    with pytest.raises(InvalidParameter, match="experiment: got None"):
        featlab.Recorder().missing()
    with pytest.raises(InvalidParameter, match="record: got 'no look'"):
        featlab.Recorder().dataset()
