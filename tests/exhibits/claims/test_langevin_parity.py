from featlab.exhibits import ClaimVerdict


def test_the_order_over_alpha_and_no_exponent_from_one_dimension(shown):
    report = shown("langevin-parity")
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    order, slope = report.checks
    assert order.passed
    assert "paper size" in slope.needs
    isotropic, *_, anisotropic = report.numbers
    assert isotropic.measured < 0.6
    # A plain NumPy loop of the same protocol, 30 seeds: .879 and .952 at n = 48 and 68, alpha = .5.
    assert anisotropic.measured + 3 * anisotropic.error > 0.879
    assert anisotropic.measured - 3 * anisotropic.error < 0.97
