from featlab.exhibits import ClaimVerdict


def test_the_staircase_is_on_its_way(shown):
    """No plateau at d = 200, where theory has none either; theory's is flat at d = 10^12."""
    report = shown("spiked-krr-staircase")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
    here, *far = (number for number in report.numbers if "fall of the risk" in number.name)
    assert abs(here.measured - here.predicted) < 4 * here.error
    assert here.measured > 0.1
    assert [number.predicted for number in far] == sorted((number.predicted for number in far), reverse=True)
    assert abs(far[0].predicted - 0.275) < 0.005
    assert far[1].predicted < 0.05
