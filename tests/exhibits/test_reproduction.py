"""docs/reproduction.md is what the reports in docs/results say, and README shows pictures of exhibits that exist."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from docs.refresh import ROOT
from docs.reproduce import PICTURES, RESULTS, TABLE, picture, table, worded
from scipy.stats import norm

from featlab.comparison.agreement import LEVEL
from featlab.exhibits import Size, all_exhibits, find_exhibit
from featlab.exhibits.beforehand import is_outdated
from featlab.exhibits.find import exhibit_ids
from featlab.exhibits.message_passing import MOST_BY_START
from featlab.exhibits.report import read_report
from featlab.exhibits.verdict import LEAST_EFFECT


def test_the_table_is_made_from_the_reports():
    assert TABLE.read_text(encoding="utf-8") == table()


def test_every_exhibit_was_run_at_paper_size():
    assert [id for id in exhibit_ids() if read_report(RESULTS, id, Size.PAPER) is None] == []


def test_every_report_is_of_the_claim_as_it_stands():
    """A report whose claim has changed since says so; none of those that are shown may."""
    reports = {id: read_report(RESULTS, id, Size.PAPER) for id in exhibit_ids()}
    found = {id: report for id, report in reports.items() if report is not None}
    assert [id for id, report in found.items() if is_outdated(find_exhibit(id), report.size, report.fixed)] == []
    assert all(report.fixed for report in found.values())


def test_every_check_that_a_claim_declares_was_made():
    """A declared check that finds no number to speak of says nothing; at the size of the paper none may."""

    def pattern(statement: str) -> re.Pattern[str]:
        pieces = re.split(r"\{[^{}]*\}", statement)
        return re.compile(".*".join(map(re.escape, pieces)), re.DOTALL)

    silent = []
    for exhibit in all_exhibits():
        said = [check.statement for check in read_report(RESULTS, exhibit.id, Size.PAPER).checks]
        for statement, declared in exhibit.checks.items():
            several = declared if isinstance(declared, Sequence) else [declared]
            words = [getattr(check, "statement", None) or statement for check in several]
            silent += [(exhibit.id, one) for one in words if not any(map(pattern(one).fullmatch, said))]
    assert silent == []


def test_orders_that_are_shown_have_a_least_effect():
    """Some were judged before every order had one: by the means and errors that their sentences print, all have it."""
    reports = [read_report(RESULTS, id, Size.PAPER) for id in exhibit_ids()]
    details = [
        check.detail for report in reports for check in report.checks if "the least certain step" in check.detail
    ]
    assert len(details) > 40
    for detail in details:
        printed = re.findall(r" (-?[\d.]+(?:e[-+]\d+)?) \(([\d.e+-]+)\)", detail.partition(";")[0])
        means = [(float(mean), float(error)) for mean, error in printed]
        for (low, low_error), (high, high_error) in pairwise(means):
            certain = norm.isf(LEVEL / (len(means) - 1)) * np.hypot(low_error, high_error)
            assert high - low - LEAST_EFFECT * abs(low) > certain, detail


LOCATED = r"growth is 1 at n/d = ([\d.]+) \+- ([\d.]+); claimed ([\d.]+), and ([\d.]+) more from q = ([\d.]+)\."


def test_thresholds_that_are_shown_are_located_as_the_rule_of_today_asks():
    """Some were judged before a bound was set on what a start may explain: by the numbers that are printed, to four
    digits, all keep it. At q = .6 it bounds nothing."""
    reports = [read_report(RESULTS, id, Size.PAPER) for id in exhibit_ids()]
    matches = [re.match(LOCATED, check.detail) for report in reports for check in report.checks]
    found = [map(float, match.groups()) for match in matches if match]
    assert len(found) == 3
    for place, error, critical, by_start, start in found:
        assert abs(place - by_start - critical) <= norm.isf(LEVEL / 2) * error
        assert 0 <= by_start <= MOST_BY_START * start * critical


def test_remarks_are_the_words_of_the_claim():
    reports = {id: read_report(RESULTS, id, Size.PAPER) for id in exhibit_ids()}
    assert [id for id, report in reports.items() if worded(find_exhibit(id), report) != report] == []


def test_there_is_no_report_without_an_exhibit():
    assert {path.name for path in (RESULTS / "paper").iterdir()} <= set(exhibit_ids())


def test_pictures_are_there():
    assert all(picture(id).is_file() for id in PICTURES)


def test_the_headline_of_the_readme_is_what_the_reports_say():
    told = dict(
        re.findall(
            r"^\| ((?:not )?(?:reproduced|contradicted)[\w ]*) \| (\d+) \|$", (ROOT / "README.md").read_text(), re.M
        )
    )
    reports = (read_report(RESULTS, id, Size.PAPER) for id in exhibit_ids())
    counted = Counter(str(report.verdict) for report in reports if report is not None)
    assert {verdict: int(number) for verdict, number in told.items() if number != "0"} == counted
    assert f"make {counted.total()} claims" in (ROOT / "README.md").read_text()
