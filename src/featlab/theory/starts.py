"""Where a prediction starts: the order parameters of a student as described, or of one that was simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.learners.registry import called
from featlab.learners.students import CERTAIN_LAYERS, TwoLayer
from featlab.results import ESTIMATE_START, START
from featlab.theory.question import NoPrediction, Question, Start

if TYPE_CHECKING:
    import xarray as xr

    from featlab.theory.tied.starts import TiedStart

_FROM_A_RUN = (
    "a simulation of the same student that observes " + ", ".join(START) + " at time 0 (as it does by itself up to 32 "
    "neurons, and wider ones with observe=), from which it is predicted: "
    "`featlab compare` does that, and in Python `predict(..., start=simulate(...))`"
)
_MOST_NEURONS = 2**14


def typical_start(student: TwoLayer, rank: int, dim: int) -> Start:
    """The start of a student whose description leaves nothing of order one to chance.

    A row uniform on the sphere has overlaps of size norm/sqrt(d) with each direction, and rows are orthogonal to each
    other up to the same: M_ik = s_ik norm/sqrt(d), Q = norm^2 I. The signs s_ik are positive for the first neuron and
    those of a Hadamard matrix for the others, so that neurons start differently where they can. A start orthogonal to
    the directions, or planted, is exact.
    """
    _refuse_randomness(student)
    count, norm = student.distinct, student.norm
    if count > _MOST_NEURONS:
        bytes_needed = 8 * count**2
        raise NoPrediction(
            f"the Gram matrix of {count:,} neurons takes {bytes_needed:,} bytes; at most {_MOST_NEURONS:,} neurons"
        )
    if student.start == "planted":
        cosines = np.array(student.planted_cosines(rank), dtype=np.float64)
    elif student.start == "orthogonal":
        cosines = np.zeros((count, rank))
    else:
        cosines = _signs(count, rank) / math.sqrt(dim)
    gram = cosines @ cosines.T if student.start == "planted" else np.zeros((count, count))
    np.fill_diagonal(gram, 1.0)
    second, biases = _second_layer(student), np.full(count, float(student.biases))
    if student.paired:
        cosines, gram = np.tile(cosines, (2, 1)), np.tile(gram, (2, 2))
        second, biases = np.concatenate([second, -second]), np.tile(biases, 2)
    return Start(norm * cosines, norm**2 * gram, second, biases)


def simulated_starts(
    run: xr.Dataset, width: int, rank: int, names: tuple[str, ...] = START
) -> Iterator[tuple[int, Start]]:
    """(seed, its start) of every seed of a simulated dataset, from what was observed at time 0.

    With fewer `names`, as for an estimate without a second layer, the other parts of a start are zero.
    """
    if not hasattr(run, "data_vars"):
        raise InvalidParameter("start", run, _FROM_A_RUN)
    missing = [name for name in names if name not in run]
    if missing or "seed" not in run.dims:
        raise InvalidParameter("start", f"a dataset of {', '.join(map(str, run.data_vars))}", _FROM_A_RUN)
    if run["step"].values[0] != 0:
        raise InvalidParameter("start", f"a run first seen at step {run['step'].values[0]}", _FROM_A_RUN)
    shape = (run.sizes["neuron"], run.sizes["direction"])
    if shape != (width, rank):
        expected = f"{width} neurons and {rank} directions, as the student and the target have"
        raise InvalidParameter("start", f"{shape[0]} neurons and {shape[1]} directions", expected)
    first = run.isel(time=0)
    for place, seed in enumerate(run["seed"].values):
        parts = [np.asarray(first[name].isel(seed=place).values, dtype=np.float64) for name in names]
        spike = np.asarray(first["spike_overlap"].isel(seed=place).values, float) if "spike_overlap" in run else None
        yield int(seed), replace(Start(*parts, *(np.zeros(width) for _ in START[len(names) :])), spike=spike)


def lawful_start(student: TwoLayer, rank: int, dim: int) -> Start:
    """The typical start of a student so wide that only the laws of its second layer and biases matter.

    Random ones are replaced by the quantiles of their laws; a second layer has the mean square of its law exactly.
    """
    certain = replace(
        student,
        second_layer=student.second_layer if student.second_layer in CERTAIN_LAYERS else "ones",
        biases=0.0 if isinstance(student.biases, str) else student.biases,
    )
    start = typical_start(certain, rank, dim)
    levels = (np.arange(student.distinct) + 0.5) / student.distinct
    second, biases = start.second[: student.distinct], start.biases[: student.distinct]
    if student.second_layer == "signs":
        second = student.second_scale * np.where(levels < 0.5, -1.0, 1.0)
    elif student.second_layer == "gaussian":
        quantiles = scipy.stats.norm.ppf(levels)
        second = student.second_scale * quantiles / np.sqrt(np.mean(quantiles**2))
    if student.biases == "gaussian":
        biases = student.bias_scale * scipy.stats.norm.ppf(levels)
    elif student.biases == "uniform":
        biases = student.bias_scale * (2 * levels - 1)
    if student.paired:
        second, biases = np.concatenate([second, -second]), np.tile(biases, 2)
    return replace(start, second=second, biases=biases)


def student_starts(question: Question, run: xr.Dataset | None) -> Iterator[tuple[int | None, Start]]:
    """The typical start of the student, or that of every simulated seed.

    Args:
        question: what is asked.
        run: a simulation whose starts are taken, or None.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> from featlab.extending import Question, student_starts
        >>> learner, student = featlab.OnlineSgd(step_size=0.01), featlab.TwoLayer(2, "tanh", start="orthogonal")
        >>> asked = Question(featlab.target("tanh(h1)"), learner, student, 1000, None, np.array([0, 1000]))
        >>> [(seed, start.overlap.tolist()) for seed, start in student_starts(asked, None)]
        [(None, [[0.0], [0.0]])]
    """
    student, rank = question.student, question.target.rank
    if run is None:
        yield None, typical_start(student, rank, question.dim)
    else:
        yield from simulated_starts(run, student.width, rank)


def wide_starts(question: Question, run: xr.Dataset | None) -> Iterator[tuple[int | None, Start]]:
    """The same for a student so wide that laws say everything."""
    if run is None:
        yield None, lawful_start(question.student, question.target.rank, question.dim)
    else:
        yield from student_starts(question, run)


def estimate_starts(question: Question, run: xr.Dataset | None) -> Iterator[tuple[int | None, Start]]:
    """Of an estimate of the directions, which has no second layer."""
    from featlab.theory.bayes.predictor import amp_start

    rank = question.target.rank
    if run is None:
        yield None, amp_start(question.learner, rank, question.dim)
    else:
        yield from simulated_starts(run, rank, rank, ESTIMATE_START)


def tied_network_starts(question: Question, run: xr.Dataset | None) -> Iterator[tuple[int | None, TiedStart]]:
    """Of networks that share one direction each."""
    from featlab.theory.tied.starts import tied_starts

    yield from tied_starts(run)


def no_starts(question: Question, run: xr.Dataset | None) -> Iterator[tuple[int | None, Start]]:
    """Of a learner that starts from nothing."""
    if run is not None:
        raise InvalidParameter("start", "a dataset", f"None: {called(question.learner)} starts from nothing")
    yield None, Start(np.zeros((0, question.target.rank)), np.zeros((0, 0)), np.zeros(0), np.zeros(0))


def _refuse_randomness(student: TwoLayer) -> None:
    if student.second_layer not in CERTAIN_LAYERS:
        raise NoPrediction(f"the second layer {student.second_layer!r} is drawn at random and asks for {_FROM_A_RUN}")
    if isinstance(student.biases, str):
        raise NoPrediction(f"the biases {student.biases!r} are drawn at random and ask for {_FROM_A_RUN}")


def _second_layer(student: TwoLayer) -> Floats:
    signs = np.ones(student.distinct)
    if student.second_layer == "alternating":
        signs[1::2] = -1
    return student.second_scale * signs


def _signs(count: int, rank: int) -> Floats:
    """(-1)^(number of bits that i and k share): the corner of a Hadamard matrix."""
    return np.array([[(-1.0) ** (i & k).bit_count() for k in range(rank)] for i in range(count)])
