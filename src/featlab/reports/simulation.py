"""A simulated dataset on a screen and as plain data: what was run, the order parameters over time, how it ended."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from featlab.figures.trajectories import alignments, measured_over_time
from featlab.gaussian.hermite import Floats
from featlab.learners import StepLaw
from featlab.targets import Isotropic

if TYPE_CHECKING:
    import xarray as xr

_MOST_TIMES = 12
_USUAL_INPUTS = repr(Isotropic())
_MOST_DIRECTIONS = 2  # of which both median and mean fit on a line


def simulation_text(dataset: xr.Dataset, learner: Any, student: Any) -> Group:
    """The screen: what ran and on which design, a table over time, the outcomes.

    The learner and the student are the descriptions that made the dataset; only what is not a default is shown.
    """
    shown = shown_times(dataset.sizes["time"])
    means = "; overlaps are means with their standard error" if {"risk", "overlap"} <= set(dataset) else ""
    notes = [_outcomes(dataset), f"Medians over seeds{means}."]
    if len(shown) < dataset.sizes["time"]:
        notes.append(f"{len(shown)} of {dataset.sizes['time']} times are shown; --json has all of them.")
    return Group(
        _heading(dataset, learner, student), order_parameter_table(dataset, shown), *(Text(note) for note in notes)
    )


def simulation_record(dataset: xr.Dataset) -> dict[str, Any]:
    """The dataset as plain data without NaN: what it came from, then each quantity with its axes and values."""
    coordinates = {name: plain(values.values) for name, values in dataset.coords.items()}
    quantities = {
        name: {"axes": list(values.dims), "meaning": values.attrs.get("meaning"), "values": plain(values.values)}
        for name, values in dataset.data_vars.items()
    }
    return {**{name: plain(value) for name, value in dataset.attrs.items()}, **coordinates, "data": quantities}


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


def _heading(dataset: xr.Dataset, learner: Any, student: Any) -> Text:
    about = dataset.attrs
    text = Text(about["target"], style="bold")
    text.append(f"   (d = {about['dim']:,}, {dataset.sizes['seed']} seeds)\n", style="not bold")
    memory = f"{_bytes(about['design_bytes_per_seed'])} a seed"
    for name, words in (
        ("learner", brief(learner)),
        *([("student", brief(student))] if student is not None else []),
        *([("inputs", _shortened(about["inputs"]))] if about.get("inputs", _USUAL_INPUTS) != _USUAL_INPUTS else []),
        ("design", f"{about['design']}, {memory}; {about['dtype']}"),
    ):
        text.append(f"\n  {name:<7}  {words}", style="not bold")
    return text


def order_parameter_table(dataset: xr.Dataset, shown: list[int]) -> Padding:
    """Over time, each direction's cosine (median over seeds) and overlap (mean with its error), and the risk; for a
    learner without a risk, what it measures in its place."""
    cosines, measured = alignments(dataset), measured_over_time(dataset)
    rank, wide = cosines.shape[2], dataset.sizes.get("neuron", 1) > 1
    with_means = {"risk", "overlap"} <= set(dataset) and rank <= _MOST_DIRECTIONS
    with_subspace = wide and rank > 1
    overlaps = _overlaps(dataset) if with_means else cosines
    stepwise = np.array_equal(dataset["time"].values, dataset["step"].values)
    names = [f"h{place + 1}" for place in range(rank)]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in (
        "step" if stepwise else "time",
        *(f"|cos| {name}" for name in names),
        *(f"{'rms ' if wide else ''}overlap {name}" for name in names if with_means),
        *(["subspace"] if with_subspace else []),
        *(name.replace("_", " ") for name in measured),
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for index in shown:
        row = [f"{dataset['time'].values[index]:.4g}"]
        row += [_median(cosines[:, index, place]) for place in range(rank)]
        row += [_mean(overlaps[:, index, place]) for place in range(rank) if with_means]
        if with_subspace:
            values = dataset["subspace"].transpose("seed", "time", "component").values[:, index]
            row.append(" ".join(_median(values[:, place], ".2f") for place in range(values.shape[1])))
        table.add_row(*row, *(_median(values[:, index], ".4g") for values in measured.values()))
    return Padding(table, (1, 0, 1, 0))


def _overlaps(dataset: xr.Dataset) -> Floats:
    """(seed, time, direction): M of one neuron, with its sign; root mean square over several."""
    overlaps = dataset["overlap"].transpose("seed", "time", "neuron", "direction").values.astype(np.float64)
    return overlaps[:, :, 0] if overlaps.shape[2] == 1 else np.sqrt(np.mean(overlaps**2, axis=2))


def _outcomes(dataset: xr.Dataset) -> str:
    words, counts = np.unique(dataset["outcome"].values, return_counts=True)
    said = ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True))
    diverged = dataset["diverged_step"].values
    first = f" (first at step {diverged[diverged >= 0].min():,})" if np.any(diverged >= 0) else ""
    return f"Outcome: {said}{first}."


def shown_times(count: int) -> list[int]:
    """Which of so many times fit on a screen."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, _MOST_TIMES))})


def _median(values: Floats, form: str = ".4f") -> str:
    present = values[np.isfinite(values)]
    return f"{np.median(present):{form}}" if present.size else "-"


def _mean(values: Floats) -> str:
    found = mean_and_error(values)
    if found is None:
        return "-"
    mean, error = found
    return f"{mean:.4f}" if error is None else f"{mean:.4f} +- {error:.4f}"


def _bytes(count: int) -> str:
    """A number of bytes with three digits."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def plain(value: Any) -> Any:
    """Lists, numbers and strings; null for what is not a finite number."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
