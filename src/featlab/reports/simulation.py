"""A simulated dataset on a screen: what was run, the order parameters over time, how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from featlab.comparison.curves import is_stepwise, measured_over_time
from featlab.comparison.recovery import recovery
from featlab.gaussian.hermite import Floats
from featlab.learners import StepLaw
from featlab.learners.protocol import Learner, Student
from featlab.targets import Isotropic

if TYPE_CHECKING:
    import xarray as xr

_MOST_TIMES = 12
_USUAL_INPUTS = repr(Isotropic())
_MOST_DIRECTIONS = 2  # of which both median and mean fit on a line


def simulation_text(dataset: xr.Dataset, learner: Learner, student: Student | None) -> Group:
    """The screen: what ran and on which design, a table over time, the outcomes.

    The learner and the student are the descriptions that made the dataset; only what is not a default is shown.
    """
    about, shown = dataset.attrs, shown_times(dataset.sizes["time"])
    inputs = about.get("inputs", _USUAL_INPUTS)
    facts = {
        "inputs": "" if inputs == _USUAL_INPUTS else _shortened(inputs),
        "design": f"{about['design']}, {_bytes(about['design_bytes_per_seed'])} a seed; {about['dtype']}",
    }
    means = "; overlaps are means with their standard error" if _tells_overlaps(dataset) else ""
    notes = [_outcomes(dataset), f"Medians over seeds{means}.", *found_words(dataset)]
    if len(shown) < dataset.sizes["time"]:
        notes.append(f"{len(shown)} of {dataset.sizes['time']} times are shown; --json has all of them.")
    title = run_title(about["target"], f"d = {about['dim']:,}, {dataset.sizes['seed']} seeds", learner, student, facts)
    return Group(title, order_parameter_table(dataset, shown), *map(Text, notes))


def run_title(
    target: str, sizes: str, learner: Learner, student: Student | None, facts: Mapping[str, str] | None = None
) -> Text:
    """What was asked: the target with its sizes, then a line for the learner, the student and each other fact."""
    text = Text(target, style="bold")
    text.append(f"   ({sizes})\n", style="not bold")
    described = {"learner": learner, "student": student}
    lines = {name: brief(description) for name, description in described.items() if description is not None}
    for name, words in (lines | dict(facts or {})).items():
        text.append(f"\n  {name:<7}  {words}" if words else "", style="not bold")
    return text


def number_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """Numbers to the right under bold names, without lines."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def order_parameter_table(dataset: xr.Dataset, shown: list[int]) -> Padding:
    """The columns of `order_parameter_cells` at some times."""
    cells = order_parameter_cells(dataset)
    rows = ([column[index] for column in cells.values()] for index in shown)
    return Padding(number_table(cells, rows), (1, 0, 1, 0))


def order_parameter_cells(dataset: xr.Dataset) -> dict[str, list[str]]:
    """Over time, how much of each direction is found (median over seeds), the overlap of a single neuron (mean with its
    error), and the risk; for a learner without a risk, what it measures in its place."""
    found = recovery(dataset)
    cells = {"step" if is_stepwise(dataset) else "time": [f"{time:.4g}" for time in dataset["time"].values]}
    cells |= {f"{found.column} {name}": _over_time(found.values[:, :, place]) for place, name in enumerate(found.names)}
    if _tells_overlaps(dataset):
        overlaps = dataset["overlap"].transpose("direction", "seed", "time", "neuron").values.astype(np.float64)
        for place, values in enumerate(overlaps[..., 0], 1):
            cells[f"overlap h{place}"] = [_mean(column) for column in values.T]
    measured = measured_over_time(dataset)
    if len(cells) == 1 and not measured:  # nothing of the usual was asked for
        measured = _single_numbers(dataset)
    return cells | {name.replace("_", " "): _over_time(values, ".4g") for name, values in measured.items()}


def _single_numbers(dataset: xr.Dataset) -> dict[str, Floats]:
    """What is one number at each time, as all of a single neuron and direction is: name -> (seed, time)."""
    there = {str(name): dataset[name] for name in dataset if {"seed", "time"} <= set(dataset[name].dims)}
    single = {name: one for name, one in there.items() if one.size == one.sizes["seed"] * one.sizes["time"]}
    return {
        name: one.transpose("seed", "time", ...).values.reshape(one.sizes["seed"], -1).astype(np.float64)
        for name, one in single.items()
    }


def found_words(dataset: xr.Dataset) -> list[str]:
    """What the shares in the table are, where the name of the column does not say it."""
    found = recovery(dataset)
    return [f"{found.column} {found.names[0]}: {found.words}."] if found.column in ("share", "in", "cos angle") else []


def _tells_overlaps(dataset: xr.Dataset) -> bool:
    """Whether there is one neuron with a risk, and few directions: more do not fit on a line."""
    if not {"risk", "overlap"} <= set(dataset):
        return False
    return dataset.sizes["neuron"] == 1 and dataset.sizes["direction"] <= _MOST_DIRECTIONS


def shown_times(count: int) -> list[int]:
    """Which of so many times fit on a screen."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, _MOST_TIMES))})


def mean_and_error(values: Floats) -> tuple[float, float | None] | None:
    """Mean and standard error over the seeds that have a value; no error for a single one, nothing for none."""
    present = values[np.isfinite(values)]
    if not present.size:
        return None
    error = float(np.std(present, ddof=1) / present.size**0.5) if present.size > 1 else None
    return float(np.mean(present)), error


def brief(description: Any) -> str:
    """A description without its defaults: OnlineSgd(step_size=0.1/d)."""
    if isinstance(description, StepLaw):
        power = "" if description.exponent == 1 else f"^{description.exponent:g}"
        return f"{description.scale:g}/d{power}"
    if not is_dataclass(description):
        return str(description)
    values = ((field.name, getattr(description, field.name), field.default) for field in fields(description))
    said = ", ".join(f"{name}={brief(value)}" for name, value, default in values if value != default)
    return f"{type(description).__name__}({said})"


def _shortened(description: str) -> str:
    """A description whose long decimals are shown with five digits."""
    return re.sub(r"\d+\.\d{5,}", lambda number: f"{float(number[0]):.5g}", description)


def _over_time(values: Floats, form: str = ".4f") -> list[str]:
    """The median over the seeds that have a value, at each time of (seed, time)."""
    present = (row[np.isfinite(row)] for row in values.T)
    return [f"{np.median(row):z{form}}" if row.size else "-" for row in present]


def _mean(values: Floats) -> str:
    mean, error = mean_and_error(values) or (None, None)
    if mean is None:
        return "-"
    return f"{mean:z.4f}" if error is None else f"{mean:z.4f} +- {error:.4f}"


def _outcomes(dataset: xr.Dataset) -> str:
    words, counts = np.unique(dataset["outcome"].values, return_counts=True)
    said = ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True))
    diverged = dataset["diverged_step"].values
    first = f" (first at step {diverged[diverged >= 0].min():,})" if np.any(diverged >= 0) else ""
    return f"Outcome: {said}{first}."


def _bytes(count: int) -> str:
    """A number of bytes with three digits."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
