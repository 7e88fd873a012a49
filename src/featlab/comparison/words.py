"""Why a comparison says what it says, in words with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
import xarray as xr

from featlab.comparison.quantity import FEW_UNFINISHED, ComparedQuantity, Point, sizes_of
from featlab.comparison.tested import WRONG_BY, Tested
from featlab.outcome import Outcome

# The chance at which a difference at the size asked for is worth a word.
_WORTH_SAYING = 0.001


@dataclass(frozen=True)
class Found:
    """What a comparison has found.

    Attributes:
        prediction: the first.
        measurements: all.
        tested: every quantity.
        judged: those whose seeds differ, or all if none do.
        worst: the quantity with the largest |z| for what is allowed.
        points: how many numbers were compared.
    """

    prediction: xr.Dataset
    measurements: Sequence[xr.Dataset]
    tested: Sequence[Tested]
    judged: Sequence[Tested]
    worst: Tested
    points: int

    @property
    def resolution(self) -> float:
        """Of the quantity that is told apart the worst."""
        return max(one.resolution for one in self.judged)

    @property
    def evidence(self) -> bool:
        """Whether there is any point that neither was given nor lacks a value."""
        return any(one.count(Point.AGREES, Point.CANNOT_TELL, Point.DISAGREES) for one in self.judged)

    @property
    def extrapolated(self) -> bool:
        """Whether there are several sizes."""
        return len(self.measurements) > 1


def disagreement_words(found: Found) -> str:
    """The worst point, and how many there are."""
    worst = found.worst
    apart = sum(one.count(Point.DISAGREES) for one in found.tested)
    lost = sum(one.count(Point.DIVERGED) for one in found.tested)
    sentences = []
    if apart:
        sentences.append(f"{_point(found)}, where at most {worst.allowed_z:.1f} are allowed.")
        if apart > 1:
            sentences.append(f"So it is at {apart} of {found.points} points.")
    if lost:
        sentences.append(_divergence(found, lost))
    return " ".join([*sentences, *_left_out(found)])


def agreement_words(found: Found) -> str:
    """What was allowed, what would have been rejected, and of which points nothing is said."""
    resolution = f"a prediction wrong by {found.resolution:.1%} would have been rejected"
    told, counted = (sum(getattr(one, name) for one in found.judged) for name in ("told", "counted"))
    by_itself = f"{resolution}, and at {told} of {counted} points one wrong by {WRONG_BY:.0%} by that point alone"
    sentences = [f"{_within(found)}; {by_itself if counted > 1 else resolution}."]
    if told < counted:
        sentences.append(f"Of the other {counted - told} nothing is said.")
    return " ".join([*sentences, *_share_of_bound(found), *_finite_size(found), *_left_out(found)])


def silence_words(found: Found) -> str:
    """That nothing contradicts, and what it would take to tell."""
    lacking = [one for one in found.judged if one.resolution > WRONG_BY]
    if lacking:
        error = f"{found.resolution:.0%}" if np.isfinite(found.resolution) else "more than any factor"
        names = " and ".join(one.quantity.name for one in lacking)
        why = (
            f"one that is wrong by {WRONG_BY:.0%} would not have been rejected either (of {names} it takes {error}): "
            f"{_what_would_tell(found, lacking)}."
        )
    else:
        few = "; ".join(f"{one.told} of {one.counted} of {one.quantity.name}" for one in found.judged)
        why = (
            f"too few points tell one that is wrong by {WRONG_BY:.0%}, each by itself ({few}): more seeds, later "
            f"times, or {_larger(found)}."
        )
    said = f"nothing contradicts the prediction ({_within(found)}), but {why}"
    return " ".join([said, *_share_of_bound(found), *_left_out(found)])


def _what_would_tell(found: Found, lacking: Sequence[Tested]) -> str:
    """More seeds do not help where what is allowed for the size leaves no room for them."""
    if any(np.all(one.quantity.allowance > WRONG_BY * one.quantity.scale) for one in lacking):
        return (
            f"what is allowed for one size is more than that by itself; several sizes measure it, or {_larger(found)}"
        )
    return f"more seeds, or {_larger(found)}"


def _larger(found: Found) -> str:
    return "more samples" if _of_samples(found) else "a larger dimension"


def _of_samples(found: Found) -> bool:
    """Whether the prediction is for n to infinity at the given d."""
    return bool(found.prediction.attrs.get("limit") == "samples")


def nothing_words(found: Found) -> str:
    """That there was nothing to compare, and why."""
    prediction = found.prediction
    failed = prediction.attrs.get("outcome", "ok")
    if failed != "ok":
        why = f"the prediction is {failed}; {prediction.attrs['remedy']}"
    elif prediction.attrs.get("describes", "path") == "end":
        why = f"theory describes where it ends, not the path there, and {_on_the_way(found)}"
    elif any(np.any(one.quantity.compared) for one in found.tested):
        why = "the start is what both were told; look at later times"
    else:
        why = "take at least two seeds"
    nothing = f"there is no point of evidence at which both have a value and an error: {why}."
    return " ".join([nothing, *_left_out(found)])


def _on_the_way(found: Found) -> str:
    """Why there is no end to judge, at the size where the most runs have not come to theirs."""
    outcomes = [np.atleast_1d(one.get("outcome", xr.DataArray(Outcome.OK.value)).values) for one in found.measurements]
    shares = [float(np.mean(one == Outcome.NOT_CONVERGED.value)) for one in outcomes]
    most = int(np.argmax(shares))
    if shares[most] <= FEW_UNFINISHED:
        return "at the last times it still moves: more iterations"
    where = f" at d = {found.measurements[most].attrs['dim']:,}" if found.extrapolated else ""
    runs = f"{round(shares[most] * outcomes[most].size)} of {outcomes[most].size} runs{where}"
    return f"{runs} have not come to theirs: more iterations, or {_larger(found)}"


def _within(found: Found) -> str:
    count = "1 point" if found.points == 1 else f"{found.points} points"
    limit = f"in the limit of large {_size_words(found.measurements)[0]}, " if found.extrapolated else ""
    return f"{limit}largest |z| {found.worst.largest_z:.1f} where {found.worst.allowed_z:.1f} is allowed, at {count}"


def _left_out(found: Found) -> list[str]:
    lacking = sum(one.quantity.left_out for one in found.tested)
    path = sum(one.count(Point.NOT_DESCRIBED) for one in found.tested)
    words = [f"{lacking} points without a value are left out."] if lacking else []
    if path and found.points:
        words.append(f"The {path} points on the way are not judged: theory describes where it ends.")
    return words


def _share_of_bound(found: Found) -> list[str]:
    """Where one size is all there is: how much of the bound was allowed and not measured."""
    share = found.worst.allowance_share
    if found.extrapolated or share < 0.005:
        return []
    finite = "n" if _of_samples(found) else "d"
    return [f"The allowance for finite {finite} is {share:.0%} of the bound there."]


def _finite_size(found: Found) -> list[str]:
    """Where the limit agrees: what the size asked for differs from it, if that is seen."""
    if not found.extrapolated:
        return []
    seen = [(_apart(one.quantity), one.quantity) for one in found.judged]
    (ratio, place), quantity = max(seen, key=lambda one: one[0][0])
    if ratio <= 1:
        return []
    theory, simulation, error = (part.values[place] for part in (quantity.theory, quantity.simulation, quantity.error))
    name, size = _size_words(found.measurements)
    here = f"at {name} = {size:,} itself {quantity.name} at {_where(quantity, place)}"
    return [f"That is the limit: {here} is {simulation:.4g} +- {error:.2g}, and {theory:.4g} is predicted."]


def _apart(quantity: ComparedQuantity) -> tuple[float, tuple[int, ...]]:
    """The largest difference at the first size, over what chance explains at one of so many points; and its place."""
    usable = quantity.measured & (quantity.error.values > 0)
    if not np.any(usable):
        return 0.0, ()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(usable, np.abs(quantity.difference.values) / quantity.error.values, 0.0)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratios)), ratios.shape))
    return float(ratios[place] / scipy.stats.t.isf(_WORTH_SAYING / ratios.size, quantity.freedom[place])), place


def _size_words(measurements: Sequence[xr.Dataset]) -> tuple[str, int]:
    sizes = sizes_of(measurements)
    return ("d" if sizes[0] == measurements[0].attrs.get("dim") else "n"), int(sizes[0])


def _divergence(found: Found, lost: int) -> str:
    largest = found.measurements[int(np.argmax(sizes_of(found.measurements)))] if found.extrapolated else None
    runs = (found.measurements[0] if largest is None else largest)["outcome"].values
    at = f" at d = {found.measurements[0].attrs['dim'] if largest is None else largest.attrs['dim']:,}"
    count = int(np.sum(runs == Outcome.DIVERGED.value))
    return f"{count} of {runs.size} runs{at} have diverged where theory is finite, at {lost} points."


def _point(found: Found) -> str:
    """The worst point in words."""
    worst, quantity, place = found.worst, found.worst.quantity, found.worst.place
    theory, simulation, error = (part.values[place] for part in (quantity.theory, quantity.simulation, quantity.error))
    both = f"predicted {theory:.4g}, measured {simulation:.4g} +- {error:.2g}"
    said = f"{quantity.name} at {_where(quantity, place)}: {both}"
    if not found.extrapolated:
        beyond = f"beyond the allowance of {quantity.allowance[place]:.2g}"
        return f"{said}, {worst.largest_z:.1f} standard errors {beyond}"
    limit, its_error, law = (
        float(part.values[place]) for part in (quantity.limit, quantity.limit_error, quantity.exponent)
    )
    name, size = _size_words(found.measurements)
    how = f"as {name}^-{law:g}" if np.isfinite(law) else "by no law that fits"
    tends = f"which tends {how} to {limit:.4g} +- {its_error:.2g}"
    return f"{said} at {name} = {size:,}, {tends}: {worst.largest_z:.1f} standard errors off"


def _where(quantity: ComparedQuantity, place: tuple[int, ...]) -> str:
    named = quantity.theory.coords
    return ", ".join(
        f"{axis} {_label(named[axis].values[index]) if axis in named else index + 1}"
        for axis, index in zip(quantity.difference.dims, place, strict=True)
    )


def _label(value: Any) -> str:
    """Of a place on an axis: a name such as h1, or a number."""
    return str(value) if isinstance(value, str) else f"{value:.4g}"
