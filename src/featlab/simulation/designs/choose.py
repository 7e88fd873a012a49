"""Which design a run gets, and whether it fits in memory: decided before it starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from featlab.errors import FeatlabError, InvalidParameter, MissingParameter
from featlab.learners.checks import positive_integer
from featlab.machine import Memory
from featlab.machine import memory as process_memory
from featlab.simulation.designs.dense import Dense, Streamed
from featlab.simulation.designs.dice import Dice
from featlab.simulation.designs.one_neuron import ReusedByOne, reads_once
from featlab.simulation.designs.protocol import Design
from featlab.simulation.designs.retraced import Retraced
from featlab.simulation.designs.triangular import Triangular
from featlab.simulation.designs.virtual import FreshVirtual, ReusedVirtual
from featlab.simulation.devices import sample_devices

KINDS = ("auto", "virtual", "retraced", "dense", "streamed", "dice")
# Of all memory a run may use half, and never what Python, JAX and its compiler need for themselves.
_SHARE, _OWN_BYTES = 0.5, 4 * 10**8
# A seed with so many bytes of its own keeps a machine busy, and side by side every update of a table would copy it.
_ALONE_BYTES = 2**23
_COUNTED = 2**31 - 1
_COMPARED = "'virtual' or 'dense' for a learner that compares samples with each other, as kernels do"


class DoesNotFit(FeatlabError):
    """A run that needs more memory than there is; refused before it starts.

    Attributes:
        needed: bytes that it needs.
        available: bytes that the run may use.
        fitting: the designs, if any, on which it would fit.

    Examples:
        >>> import featlab
        >>> learner = featlab.SlicedInverseRegression()
        >>> featlab.draw(featlab.Experiment.of("tanh(h1)", learner, dim=10**4, samples=10**4, memory=10**6))
        Traceback (most recent call last):
            ...
        featlab.simulation.designs.choose.DoesNotFit: one seed on the design ...
    """

    def __init__(self, needed: int, available: int, what: str, remedy: str, fitting: Sequence[str] = ()) -> None:
        self.needed, self.available, self.fitting = needed, available, tuple(fitting)
        self.what, self.remedy = what, remedy
        super().__init__(f"{what} needs {needed:,} bytes, {available:,} are available; {remedy}")

    @classmethod
    def on(cls, kind: str, needed: int, available: int, fitting: Sequence[str]) -> DoesNotFit:
        """One seed on a design."""
        others = " or ".join(f"design={other!r}" for other in fitting)
        remedy = f"take {others}, on which it fits, or" if fitting else "it fits on no design; take"
        what = f"one seed on the design {kind!r}"
        return cls(needed, available, what, f"{remedy} fewer samples, or a narrower student", fitting)


class Sizes(NamedTuple):
    """The sizes of a run: the dimension d, the known axes of the frame, the `samples` asked for, the dtype.

    Examples:
        >>> import numpy as np
        >>> from featlab.extending import Sizes
        >>> Sizes(dim=1000, known=1, samples=3000, dtype=np.float32).batch
        3000
    """

    dim: int
    known: int
    samples: int | None
    dtype: Any

    @property
    def batch(self) -> int:
        """`samples`, for a learner that must have them: those of its batch."""
        if self.samples is None:
            raise MissingParameter("samples", "how many samples are in a batch")
        return positive_integer("samples", self.samples)


@dataclass(frozen=True)
class Demand:
    """What a learner asks of its design.

    Attributes:
        dim, known, width, rows, dtype: as in `Design`.
        uses: how often a batch is read (1: fresh batches).
        normed: whether |x|^2 is asked for.
        besides: bytes that the run needs besides its design, once for all seeds.
        per_seed: bytes that each seed needs besides its design.
        stored: whether the matrix X itself is asked for, and not only its products: then it must be dense.
        compared: whether samples are compared with each other, by their inner products, and never with weights.
        row_work: multiplications, roughly, for each sample and use besides its products with weights.
        fit_work: the same for each seed, once.
        swept: whether a batch is only ever swept over, by chunks, and never there as a whole.
        noises: random numbers behind the label of a sample, for a learner whose answers can be retraced from these and
            the sample's coordinates; None, for one whose answers are kept.
    """

    dim: int
    known: int
    width: int
    rows: int
    uses: int = 1
    normed: bool = False
    dtype: Any = np.float32
    besides: int = 0
    per_seed: int = 0
    stored: bool = False
    compared: bool = False
    row_work: float = 0.0
    fit_work: float = 0.0
    swept: bool = False
    noises: int | None = None

    def of(self, design: Design) -> int:
        """Bytes of one seed on that design, besides what all seeds share."""
        return design.bytes_per_seed(self.swept) + self.per_seed


@dataclass(frozen=True)
class Choice:
    """A design, its name, how many seeds of it may run at a time, and the bytes of a seed and of what all share."""

    design: Design
    kind: str
    bytes_per_seed: int
    seeds_at_once: int
    besides: int

    def group(self, count: int, free: int) -> int:
        """How many of `count` seeds run side by side where so many bytes are free."""
        return max(1, min(count, self.seeds_at_once, (free - self.besides) // self.bytes_per_seed))

    def bytes_of(self, count: int) -> int:
        """What so many seeds side by side need."""
        return self.besides + count * self.bytes_per_seed


def choose(demand: Demand, equivariant: bool, kind: str = "auto", memory: int | None = None) -> Choice:
    """The design of that kind; "auto" takes the one with the least work among those that apply and fit.

    Args:
        equivariant: whether rotating the inputs rotates the learner's weights. If not, "virtual" is refused: its
            coordinates are those of an arbitrary frame, so that a rule which looks at them would be silently wrong.

    Raises:
        InvalidParameter: for an unknown kind, or one that cannot serve this learner at these sizes.
        DoesNotFit: when one seed needs more than `memory` bytes (default: `usable_bytes`, which is the same whenever
            it is asked, and so is the choice).
    """
    if kind not in KINDS:
        raise InvalidParameter("design", kind, "one of " + ", ".join(map(repr, KINDS)))
    if demand.stored and kind not in ("auto", "dense"):
        raise InvalidParameter("design", kind, "'dense': X itself is asked for, or it is not Gaussian")
    if kind in ("virtual", "retraced") and not equivariant:
        raise InvalidParameter("design", kind, "'dense', 'dice' or 'streamed': the learner looks at single coordinates")
    available = (usable_bytes() if memory is None else memory) - demand.besides
    possible = _possible(demand, equivariant) if kind == "auto" else [(kind, _MAKERS[kind](demand))]
    kind, design = next(iter(_fitting(possible, demand, available)), None) or min(
        possible, key=lambda pair: demand.of(pair[1])
    )
    needed = _on_each(demand, design, available)
    if needed > available:
        others = [name for name, _ in _fitting(_possible(demand, equivariant), demand, available)]
        raise DoesNotFit.on(kind, needed + demand.besides, available + demand.besides, others)
    _check_counted(demand, design)
    alone = needed >= _ALONE_BYTES or (isinstance(design, Retraced) and design.chunks > 1)
    at_once = 1 if alone else available // needed
    return Choice(design, kind, needed, at_once, demand.besides)


def _check_counted(demand: Demand, design: Design) -> None:
    """Arrays are indexed by 32 bits; what is swept over is counted by chunks."""
    takes = f", here of {demand.of(design):,} bytes a seed"
    if demand.rows > _COUNTED and not demand.swept and not isinstance(design, Retraced):
        raise InvalidParameter("samples", demand.rows, f"at most {_COUNTED:,} in a batch that is kept{takes}")
    if getattr(design, "frame", 0) > _COUNTED:
        raise InvalidParameter("dim", demand.dim, f"at most {_COUNTED:,} where weights have all coordinates{takes}")


def _fitting(designs: list[tuple[str, Design]], demand: Demand, available: int) -> list[tuple[str, Design]]:
    return [(kind, design) for kind, design in designs if _on_each(demand, design, available) <= available]


def _on_each(demand: Demand, design: Design, available: int) -> int:
    """Bytes of one seed: if it does not fit on one device, on each of those over which its samples can be spread."""
    whole = demand.of(design)
    if whole <= available or not isinstance(design, ReusedVirtual) or jax.default_backend() == "cpu":
        return whole
    return -(-whole // sample_devices(demand.rows))


def usable_bytes(of: Memory | None = None) -> int:
    """Half of a memory, or of that of the device that JAX will use: of its size, whatever may be in use now."""
    size = (of or device_memory()).size
    return max(0, min(int(_SHARE * size), size - _OWN_BYTES))


def device_memory() -> Memory:
    """That of the device that JAX will use: a GPU's own, or that of this process."""
    stats = jax.devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return Memory(stats["bytes_limit"], stats["bytes_limit"] - stats.get("bytes_in_use", 0))
    return process_memory()


