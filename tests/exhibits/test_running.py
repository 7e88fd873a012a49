import json
import math
import os
from dataclasses import replace

import numpy as np
import pytest

from featlab import exhibits as ex
from featlab.exhibits import ClaimVerdict, Number, Size, run_exhibit
from featlab.exhibits.report import UnreadableReport, last_report, read_report, report_path, write_report
from featlab.exhibits.running import RunsFailed
from featlab.study.engines import Pool
from tests.exhibits.toy import exhibit


def test_a_run_leaves_a_report_and_pictures(tmp_path):
    report = run_exhibit(exhibit(), Size.QUICK, tmp_path)
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert report.runs == 1
    assert report.machines[0]["device"]
    assert "host" not in report.machines[0]
    directory = report_path(tmp_path, "toy", Size.QUICK).parent
    assert {"report.json", "figure.svg", "figure.png", "coins.sqlite"} <= {path.name for path in directory.iterdir()}
    assert read_report(tmp_path, "toy", Size.QUICK) == report


def test_a_wrong_claim_is_contradicted(tmp_path):
    assert run_exhibit(exhibit(claimed=1.5), Size.QUICK, tmp_path).verdict is ClaimVerdict.CONTRADICTED


def test_a_second_run_adds_nothing_and_says_the_same(tmp_path):
    first = run_exhibit(exhibit(), Size.QUICK, tmp_path)
    acknowledged = []
    second = run_exhibit(exhibit(), Size.QUICK, tmp_path, on_acknowledged=acknowledged.extend)
    assert not acknowledged
    assert second.numbers == first.numbers


def test_engines_give_the_same_numbers(tmp_path):
    here = run_exhibit(exhibit(), Size.QUICK, tmp_path / "here")
    there = run_exhibit(exhibit(), Size.QUICK, tmp_path / "there", engine=Pool(1))
    assert here.numbers == there.numbers


def test_failed_runs_give_no_verdict(tmp_path):
    with pytest.raises(RunsFailed, match=r"1 of 1 runs of its study 'coins' failed.*no such coin.*--retry-failed"):
        run_exhibit(exhibit(mean=-1.0), Size.QUICK, tmp_path)
    assert read_report(tmp_path, "toy", Size.QUICK) is None


def test_an_animation_is_kept_moving_and_still(tmp_path):
    from PIL import Image

    report = run_exhibit(exhibit(moving=True), Size.QUICK, tmp_path)
    directory = report_path(tmp_path, "toy", Size.QUICK).parent
    with Image.open(directory / report.pictures["gif"]) as moving:
        assert moving.n_frames >= 1
        assert moving.info["loop"] == 0
    assert (directory / report.pictures["still"]).stat().st_size > 0


def test_the_last_report_is_the_newest(tmp_path):
    run_exhibit(exhibit(), Size.PAPER, tmp_path)
    assert last_report(tmp_path, "toy").size is Size.PAPER
    assert last_report(tmp_path, "nothing") is None


@pytest.mark.parametrize("text", ["{", "{}", '{"format": 99}'])
def test_a_broken_report_says_what_to_do(tmp_path, text):
    path = report_path(tmp_path, "toy", Size.QUICK)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(UnreadableReport, match="report"):
        read_report(tmp_path, "toy", Size.QUICK)


def test_what_is_no_number_is_null(tmp_path):
    report = run_exhibit(exhibit(), Size.QUICK, tmp_path)
    odd = replace(report, numbers=[Number("odd", math.nan, np.float32(1.5), math.inf)])
    write_report(tmp_path, odd)
    (number,) = json.loads(report_path(tmp_path, "toy", Size.QUICK).read_text())["numbers"]
    assert (number["predicted"], number["measured"], number["error"]) == (None, 1.5, None)


def test_two_processes_may_judge_at_once(tmp_path, monkeypatch):
    report = run_exhibit(exhibit(), Size.QUICK, tmp_path)
    replaced = os.replace

    def after_the_other(source, goal):
        monkeypatch.setattr(os, "replace", replaced)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        write_report(tmp_path, report)
        replaced(source, goal)

    monkeypatch.setattr(os, "replace", after_the_other)
    write_report(tmp_path, report)
    assert read_report(tmp_path, "toy", Size.QUICK) == report
    assert not list(report_path(tmp_path, "toy", Size.QUICK).parent.glob(".featlab-*"))


def test_it_looks_again_while_a_check_cannot_tell(tmp_path):
    def narrow(view, statement):
        runs = view.measured(ex.Of("height")).size
        result = ex.CheckResult.HOLDS if runs >= 100 else ex.CheckResult.CANNOT_TELL
        return ex.Check(statement, result, f"{runs} runs", "none", True)

    checks = {"there are many": narrow}
    one = run_exhibit(exhibit(checks=checks), Size.QUICK, tmp_path / "one")
    assert (one.looks, one.verdict) == ((1, 1), ClaimVerdict.NOT_AT_THIS_SIZE)
    for _ in range(2):  # the second call goes through the same looks and runs nothing
        found = run_exhibit(exhibit(checks=checks, looks=4), Size.QUICK, tmp_path / "four")
        assert (found.looks, found.runs, found.verdict) == ((3, 4), 4, ClaimVerdict.REPRODUCED)
    assert read_report(tmp_path / "four", "toy", Size.QUICK) == found
