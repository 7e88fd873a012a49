"""kill -9 of the driver at random moments: nothing acknowledged is lost, nothing is there twice, no bit differs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.study import drive, kill_drivers, nothing, same_as_undisturbed

from featlab.study import Study, run
from featlab.study import open as open_study
from featlab.study.store import Reader

ROOT = Path(__file__).parents[2]
KILLS, POINTS = 20, 600


def test_twenty_kills(tmp_path: Path) -> None:
    found = kill_drivers(KILLS, POINTS, tmp_path, seed=1)
    assert found["killed at work"] >= KILLS // 2  # or the kills would prove nothing
    assert found["lost"] == 0
    assert found["twice"] == 0
    assert POINTS // 2 < found["acknowledged"] <= found["stored"] == POINTS
    assert same_as_undisturbed(POINTS, tmp_path)


def test_kills_find_a_store_that_acknowledges_too_early(tmp_path: Path) -> None:
    found = kill_drivers(3, 300, tmp_path, seed=1, lying=True)
    assert found["lost"] > 0


def test_a_store_that_was_killed_while_it_was_made(tmp_path: Path) -> None:
    """From the moment the file appears, every 2 ms: what is left can be opened and filled."""
    for number in range(8):
        store = tmp_path / f"{number}.sqlite"
        program = f"from pathlib import Path; from benchmarks.study import drive; drive(Path({str(store)!r}), 200)"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, cwd=ROOT) as driver:
            while not store.exists():
                assert driver.poll() is None
            time.sleep(0.002 * number)
            driver.kill()
        drive(store, 20)
        with Reader(store) as reader:
            assert len(reader.outcomes()) >= 20


def test_a_point_costs_little(tmp_path: Path) -> None:
    """At most 2 ms beside its own work, and 3 s to open 10^5 of them (in this process's own CPU time)."""
    points = 10**4
    begin = time.process_time()
    run(Study(axes={"x": range(points)}), nothing, tmp_path / "a.sqlite")
    running = time.process_time() - begin
    begin = time.process_time()
    dataset = open_study(tmp_path / "a.sqlite")
    opening = time.process_time() - begin
    assert dataset.sizes["x"] == points
    assert float(dataset["y"].sum()) == 0.5 * sum(range(points))
    assert running / points < 2e-3
    assert opening / points < 3 / 10**5
