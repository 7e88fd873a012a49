from featlab.exhibits import ClaimVerdict


def test_a_parity_of_three_is_solvable_but_not_by_message_passing(shown):
    report = shown("statistical-gap")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    threshold = report.numbers[-1].predicted
    assert 9.0 < threshold < 10.0  # between the spinodal, below which message passing forgets, and where it keeps .943
