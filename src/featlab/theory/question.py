"""What a prediction is asked, and what comes back before it is labelled: the contract of every predictor.

A predictor is a function of a `Question` and a `Start` that returns a `Prediction`; `featlab.theory.prediction` finds
the one for a learner and turns what it says into a dataset with the names and axes of a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featlab.errors import FeatlabError
from featlab.gaussian.hermite import Floats
from featlab.outcome import Outcome
from featlab.targets import Isotropic, Target

if TYPE_CHECKING:
    import xarray as xr


class NoPrediction(FeatlabError):
    """A question that no theory here answers. The message says which part of it, and what could be asked instead.

    Examples:
        >>> import featlab
        >>> featlab.predict("tanh(h1)", featlab.SignSgd(step_size=0.01), dim=100, times=[0, 1])
        Traceback (most recent call last):
            ...
        featlab.theory.question.NoPrediction: sign-sgd: no theory known, ...
    """


@dataclass(frozen=True)
class Question:
    """A target, a learner, a student, sizes, and the numbers of steps after which an answer is wanted.

    Attributes:
        target, learner, student: as for a simulation.
        dim: d. A prediction is for d -> infinity; d enters through step sizes, through alpha = samples / d and t / d.
        samples: as for a simulation: in all for one-pass learners, in a batch for the others.
        steps: ascending numbers of steps (whole numbers).
        names: the quantities asked for; None, all.
        draft: whether a few digits are enough, at once, as while a slider moves: who can then takes fewer points and
            states no errors.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> from featlab.extending import Question
        >>> learner, student = featlab.OnlineSgd(step_size=0.01), featlab.TwoLayer(1, "tanh")
        >>> steps, names = np.array([0, 1000]), frozenset({"risk"})
        >>> asked = Question(featlab.target("tanh(h1)"), learner, student, 1000, None, steps, names)
        >>> asked.asks("risk"), asked.asks("overlap")
        (True, False)
    """

    target: Target
    learner: Any  # a Learner; its predictor knows which
    student: Any  # of the learner's student_kind
    dim: int
    samples: int | None
    steps: NDArray[np.int64]
    names: frozenset[str] | None = None
    draft: bool = False

    def asks(self, name: str) -> bool:
        """Whether a quantity is asked for."""
        return self.names is None or name in self.names


@dataclass(frozen=True)
class Start:
    """The order parameters of one student at the start, and what of it is never trained.

    Attributes:
        overlap: M = W W*^T (p, r).
        gram: Q = W W^T (p, p).
        second: a (p,).
        biases: b (p,).
        spike: <w_i, mu> (p,) of inputs with a spike mu; None, not known.

    Examples:
        >>> import numpy as np
        >>> from featlab.extending import Start
        >>> start = Start(np.array([[0.1]]), np.array([[1.0]]), np.ones(1), np.zeros(1))  # one neuron, one direction
        >>> start.overlap.shape, start.spike is None
        ((1, 1), True)
    """

    overlap: Floats
    gram: Floats
    second: Floats
    biases: Floats
    spike: Floats | None = None


@dataclass(frozen=True)
class Prediction:
    """What is predicted at every asked step.

    Attributes:
        values: name -> array (steps, ...), with the names and axes of `featlab.simulate`: "overlap" (steps, p, r),
            "gram" (steps, p, p), "risk" (steps,), ...; NaN where the outcome forbids an answer.
        errors: name -> numerical error of the value, same shape; a name that is missing has none worth stating.
        outcome: how it ended.
        remedy: what to do about it; the outcome's own unless there is better advice.
        words: one sentence: which limit this is, and what it neglects.
        limit: what goes to infinity, one of `featlab.results.LIMITS`: "dimension", with samples, steps and step sizes
            in proportion, on which alone the values depend; "samples", at the given dimension; "sizes", nothing: it is
            for the given sizes, and what it neglects vanishes as the dimension grows.
        describes: "path", every step; "end", where it ends, the way there being another one than that of a run.
        draft: whether it has fewer digits than could be had, since a draft was asked for.

    Examples:
        >>> import numpy as np
        >>> from featlab.extending import Prediction
        >>> found = Prediction({"risk": np.array([0.5, 0.1])}, "exact as d grows at a fixed t / d")
        >>> found.outcome.value, found.limit, found.describes
        ('ok', 'dimension', 'path')
    """

    values: Mapping[str, Floats]
    words: str
    errors: Mapping[str, Floats] = field(default_factory=dict)
    outcome: Outcome = Outcome.OK
    remedy: str = ""
    limit: str = "dimension"
    describes: str = "path"
    draft: bool = False

    def __post_init__(self) -> None:
        if not self.remedy:
            object.__setattr__(self, "remedy", self.outcome.remedy)


# A question, and a simulated dataset or None -> (None, the described start), or (seed, its start) for each seed.
Starts = Callable[["Question", "xr.Dataset | None"], Iterator[tuple[int | None, Any]]]


class Predictor(NamedTuple):
    """What predicts a kind of learner.

    Attributes:
        predict: a question and a start -> what is predicted.
        starts: a question, and a simulation or None -> the starts to predict from.
        inputs: the laws of the inputs that it is for.
        each: a question and many starts -> what is predicted from each, in this order, where that can be had for less
            than one prediction after the other; None, it cannot.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> from featlab.extending import Prediction, Predictor, Question, student_starts
        >>> def predict(question, start):
        ...     stays = np.repeat(start.overlap[None], len(question.steps), axis=0)
        ...     return Prediction({"overlap": stays}, "nothing is ever learned")
        >>> lazy = Predictor(predict, student_starts)
        >>> learner, student = featlab.OnlineSgd(step_size=0.01), featlab.TwoLayer(1, "tanh", start="orthogonal")
        >>> asked = Question(featlab.target("tanh(h1)"), learner, student, 1000, None, np.array([0, 1000]))
        >>> starts = [start for _, start in lazy.starts(asked, None)]
        >>> next(lazy.answers(asked, starts)).values["overlap"].shape  # steps, neurons, directions
        (2, 1, 1)
    """

    predict: Callable[[Question, Any], Prediction]
    starts: Starts
    inputs: tuple[type, ...] = (Isotropic,)
    each: Callable[[Question, Sequence[Any]], Iterator[Prediction]] | None = None

    def answers(self, question: Question, starts: Sequence[Any]) -> Iterator[Prediction]:
        """What is predicted from each start."""
        if self.each is not None:
            return self.each(question, starts)
        return (self.predict(question, start) for start in starts)
