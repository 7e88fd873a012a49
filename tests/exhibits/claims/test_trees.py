import numpy as np

from featlab.exhibits import ClaimVerdict, layers
from featlab.exhibits.claims.trees import tree
from featlab.targets import target


def test_one_step_knows_the_sum_of_the_fields_and_many_steps_both(shown):
    report = shown("trees")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    found = {number.name: number for number in report.numbers}
    knows = found["M_W, all layers trained"]
    assert abs(knows.measured - knows.predicted) < 0.01


def test_a_block_more_is_a_field_more():
    """The regression of y on all features is along h_1* + h_2*, and knows nothing of their difference."""
    made, draw = target(tree(3, 2)), np.random.default_rng(0)
    samples = layers.drawn(draw, made, 20_000, made.rank)
    z = layers.features(layers.aligned(draw, made, 90), samples.x)
    fitted = z @ layers.ridge(z, samples.y).coefficients
    one, two = made.hidden_fields(samples.x).T
    assert np.corrcoef(fitted, one + two)[0, 1] > 0.95
    assert abs(np.corrcoef(fitted, one - two)[0, 1]) < 0.03
