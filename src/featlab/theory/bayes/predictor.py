"""Bayes-AMP predicted: state evolution, iteration by iteration, from the overlap at the start."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from featlab.errors import MissingParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import of_eigenvalues
from featlab.learners.amp import BayesAmp
from featlab.targets import Target
from featlab.theory.bayes.errors import bayes_errors
from featlab.theory.bayes.path import path_of
from featlab.theory.question import NoPrediction, Prediction, Question, Start

_NOTHING = 1e-5  # of an overlap
_WORDS = (
    "state evolution of Bayes-AMP as d -> infinity at n/d fixed: the overlap matrix of the estimate, and the risks "
    "of the plug-in predictor g(What x) and of the posterior mean of the label"
)
_DAMPED = "; with damping the path is that of damped state evolution, only the end is exact"
_WEAK = "; from a start of overlap 1/sqrt(d) the time to leave it is only known up to its logarithm"


def amp_start(learner: BayesAmp, rank: int, dim: int) -> Start:
    """The estimate at the start as described: M = Q = start_overlap I if informed, independent of the target if random.

    Random rows have overlaps of size |w| / sqrt(d) with each direction; here r of them lie along one direction each.
    """
    if learner.start == "spectral":
        raise NoPrediction(
            "a spectral start: its overlap is not predicted here, but from that of a simulation: `featlab compare` "
            "does so, and in Python `predict(..., start=simulate(...))`; or ask `featlab.theory.bayes.state_evolution` "
            "where the iteration ends"
        )
    eye, overlap = np.eye(rank), learner.start_overlap
    none = np.zeros(rank)
    if learner.start == "informed":
        return Start(overlap * eye, overlap * eye, none, none)
    return Start(np.sqrt(overlap / dim) * eye, overlap * eye, none, none)


def predict_amp(question: Question, start: Start) -> Prediction:
    """The overlap of Bayes-AMP after the asked iterations: state evolution from what the start knows.

    An estimate with overlaps M and Gram matrix G knows as much about the directions as one with Q = M^T G^{-1} M that
    message passing itself could have produced; for an informed start that is M itself.
    """
    if question.samples is None:
        raise MissingParameter("samples", "state evolution depends on samples / dim")
    learner, of = question.learner, question.target
    alpha = question.samples / question.dim
    overlap = _known(start, of.rank)
    weak = float(np.linalg.eigvalsh(overlap)[-1]) < 10 * of.rank / question.dim
    path = path_of(of, alpha, overlap, int(question.steps[-1]), learner.damping)
    places = np.minimum(question.steps, len(path.overlaps) - 1)
    overlaps, off = path.overlaps[places], path.errors[places]
    values = {"overlap": overlaps, "gram": overlaps}
    if question.asks("risk") or question.asks("posterior_risk"):
        errors = [bayes_errors(of, one) for one in overlaps]
        values["risk"] = np.array([one.plug_in for one in errors])
        values["posterior_risk"] = np.array([one.squared for one in errors])
    words = _WORDS + (_DAMPED if learner.damping > 0 else "") + (_WEAK if weak else "")
    return Prediction(
        values,
        words,
        {} if question.draft else _errors(of, values, off),
        describes="end" if learner.damping > 0 or weak else "path",
    )


def _errors(of: Target, values: Mapping[str, Floats], off: Floats) -> dict[str, Floats]:
    """Of every value, from those of the overlaps (T, r, r).

    Risks are computed once more, at overlaps that are lower by as much; for closed forms that is nothing.
    """
    overlaps = values["overlap"]
    errors = {"overlap": off, "gram": off}
    if "risk" in values:
        shifts = off if np.max(off) > _NOTHING else np.zeros_like(off)
        lower = [bayes_errors(of, one - two) if two.any() else None for one, two in zip(overlaps, shifts, strict=True)]
        for name, kind in (("risk", "plug_in"), ("posterior_risk", "squared")):
            told = [
                value if one is None else getattr(one, kind) for one, value in zip(lower, values[name], strict=True)
            ]
            errors[name] = np.abs(np.array(told) - values[name])
    return errors


def _known(start: Start, rank: int) -> Floats:
    """M^T G^{-1} M, kept below 1."""
    matrix = start.overlap.T @ np.linalg.pinv(start.gram) @ start.overlap
    if matrix.shape != (rank, rank) or not np.all(np.isfinite(matrix)):
        raise NoPrediction(f"a start with overlaps of shape {start.overlap.shape}: Bayes-AMP has {rank} rows")
    return of_eigenvalues(lambda q: np.clip(q, 0.0, 1 - 1e-6), 0.5 * (matrix + matrix.T))
