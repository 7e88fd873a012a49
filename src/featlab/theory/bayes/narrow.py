"""The channel of a label with a density and three or four fields where V is narrow: what is known first.

F(Q) = E_omega[L^{-T} E[m m^T] L^{-1}], omega ~ N(0, Q), with m(y) = E[t | y, omega] of `local_law`. Around most omega
the level sets are almost planes: a few lines say what the label tells, and the average over omega, a bounded and mostly
smooth function, is one over a scrambled Sobol sequence, on one side of the planes of symmetry. Where the lines scatter,
near critical points of the link, more are laid, around a part of the points: with A_0 = E[m m^T] by few lines and A_1
by more,

    E[A] = E[A_0] + E[rho (A_1 - A_0)],

each mean over as many points as it needs (Giles 2008), rho rising smoothly from 0 to 1 with the scatter of A_0, so that
F does not jump as Q moves. n n^T, n the common normal, is known around many more points, and is the control variate of
A_0.

Measured against products of directions, whose logarithm is a sum, and squared norms (`benchmarks.theory`): three
fields that are known equally well within 1e-3, four within 5e-3; where one direction is almost known and others are
not, within 5e-3; of what a jump tells that crosses the level sets 1 to 3% are missed or made up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from featlab.analysis.label_law import label_law
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.matrices import symmetric_root
from featlab.gaussian.sobol import sobol_uniforms
from featlab.gaussian.symmetry import Symmetries, symmetries
from featlab.interruption import check
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.local_law import Across, Detail, Neighbourhoods, Told
from featlab.theory.bayes.symmetry import fold


@dataclass(frozen=True)
class Effort:
    """The points with few lines, twice as many where no reflection helps, and the details of few lines and of more."""

    points: int
    few: Detail
    more: Detail


# By the number of fields. Where some directions are hardly known yet, little changes with omega, and much with t.
_EVEN = {3: Effort(2048, Detail(4, 24, 32), Detail(8, 32, 32)), 4: Effort(1024, Detail(4, 20, 24), Detail(6, 24, 24))}
_UNEVEN = {3: Effort(512, Detail(14, 32, 32), Detail(24, 40, 32)), 4: Effort(256, Detail(6, 24, 24), Detail(9, 28, 24))}
# An eigenvalue of V for which that is so, and how many times as large as the smallest it is.
_LITTLE_KNOWN, _APART = 0.3, 10.0
_AGAIN = 4  # one of so many points is looked at again
_CONTROLS = 8  # times as many points for the normals
_SCATTER = (1e-4, 4e-4)  # of E|m|^2, above which more lines are laid
_CHUNK = 150_000
_KEPT = 8


@dataclass(eq=False)
class Narrow:
    """F and H of a target of three or four fields, some eigenvalue of V being small."""

    target: Target
    _found: dict[bytes, ChannelAverages] = field(default_factory=dict)

    @cached_property
    def group(self) -> Symmetries:
        return symmetries(self.target.link, (self.target.rank, self.target.hidden))

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r); the last few are kept, as the limit V -> 0 is asked for again and again."""
        key = np.round(overlap, 13).tobytes()
        if key not in self._found:
            found = self._at(overlap)
            self._found = dict([*self._found.items(), (key, found)][-_KEPT:])
        return self._found[key]

    def _at(self, overlap: Floats) -> ChannelAverages:
        rank, fields = self.target.rank, self.target.rank + self.target.hidden
        mirrors = fold(self.target, overlap)
        widths = 1 - np.linalg.eigvalsh(overlap)
        effort = (_UNEVEN if widths[0] > max(_LITTLE_KNOWN, _APART * widths[-1]) else _EVEN)[fields]
        count = effort.points if mirrors.halved else 2 * effort.points
        around = self._around(overlap, mirrors.halved, _CONTROLS * count)
        values, vectors = np.linalg.eigh(around.normals())
        normals = vectors[:, :, -1]
        controls = values[:, -1, None, None] * normals[:, :, None] * normals[:, None, :]
        few = _told(around, normals, np.arange(count), effort.few)
        moments = controls.mean(axis=0) + np.mean(few.moments - controls[:count], axis=0)
        entropy = float(few.entropy.mean())
        low, high = _SCATTER
        rise = np.clip((few.scatter[: count // _AGAIN] - low) / (high - low), 0.0, 1.0)
        again = np.flatnonzero(rise)
        if again.size:
            share = (rise * rise * (3 - 2 * rise))[again] * _AGAIN / count
            more = _told(around, normals, again, effort.more)
            moments += np.einsum("n,nij->ij", share, more.moments - few.moments[again])
            entropy += float(share @ (more.entropy - few.entropy[again]))
        lift = np.linalg.inv(around.factor)
        information = (lift.T @ moments @ lift)[:rank, :rank]
        return ChannelAverages(self.group.fixing(overlap).average(mirrors.average(information)[None])[0], entropy)

    def _around(self, overlap: Floats, halved: tuple[int, ...], count: int) -> Neighbourhoods:
        """Around Sobol points omega = Q^{1/2} n of N(0, Q), n being positive on the halved axes."""
        rank, fields = self.target.rank, self.target.rank + self.target.hidden
        uniform = sobol_uniforms(rank, count, 20_240_915)
        uniform[:, list(halved)] = 0.5 + 0.5 * uniform[:, list(halved)]
        centres, factor = np.zeros((count, fields)), np.eye(fields)
        centres[:, :rank] = ndtri(uniform) @ symmetric_root(overlap)
        factor[:rank, :rank] = symmetric_root(np.eye(rank) - overlap)
        turns = np.random.default_rng([*b"narrow"]).standard_normal((count, 2, fields, fields - 1))
        return Neighbourhoods(self.target, label_law(self.target), centres, factor, turns)


def _told(around: Neighbourhoods, normals: Floats, rows: Integers, detail: Detail) -> Told:
    """What the labels tell around some of the centres, a few at a time."""
    each = Across.of(around.dimension - 1, detail.lines).weights.size * (detail.cells + 2 * detail.bins)
    parts = []
    for some in np.array_split(rows, max(1, rows.size * each // _CHUNK)):
        check()
        parts.append(around.some(some).told(normals[some], detail))
    return Told(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("moments", "entropy", "scatter"))
    )
