"""The first layer after one step on labels without their linear part (Damian, Lee, Soltanolkotabi 2022), n >> d or ~ d.

The step of `featlab.learners.PreprocessedStep`: g = mean(r a sigma'(<w, x> + b) x) with r = y - mean(y) - <beta, x> and
beta = mean(y x), all means over one batch of n = alpha d samples.

Statement, derived here by conditioning on beta (as in `featlab.theory.reuse.dmft`, whose first force is the label). Let
s^2 = E[y^2]. Off the target's directions beta has length s / sqrt(alpha), and along it a sample has the coordinate
c = y / (s sqrt(alpha)) + zeta, zeta ~ N(0, 1); so r = (1 - 1/alpha) y - E[y] - <E[y h], h> - (s / sqrt(alpha)) zeta.
With the field <m, h> + t z of a neuron and its force D = r a sigma',

    g = E[D h] along the directions,  E[D z] along what else w is,  E[D c] along beta,
        and beyond these a Gaussian vector of squared length (E[D^2] - E[D y]^2 / s^2) / alpha.

Exact as d -> infinity at n/d fixed. As n/d grows it is what n ~ d^2 samples leave: for a random start, m ~ 1/sqrt(d),
signal and noise of g are then of the same size. Neglected are fluctuations of g along each direction, of size
sqrt(E[D^2] / n): next to the signal they are small for n >> d only. `step_alignment` includes them, for relu.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from featlab.errors import MissingParameter
from featlab.gaussian.activations import Activation, activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.gaussian.hermite import Floats
from featlab.learners.steps import step_at
from featlab.targets import Target
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.spikes import label_grid, label_moments

# A neuron's share along the directions must leave it some field of its own, by which kinks are smoothed.
_MOST_KNOWN = 0.95
_NODES_PER_WIDTH = 8


@dataclass(frozen=True)
class Pull:
    """The gradient g of one neuron: along the directions (r,), and its squared length."""

    along: Floats
    square: float


def pull(
    target: Target, sigma: Activation, overlap: Floats, norm: float, second: float, bias: float, alpha: float
) -> Pull:
    """g of a neuron with overlaps m (r,), norm |w|, second-layer weight a and bias b, at n = alpha d samples."""
    grid, labels = label_grid(target), label_moments(target)
    size = np.sqrt(labels.second)
    slope, tilt, square = _slopes(sigma, grid.directions @ overlap, norm**2 - float(overlap @ overlap), bias)
    rest = (1 - 1 / alpha) * grid.labels - labels.mean - grid.directions @ labels.linear
    mean = grid.rule.mean
    extra = (1 - 1 / alpha) * target.noise  # E[r y] and E[r^2] by the label's own noise
    along = (grid.weights * rest * slope) @ grid.directions
    by_label = mean(rest * grid.labels * slope) + extra * mean(slope)
    itself = mean(rest * tilt)
    beta = by_label / (size * np.sqrt(alpha)) - size / np.sqrt(alpha) * mean(slope)
    forces = mean(rest**2 * square) + ((1 - 1 / alpha) * extra + labels.second / alpha) * mean(square)
    beyond = (forces - by_label**2 / labels.second) / alpha
    return Pull(second * along, float(second**2 * (along @ along + itself**2 + beta**2 + beyond)))


def predict_preprocessed(question: Question, start: Start) -> Prediction:
    """Overlaps and norms of a `PreprocessedStep` learner before and after the step, and its size.

    Raises:
        NoPrediction: for neurons that lie in the target's directions already.
        InvalidParameter: without a number of samples.
    """
    if question.samples is None:
        raise MissingParameter("samples", "the number n of samples in the batch")
    learner, sigma = question.learner, activation(question.student.activation)
    norms = np.sqrt(np.diag(start.gram))
    known = np.linalg.norm(start.overlap, axis=1) / norms
    if np.any(known > _MOST_KNOWN):
        raise NoPrediction(
            f"a start with a cosine of {known.max():.3g} to the directions: the step is known for neurons that have at "
            f"most {_MOST_KNOWN}; start elsewhere, or simulate it"
        )
    alpha = question.samples / question.dim
    neurons = zip(start.overlap, norms, start.second, start.biases, strict=True)
    pulls = [pull(question.target, sigma, *neuron, alpha) for neuron in neurons]
    lengths = np.sqrt([one.square for one in pulls])
    along = np.array([one.along for one in pulls])
    if learner.step_size is None and not np.any(lengths):
        raise NoPrediction("the gradient vanishes at the start, as with biases that leave nothing of a neuron")
    if learner.step_size is None:
        rate = learner.wanted_norm / float(np.sqrt(np.mean(lengths**2)))
    else:
        rate = step_at(learner.step_size, question.dim)
    after = question.steps > 0
    return Prediction(
        {
            "overlap": np.where(after[:, None, None], rate * along, start.overlap),
            "norm": np.where(after[:, None], abs(rate) * lengths, norms),
            "step_size": np.where(after, rate, np.nan),
        },
        f"One step on labels without their linear part, at n/d = {alpha:g} as d -> infinity; it neglects fluctuations "
        "of the overlaps, of order 1/sqrt(n), and does not tell the risk of the second layer that is fitted then.",
    )


def _slopes(sigma: Activation, shifts: Floats, variance: float, bias: float) -> tuple[Floats, Floats, Floats]:
    """E[sigma'], E[sigma' z] and E[sigma'^2] at shift + t z + b for every shift: smooth in it, so from a table."""
    width = float(np.sqrt(variance))
    reach = float(np.max(np.abs(shifts), initial=0.0)) + width
    count = 2 * int(np.ceil(_NODES_PER_WIDTH * reach / width)) + 1
    nodes = np.linspace(-reach, reach, count)
    moments = field_moments(sigma.derivative, sigma.kinks, nodes + bias, np.array(width))
    slope, tilt, _, square = CubicSpline(nodes, moments, axis=1)(shifts)
    return slope, tilt, square
