"""How many directions of the data are more than noise would show: a permutation test, one direction after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats

# Inputs (n, q) and labels (n,) -> eigenvalues, the largest in size first, and the directions (., q), orthonormal rows.
Spectrum = Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Count:
    """How many directions were found, and the p-value of each step: of all that were found and of the one that was not.

    Attributes:
        number: how many directions have a p-value of at most the level, counted up to the first that has not.
        p_values: (1 + permutations that reach the eigenvalue) / (1 + permutations). Of the direction that was not
            found it is a lower bound: the test ends as soon as it cannot be significant.

    Examples:
        >>> from featlab.estimators import Count
        >>> found = Count(number=1, p_values=(0.01, 0.43))  # the second direction is one that noise shows as well
        >>> found.number
        1
    """

    number: int
    p_values: tuple[float, ...]


def count_directions(
    spectrum: Spectrum,
    inputs: Floats,
    outcome: Floats,
    *,
    permutations: int = 99,
    level: float = 0.05,
    random_state: np.random.RandomState | None = None,
) -> Count:
    """The number of directions by sequential permutation (Cook, Yin 2001, Aust. N. Z. J. Stat. 43).

    If k directions are all there are, the parts of the inputs off them are independent of label and directions (for
    Gaussian inputs), so that exchanging these parts between samples changes nothing in law. Direction k + 1 counts if
    its eigenvalue is, in size, among the `level` largest of those after such exchanges; the first that does not ends
    the search. The chance of one direction too many is at most `level`, at k = 0 exactly and for any law of the inputs.

    Args:
        spectrum: from isotropic inputs and labels to eigenvalues and directions.
        inputs: of mean zero and covariance I, (n, q).
        outcome: the labels (n,).
        permutations: how many exchanges, at least 1 / level - 1.
        level: of each test.
        random_state: of the exchanges.

    Raises:
        InvalidParameter: too few permutations for the level.

    Examples:
        >>> import numpy as np
        >>> from featlab.estimators import count_directions
        >>> def first_moment(inputs, outcome):
        ...     mean = outcome @ inputs / len(inputs)
        ...     return np.array([mean @ mean]), (mean / np.linalg.norm(mean))[None]
        >>> draw = np.random.default_rng(0)
        >>> inputs, noise = draw.standard_normal((400, 5)), draw.standard_normal(400)
        >>> count_directions(first_moment, inputs, np.tanh(inputs[:, 0]))
        Count(number=1, p_values=(0.01,))
        >>> count_directions(first_moment, inputs, noise).number
        0
    """
    if not 0 < level < 1 or (permutations + 1) * level < 1:
        raise InvalidParameter(
            "permutations", permutations, f"at least 1 / level - 1, for a level of {level} in (0, 1)"
        )
    draw = random_state or np.random.RandomState(0)
    values, rows = spectrum(inputs, outcome)
    allowed, p_values = int(level * (permutations + 1) * (1 + 1e-12)) - 1, []
    for number in range(len(values)):
        known = rows[:number]
        along = inputs @ known.T @ known
        reached = 0
        for _ in range(permutations):
            exchanged = along + (inputs - along)[draw.permutation(len(inputs))]
            reached += abs(spectrum(exchanged, outcome)[0][number]) >= abs(values[number]) * (1 - 1e-12)
            if reached > allowed:
                break
        p_values.append(float((1 + reached) / (1 + permutations)))
        if reached > allowed:
            return Count(number, tuple(p_values))
    return Count(len(values), tuple(p_values))
