"""What kind of labels a target has: values taken with positive probability (atoms), a continuous part, or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from featlab.gaussian.hermite import Floats, Integers
from featlab.targets import Target

_POINTS = 40_000
# A value is an atom if it recurs so often among the random points: probability 1e-4 or more.
_RECURRENCES = 4
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class LabelLaw:
    """The atoms of the label, in ascending order, with rough probabilities, and whether there is a continuous part.

    Attributes:
        atoms: (A,); masses: (A,), from a sample.
        continuous: whether the label has values besides the atoms.
        scale: its root mean square, the yardstick for "the same label".
    """

    atoms: Floats
    masses: Floats
    continuous: bool
    scale: float

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
        return np.where(distance.min(axis=0) <= _SAME * self.scale, nearest, -1)


@lru_cache(maxsize=64)
def label_law(target: Target) -> LabelLaw:
    """The kind of labels, seen on random points: they avoid the kinks, where a label may take a value of its own.

    Additive noise leaves no atom.
    """
    points = np.random.default_rng(1).standard_normal((_POINTS, target.rank + target.hidden))
    labels = target.link(points)
    scale = float(np.sqrt(np.mean(labels**2)))
    if target.noise > 0:
        return LabelLaw(np.zeros(0), np.zeros(0), True, scale)
    values, counts = np.unique(np.round(labels / scale, 10), return_counts=True)
    repeated = counts >= _RECURRENCES
    place = np.isin(np.round(labels / scale, 10), values[repeated])
    atoms = np.unique(np.round(labels[place], 12))
    atoms = atoms[np.append(True, np.diff(atoms) > _SAME * scale)] if atoms.size else atoms
    law = LabelLaw(atoms, np.zeros(0), not bool(place.all()), scale)
    masses = np.bincount(law.atom_of(labels[place]), minlength=atoms.size) / _POINTS if atoms.size else np.zeros(0)
    return LabelLaw(atoms, masses, law.continuous, scale)
