"""A prediction, and a prediction over a simulation, on a screen and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from featlab.comparison import Both, Comparison, Laid
from featlab.comparison.lines import Curve, along, curves
from featlab.reports.simulation import brief, order_parameter_table, plain, shown_times, simulation_record

if TYPE_CHECKING:
    import xarray as xr

_STYLES = {"agrees": "bold green", "disagrees": "bold red", "cannot tell": "bold yellow"}
_MOST_COMPARED = 2


def comparison_text(both: Both, learner: Any, student: Any) -> Group:
    """The screen: what was asked, theory beside simulation over time, the verdict with its reason."""
    comparison, run, prediction = both.comparison, both.simulation, both.prediction
    heading = Text(run.attrs["target"], style="bold")
    heading.append(f"   (d = {run.attrs['dim']:,}, {run.sizes['seed']} seeds)\n", style="not bold")
    _describe(heading, learner, student)
    word = (str(comparison.verdict).capitalize(), _STYLES[comparison.verdict])
    verdict = Text.assemble(word, f": {comparison.reason}")
    notes = [
        f"Allowance for finite d: {comparison.allowance}. z counts standard errors beyond it.",
        *_failures(run, prediction),
        f"Theory: {prediction.attrs['words']}",
    ]
    hidden = [name for name, laid in comparison.quantities.items() if len(list(curves(laid.theory))) > _MOST_COMPARED]
    if hidden:
        notes.append(f"Of {' and '.join(hidden)} the {_MOST_COMPARED} curves furthest apart are shown; --json has all.")
    tables = [table for laid in comparison.quantities.values() for table in _comparison_tables(laid)]
    return Group(heading, *tables, Text(), verdict, *(Text(note, style="dim") for note in notes))


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """The verdict and every number that it rests on, as plain data."""
    return {
        "verdict": str(comparison.verdict),
        "reason": comparison.reason,
        "allowance": comparison.allowance,
        "points": comparison.points,
        "largest_z": plain(comparison.largest_z),
        "allowed_z": plain(comparison.allowed_z),
        "resolution": plain(comparison.resolution),
        "quantities": {name: _laid_record(laid) for name, laid in comparison.quantities.items()},
    }


def full_record(both: Both) -> dict[str, Any]:
    """What `featlab compare --json` prints: the comparison, then both datasets."""
    datasets = {"prediction": simulation_record(both.prediction), "simulation": simulation_record(both.simulation)}
    return {**comparison_record(both.comparison), **datasets}


def prediction_text(prediction: xr.Dataset, learner: Any, student: Any) -> Group:
    """The screen: what was asked, the predicted order parameters over time, which limit it is."""
    about = prediction.attrs
    heading = Text(about["target"], style="bold")
    heading.append(f"   (d to infinity; steps and samples as at d = {about['dim']:,})\n", style="not bold")
    _describe(heading, learner, student)
    outcome = f"Outcome: {about['outcome']}" + (f"; {about['remedy']}." if about["remedy"] else ".")
    return Group(heading, _prediction_table(prediction), Text(outcome), Text(about["words"], style="dim"))


def _describe(heading: Text, learner: Any, student: Any) -> None:
    for name, description in (("learner", learner), ("student", student)):
        if description is not None:
            heading.append(f"\n  {name:<7}  {brief(description)}", style="not bold")


def _comparison_tables(laid: Laid) -> Iterator[Padding]:
    """For each curve a table over time: theory, simulation with its error, z."""
    axis = along(laid.theory)
    for curve in _most_telling(laid):
        table = _new_table("step" if axis == "time" and _stepwise(laid.simulation) else axis)
        name = laid.name if curve.label == laid.name else f"{laid.name} {curve.label}"
        for column in (f"|{name}|" if laid.signless else name, "simulation", "z"):
            table.add_column(column, justify="right", no_wrap=True)
        parts = [part.isel(curve.place).values for part in (laid.theory, laid.simulation, laid.error, laid.z)]
        decimals = _decimals(parts[2])
        for index in shown_times(laid.theory.sizes[axis]):
            place = f"{laid.theory[axis].values[index]:.4g}"
            table.add_row(place, *_cells(*(float(part[index]) for part in parts), decimals=decimals))
        yield Padding(table, (1, 0, 0, 0))


def _most_telling(laid: Laid) -> list[Curve]:
    """The curves on which theory and simulation are furthest apart, in their own order."""
    every = list(curves(laid.theory))
    apart = [np.max(np.nan_to_num(np.abs(laid.z.isel(curve.place).values)), initial=0.0) for curve in every]
    return [every[place] for place in sorted(np.argsort(-np.array(apart), kind="stable")[:_MOST_COMPARED])]


def _decimals(errors: np.ndarray) -> int:
    """So many that the largest error is told with two digits; 2 to 6."""
    largest = float(np.max(np.nan_to_num(errors), initial=0.0))
    return int(np.clip(1 - np.floor(np.log10(largest)), 2, 6)) if largest > 0 else 4


def _cells(theory: float, simulation: float, error: float, z: float, *, decimals: int) -> list[str]:
    """Theory; simulation with its error; z."""
    said = [f"{value:.{decimals}f}" if np.isfinite(value) else "-" for value in (theory, simulation, error)]
    predicted, measured, uncertainty = (_unsigned_zero(text) for text in said)
    return [predicted, f"{measured} +- {uncertainty}", _unsigned_zero(f"{z:.1f}") if np.isfinite(z) else "-"]


def _unsigned_zero(text: str) -> str:
    return text.removeprefix("-") if text.strip("-0.") == "" and len(text) > 1 else text


def _prediction_table(prediction: xr.Dataset) -> Padding:
    """As for one seed of a simulation; where only the risk is predicted, that."""
    shown = shown_times(prediction.sizes["time"])
    if "cosine" in prediction:
        return order_parameter_table(prediction.expand_dims("seed"), shown)
    table = _new_table("step" if _stepwise(prediction["risk"]) else "time")
    table.add_column("risk", justify="right", no_wrap=True)
    for index in shown:
        table.add_row(f"{prediction['time'].values[index]:.4g}", f"{prediction['risk'].values[index]:.4g}")
    return Padding(table, (1, 0, 1, 0))


def _laid_record(laid: Laid) -> dict[str, Any]:
    parts = {"theory": laid.theory, "simulation": laid.simulation, "standard_error": laid.error, "z": laid.z}
    axes = [str(axis) for axis in laid.theory.dims]
    values = {name: plain(part.values) for name, part in parts.items()}
    return {"axes": axes, "allowance": laid.allowance, "absolute_values": laid.signless, **values}


def _failures(run: xr.Dataset, prediction: xr.Dataset) -> Iterator[str]:
    for words, dataset in (("simulation", run), ("prediction", prediction)):
        failed = [str(word) for word in np.atleast_1d(dataset["outcome"].values) if word != "ok"]
        if failed:
            remedy = f": {dataset.attrs['remedy']}" if dataset.attrs.get("remedy") else ""
            yield f"Of the {words}, {len(failed)} of {np.size(dataset['outcome'].values)} {failed[0]}{remedy}."


def _new_table(first: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column(first, justify="right", no_wrap=True)
    return table


def _stepwise(values: xr.DataArray) -> bool:
    return "step" in values.coords and np.array_equal(values["time"].values, values["step"].values)
