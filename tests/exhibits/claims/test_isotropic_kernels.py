from featlab.exhibits import ClaimVerdict


def test_kernels_learn_the_linear_part_only(shown):
    report = shown("isotropic-kernels")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    *fixed, network = report.numbers
    assert all(number.measured + 3 * number.error > 1 for number in fixed)
    assert network.measured + 3 * network.error < 1
