"""The one protocol between learning algorithms and the n x d matrix X of Gaussian inputs.

A learner touches X in two ways only: `forward(W) = X W^T`, the fields, and `backward(D) = D^T X`, the
pull-back. It never asks how X exists. What makes that possible: a weight is a row of *coordinates in an
orthonormal frame* of R^d, whose first axes are the target's directions (which loses nothing, the inputs being
rotation invariant). For `Dense`, `Streamed` and `Dice` the frame is all of R^d; for `Virtual` it is the few
axes that matter so far. Sums of weights, their overlaps M = W[:, :r] with the target and their products Q = W
W^T are the same code in each.

Every design is a frozen, hashable description; its methods are pure and can be jitted and mapped over seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from jax import Array

# From the target's fields (n, r), the student's fields (n, p) and a key to D (n, p).
Rule = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class ColumnRule:
    """A rule written for columns of samples: from the fields (r, n) and (p, n) and a key to D (p, n).

    A sweep over a large batch is faster with few long rows. Where samples are rows it is called as any other rule.
    """

    columns: Rule

    def __call__(self, target_fields: Any, fields: Any, key: Any) -> Any:
        """D (n, p), from the fields (n, r) and (n, p)."""
        return self.columns(target_fields.T, fields.T, key).T


def by_columns(rule: Rule) -> Rule:
    """The rule on columns of samples."""
    return rule.columns if isinstance(rule, ColumnRule) else ColumnRule(rule)


class Design(Protocol):
    """How X exists. `Batch` below stands for the design's own record of one batch, a pytree.

    Attributes:
        dim: the dimension d of the inputs.
        known: how many first axes of the frame have a meaning of their own (the target's directions).
        width: the number p of neurons.
        rows: the number n of samples in a batch.
        frame: the number of coordinates of a weight.
        block: how many successive batches `draw` makes at once.
        dtype: of every number.
    """

    @property
    def dim(self) -> int: ...
    @property
    def known(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def frame(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def dtype(self) -> Any: ...

    def gaussian_rows(self, key: Array, count: int) -> Array:
        """`count` <= p rows of N(0, I_d) as coordinates (count, frame): where weights start."""
        ...

    def draw(self, key: Array) -> Any:
        """`block` new batches, stacked along a first axis."""
        ...

    def rebase(self, weights: Array) -> Array:
        """The same weights in a frame with room for a new batch; call it whenever an old batch is given up."""
        ...

    def target_fields(self, batch: Any) -> tuple[Array, Any]:
        """The coordinates of the samples on the known axes, (n, known)."""
        ...

    def forward(self, batch: Any, weights: Array) -> tuple[Array, Any]:
        """The fields X W^T, (n, p)."""
        ...

    def backward(self, batch: Any, duals: Array) -> tuple[Array, Any]:
        """The pull-back D^T X, (p, frame), of D (n, p)."""
        ...

    def bytes_per_seed(self, swept: bool = False) -> int:
        """An estimate of the memory that one seed needs; of one that only sweeps over its batches, if `swept`."""
        ...


class NormedDesign(Design, Protocol):
    """A design that knows the norms of the samples too, which extragradient asks for."""

    def squared_norms(self, batch: Any) -> Array:
        """|x|^2 of every sample, (n,)."""
        ...


class SweptDesign(Design, Protocol):
    """A design that can run over a fresh batch too large to be kept, which giant steps ask for."""

    def sweep(self, key: Array, weights: Array, rule: Rule) -> Array:
        """D^T X over one fresh batch that is read once, D = rule(target fields, fields, key), possibly by chunks."""
        ...
