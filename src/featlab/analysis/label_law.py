"""What kind of labels a target has: values taken with positive probability (atoms), a continuous part, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from featlab.analysis.cells import clusters, rounding_of
from featlab.gaussian.hermite import Floats, Integers
from featlab.targets import Target

_POINTS = 40_000
# A value is an atom if it recurs so often among the random points: probability 1e-4 or more.
_RECURRENCES = 4
# Labels are the same if they differ by at most so many roundings, or by this part of the way to the next other label.
_ROUNDINGS, _SAME = 64.0, 1e-6
_ALONE = 1e3  # how far from all other labels an atom is, in such distances


@dataclass(frozen=True, eq=False)
class LabelLaw:
    """The atoms of the label, in ascending order, with rough probabilities, and whether there is a continuous part.

    Attributes:
        atoms: (A,); masses: (A,), from a sample.
        reaches: (A,), how far from an atom a label may be and still be it.
        continuous: whether the label has values besides the atoms.
    """

    atoms: Floats
    masses: Floats
    reaches: Floats
    continuous: bool

    @property
    def discrete(self) -> bool:
        return not self.continuous

    def atom_of(self, labels: Floats) -> Integers:
        """Which atom each label is, -1 if none."""
        if self.atoms.size == 0:
            return np.full(np.shape(labels), -1)
        after = np.clip(np.searchsorted(self.atoms, labels), 1, max(1, self.atoms.size - 1))
        candidates = np.stack([after - 1, np.minimum(after, self.atoms.size - 1)])
        distance = np.abs(self.atoms[candidates] - labels)
        nearest = np.where(distance[0] <= distance[1], candidates[0], candidates[1])
        return np.where(distance.min(axis=0) <= self.reaches[nearest], nearest, -1)


@lru_cache(maxsize=64)
def label_law(target: Target) -> LabelLaw:
    """The kind of labels, seen on random points: they avoid the kinks, where a label may take a value of its own.

    What is the same label is decided by rounding, never by a part of the largest or the typical label: the labels of
    h1^40 spread over a hundred powers of ten. Additive noise leaves no atom.
    """
    points = np.random.default_rng(1).standard_normal((_POINTS, target.rank + target.hidden))
    labels = target.link(points)
    if target.noise > 0:
        return LabelLaw(np.zeros(0), np.zeros(0), np.zeros(0), True)
    rounding = _ROUNDINGS * rounding_of(target.link, points)
    number, least, largest = clusters(labels, rounding)
    counts, blur = np.bincount(number), np.zeros(least.size)
    np.maximum.at(blur, number, rounding)
    gaps = np.concatenate([[np.inf], least[1:] - largest[:-1], [np.inf]])
    room = np.minimum(gaps[1:], gaps[:-1])
    # Labels that recur beside others a few roundings away are a continuum that rounding has cut into steps.
    atom = (counts >= _RECURRENCES) & (largest - least <= 2 * blur) & (room >= _ALONE * blur)
    middle = 0.5 * (least + largest)
    reaches = np.maximum(blur, _SAME * room)
    return LabelLaw(middle[atom], counts[atom] / _POINTS, reaches[atom], not bool(atom[number].all()))
