"""Classical dimension reduction predicted at n/d fixed: how much of the target's subspace it finds, and eigenvalues.

An estimate is a subspace, its rows have any order and sign: what is told is `subspace`, the singular values of the
cosines over sqrt(r), and the eigenvalues that stand out. Estimators that iterate are told at their last iteration, as
if it had converged, and before the first one, where they know nothing; in between is the business of Lanczos.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from featlab.analysis.thresholds import label_table
from featlab.analysis.verdict import check_size
from featlab.errors import InvalidParameter, MissingParameter
from featlab.gaussian.hermite import Floats
from featlab.theory.inverse_regression import sir_matrix, slice_moments
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.reduction.average_variance import save_outliers
from featlab.theory.reduction.optimal import leading_mode
from featlab.theory.reduction.outliers import Outlier
from featlab.theory.reduction.principal_hessian import phd_outliers

_SCRAMBLES = 4
# Eigenvalues of different sign are in no certain order if their sizes are closer than this.
_SAME_SIZE = 0.02


def predict_sir(question: Question, start: Start) -> Prediction:
    """Eigenvalues lambda + 1/alpha and cos^2 = lambda / (lambda + 1/alpha), see `featlab.theory.inverse_regression`."""
    alpha = _ratio(question)
    population = sir_matrix(question.target, question.learner.slices)
    values = np.maximum(population.eigenvalues, 0.0)
    rank, error = len(values), np.full(len(values), population.error)
    total = values + 1 / alpha
    # d cos / d lambda = cos / (2 lambda) (1/alpha) / (lambda + 1/alpha), for lambda that are not zero
    seen = values > 0
    slope = np.where(seen, 0.5 / alpha / np.sqrt(np.where(seen, values, 1.0)) / total**1.5, 0.0)
    found = {"subspace": np.sqrt(values / total / rank), "eigenvalue": total}
    return Prediction(
        {name: value[None] for name, value in found.items()},
        f"Sliced inverse regression at n/d = {alpha:g} as d -> infinity, {question.learner.slices} slices; it neglects "
        "the correlations of a finite d, of order 1/sqrt(d).",
        errors={"subspace": (slope * error / np.sqrt(rank))[None], "eigenvalue": error[None]},
    )


def predict_save(question: Question, start: Start) -> Prediction:
    """The outliers of SAVE's matrix, see `featlab.theory.reduction.average_variance`."""
    alpha, of = _ratio(question), question.target
    check_size(of)
    found = []
    for key in _keys(question):
        means, seconds = slice_moments(of, question.learner.slices, key)
        found.append(save_outliers(seconds - means[:, :, None] * means[:, None, :], alpha).found)
    words = (
        f"Outliers of the matrix of sliced average variances at n/d = {alpha:g} as d -> infinity, by free probability; "
    )
    return _converged(question, found, words)


def predict_phd(question: Question, start: Start) -> Prediction:
    """The outliers of PHD's matrix at either end, see `featlab.theory.reduction.principal_hessian`."""
    alpha, of = _ratio(question), question.target
    check_size(of)
    found = []
    for key in _keys(question):
        above, below = phd_outliers(of, alpha, int(question.samples or 0), key)
        edge = max(above.edge, -below.edge)
        both = [one for one in (*above.found, *below.found) if abs(one.value) > edge]
        found.append(sorted(both, key=lambda one: -abs(one.value)))
    words = (
        f"Outliers of the matrix of principal Hessian directions at n/d = {alpha:g} for large d; labels rarer than one "
        "in n, which make eigenvectors of their own, are left out; "
    )
    return _converged(question, found, words)


def predict_spectral(question: Question, start: Start) -> Prediction:
    """The leading mode of the linearised iteration, see `featlab.theory.reduction.optimal`."""
    alpha, of = _ratio(question), question.target
    check_size(of)
    if sir_matrix(of).visible.size:
        raise NoPrediction(
            f"{of.text}: E[z | y] is not zero, and the spectral method then is no linearised message passing; ask "
            "inverse-regression or bayes-amp, which use it, or simulate it"
        )
    mode = leading_mode(label_table(of), alpha)
    words = f"State evolution of message passing linearised, at n/d = {alpha:g} as d -> infinity; "
    values = {"growth": _at_the_end(question, np.array(mode.growth if mode.growth > 1 else np.nan))}
    if mode.cosines is None:
        words += "several modes make the subspace, which is not told; "
    else:
        values["subspace"] = _at_the_end(question, mode.cosines / np.sqrt(of.rank), 0.0)
    return Prediction(values, words + _END, describes="end")


_END = "of the converged estimate, and of none before the first iteration."


def _ratio(question: Question) -> float:
    """alpha = n/d."""
    if question.samples is None:
        raise MissingParameter("samples", "the number n of samples")
    return question.samples / question.dim


def _keys(question: Question) -> range:
    """Of the scramblings that an answer is averaged over."""
    return range(1 if question.draft else _SCRAMBLES)


def _converged(question: Question, found: Sequence[Sequence[Outlier]], words: str) -> Prediction:
    """What the r leading outliers know of the target's directions: mean and standard error over scramblings."""
    rank = question.target.rank
    told = [_leading(one, rank) for one in found]
    cosines, values = (np.array(part) for part in zip(*told, strict=True))
    error = {}
    if not question.draft:
        error = {
            "subspace": _at_the_end(question, _error(cosines), 0.0),
            "eigenvalue": _at_the_end(question, _error(values)),
        }
    mean = {
        "subspace": _at_the_end(question, cosines.mean(axis=0), 0.0),
        "eigenvalue": _at_the_end(question, values.mean(axis=0)),
    }
    # A label without a bound makes single samples matter, and more of them the larger n is.
    return Prediction(mean, words + _END, error, limit="sizes", describes="end", draft=question.draft)


def _leading(found: Sequence[Outlier], rank: int) -> tuple[Floats, Floats]:
    """Of the r largest outliers in size: singular values of the cosines over sqrt(r), and eigenvalues.

    An eigenvalue is NaN where it stands in no certain order with the next one, of the other sign: that of an odd link
    is at either end with equal chance.
    """
    rows = np.zeros((rank, rank))
    values = np.full(rank + 1, np.nan)
    for place, one in enumerate(found[: rank + 1]):
        values[place] = one.value
        if place < rank:
            rows[place] = one.vector[:rank]
    sizes = np.abs(values)
    tied = (values[1:] * values[:-1] < 0) & (sizes[1:] > (1 - _SAME_SIZE) * sizes[:-1])
    values[np.append(tied, False) | np.append(False, tied)] = np.nan
    return np.linalg.svd(rows, compute_uv=False) / np.sqrt(rank), values[:rank]


def _error(values: Floats) -> Floats:
    return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


def _at_the_end(question: Question, value: Floats, before: float = np.nan) -> Floats:
    """(steps, ...): the value at the last iteration, `before` the first one what is said, NaN between."""
    steps, last = question.steps, question.learner.iterations
    if last not in steps:
        raise InvalidParameter(
            "times", steps.tolist(), f"{last}, the last iteration: theory knows the end, not the way"
        )
    found = np.full((len(steps), *value.shape), np.nan)
    found[steps == 0], found[steps == last] = before, value
    return found
