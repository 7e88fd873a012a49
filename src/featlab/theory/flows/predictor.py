"""What a flow does on infinitely many samples: the population flow by the same arcs, from the same start.

What a batch of n samples does to it, to leading order (`noise`), is said in words. Where the noise of that batch
decides, it is the error of what is predicted; elsewhere it falls as 1/n, which a comparison measures.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats, Integers
from featlab.learners.flows import SphericalFlow
from featlab.outcome import Outcome
from featlab.targets.inputs import Isotropic, Spiked
from featlab.theory.flows.averages import Averages
from featlab.theory.flows.noise import NoisyPath, noisy_walk
from featlab.theory.flows.path import Landscape, Path, Spike, walk
from featlab.theory.question import NoPrediction, Prediction, Question, Start

_DRIFT = "Nothing drives a neuron from its start: a run follows the noise of its batch, however many samples it has."
_FAR = 0.05  # an angle that is more than the last steps to a rest


def predict_flow(question: Question, start: Start) -> Prediction:
    """The order parameters of a `SphericalFlow` or `NormalisedFlow` as n -> infinity at the given d.

    Where n is given and the noise of such a batch exceeds the slope on the way, the words say so, and the errors are
    the distances to the path under that noise.

    A neuron that the population loss does not drive from its start (an odd activation and an even target, say) has no
    such limit: NaN after step 0.

    Raises:
        NoPrediction: for a target of several directions, and for inputs other than isotropic or spiked ones.
    """
    target, learner, student = question.target, question.learner, question.student
    if not isinstance(learner, SphericalFlow):
        raise NoPrediction(f"got {learner!r}; this is the prediction of flows")
    if not isinstance(target.inputs, Isotropic | Spiked):
        raise NoPrediction(f"inputs {target.inputs!r}: flows are predicted for isotropic and spiked ones; simulate it")
    spike, count = Spike.of(target.inputs), learner.rows(student.width)
    landscapes = [
        Landscape(
            Averages(target, activation(student.activation), float(start.biases[i])),
            float(start.second[i]),
            student.norm,
            spike,
            learner,
        )
        for i in range(count)
    ]
    weights, cosines = _neurons(question, start, landscapes)
    last = int(question.steps[-1])
    paths = [walk(scape, row, last) for scape, row in zip(landscapes, weights, strict=True)]
    values = _values(question, landscapes, paths, cosines)
    outcome, words, remedy = _worst(paths, last, learner.steps), _words(question), ""
    if last > 0 and any(len(path.points) == 1 for path in paths):
        # On a batch the step has the same length however small the slope, so that this is no limit of runs.
        values = {name: _start_alone(one, question.steps) for name, one in values.items()}
        words, remedy = f"{words} {_DRIFT}", "take another activation, a bias, or another start"
        return Prediction(values, words, {}, outcome, remedy, limit="samples")
    if question.samples is None or question.draft:
        return Prediction(values, words, {}, outcome, remedy, limit="samples")
    noisy = [
        noisy_walk(one, row, last, question.dim, question.samples) for one, row in zip(landscapes, weights, strict=True)
    ]
    every = replace(question, steps=np.arange(last + 1))
    off = _distance(*(_values(every, landscapes, of, cosines) for of in (paths, [one.path for one in noisy])))
    words += f" By these a cosine is off by up to {np.max(off['field_correlation'][question.steps]):.2g}."
    decides, errors = _noise_decides(paths, noisy, question.samples), {}
    if decides:  # who has lost the way is not said to be nearer to it later
        errors = {name: np.maximum.accumulate(one)[question.steps] for name, one in off.items()}
    return Prediction(values, words + decides, errors, outcome, remedy, limit="samples")


def _distance(values: dict[str, Floats], others: dict[str, Floats]) -> dict[str, Floats]:
    return {name: np.abs(one - others[name]) for name, one in values.items()}


def _noise_decides(paths: list[Path], noisy: list[NoisyPath], samples: int) -> str:
    """Where the slope is below the noise of a batch while the population's path goes on, in words."""
    for path, one in zip(paths, noisy, strict=True):
        below = np.flatnonzero(one.slopes < one.noises)
        if below.size and path.arc_from(int(below[0])) > _FAR:
            step = int(below[0])
            return (
                f" After step {step} the slope of the population's loss, {one.slopes[step]:.2g}, is below the noise of "
                f"a batch of n = {samples:,}, {one.noises[step]:.2g}: there runs follow their noise, and what is told "
                "is for far larger n."
            )
    return ""


