from featlab.exhibits import ClaimVerdict


def test_classes_and_what_message_passing_finds(shown):
    report = shown("classification")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
    assert [check for check in report.checks if check.correction]
    numbers = {number.name: number for number in report.numbers}
    assert abs(numbers["critical ratio of He4(h1)"].measured - 0.64485) < 1e-4
    assert numbers["largest overlap, message passing on sign(h1*h2*h3)"].measured < 0.5