def _possible(demand: Demand, equivariant: bool) -> list[tuple[str, Design]]:
    """The designs that can serve, the one with the least work first and the one with the least memory last."""
    if demand.stored:
        return [("dense", _MAKERS["dense"](demand))]
    found: list[tuple[str, Design]] = []
    asked = demand.uses * demand.width
    # A question to a reused virtual batch reads its coordinates once and the earlier questions three times; to a stored
    # one, X.
    stored_first = demand.uses > 1 and demand.known + demand.width + 4 * asked > demand.dim
    sampled = "virtual" if equivariant else "dice"
    if not equivariant:  # a question to dice reads what was asked before, in R^d and in R^n; to a stored batch, X
        stored_first = demand.rows * demand.dim <= (demand.known + 4 * asked) * (demand.rows + demand.dim)
    for kind in (
        ("dense", sampled, "retraced", "streamed") if stored_first else (sampled, "retraced", "dense", "streamed")
    ):
        try:
            found.append((kind, _MAKERS[kind](demand)))
        except InvalidParameter:
            continue  # this kind has no room in so small a problem, or no norms; dense always has
    return found[:1] if demand.compared else found  # in the frame that they span, samples are never larger than in R^d


def _virtual(demand: Demand) -> Any:  # a Design; where samples are compared, one that knows no weights
    sizes = (demand.dim, demand.known, demand.width, demand.rows, demand.dtype)
    if demand.compared:
        return Triangular(*sizes)
    if demand.uses > 1:
        return (ReusedByOne if reads_once(demand.width, demand.uses) else ReusedVirtual)(*sizes, uses=demand.uses)
    return FreshVirtual(*sizes, normed=demand.normed)


