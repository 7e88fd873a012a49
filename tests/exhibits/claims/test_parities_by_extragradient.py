from featlab.exhibits import CheckResult, ClaimVerdict


def test_parities_take_d_to_the_r_minus_one(shown):
    report = shown("parities-by-extragradient")
    # Three small dimensions cannot tell d^2 from d^1.5; they tell d from sqrt(d), and who sees the parity.
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    assert all(check.result is CheckResult.HOLDS for check in report.checks)
    two, three, found = report.checks
    assert (two.refused, three.refused, found.refused) == (True, False, True)
