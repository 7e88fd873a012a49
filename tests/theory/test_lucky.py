import math

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.theory.lucky import log_chance, log_lucky_width, lucky_chance, lucky_overlap


def test_in_three_dimensions_an_overlap_is_uniform():
    """Archimedes: <w, e> is uniform on [-1, 1], so the largest of N absolute values has the mean N/(N + 1)."""
    assert math.exp(log_chance(3, 0.3)) == pytest.approx(0.7, rel=1e-12)
    assert lucky_overlap(3, 9) == pytest.approx(0.9, rel=1e-6)
    assert lucky_chance(3, 5, 0.8) == pytest.approx(1 - 0.8**5, rel=1e-12)


def test_the_width_is_that_of_one_chance_in_two():
    for overlap in (0.2, 0.6):
        width = math.exp(log_lucky_width(20, overlap))
        assert lucky_chance(20, width, overlap) == pytest.approx(0.5, rel=1e-9)


def test_the_width_grows_exponentially_with_the_dimension():
    """The slope of log N in d tends to -log(1 - m^2)/2, also where the chance is no float."""
    overlap = 0.5
    assert log_chance(10_000, overlap) < math.log(np.finfo(float).tiny)
    slope = (log_lucky_width(10**6, overlap) - log_lucky_width(10**5, overlap)) / (10**6 - 10**5)
    assert slope == pytest.approx(-math.log(1 - overlap**2) / 2, rel=1e-4)
    assert slope != pytest.approx(-math.log(1 - 0.6**2) / 2, rel=0.2)


def test_the_two_forms_of_the_chance_meet():
    """Just where the chance stops to be a float its leading order is right to (1 - m^2)/(m^2 d), here 6e-4."""
    dims = range(4890, 4910)
    steps = np.diff([log_chance(dim, 0.5) for dim in dims])
    assert log_chance(dims[0], 0.5) > math.log(np.finfo(float).tiny) > log_chance(dims[-1], 0.5)
    assert np.ptp(steps) < 2e-3


@pytest.mark.parametrize(("dim", "overlap"), [(2, 0.5), (10, 0.0), (10, 1.0)])
def test_what_has_no_chance_is_refused(dim, overlap):
    with pytest.raises(InvalidParameter):
        log_chance(dim, overlap)
