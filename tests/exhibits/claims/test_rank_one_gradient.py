from featlab.exhibits import ClaimVerdict


def test_the_first_gradient_is_close_to_rank_one(shown):
    report = shown("rank-one-gradient")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    for number in report.numbers[:2]:
        assert abs(number.measured + 0.5) < 3 * number.error + 0.07, "1/(2 log n) for the largest of Gaussian a_i"
