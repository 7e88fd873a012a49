"""Students: what is trained. A description only; the arrays live in `featlab.simulation.networks`."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation, activation
from featlab.learners.checks import finite_number, one_of, positive_integer, positive_number

SECOND_LAYERS = ("ones", "alternating", "signs", "gaussian")
BIASES = ("gaussian", "uniform")
STARTS = ("sphere", "gaussian", "orthogonal", "planted")


@dataclass(frozen=True)
class TwoLayer:
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
            directions, M_ik = norm * planted[i][k].
    """

    width: int = 1
    activation: str | Activation = "relu"
    second_layer: str = "ones"
    second_scale: float = 1.0
    paired: bool = False
    biases: float | str = 0.0
    bias_scale: float = 1.0
    start: str = "sphere"
    norm: float = 1.0
    planted: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        positive_integer("width", self.width)
        activation(self.activation)
        one_of("second_layer", self.second_layer, SECOND_LAYERS)
        finite_number("second_scale", self.second_scale)
        if self.paired and self.width % 2:
            raise InvalidParameter("width", self.width, "an even number of neurons for a paired start")
        if isinstance(self.biases, Real):
            finite_number("biases", self.biases)
        else:
            one_of("biases", self.biases, BIASES)
        positive_number("bias_scale", self.bias_scale)
        one_of("start", self.start, STARTS)
        positive_number("norm", self.norm)
        self._check_planted()

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
        if not isinstance(self.planted, tuple) or not all(isinstance(row, tuple) for row in self.planted):
            raise InvalidParameter("planted", self.planted, "a tuple of tuples of cosines, such as ((0.3, 0.1),)")
        if len(self.planted) != self.distinct:
            expected = f"{self.distinct} rows of cosines, one for each neuron drawn at the start"
            raise InvalidParameter("planted", self.planted, expected)
        for row in self.planted:
            if sum(finite_number("planted", cosine) ** 2 for cosine in row) > 1 + 1e-12:
                raise InvalidParameter(
                    "planted", self.planted, "cosines with a sum of squares of at most 1 in each row"
                )
