"""What checks were given is kept without loss, and judged again by the rules of today; strangers' files are refused."""

import json

import numpy as np
import pytest
import xarray as xr
from docs.reproduce import RESULTS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from featlab.comparison import FiniteSize
from featlab.exhibits import CheckResult, Size, checks, run_exhibit
from featlab.exhibits.evidence import Evidence, judged_again, keeping
from featlab.exhibits.evidence_file import UnreadableEvidence, evidence_path, read_evidence, write_evidence
from featlab.exhibits.find import exhibit_ids, find_exhibit
from featlab.exhibits.report import read_report, report_path
from tests.exhibits.toy import exhibit

RUNS = 0.8 + 0.01 * np.random.default_rng(0).standard_normal((40, 2)).astype(np.float32)


def made():
    """One check of every kind whose numbers are no datasets, and one that is given datasets."""
    x = np.array([100.0, 200.0, 400.0, 800.0])
    prediction = xr.Dataset({"overlap": (("time",), [0.8, 0.8])}, {"time": [1.0, 2.0]})
    measurement = xr.Dataset(
        {"overlap": (("seed", "time"), RUNS)}, {"time": [1.0, 2.0]}, {"dim": 100, "dtype": "float32"}
    )
    low, high = RUNS[:, 0], 1.1 * RUNS[:, 1]
    return [
        checks.agrees("agrees", prediction, measurement, names=["overlap"]),
        checks.close("close", RUNS, 0.8, allowance=FiniteSize(2.0, 1.0), dim=1000),
        checks.exponent("exponent", x, x**-0.5, 0.01 * x**-0.5, -0.5, wrong=-1.0),
        checks.exponent_at_most("at most", x, x**-0.5, None, -0.4, wrong=-0.6),
        checks.straight("straight", x, x * RUNS[:, :1], 0.8),
        checks.ordered("ordered", {"low": low, "high": high}, paired=True),
        checks.contrast("contrast", low > 0.7, low > 0.9, name="low", control_name="high"),
        checks.above("above", low, 0.5, control="less", control_samples=low - 0.5),
        checks.identity("identity", 0.0, 1e-9, control="one", control_difference=float("inf")),
    ]


@pytest.fixture(scope="module")
def kept():
    with keeping() as found:
        said = made()
    return found, said


def test_each_check_is_kept_once_and_says_the_same_after_it_was_read(kept, tmp_path):
    """`close` asks `agrees`, which is a part of it."""
    found, said = kept
    assert [one.statement for one in found] == [check.statement for check in said]
    write_evidence(tmp_path / "evidence.json", found)
    assert [judged_again(one) for one in read_evidence(tmp_path / "evidence.json")] == said


def test_nothing_is_kept_unless_asked(kept):
    count = len(kept[0])
    checks.identity("identity", 0.0, 1e-9, control="one", control_difference=1.0)
    assert len(kept[0]) == count


def test_other_numbers_would_be_noticed(kept, tmp_path):
    """Negative control: numbers 20% off, or a rule of another level, do not say the same."""
    close = next(one for one in kept[0] if one.test == "close")
    moved = Evidence(**{**vars(close), "given": (1.2 * RUNS, 0.8)})
    assert judged_again(moved).result is CheckResult.FAILS


NUMBERS = arrays(
    st.sampled_from([np.float32, np.float64, np.int32, np.bool_]), st.tuples(st.integers(0, 3), st.integers(0, 3))
)


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_no_digit_is_lost(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("evidence") / "evidence.json"
    one = Evidence("identity", (values,), {"named": {"x": values}}, "it is", CheckResult.HOLDS, refused=True)
    write_evidence(path, [one])
    (read,) = read_evidence(path)
    for back in (read.given[0], read.named["named"]["x"]):
        assert (back.dtype, back.shape) == (values.dtype, values.shape)
        np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        '{"format": 2, "tests": []}',
        '{"format": 1, "tests": [{"test": "eval"}]}',
        json.dumps({"format": 1, "tests": [{**dict.fromkeys(Evidence.__dataclass_fields__, ""), "test": "eval"}]}),
        '{"format": 1, "tests": [{"test": {"module": "os"}}]}',
    ],
)
def test_what_is_no_evidence_is_refused_by_its_name(tmp_path, content):
    path = tmp_path / "evidence.json"
    path.write_text(content)
    with pytest.raises(UnreadableEvidence, match=r"evidence\.json: not evidence"):
        read_evidence(path)


def test_a_run_keeps_its_evidence_beside_the_report(tmp_path):
    report = run_exhibit(exhibit(), Size.QUICK, tmp_path)
    found = read_evidence(evidence_path(report_path(tmp_path, "toy", Size.QUICK)))
    assert [judged_again(one) for one in found] == report.checks
    assert read_evidence(tmp_path / "evidence.json") is None


WITH_EVIDENCE = [id for id in exhibit_ids() if evidence_path(report_path(RESULTS, id, Size.PAPER)).exists()]


@pytest.mark.parametrize("id", WITH_EVIDENCE)
def test_published_verdicts_are_those_of_the_rules_of_today(id):
    """Each test of a published report says of its numbers today what the report says. There are none only where all
    checks are the claim's own, whose code is in its digest."""
    report = read_report(RESULTS, id, Size.PAPER)
    found = read_evidence(evidence_path(report_path(RESULTS, id, Size.PAPER)))
    own = [getattr(check, "__module__", "") for check in find_exhibit(id).checks.values()]
    assert found or all(module.startswith("featlab.exhibits.claims.") for module in own)
    again = [judged_again(one) for one in found]
    assert [(check.result, check.refused) for check in again] == [(one.result, one.refused) for one in found]
    shown = {(check.statement, check.detail) for check in report.checks}
    of_two = any(check.correction or "In the limit:" in check.detail for check in report.checks)
    assert of_two or all((check.statement, check.detail) in shown for check in again)
