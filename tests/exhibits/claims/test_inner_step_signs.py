import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.inner_step_signs import RELU, TANH, first_order, look_ahead


def test_the_sign_of_the_inner_step_decides_what_an_even_target_teaches(shown):
    report = shown("inner-step-signs")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)


def test_the_rate_to_first_order():
    # E[He2(z) 1{z > 1/2}] = phi(1/2) / 2, by parts.
    assert first_order(RELU, -0.5) == pytest.approx(0.5 * np.exp(-0.125) / np.sqrt(2 * np.pi) / 2)
    assert first_order(TANH, 0.0) < 0


def test_without_an_inner_step_look_ahead_is_one_pass_sgd():
    import featlab

    rule = {"dim": 60, "seeds": 400, "step": 0.5}
    point = {**rule, "target": "h1", "activation": TANH, "biases": 0.0, "inner": 0.0, "looked": [4.0]}
    ahead = np.array([row["overlap"] for row in look_ahead(point, 3)])
    plain = featlab.simulate(
        "h1",
        featlab.OnlineSgd(featlab.StepLaw(0.5, 1), loss="correlation", constraint="spherical"),
        dim=60,
        times=[4.0],
        seeds=400,
        student=featlab.TwoLayer(activation=TANH, start="planted", planted=((0.2,),)),
        progress=False,
    )["overlap"].values.ravel()
    error = np.sqrt((ahead.var() + plain.var()) / 400)
    assert abs(ahead.mean() - plain.mean()) < 4 * error
    assert ahead.mean() > 0.2 + 20 * error  # it has moved by far more than the errors that are allowed
