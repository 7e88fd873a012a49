from featlab.exhibits import ClaimVerdict


def test_the_order_over_alpha_and_no_exponent_from_one_dimension(shown):
    report = shown("langevin-parity")
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    *orders, slope = report.checks
    assert len(orders) == 2
    assert all(order.passed for order in orders)
    assert "paper size" in slope.needs
    isotropic, _, anisotropic = report.numbers[:3]
    assert isotropic.measured < 0.6
    # A plain NumPy loop of the same protocol, 6 seeds, 96 d steps: .879 (.04) and .963 (.03) at n = 50 and 70.
    assert anisotropic.measured + 3 * anisotropic.error > 0.84
    assert anisotropic.measured - 3 * anisotropic.error < 0.97
