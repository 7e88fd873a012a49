from featlab.exhibits import ClaimVerdict


def test_ridge_after_a_small_step_has_its_closed_form(shown):
    """At d = 120 misses of up to 1/sqrt(d) = 9% and the scatter of eight seeds; the reference is of d = 300."""
    report = shown("trained-ridge")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number.measured for number in report.numbers}
    assert numbers["median miss of the closed form"] < 0.03
    assert numbers["excess after the giant step over its floor"] < 0.5
