"""When do runs agree with a prediction? The course's rule, derived in chapters 1 and 2, which all chapters use.

A mean over runs differs from what is predicted for d to infinity by chance, and by a bias that falls with d. Chance is
allowed for by Student's law, at one case of a hundred; the bias is taken out by runs at d/2 and d. Nothing else is
allowed for, and every chapter shows that a prediction which is wrong is refused by the same rule.
"""

import numpy as np
from scipy.stats import t as student_t


def chance(points, runs):
    """The number of standard errors that at least one of the points exceeds by chance in 1% of all cases."""
    return student_t.isf(0.005 / points, runs - 1)


def mean_and_error(runs):
    """The mean over runs, which lie along the last axis, and its standard error."""
    runs = np.asarray(runs)
    return runs.mean(-1), runs.std(-1, ddof=1) / np.sqrt(runs.shape[-1])


def in_the_limit(at_half, at_full):
    """From runs at d/2 and d, along the last axis: the mean without its bias of order 1/d, and its standard error."""
    (half, half_error), (full, full_error) = mean_and_error(at_half), mean_and_error(at_full)
    return 2 * full - half, np.hypot(2 * full_error, half_error)
