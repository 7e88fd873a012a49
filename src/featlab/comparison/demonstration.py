"""The cheapest algorithm that learns a target, predicted and simulated, in a given time: theory shown at work.

Which algorithm it is follows from the analysis. One-pass SGD where it needs n = O(d) samples to find the one direction;
else message passing, which needs the fewest samples of all that is efficient, where state evolution and a simulation
take seconds: one direction, a polynomial plus a parity, or two directions with a symmetry; else batch reuse, and the
story says so. Of a target that is hard nothing efficient is known at n = O(d): there batch reuse shows that even what
is known at the start is lost. Recipes start where the prediction is certain: orthogonal to the directions, or with a
stated overlap with each of them.

A clock ends it, whatever was chosen: seeds and times that were reached by then are shown. A prediction that takes too
long makes room for the next algorithm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from featlab.analysis import Analysis, Verdict
from featlab.analysis.budget import Tell
from featlab.comparison.agreement import Agreement, compare
from featlab.comparison.compared_run import ComparedRun, in_the_limit
from featlab.experiments.experiment import Experiment
from featlab.experiments.typed import command_line, command_of
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.interruption import in_time
from featlab.learners.amp import BayesAmp
from featlab.learners.checks import positive_number
from featlab.learners.online import OnlineSgd
from featlab.learners.protocol import Learner
from featlab.learners.reuse import ReusedBatch
from featlab.learners.steps import StepLaw
from featlab.learners.students import TwoLayer
from featlab.outcome import Outcome
from featlab.simulation.amp_mixture import why_not
from featlab.simulation.simulator import simulate
from featlab.targets import Target
from featlab.theory.bayes.channels import closed_form
from featlab.theory.bayes.symmetry import reflections
from featlab.theory.prediction import predict
from featlab.theory.question import NoPrediction

# Of the time that is left, a prediction may take this much, so that another algorithm has its turn.
_SHARE = 0.6
_MEMORY = 2**30
_OBSERVED = ("overlap",)
_SEEDS = 16
_ONE_PASS_DIM, _REUSE_DIM = 1000, 10_000
_PLANTED = 0.1
_MOST_TIME = 100.0
_LOOKS = 13
_SGD_ACTIVATION = "tanh"
# Of message passing, by rank: the overlap at the start, the dimension, the seeds, and the iterations looked at. A
# parity has a mode of the wrong sign that grows as fast as the right one (`simulate.spectral`), from 1/sqrt(d): where
# the parity shows only after another direction is known, its overlap at the start must be well above that.
_AMP = {
    1: (0.1, 2000, 16, (0, 1, 2, 4, 7, 12)),
    2: (0.1, 1000, 16, (0, 1, 2, 3, 4, 6)),
    3: (0.3, 1000, 12, (0, 1, 2, 4, 7, 10)),
}
# Of two directions without a closed form a seed takes most of a second: so many are done in ten, and predicted.
_AMP_FEW_SEEDS = 6
_AMP_RATIO = 3.0
# More samples than this take more than ten seconds on two cores.
_AMP_MOST_SAMPLES = 8_000
_REUSE_RATIO, _REUSE_STEPS, _REUSE_MOST_RANK = 4, 6, 3
_FADES = "That is too little: what is known at the start fades."


@dataclass(frozen=True)
class Recipe:
    """What is run to show a target being learned.

    Attributes:
        algorithm: in words.
        learner, student: their descriptions.
        dim, samples, times: as for a simulation.
        story: a sentence on what the picture shows.
        seeds: how many runs.
    """

    algorithm: str
    learner: Learner
    student: TwoLayer | None
    dim: int
    samples: int | None
    times: Sequence[float] | None
    story: str
    seeds: int = _SEEDS

    @property
    def sizes(self) -> dict[str, Any]:
        """The keyword arguments that its prediction and its simulation have in common."""
        return {"dim": self.dim, "samples": self.samples, "times": self.times, "student": self.student}

    @property
    def words(self) -> str:
        """What is run, and how large it is."""
        samples = "" if self.samples is None else f", n = {self.samples:,}"
        return f"{self.algorithm} at d = {self.dim:,}{samples}, {self.seeds} seeds"


@dataclass(frozen=True)
class Demonstration:
    """A recipe carried out; or, where it was not, why.

    Attributes:
        recipe, run: None where there is none.
        reason: why there is no run.
        stages: the directions of each stage of the grand staircase, (rank, count).
        command: what to type to make it again, or to give it more time where nothing was finished; empty where there
            is no text for it.
    """

    recipe: Recipe | None
    run: ComparedRun | None
    reason: str = ""
    stages: tuple[Floats, ...] = ()
    command: str = ""


def demonstrate(
    analysis: Analysis, budget: float, tell: Tell | None = None, begin: float | None = None
) -> Demonstration:
    """Predict and simulate the cheapest algorithm that learns the analysed target.

    Args:
        budget: seconds, by the clock on the wall; what is done by then is shown.
        tell: is called with a few words whenever a phase begins.
        begin: when its time began (`time.monotonic`), if not now.
    """
    positive_number("budget", budget)
    if analysis.verdict is Verdict.OPEN:
        reason = "its algorithms are predicted for isotropic inputs; `featlab simulate --spike` runs them under a spike"
        return Demonstration(None, None, reason)
    refused, again = "no theory here predicts an algorithm for so many directions", ""
    if analysis.verdict is Verdict.UNDECIDED:
        refused = "the analysis is undecided, so that no algorithm is known to learn it"
    tell, deadline = tell or (lambda words: None), (time.monotonic() if begin is None else begin) + budget
    for maker in MAKERS:
        left = deadline - time.monotonic()
        tell("predicting")
        try:
            made = in_time(partial(_predicted, maker, analysis), left if maker is MAKERS[-1] else _SHARE * left)
        except NoPrediction as fault:
            refused = str(fault)
        except TimeoutError:
            refused = f"no prediction was finished in {budget:g} s; a larger budget gives it more"
            again = _with_more_time(analysis.target, budget)
        else:
            if made is not None:
                tell(f"simulating {made[0].words}")
                return _carried_out(analysis, *made, budget, deadline)
    return Demonstration(None, None, refused, command=again)


def _with_more_time(target: Target, budget: float) -> str:
    """The explanation with six times the budget; empty for a function, which has no text."""
    if target.text.startswith("<"):
        return ""
    said = {"target": target.shown, "noise": target.noise or None, "budget": f"{6 * budget:g}s"}
    return command_line("explain", said)


def _predicted(maker: Maker, analysis: Analysis) -> tuple[Recipe, xr.Dataset] | None:
    recipe = maker(analysis)
    if recipe is None:
        return None
    prediction = predict(analysis.target, recipe.learner, **recipe.sizes, observe=_OBSERVED)
    first, last = (float(np.linalg.norm(prediction["overlap"].isel(time=place))) for place in (0, -1))
    if _learnable(analysis) and last <= first:
        recipe = replace(recipe, story=f"{recipe.story} {_FADES}")
    return recipe, prediction


def _carried_out(
    analysis: Analysis, recipe: Recipe, prediction: xr.Dataset, budget: float, deadline: float
) -> Demonstration:
    experiment = Experiment.of(analysis.target, recipe.learner, **recipe.sizes, seeds=recipe.seeds)
    stages = tuple(stage.directions for stage in analysis.grand_staircase)
    shown = Demonstration(recipe, None, stages=stages, command=command_of("compare", experiment, "--sizes", "1"))
    experiment = replace(experiment, observe=_OBSERVED)
    limited = replace(experiment, memory=_MEMORY)
    try:
        run = in_time(partial(simulate, limited, progress=False), deadline - time.monotonic())
    except TimeoutError:
        return replace(shown, reason=f"it is predicted, but no run was finished in {budget:g} s")
    finished = run["outcome"].values != Outcome.INTERRUPTED
    whole, run = bool(np.all(finished)), run.isel(seed=finished) if np.any(finished) else run
    found = compare(prediction, run, names=_OBSERVED)
    if found.verdict is not Agreement.DISAGREES or not whole:
        return replace(shown, run=ComparedRun(prediction, run, found, experiment=experiment))
    # One size cannot tell a wrong prediction from a finite dimension; several can.
    several = partial(in_the_limit, experiment, (prediction, run), _OBSERVED, progress=False)
    try:
        return replace(shown, run=in_time(several, deadline - time.monotonic()))
    except TimeoutError:
        reason = f"at this size they differ, and {budget:g} s were too short for others, which would tell why: "
        found = replace(found, verdict=Agreement.CANNOT_TELL, reason=reason + found.reason)
        return replace(shown, run=ComparedRun(prediction, run, found, experiment=experiment))


def _learnable(analysis: Analysis) -> bool:
    return analysis.verdict in (Verdict.TRIVIAL, Verdict.EASY)


def _one_pass(analysis: Analysis) -> Recipe | None:
    """Spherical SGD on the correlation loss, with a step that lets it come within a few percent of the direction.

    With S = E[y h] E[sigma'] and C = E[y^2] E[sigma'^2], dm/dt = c (1 - m^2) S - c^2 C m / 2 near m = 0: at c = S/(5 C)
    it would come to rest at 0.95, after a time of about 2/(c S) (Ben Arous et al. 2021).
    """
    target, energies = analysis.target, analysis.energies
    if not (_learnable(analysis) and target.rank == 1 and analysis.leap == 1):
        return None
    pull = abs(float(energies.coefficients[1][0])) * _slope_moment(1)
    noise = _second_moment(analysis) * _slope_moment(2)
    step, last = _short(0.2 * pull / noise), _short(15 * noise / pull**2)
    if last > _MOST_TIME:
        return None
    learner = OnlineSgd(StepLaw(step, 1), loss="correlation", constraint="spherical")
    student = TwoLayer(activation=_SGD_ACTIVATION, start="orthogonal")
    story = f"One-pass SGD finds h1 from n = {last:.0f} d samples, each seen once, starting orthogonal to it."
    times = tuple(map(_short, np.linspace(0, last, _LOOKS)))
    return Recipe("one-pass SGD", learner, student, _ONE_PASS_DIM, None, times, story)


def _message_passing(analysis: Analysis) -> Recipe | None:
    """Bayes-AMP at three times the largest critical ratio known, from a small overlap with every direction."""
    target = analysis.target
    if not (_learnable(analysis) and _passes_in_seconds(target)):
        return None
    largest = max((stage.alpha or 0.0 for stage in analysis.grand_staircase), default=0.0)
    ratio = round(max(1.0, _AMP_RATIO * largest), 3)
    overlap, dim, seeds, looks = _AMP[target.rank]
    if ratio * dim > _AMP_MOST_SAMPLES:
        return None
    learner = BayesAmp(looks[-1], damping=0.0, start="informed", start_overlap=overlap)
    multiple = "d" if ratio == 1 else f"{ratio:.2g} d"
    story = f"Message passing on n = {multiple} samples, from an overlap of {overlap:g} with each direction."
    seeds = _AMP_FEW_SEEDS if target.rank > 1 and closed_form(target) is None else seeds
    return Recipe("message passing", learner, None, dim, round(ratio * dim), looks, story, seeds)


def _passes_in_seconds(target: Target) -> bool:
    """Whether both state evolution and a run of message passing take seconds."""
    if closed_form(target) is not None:
        return True
    if target.hidden or why_not(target):
        return False
    # A symmetry halves the level sets that state evolution must follow, at least.
    return target.rank == 1 or (target.rank == 2 and len(reflections(target)) > 1)


def _batch_reuse(analysis: Analysis) -> Recipe | None:
    """A relu neuron on one batch, its second layer of the sign with which two steps keep more of the overlap."""
    if analysis.verdict is Verdict.UNDECIDED or analysis.target.rank > _REUSE_MOST_RANK:
        return None
    what = (
        f"{_REUSE_STEPS} steps of a neuron on one batch of n = {_REUSE_RATIO} d samples, from an overlap of "
        f"{_PLANTED:g} with each direction"
    )
    bound = analysis.sample_cost["sq_bound"].text
    hard = f"No efficient method is known below about {bound} samples: {what}, lose it."
    easy = f"Batch reuse: {what}. (Message passing needs fewer samples, but more than ten seconds here.)"
    story = hard if analysis.verdict is Verdict.HARD else easy
    planted, samples = ((_PLANTED,) * analysis.target.rank,), _REUSE_RATIO * _REUSE_DIM
    students = [TwoLayer(biases=-0.5, second_scale=sign, start="planted", planted=planted) for sign in (1.0, -1.0)]
    two_steps, every = (
        ReusedBatch(steps, _short(_second_moment(analysis) ** -0.5), loss="correlation", constraint="spherical")
        for steps in (2, _REUSE_STEPS)
    )

    def kept(student: TwoLayer) -> float:
        predicted = predict(analysis.target, two_steps, dim=_REUSE_DIM, samples=samples, student=student)
        return float(np.sum(predicted["overlap"][-1] ** 2))

    return Recipe("batch reuse", every, max(students, key=kept), _REUSE_DIM, samples, None, story)


def _short(number: float) -> float:
    """Three digits do, and a command with them can be typed."""
    return float(f"{number:.3g}")


def _second_moment(analysis: Analysis) -> float:
    """E[y^2], noise of both kinds included."""
    energies = analysis.energies
    noise = energies.hidden_variance + analysis.target.noise
    return float(energies.variance + energies.coefficients[0][0] ** 2 + noise)


def _slope_moment(power: int) -> float:
    """E[sigma'^power] of the neuron of one-pass SGD."""
    points, weights = gauss_pieces((0.0,), 40)
    return float(weights @ activation(_SGD_ACTIVATION).derivative(points) ** power)


# The recipes, cheapest first; each says whether it applies.
Maker = Callable[[Analysis], Recipe | None]
MAKERS: tuple[Maker, ...] = (_one_pass, _message_passing, _batch_reuse)
