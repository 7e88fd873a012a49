"""One-pass SGD and extragradient as d -> infinity: closed equations for M = W W*^T and Q = W W^T.

With a step gamma = c / d and time t = steps / d, one batch of b samples moves w_i by (gamma / b) sum D_i x, so that
(D. Saad and S. A. Solla 1995; on the sphere G. Ben Arous, R. Gheissari, A. Jagannath 2021)

    dM_ik/dt = c E[D_i h_k] - kappa_i M_ik
    dQ_ij/dt = c (E[D_i lambda_j] + E[D_j lambda_i]) + (c^2 / b) E[D_i D_j] - (kappa_i + kappa_j) Q_ij.

Unconstrained, kappa = 0. With a constraint kappa_i = (c E[D_i lambda_i] + (c^2 / 2b) E[D_i^2]) / Q_ii keeps Q_ii where
it is: the first term makes the gradient tangent, the second is what normalising takes back of the growth by noise.
Projected and spherical SGD have the same limit: they differ by <D x, w>^2, of order 1, where |D x|^2 is of order d. As
c -> 0 at fixed c t this is gradient flow on the population loss.

The step sizes are taken at the given dimension: c = gamma d and rho d are the numbers that the equations hold for. For
a law gamma = c d^-1 they do not depend on d. For gamma d -> 0 the noise of single samples fades and what is predicted
tends to that flow; for a gamma d that grows with d there is no limit, and the prediction is only good while gamma d is
moderate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import solve_ivp

from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.interruption import check
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.steps import step_at
from featlab.outcome import DIVERGED_NORM, Outcome
from featlab.targets import Target
from featlab.targets.inputs import Isotropic
from featlab.telling import Waiting
from featlab.theory.online.averages import Averages, AveragesOf, Descent, Path
from featlab.theory.online.committee import erf_committee
from featlab.theory.online.rare import MOST_RARE, RUNS, rare_share_of
from featlab.theory.online.rules import Accuracy, averages, sampled
from featlab.theory.question import NoPrediction, Prediction, Question, Start

# Before a divergence steps become ever shorter: it is over when so many evaluations advance by less than this share.
_STUCK_EVALUATIONS, _STUCK_SHARE = 600, 1e-9
_FEWER_RARE = "take a smaller inner step, or a student whose slope is bounded, such as relu, tanh or erf"
_FEWEST_EVALUATIONS = 20  # two steps of the integrators and their beginning
Rule = Callable[[Target, Descent], Accuracy]
_DRAFT_POINTS, _DRAFT_FEWEST, _DRAFT_TOLERANCE = 2**16, 2**11, 1e-3
_LOOSE = 1e-6  # up to this tolerance order 8 pays, beyond it order 5


@dataclass(frozen=True)
class Motion:
    """How averages become a motion.

    Attributes:
        scale: c = gamma d.
        batch: b.
        constrained: whether rows keep their norm.
    """

    scale: float
    batch: int = 1
    constrained: bool = False

    def velocity(self, overlap: Floats, gram: Floats, averages: Averages) -> tuple[Floats, Floats]:
        """(dM/dt, dQ/dt)."""
        c, diffusion = self.scale, self.scale**2 / self.batch
        to_overlap = c * averages.drive
        to_gram = c * (averages.pull + averages.pull.T) + diffusion * averages.noise
        if self.constrained:
            decay = 0.5 * np.diag(to_gram) / np.diag(gram)
            to_overlap = to_overlap - decay[:, None] * overlap
            to_gram = to_gram - (decay[:, None] + decay) * gram
        return to_overlap, to_gram


@dataclass(frozen=True)
class Trajectory:
    """M (times, p, r) and Q (times, p, p) at the asked times, NaN after a failure; outcome "ok", or what went wrong."""

    overlap: Floats
    gram: Floats
    outcome: Outcome
    remedy: str


class _Pace:
    """Whether an integration still advances, by a share of the time that it has reached: a search may be long."""

    def __init__(self) -> None:
        self._since, self._count = 0.0, 0

    def first(self) -> bool:
        """Whether there was one evaluation and no step."""
        return self._count == 1 and self._since == 0

    def reached(self, time: float) -> None:
        """A step was taken to that time; those that are only tried do not count."""
        if time > (1 + _STUCK_SHARE) * self._since:
            self._since, self._count = time, 0

    def stuck(self) -> bool:
        """To be asked at each evaluation."""
        self._count += 1
        return self._count > _STUCK_EVALUATIONS


def integrate(
    motion: Motion, averages_of: AveragesOf, overlap: Floats, gram: Floats, times: Floats, tolerance: float = 1e-8
) -> Trajectory:
    """The order parameters at ascending times (in units of d steps), from M and Q at time 0.

    By an explicit Runge-Kutta method with this relative tolerance. A norm above 1e6 is a divergence.
    """
    shape, split = overlap.shape, overlap.size
    width = shape[0]

    def unpack(state: Floats) -> tuple[Floats, Floats]:
        return state[:split].reshape(shape), state[split:].reshape(width, width)

    pace, waiting = _Pace(), Waiting(f"the integration for {width:,} neuron{'s' if width > 1 else ''}")

    def velocity(_: float, state: Floats) -> Floats:
        check()
        # A step that overshot, after which the integrator tries a shorter one; or time stands still, which ends it.
        if not np.all(np.isfinite(state)) or pace.stuck():
            return np.full_like(state, np.nan)
        current = unpack(state)
        change = motion.velocity(*current, averages_of(*current))
        if pace.first():
            waiting.begun(1 / _FEWEST_EVALUATIONS)
        return np.concatenate([change[0].ravel(), change[1].ravel()])

    def room(time: float, state: Floats) -> float:
        pace.reached(time)
        waiting.reached(time / times[-1])
        return DIVERGED_NORM**2 - float(np.max(np.diag(unpack(state)[1])))

    room.terminal = True  # type: ignore[attr-defined]
    begin = np.concatenate([overlap.ravel(), gram.ravel()])
    if times[-1] == 0:
        states, status = begin[:, None], 0
    else:
        method = "DOP853" if tolerance <= _LOOSE else "RK45"
        span, limits = (0.0, float(times[-1])), {"rtol": tolerance, "atol": 0.01 * tolerance}
        with np.errstate(over="ignore", invalid="ignore"):  # on the way to a divergence, which is told below
            solution = solve_ivp(velocity, span, begin, method, times, events=room, **limits)
        states, status = np.reshape(solution.y, (begin.size, -1)), solution.status  # no time reached: a list
    reached = states.shape[1]
    full = np.full((len(times), begin.size), np.nan)
    full[:reached] = states.T
    steep = (
        f"the equations became too steep after {reached} of the asked times, as they do before a divergence: "
        "take a smaller step_size, or ask for earlier times"
    )
    large = "the norm of a neuron exceeds 1e6: take a smaller step_size, or constraint='spherical'"
    endings = {0: (Outcome.OK, ""), 1: (Outcome.DIVERGED, large)}
    ending = endings.get(status, (Outcome.NOT_INTEGRATED, steep))
    return Trajectory(full[:, :split].reshape(-1, *shape), full[:, split:].reshape(-1, width, width), *ending)


def averages_of_descent(target: Target, descent: Descent) -> Accuracy:
    """In closed form where there is one, else by the most accurate rule."""
    closed = erf_committee(target, descent)
    exact = None if closed is None else Accuracy(closed, None, "closed form (erf committee)")
    return exact or averages(target, descent)


def draft_of_descent(target: Target, descent: Descent) -> Accuracy:
    """As good as a picture needs: fewer points, for many neurons of a Sobol sequence, and fewer steps in time."""
    closed = erf_committee(target, descent)
    if closed is not None:
        return Accuracy(closed, None, "closed form (erf committee)", _DRAFT_TOLERANCE)
    if descent.width == 1:
        points = _DRAFT_POINTS if descent.activation.kinks else _DRAFT_POINTS // 2  # lines between kinks take more
        return replace(averages(target, descent, points), tolerance=_DRAFT_TOLERANCE)
    few = max(_DRAFT_FEWEST, _DRAFT_POINTS // descent.width)
    return replace(sampled(target, descent, few), tolerance=_DRAFT_TOLERANCE)


def predict_online(
    question: Question, start: Start, rule: Rule = averages_of_descent, *, stated: bool = True
) -> Prediction:
    """The overlaps, the Gram matrix and the risk of a student of `OnlineSgd` or `Extragradient`.

    Args:
        rule: how averages are computed.
        stated: whether the error of that is estimated, by its second version, which takes as long.
    """
    descent, motion = describe(question, start)
    accuracy = rule(question.target, descent)
    times = question.steps / question.dim
    begin, tolerance = (start.overlap, start.gram, times), accuracy.tolerance
    # What follows is left out then; and equations that rest on rare samples are often too steep to be integrated.
    lost = _rare_from_the_start(question, descent, motion, start)
    best = _start_alone(*begin) if lost else integrate(motion, accuracy.best, *begin, tolerance)
    path = _path(best, accuracy.best)
    errors: dict[str, Floats] = {}
    if accuracy.other is not None and stated and not lost:
        other = integrate(motion, accuracy.other, *begin, tolerance)
        errors = path.distance(_path(other, accuracy.other))._asdict()
    words = (
        f"Closed equations for the order parameters of {type(question.learner).__name__} as d -> infinity at fixed "
        f"steps / d and gamma d = {motion.scale:.6g}; fluctuations of order 1/sqrt(d) are neglected. "
        f"Gaussian averages: {accuracy.words}."
    )
    told = Prediction(path._asdict(), words, errors, best.outcome, best.remedy, draft=question.draft)
    return told if descent.reach == 0 else _without_what_is_rare(question, descent, motion, told)


def _rare_from_the_start(question: Question, descent: Descent, motion: Motion, start: Start) -> bool:
    """Whether the first time after the start already rests on samples that no run has, by the start alone."""
    later = question.steps[question.steps > 0]
    if descent.reach == 0 or not later.size:
        return False
    return _share(question, descent, motion, int(later[0]), (start.overlap, start.gram)) > MOST_RARE


def _share(question: Question, descent: Descent, motion: Motion, step: int, state: tuple[Floats, Floats]) -> float:
    """Of a squared norm after so many steps, what rests on rare samples, by the forces at M and Q."""
    scale, samples = motion.scale**2 / motion.batch * step / question.dim, float(step * motion.batch)
    return rare_share_of(question.target, descent, *state, scale, samples)


def _start_alone(overlap: Floats, gram: Floats, times: Floats) -> Trajectory:
    """The start, and nothing after it."""
    at_start = (times == 0)[:, None, None]
    return Trajectory(
        np.where(at_start, overlap, np.nan), np.where(at_start, gram, np.nan), Outcome.RARE_INPUTS, _FEWER_RARE
    )


def _without_what_is_rare(question: Question, descent: Descent, motion: Motion, told: Prediction) -> Prediction:
    """The prediction up to the time from which on it rests on samples that no run has: an inner step on a polynomial
    student makes a force of a high degree in the sample."""
    overlap, gram = told.values["overlap"], told.values["gram"]
    for place, step in enumerate(question.steps):
        states = [at for at in (place - 1, place) if at >= 0 and np.all(np.isfinite(gram[at]))]
        if step == 0 or not states:
            continue
        share = max(_share(question, descent, motion, int(step), (overlap[at], gram[at])) for at in states)
        if share > MOST_RARE:
            break
    else:
        return told
    early = np.arange(len(question.steps)) < place

    def kept(values: Mapping[str, Floats]) -> dict[str, Floats]:
        return {name: np.where(early.reshape(-1, *(1,) * (one.ndim - 1)), one, np.nan) for name, one in values.items()}

    words = (
        f"{told.words} At t = {step / question.dim:g}, {share:.0%} of a squared norm rests on samples that {RUNS} runs "
        f"of {step * motion.batch:,} do not contain: no run of this size shows it."
    )
    told = replace(told, values=kept(told.values), errors=kept(told.errors), words=words)
    if told.outcome is not Outcome.OK:  # where the equations end runs may go on, until they meet such a sample
        return told
    return replace(told, outcome=Outcome.RARE_INPUTS, remedy=_FEWER_RARE)


def describe(question: Question, start: Start) -> tuple[Descent, Motion]:
    """The learner and its student in the terms of the equations."""
    learner = question.learner
    if not isinstance(learner, OnlineSgd | Extragradient):
        raise NoPrediction(f"got {learner!r}; these equations are for OnlineSgd and Extragradient")
    if not isinstance(question.target.inputs, Isotropic):
        raise NoPrediction(f"got inputs {question.target.inputs!r}; the equations hold for isotropic inputs only")
    reach = step_at(learner.inner_step, question.dim) * question.dim if isinstance(learner, Extragradient) else 0.0
    descent = Descent(activation(question.student.activation), start.second, start.biases, learner.loss, reach)
    motion = Motion(
        step_at(learner.step_size, question.dim) * question.dim, learner.batch, learner.constraint != "none"
    )
    return descent, motion


def _path(trajectory: Trajectory, averages_of: AveragesOf) -> Path:
    sound = np.all(np.isfinite(trajectory.gram), axis=(1, 2))
    risk = np.full(len(sound), np.nan)
    for index in np.flatnonzero(sound):
        risk[index] = averages_of(trajectory.overlap[index], trajectory.gram[index]).risk
    return Path(trajectory.overlap, trajectory.gram, risk)
