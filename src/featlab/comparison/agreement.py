"""The verdict: does a measurement bear out a prediction, contradict it, or is it too noisy to tell.

What is compared with a prediction is the limit of measurements at several sizes (`approach`), with statistical errors
only. Where there is one size, the difference at each point may be as large as a stated allowance for finite d (or n),
and the sentence says what share of the bound that was. What is left is compared with the standard error by Student's
law. All m points are tested at the level 1% / m (Bonferroni), so that a right prediction is rejected in at most one
comparison of a hundred however the points depend on each other. A point agrees only if it would have rejected the same
prediction made 20% larger, and made 20% smaller: absence of evidence is no agreement. Nor is what both were told: a
start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
import xarray as xr

from featlab.comparison.allowance import FiniteSize, allowed
from featlab.comparison.quantity import ComparedQuantity, Point, compared_quantity, sizes_of
from featlab.comparison.rung import rung_of
from featlab.comparison.tested import TELLING, WRONG_BY, Tested
from featlab.comparison.words import Found, agreement_words, disagreement_words, nothing_words, silence_words
from featlab.errors import InvalidParameter
from featlab.shown import Shown, written

LEVEL = 0.01
_DEFAULT_NAMES = ("overlap", "norm", "risk")
_OTHER_NAMES = ("subspace", "first_overlap", "growth")  # of learners that have none of these


class Agreement(StrEnum):
    """What a comparison says."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """A prediction over a measurement.

    Attributes:
        verdict: agrees, disagrees, or cannot tell.
        reason: why, in words with numbers.
        allowance: what a finite dimension was allowed, in words; "none" where the limit was extrapolated.
        quantities: by name, the two on their shared axes with z-scores, and what is said of each point.
        points: how many numbers were compared.
        largest_z, allowed_z: the most extreme |z|, and what it may be, at the point where they are closest.
        resolution: the smallest relative error of a quantity's whole prediction that these data would have rejected,
            whichever quantity it is.
        verdicts: by name, what is said of each quantity.
        sizes: the dimensions measured, or the samples where only they differ; the first is the one asked for.
        allowance_share: the share of the bound that was allowed and not measured, where they are closest.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> run = featlab.simulate("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> str(featlab.compare(2 * run[["risk"]].mean("seed"), run, names=["risk"]).verdict)
        'disagrees'
    """

    verdict: Agreement
    reason: str
    allowance: str
    quantities: dict[str, ComparedQuantity]
    points: int
    largest_z: float
    allowed_z: float
    resolution: float
    verdicts: dict[str, Agreement]
    sizes: tuple[int, ...] = ()
    allowance_share: float = 0.0

    _picture: ClassVar[str] = "featlab.reports.notebook:comparison_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:comparison_page"

    def __repr__(self) -> str:
        return f"<Comparison of {self.points} points: {self.verdict}, |z| {self.largest_z:.2g} of {self.allowed_z:.2g}>"

    def to_latex(self) -> str:
        """A table of the verdicts for a paper; it needs the package booktabs."""
        return written("featlab.reports.papers:comparison_latex", self)

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason} Allowance: {self.allowance}."


def compare(
    prediction: xr.Dataset | Sequence[xr.Dataset],
    measurement: xr.Dataset | Sequence[xr.Dataset],
    *,
    names: Sequence[str] | None = None,
    allowance: FiniteSize | float | None = None,
    signless: bool = False,
    level: float = LEVEL,
    telling: float = TELLING,
) -> Comparison:
    """Lay a prediction over a measurement and say whether they agree.

    Args:
        prediction: as `featlab.predict` returns it; seeds are paired if it has them. For measurements at several sizes,
            one for each, or one for all.
        measurement: as `featlab.simulate`, `featlab.observe` or `Recorder.dataset` return it, with seeds; of a single
            one, which shows no scatter, nothing can be told. Or any dataset with errors, `<name>_error`, without seeds.
            Several of them, at different dimensions with all else in proportion (or at different numbers of samples),
            are extrapolated to the limit, and that is compared; the first is shown.
        names: the quantities to compare; overlap, norm and risk where both have them unless given.
        allowance: what a finite dimension may change where there is one: `FiniteSize(c, e)` is c d^(-e) of the value
            predicted at each point, a number is that fraction of it; 1/sqrt(d) unless given, and sqrt(d/n) of what is
            predicted for n to infinity. Several sizes need none.
        signless: compare absolute values, where the target's symmetry makes signs arbitrary.
        level: the chance that a right prediction is rejected is at most this.
        telling: the share of a quantity's points that must tell 20%, each by itself, for an agreement; 0, they may do
            so together.

    Raises:
        InvalidParameter: a level outside (0, 1), or an allowance beside several sizes.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> experiment = featlab.Experiment.of("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> run = featlab.simulate(experiment)
        >>> featlab.compare(featlab.predict(experiment, start=run), run, names=["norm"]).points
        2
    """
    if not 0 < level < 1:
        raise InvalidParameter("level", level, "a probability above 0 and below 1")
    predictions, measurements = _paired(prediction, measurement)
    several = len(measurements) > 1
    if several and allowance is not None:
        raise InvalidParameter("allowance", allowance, "None with several sizes, whose limit is measured")
    law, fraction, stated = allowed(0.0 if several else allowance, predictions[0], measurements[0])
    rungs = {
        name: [rung_of(one, other, name, signless) for one, other in zip(predictions, measurements, strict=True)]
        for name in _names(predictions[0], measurements[0], names)
    }
    points = sum(int(np.sum(np.isfinite(parts[0].error.values))) for parts in rungs.values())
    tested = [
        Tested(
            compared_quantity(
                name,
                parts,
                predictions,
                measurements,
                fraction=fraction,
                of_largest=law.of == "largest",
                signless=signless,
                # Half of the level is spent on the laws of approach, where there are any.
                chance=level / (2 if several else 1) / max(points, 1),
            )
        )
        for name, parts in rungs.items()
    ]
    points = sum(int(np.sum(one.quantity.compared)) for one in tested)
    return _judged(predictions[0], measurements, tested, points, stated, telling)


def assert_agrees(
    prediction: xr.Dataset | Sequence[xr.Dataset],
    measurement: xr.Dataset | Sequence[xr.Dataset],
    *,
    names: Sequence[str] | None = None,
    allowance: FiniteSize | float | None = None,
    signless: bool = False,
    level: float = LEVEL,
) -> Comparison:
    """For tests: raise AssertionError, with the reason, unless they agree; data too noisy to tell are no pass.

    Args:
        prediction, measurement, names, allowance, signless, level: as in `featlab.compare`.

    Raises:
        AssertionError: with the reason.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> run = featlab.simulate("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> featlab.assert_agrees(2 * run[["risk"]].mean("seed"), run, names=["risk"])
        Traceback (most recent call last):
            ...
        AssertionError: disagrees: risk at time 0: predicted 1.829, measured ...
    """
    comparison = compare(prediction, measurement, names=names, allowance=allowance, signless=signless, level=level)
    if comparison.verdict is not Agreement.AGREES:
        raise AssertionError(str(comparison))
    return comparison


def _paired(
    prediction: xr.Dataset | Sequence[xr.Dataset], measurement: xr.Dataset | Sequence[xr.Dataset]
) -> tuple[list[xr.Dataset], list[xr.Dataset]]:
    """One prediction for each measurement."""
    measurements = [measurement] if isinstance(measurement, xr.Dataset) else list(measurement)
    if isinstance(prediction, xr.Dataset):
        return [prediction] * len(measurements), measurements
    if len(prediction) != len(measurements) or not measurements:
        raise InvalidParameter("prediction", f"{len(prediction)} of them", f"one, or {len(measurements)}: one for each")
    return list(prediction), measurements


def _names(prediction: xr.Dataset, measurement: xr.Dataset, names: Sequence[str] | None) -> list[str]:
    if names is not None:
        chosen = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else []
        if not chosen:
            raise InvalidParameter("names", names, "at least one quantity")
        return chosen
    both = [name for name in prediction if name in measurement]
    shared = [name for name in _DEFAULT_NAMES if name in both] or [name for name in _OTHER_NAMES if name in both]
    if not shared:
        raise InvalidParameter("names", None, f"quantities of both; neither {', '.join(_DEFAULT_NAMES)} is in both")
    return shared


def _judged(
    prediction: xr.Dataset,
    measurements: Sequence[xr.Dataset],
    tested: Sequence[Tested],
    points: int,
    stated: str,
    telling: float,
) -> Comparison:
    """The verdict on all quantities, from that on each."""
    verdicts = {one.quantity.name: _verdict(one, telling) for one in tested}
    worst = max(tested, key=lambda one: one.margin)
    # A norm kept at one must not vouch for an overlap lost in noise.
    judged = [one for one in tested if one.scatters] or list(tested)
    found = Found(prediction, measurements, tested, judged, worst, points)
    verdict = _together(verdicts, judged, points)
    words = {
        Agreement.DISAGREES: disagreement_words,
        Agreement.AGREES: agreement_words,
        Agreement.CANNOT_TELL: silence_words if found.evidence else nothing_words,
    }
    several = len(measurements) > 1
    return Comparison(
        verdict=verdict,
        reason=words[verdict](found),
        allowance=stated,
        quantities={one.quantity.name: one.quantity for one in tested},
        points=points,
        largest_z=worst.largest_z,
        allowed_z=worst.allowed_z,
        resolution=found.resolution,
        verdicts=verdicts,
        sizes=tuple(int(size) for size in sizes_of(measurements)) if several else _dim_of(measurements[0]),
        allowance_share=worst.allowance_share,
    )


def _verdict(one: Tested, telling: float) -> Agreement:
    """On one quantity."""
    if one.count(Point.DISAGREES, Point.DIVERGED):
        return Agreement.DISAGREES
    if one.resolution <= WRONG_BY and (telling == 0 or (one.told > 0 and one.told >= telling * one.counted)):
        return Agreement.AGREES
    return Agreement.CANNOT_TELL


def _together(verdicts: dict[str, Agreement], judged: Sequence[Tested], points: int) -> Agreement:
    if Agreement.DISAGREES in verdicts.values():
        return Agreement.DISAGREES
    agrees = all(verdicts[one.quantity.name] is Agreement.AGREES for one in judged)
    return Agreement.AGREES if agrees and points else Agreement.CANNOT_TELL


def _dim_of(measurement: xr.Dataset) -> tuple[int, ...]:
    return (int(measurement.attrs["dim"]),) if "dim" in measurement.attrs else ()
