"""A race as a picture, and as a page for notebooks."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from featlab.figures.race import RISK, SHARE, RacedCurve
from featlab.figures.race import race_figure as draw
from featlab.gaussian.hermite import Floats
from featlab.racing.result import Curve, Race, Standing
from featlab.reports.notebook import notebook_page
from featlab.reports.race import race_cells, race_heading, race_remarks, race_title


def race_figure(race: Race) -> Figure:
    """Share and risk against n/d: theory as lines, simulation as points."""
    course = race.course
    title = f"{course.analysis.target.text}, d = {course.dim:,}: lines theory (d to infinity), points simulation"
    return draw([curve for one in race.standings for curve in _drawn(one)], title)


def race_page(race: Race) -> str:
    """The table, its remarks, the picture."""
    headers, rows = race_cells(race)
    return notebook_page(
        race_title(race), [race_heading(race), *race_remarks(race)], [headers, *rows], [race_figure(race)]
    )


def _drawn(one: Standing) -> list[RacedCurve]:
    if one.measured is None and one.predicted is None:
        return []
    panel = SHARE if one.entrant.finds_directions else RISK
    theory = None if one.predicted is None else _reached(one.predicted)[:2]
    return [RacedCurve(one.entrant.label, panel, None if one.measured is None else _reached(one.measured), theory)]


def _reached(curve: Curve) -> tuple[Floats, Floats, Floats]:
    """Ratios that were reached, mean and standard error there."""
    reached = np.isfinite(curve.score).any(axis=1)
    values = curve.score[reached]
    count = np.isfinite(values).sum(axis=1)
    spread = np.nanstd(values, axis=1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))
    return curve.ratios[reached], np.nanmean(values, axis=1), spread / np.sqrt(count)