def _start_alone(values: Floats, steps: Integers) -> Floats:
    """The values at step 0, NaN after it."""
    return np.where((steps == 0).reshape(-1, *([1] * (values.ndim - 1))), values, np.nan)


def _neurons(question: Question, start: Start, landscapes: list[Landscape]) -> tuple[Floats, Floats]:
    """Where neurons are at the start: coordinates (p, known + 1) on the known axes and of the rest, turned where the
    learner does so, and the cosines (p, p) between the rests, which never change."""
    learner, axis = question.learner, landscapes[0].spike.axis
    count, known = len(landscapes), axis.size
    overlap, gram = start.overlap[:count], start.gram[:count, :count]
    weights = np.zeros((count, known + 1))
    weights[:, 0] = overlap[:, 0]
    if known == 2:
        weights[:, 1] = _across(question, start, count, axis)
    rests = gram - weights[:, :known] @ weights[:, :known].T
    weights[:, -1] = np.sqrt(np.maximum(np.diag(rests), 0.0))
    lengths = np.where(weights[:, -1] > 0, weights[:, -1], 1.0)
    cosines = rests / np.outer(lengths, lengths)
    np.fill_diagonal(cosines, 1.0)
    if learner.positive_start:
        found = [scape.correlation(scape.point(row)) for scape, row in zip(landscapes, weights, strict=True)]
        weights = np.where(np.array(found) < 0, -1.0, 1.0)[:, None] * weights
    return weights, cosines


def _across(question: Question, start: Start, count: int, axis: Floats) -> Floats:
    """The coordinates on mu's part off beta: as simulated, or as large as they typically are."""
    along = start.overlap[:count, 0]
    if start.spike is not None:
        return (start.spike[:count] - axis[0] * along) / axis[1]
    others = np.diag(start.gram)[:count] - along**2
    return np.sqrt(np.maximum(others, 0.0) / max(question.dim - 1, 1))


def _values(question: Question, landscapes: list[Landscape], paths: list[Path], cosines: Floats) -> dict[str, Floats]:
    """Order parameters at the asked steps, for every neuron of the student."""
    axis, width = landscapes[0].spike.axis, question.student.width
    points = np.stack([path.after(question.steps) for path in paths], axis=1)  # (steps, q, known + 1)
    weights = landscapes[0].weights(points)
    known, rest = weights[:, :, :-1], weights[:, :, -1]
    gram = known @ np.swapaxes(known, 1, 2) + cosines * rest[:, :, None] * rest[:, None, :]
    found = [[scape.correlation(point) for scape, point in zip(landscapes, row, strict=True)] for row in points]
    copies = np.zeros(width, dtype=np.intp) if len(paths) == 1 else np.arange(width)
    values = {
        "overlap": known[:, copies, :1],
        "gram": gram[:, copies][:, :, copies],
        "field_correlation": np.array(found)[:, copies, None],
    }
    if isinstance(question.target.inputs, Spiked):
        values["spike_overlap"] = (known @ axis)[:, copies]
    if len(paths) == 1:  # the output of several neurons is more than what each of them learns by itself
        values["risk"] = np.array([landscapes[0].risk(point) for point in points[:, 0]])
    return values


def _worst(paths: list[Path], asked: int, most: int) -> Outcome:
    """How a student ends; one that is not followed to its end is fine."""
    outcomes = [path.outcome for path in paths]
    if Outcome.NOT_CONVERGED in outcomes:
        return Outcome.NOT_CONVERGED if asked == most else Outcome.OK
    return Outcome.STALLED if Outcome.STALLED in outcomes else Outcome.OK


def _words(question: Question) -> str:
    samples = question.samples
    size = "" if samples is None else f", of order sqrt(d/n) = {np.sqrt(question.dim / samples):.2g} in the gradient"
    return f"Population flow, n -> infinity at d = {question.dim:,}: it neglects the fluctuations of a batch{size}."
