"""What a diagnosis advises: which estimator to use, and whether more samples would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from featlab.diagnosis import Findings
    from featlab.diagnosis.curves import Curve

_CERTAIN = 2.0  # standard errors


def advice(found: Findings) -> str:
    """What to use, and how much more samples would help."""
    if not found.curves:
        return _without_curves(found)
    if not found.curves[0].tails_shown:
        return f"Cannot tell what to use: {too_heavy(found)}.{_below(found)}"
    useful = [curve for curve in found.curves if _does_better_than_the_mean(curve)]
    if not useful:
        nothing, size = "No estimator does clearly better than the mean of the label", found.curves[0].sizes[-1]
        if not found.directions.count:
            return f"{nothing}, and no direction is seen: these samples show nothing to learn."
        return f"{nothing} at n = {size:,}, though a direction is seen: use more samples, or fewer columns."
    best = min(useful, key=lambda curve: float(curve.mean[-1]))
    chosen = next(curve for curve in useful if _as_good(curve, best))
    error, spread = float(chosen.mean[-1]), float(chosen.error[-1])
    use = f"Use {chosen.estimator} ({chosen.kind}): error {error:.3f} +- {spread:.3f} of the variance"
    if chosen is not best:
        use += f", as good as {best.kind} within the errors"
    if ends_early(found):
        rows, size = found.inputs.samples, chosen.sizes[-1]
        use += (
            f". That is at n = {size:,}, where the curves end; all {rows:,} rows may favour another, so compare there"
        )
    return f"{use}. {_more(chosen)}{_below(found)}"


def ends_early(found: Findings) -> bool:
    """Whether learning curves end well below the samples there are."""
    return found.curves[0].sizes[-1] < 0.7 * found.inputs.samples


def too_heavy(found: Findings) -> str:
    """Why held-out rows tell nothing."""
    tested, label = found.curves[0].tested, found.table.label
    return f"{label!r} has too heavy tails or too rare values for the {tested:,} rows held out of each split"


def _does_better_than_the_mean(curve: Curve) -> bool:
    """On the same rows, by two standard errors: by the rows of a split, as three splits of noise are often near each
    other, and by the splits. An estimator that one split sends far off does not, though its errors are wide."""
    spread = float(curve.gains.std(ddof=1)) / np.sqrt(len(curve.gains))
    return float(curve.gains.mean()) > _CERTAIN * max(spread, curve.gain_error)


def _as_good(curve: Curve, best: Curve) -> bool:
    """Whether a paired difference of errors is within two standard errors; the simpler kinds come first."""
    apart = curve.errors[:, -1] - best.errors[:, -1]
    return float(apart.mean()) <= _CERTAIN * float(apart.std(ddof=1)) / np.sqrt(len(apart))


def _more(curve: Curve) -> str:
    if len(curve.sizes) < 2:
        return "There are too few rows to tell whether more would help."
    size = curve.sizes[-1]
    gains = -np.diff(curve.errors, axis=1)
    last, spread = float(gains[:, -1].mean()), float(gains[:, -1].std(ddof=1)) / np.sqrt(len(gains))
    if last <= _CERTAIN * spread:
        return (
            f"The last doubling, to n = {size:,}, changed it by {-last:+.3f} +- {spread:.3f}: more samples help little."
        )
    before = float(gains[:, -2].mean()) if gains.shape[1] > 1 else last
    shrink = min(1.0, last / before) if before > 0 else 1.0
    expected = max(0.0, float(curve.mean[-1]) - last * shrink)
    return (
        f"More samples help: from n = {curve.sizes[-2]:,} to {size:,} it fell by {last:.3f} +- {spread:.3f}; going "
        f"on like this, n = {2 * size:,} would give about {expected:.3f}."
    )


def _below(found: Findings) -> str:
    alpha = found.analysis.alpha_c if found.analysis is not None else None
    if alpha and found.ratio < alpha:
        needed = int(np.ceil(alpha * len(found.inputs.columns)))
        return f" Theory asks for n = {needed:,} before the directions of the fitted link can be found at all."
    return ""


def _without_curves(found: Findings) -> str:
    if not found.directions.count:
        return "No direction is seen: these samples show nothing to learn at the first two orders."
    count = found.directions.count
    seen = "1 direction is seen" if count == 1 else f"{count} directions are seen"
    return f"{seen}. Learning curves were not asked for.{_below(found)}"
