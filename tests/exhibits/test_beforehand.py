import importlib.util
import json

import pytest

from featlab.exhibits import Size, run_exhibit
from featlab.exhibits.beforehand import (
    UnreadableProtocol,
    fix_protocol,
    fixed_words,
    is_outdated,
    protocol_digest,
)
from featlab.exhibits.report import report_path
from tests.exhibits.toy import exhibit

CLAIM = '''
"""A claim."""
from featlab import exhibits as ex
from tests.exhibits.toy import exhibit

COINS = {ex.Size.QUICK: 10, ex.Size.PAPER: 100}

def studies(size):
    """Coins."""
    return exhibit(mean=1.0).studies(size)  # fair ones

EXHIBIT = exhibit(studies=studies, caption="Coins.", looks=2)
'''


def digest(of):
    return protocol_digest(of, Size.QUICK)


@pytest.fixture
def claim(tmp_path):
    def load(old="", new=""):
        path = tmp_path / "claim.py"
        path.write_text(CLAIM.replace(old, new) if old else CLAIM)
        spec = importlib.util.spec_from_file_location("claim", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.EXHIBIT

    return load


@pytest.mark.parametrize("old", ["# fair ones", '"""Coins."""', 'caption="Coins.", ', '"""A claim."""'])
def test_texts_and_layout_decide_nothing(claim, old):
    assert digest(claim()) == digest(claim(old, old.replace("oins", "oin") if "cap" in old else ""))


@pytest.mark.parametrize(("old", "new"), [("mean=1.0", "mean=1.1"), ("looks=2", "looks=3"), ("QUICK: 10", "QUICK: 11")])
def test_what_decides_changes_the_digest(claim, old, new):
    assert digest(claim()) != digest(claim(old, new))


@pytest.mark.parametrize(("size", "same"), [(Size.QUICK, True), (Size.PAPER, False)])
def test_what_another_size_has_decides_nothing(claim, size, same):
    before = protocol_digest(claim(), size)
    after = protocol_digest(claim("PAPER: 100", "PAPER: 200"), size)
    assert (before == after) is same


def test_the_digest_is_the_same_under_every_version_of_python(claim):
    """Syntax trees are not: the number is that of 3.11, 3.12 and 3.13."""
    assert digest(claim("mean=1.0", "mean=float(f'{None or 1:.{2}f}')")) == "5e84124128375ecc"


def test_a_change_after_runs_were_seen_does_not_hide(claim, tmp_path):
    report = run_exhibit(claim(), Size.QUICK, tmp_path)
    assert [one.runs for one in report.fixed] == [0]
    assert "before the first run" in fixed_words(report.fixed)
    again = run_exhibit(claim(), Size.QUICK, tmp_path)
    assert again.fixed == report.fixed
    changed = claim("looks=2", "looks=3")
    assert is_outdated(changed, Size.QUICK, report.fixed)
    judged = run_exhibit(changed, Size.QUICK, tmp_path)
    assert [one.runs for one in judged.fixed] == [0, 1]
    assert "when 1 runs had been seen" in fixed_words(judged.fixed)
    assert not is_outdated(changed, Size.QUICK, judged.fixed)


def test_of_a_report_without_a_record_nothing_is_known():
    assert not is_outdated(exhibit(), Size.QUICK, [])
    assert "not recorded" in fixed_words([])


def test_a_claim_typed_at_a_prompt_has_no_digest(tmp_path):
    without_source = exhibit(studies=dict)
    assert digest(without_source) is None
    assert fix_protocol(without_source, Size.QUICK, tmp_path, 0) == []


def test_a_broken_record_says_what_to_do(claim, tmp_path):
    path = report_path(tmp_path, "toy", Size.QUICK).parent
    path.mkdir(parents=True)
    (path / "protocol.json").write_text(json.dumps([{"digest": "a"}]))
    with pytest.raises(UnreadableProtocol, match="move the exhibit's results aside"):
        run_exhibit(claim(), Size.QUICK, tmp_path)
