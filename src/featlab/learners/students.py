"""Students: what is trained. A description only; the arrays live in `featlab.simulation.networks`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from featlab.errors import InvalidParameter
from featlab.learners.fields import (
    ACTIVATION,
    BIASES,
    COUNT,
    FLAG,
    NORM,
    NUMBER,
    POSITIVE,
    ROWS,
    Description,
    choice,
    option,
)

if TYPE_CHECKING:
    from featlab.gaussian.activations import Activation

CERTAIN_LAYERS = ("ones", "alternating")
SECOND_LAYERS = ("ones", "alternating", "signs", "gaussian")
STARTS = ("sphere", "gaussian", "orthogonal", "planted")


@dataclass(frozen=True)
class TwoLayer(Description):
    """f(x) = (1/p) sum_i a_i sigma(<w_i, x> + b_i), of which the first layer W is trained.

    Attributes:
        width: the number p of neurons.
        activation: sigma, a name of the registry or an `Activation`.
        second_layer: a_i: "ones"; "alternating" +1, -1, ...; "signs", random +-1; "gaussian", N(0, 1).
        second_scale: a_i is multiplied by it.
        paired: symmetric start: neuron i + p/2 copies w_i and b_i and has -a_i, so that f = 0 (p must be even).
        biases: a number (every b_i is that number), or "gaussian" N(0, 1), or "uniform" on [-1, 1]; never trained.
        bias_scale: b_i of a random law is multiplied by it.
        start: rows of W: "sphere", uniform with norm `norm`; "gaussian", entries N(0, norm^2/d);
            "orthogonal", as "sphere" but within the orthogonal complement of the target's directions;
            "planted", with the cosines `planted` with those directions, the rest uniform in that complement.
        norm: the (typical) norm of a row of W at the start.
        planted: for start="planted": for each neuron (each pair of a paired student) its cosines with the target's
            directions, M_ik = `norm * planted[i][k]`.

    Examples:
        >>> import featlab
        >>> featlab.TwoLayer(width=4, activation="erf", second_layer="alternating").width
        4
    """

    width: int = field(default=1, metadata=option(COUNT, "number of neurons"))
    activation: str | Activation = field(default="relu", metadata=option(ACTIVATION, "relu, tanh, erf, He3, .."))
    second_layer: str = field(default="ones", metadata=option(choice(*SECOND_LAYERS), "second layer, never trained"))
    second_scale: float = field(default=1.0, metadata=option(NUMBER, "factor of the second layer"))
    paired: bool = field(default=False, metadata=option(FLAG, "mirror-image neurons, so that f = 0 at first"))
    biases: float | str = field(default=0.0, metadata=option(BIASES, "biases, never trained"))
    bias_scale: float = field(default=1.0, metadata=option(POSITIVE, "factor of random biases"))
    start: str = field(default="sphere", metadata=option(choice(*STARTS), "where rows start"))
    norm: float = field(default=1.0, metadata=option(NORM, "norm of a row at the start"))
    planted: tuple[tuple[float, ...], ...] = field(
        default=(), metadata=option(ROWS, "planted cosines: neurons by ';', directions by ','")
    )

    def check_together(self) -> None:
        """Pairs need an even width, planted cosines a planted start."""
        if self.paired and self.width % 2:
            raise InvalidParameter("width", self.width, "an even number of neurons for a paired start")
        self._check_planted()

    @property
    def certain(self) -> bool:
        """Whether nothing of order one of its start is left to chance: weights, second layer and biases."""
        placed = self.start in ("orthogonal", "planted")
        return placed and self.second_layer in CERTAIN_LAYERS and not isinstance(self.biases, str)

    @property
    def distinct(self) -> int:
        """The number of neurons drawn at the start: half of them when paired."""
        return self.width // 2 if self.paired else self.width

    def planted_cosines(self, rank: int) -> tuple[tuple[float, ...], ...]:
        """The planted cosines (distinct, rank), for a target of that many directions."""
        if any(len(row) != rank for row in self.planted):
            raise InvalidParameter("planted", self.planted, f"{rank} cosines a neuron, one for each direction")
        return self.planted

    def _check_planted(self) -> None:
        if self.start != "planted":
            if self.planted:
                raise InvalidParameter("planted", self.planted, "none, unless start='planted'")
            return
        if len(self.planted) != self.distinct:
            expected = f"{self.distinct} rows of cosines, one for each neuron drawn at the start"
            raise InvalidParameter("planted", self.planted, expected)
        for row in self.planted:
            if sum(cosine**2 for cosine in row) > 1 + 1e-12:
                expected = "cosines with a sum of squares of at most 1 in each row"
                raise InvalidParameter("planted", self.planted, expected)
