"""Random experiments that theory can be asked about: a target, a learner, a student and sizes, by a number.

Nothing is chosen to agree: coefficients, functions, steps and ratios are drawn from ranges that a person would type,
but for what theory refuses anyway (an odd part for methods that use second moments only, relu after a giant step), and
for what takes minutes (integrals over many fields), which is drawn less often. Dimensions are small, as the comparison
goes on to 4 d and 16 d by itself, and hundreds of them should take minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import featlab
from featlab import TwoLayer
from featlab.experiments import Experiment

Draw = np.random.Generator

_FUNCTIONS = ("{h}", "He2({h})", "He3({h})", "He4({h})", "tanh({h})", "abs({h})", "relu({h})", "sin({h})", "sign({h})")
_EVEN = ("He2({h})", "He4({h})", "abs({h})", "cos(2*{h})", "sign({h}**2 - 1)")
_SMOOTH, _STEEP = ("tanh", "erf", "relu"), ("He2", "He3", "square")
# So many to begin with; where they are too few to tell, more are run, as the comparison decides.
_SEEDS = 16


def drawn(learner: str, key: int, number: int) -> Experiment:
    """The experiment of this number for a learner of `LEARNERS`; the same for the same key."""
    draw = np.random.default_rng([key, sorted(LEARNERS).index(learner), number])
    target, how = LEARNERS[learner](draw)
    return Experiment.of(target, **how, key=int(draw.integers(2**31)))


def random_target(draw: Draw, most_directions: int = 2, functions: tuple[str, ...] = _FUNCTIONS) -> str:
    """One to three terms, each a function of a direction or a product of two."""
    rank = int(draw.integers(1, most_directions + 1))
    terms = [_term(draw, 1 + index % rank, functions) for index in range(int(draw.integers(rank, 4)))]
    if rank > 1 and draw.random() < 0.5:
        terms[-1] += f"*{_function(draw, 1, functions)}"
    return " + ".join(terms)


def _mostly_one_direction(draw: Draw) -> str:
    """A target for theories of which two directions take a minute: three of four have one."""
    return random_target(draw, 1 if draw.random() < 0.75 else 2)


def _term(draw: Draw, direction: int, functions: tuple[str, ...]) -> str:
    return f"{draw.uniform(0.3, 1.5):.2f}*{_function(draw, direction, functions)}"


def _function(draw: Draw, direction: int, functions: tuple[str, ...]) -> str:
    return str(draw.choice(functions)).format(h=f"h{direction}")


def _student(draw: Draw, target: str, most_width: int = 2) -> TwoLayer:
    """One neuron, or two where the target has one direction: integrals over more fields take minutes."""
    rank = featlab.target(target).rank
    width = int(draw.integers(1, most_width + 1)) if rank == 1 else 1
    planted: dict[str, Any] = {"start": str(draw.choice(["sphere", "planted", "planted", "planted"]))}
    if planted["start"] == "planted":
        rows = draw.uniform(-0.5, 0.5, (width, rank))
        planted["planted"] = tuple(tuple(round(float(cosine), 2) for cosine in row) for row in rows)
    biases: float | str = "gaussian" if draw.random() < 0.2 else round(float(draw.choice([0.0, 0.3])), 1)
    # The squares of a polynomial student's output are ruled by rare samples, and tell little: one in four.
    activations = _STEEP if draw.random() < 0.25 else _SMOOTH
    return TwoLayer(
        width, str(draw.choice(activations)), str(draw.choice(["ones", "alternating"])), biases=biases, **planted
    )


def _ratio(draw: Draw, low: float, high: float) -> float:
    """Between the two, uniform on a logarithmic scale, with three digits."""
    return float(f"{np.exp(draw.uniform(np.log(low), np.log(high))):.3g}")


def _over_dim(draw: Draw, low: float, high: float) -> featlab.StepLaw:
    """c/d, as one-pass learners take it."""
    return featlab.StepLaw(_ratio(draw, low, high), 1.0)


def _online(draw: Draw) -> tuple[str, dict[str, Any]]:
    target = random_target(draw)
    batch = int(draw.choice([1, 4]))
    constraint = str(draw.choice(["none", "spherical"]))
    learner = featlab.OnlineSgd(_over_dim(draw, 0.1, 2.0), batch=batch, constraint=constraint)
    return target, {
        "learner": learner,
        "dim": 200,
        "times": [0, 1, 2],
        "student": _student(draw, target),
        "seeds": _SEEDS,
    }


def _extragradient(draw: Draw) -> tuple[str, dict[str, Any]]:
    target = _mostly_one_direction(draw)
    learner = featlab.Extragradient(_over_dim(draw, 0.1, 1.0), _over_dim(draw, 0.1, 1.0))
    return target, {
        "learner": learner,
        "dim": 200,
        "times": [0, 1, 2],
        "student": _student(draw, target, 1),
        "seeds": _SEEDS,
    }


def _giant(draw: Draw) -> tuple[str, dict[str, Any]]:
    target, dim = random_target(draw), 200
    learner = featlab.GiantSteps(int(draw.integers(1, 3)), scale=_ratio(draw, 0.5, 3.0))
    sizes = {"dim": dim, "samples": int(dim * _ratio(draw, 1, 20))}
    return target, {"learner": learner, **sizes, "student": _student(draw, target), "seeds": _SEEDS}


def _reused(draw: Draw) -> tuple[str, dict[str, Any]]:
    target, dim = _mostly_one_direction(draw), 200
    constraint = str(draw.choice(["none", "spherical"]))
    learner = featlab.ReusedBatch(int(draw.integers(2, 4)), _ratio(draw, 0.1, 0.8), constraint=constraint)
    sizes = {"dim": dim, "samples": int(dim * _ratio(draw, 1, 8))}
    return target, {"learner": learner, **sizes, "student": _student(draw, target, 1), "seeds": _SEEDS}


def _amp(draw: Draw) -> tuple[str, dict[str, Any]]:
    dim, overlap = 500, _ratio(draw, 0.1, 0.6)
    learner = featlab.BayesAmp(int(draw.integers(2, 5)), damping=0.0, start="informed", start_overlap=overlap)
    target = _mostly_one_direction(draw)
    return target, {"learner": learner, "dim": dim, "samples": int(dim * _ratio(draw, 0.7, 4)), "seeds": 8}


def _kernel(draw: Draw) -> tuple[str, dict[str, Any]]:
    dim = 100
    learner = featlab.KernelRidge(str(draw.choice(["exponential", "polynomial-3"])), _ratio(draw, 0.001, 1.0))
    return random_target(draw), {"learner": learner, "dim": dim, "samples": int(dim * _ratio(draw, 0.5, 3)), "seeds": 8}


def _flow(kind: Any) -> Callable[[Draw], tuple[str, dict[str, Any]]]:
    def make(draw: Draw) -> tuple[str, dict[str, Any]]:
        dim, target = 100, random_target(draw, 1)
        student = TwoLayer(
            1, str(draw.choice(_SMOOTH)), start="planted", planted=((round(draw.uniform(0.1, 0.5), 2),),)
        )
        sizes = {"dim": dim, "samples": int(dim * _ratio(draw, 10, 40))}
        return target, {"learner": kind(20), **sizes, "times": [0, 10, 20], "student": student, "seeds": 8}

    return make


def _readout(draw: Draw) -> tuple[str, dict[str, Any]]:
    dim, target = 100, random_target(draw)
    first = featlab.GiantSteps(1, scale=_ratio(draw, 0.5, 3.0))
    learner = featlab.Readout(first, int(dim * _ratio(draw, 2, 8)), _ratio(draw, 0.01, 1.0))
    student = TwoLayer(int(dim * _ratio(draw, 0.3, 1.0)), str(draw.choice(["tanh", "erf"])), "signs")  # relu: no theory
    sizes = {"dim": dim, "samples": int(dim * _ratio(draw, 1, 6))}
    return target, {"learner": learner, **sizes, "student": student, "seeds": 6}


def _preprocessed(draw: Draw) -> tuple[str, dict[str, Any]]:
    dim, target = 100, random_target(draw)
    rows = draw.uniform(-0.5, 0.5, (4, featlab.target(target).rank)).round(2)
    planted = tuple(tuple(float(cosine) for cosine in row) for row in rows)
    student = TwoLayer(4, "relu", "alternating", biases=0.3, start="planted", planted=planted)
    sizes = {"dim": dim, "samples": int(dim * _ratio(draw, 5, 40))}
    return target, {"learner": featlab.PreprocessedStep(), **sizes, "student": student, "seeds": _SEEDS}


def _directions(
    learner: Any, dim: int = 200, functions: tuple[str, ...] = _FUNCTIONS
) -> Callable[[Draw], tuple[str, dict[str, Any]]]:
    def make(draw: Draw) -> tuple[str, dict[str, Any]]:
        samples = int(dim * _ratio(draw, 4, 30))
        return random_target(draw, 1, functions), {"learner": learner, "dim": dim, "samples": samples, "seeds": _SEEDS}

    return make


# name -> draw -> a target's text, and the other arguments of an experiment
LEARNERS: dict[str, Callable[[Draw], tuple[str, dict[str, Any]]]] = {
    "online-sgd": _online,
    "extragradient": _extragradient,
    "giant-steps": _giant,
    "reused-batch": _reused,
    "bayes-amp": _amp,
    "kernel-ridge": _kernel,
    "spherical-flow": _flow(featlab.SphericalFlow),
    "normalised-flow": _flow(featlab.NormalisedFlow),
    "readout": _readout,
    "preprocessed-step": _preprocessed,
    "inverse-regression": _directions(featlab.SlicedInverseRegression(8)),
    "average-variance": _directions(featlab.SlicedAverageVariance(8), 100, _EVEN),
    "principal-hessian": _directions(featlab.PrincipalHessian(), functions=_EVEN),
    "spectral-estimator": _directions(featlab.SpectralEstimator(), functions=_EVEN),
}