def _retraced(demand: Demand) -> Any:  # a Design that is asked by rules, never for fields
    if demand.noises is None:
        raise InvalidParameter("design", "retraced", "'virtual' for this learner, whose answers are kept")
    sizes = (demand.dim, demand.known, demand.width, demand.rows, demand.dtype)
    return Retraced(*sizes, uses=demand.uses, noises=demand.noises)


def _streamed(demand: Demand) -> Design:
    if demand.compared:
        raise InvalidParameter("design", "streamed", _COMPARED)
    return Streamed(demand.dim, demand.known, demand.width, demand.rows, demand.dtype)


def _dice(demand: Demand) -> Design:
    if demand.compared:
        raise InvalidParameter("design", "dice", _COMPARED)
    if demand.normed:
        raise InvalidParameter("design", "dice", "'virtual', 'dense' or 'streamed' for a learner that asks for |x|^2")
    return Dice(demand.dim, demand.known, demand.width, demand.rows, demand.uses, demand.dtype)


_MAKERS: dict[str, Callable[[Demand], Design]] = {
    "virtual": _virtual,
    "retraced": _retraced,
    "dense": lambda demand: Dense(demand.dim, demand.known, demand.width, demand.rows, demand.dtype),
    "streamed": _streamed,
    "dice": _dice,
}
