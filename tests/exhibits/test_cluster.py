"""An exhibit on Slurm, with a stand-in for Slurm itself: submitted, worked at, collected, judged."""

import pytest

from featlab.exhibits import Report, Size, run_exhibit
from featlab.exhibits.cluster import submit_exhibit
from featlab.exhibits.running import RunsFailed, places
from featlab.runners import find_runner
from featlab.study.slurm import work
from featlab.study.store_file import cluster_directory
from tests.exhibits.toy import exhibit


@pytest.fixture
def queue(monkeypatch):
    """The jobs in the queue; sbatch adds one."""
    waiting: list[str] = []

    def answer(command, *arguments):
        if command == "sbatch":
            waiting.append(str(17 + len(waiting)))
            return f"{waiting[-1]};cluster\n"
        return "PENDING\n" if waiting else ""

    monkeypatch.setattr("featlab.study.queue.ask_slurm", answer)
    monkeypatch.setattr("featlab.study.queue.shutil.which", lambda command: f"/usr/bin/{command}")
    return waiting


def finish(shown, results, queue):
    (place,) = places(shown, Size.QUICK, results)
    for script in cluster_directory(place.store).glob("*/array.sh"):
        work(script.parent, 0, find_runner)
    queue.clear()


def test_the_same_call_submits_waits_and_judges(tmp_path, queue):
    shown = exhibit()
    first = submit_exhibit(shown, Size.QUICK, tmp_path, array=2, options=["--time=5"])
    assert first == ["toy, coins: 0 of 1 runs, job 17"]
    assert submit_exhibit(shown, Size.QUICK, tmp_path, array=2) == first  # nothing is submitted twice
    assert queue == ["17"]
    finish(shown, tmp_path, queue)
    report = submit_exhibit(shown, Size.QUICK, tmp_path, array=2)
    assert isinstance(report, Report)
    assert report.numbers == run_exhibit(shown, Size.QUICK, tmp_path / "here").numbers


def test_what_failed_is_said(tmp_path, queue):
    shown = exhibit(mean=-1.0)
    submit_exhibit(shown, Size.QUICK, tmp_path, array=1)
    finish(shown, tmp_path, queue)
    with pytest.raises(RunsFailed, match="no such coin"):
        submit_exhibit(shown, Size.QUICK, tmp_path, array=1)
