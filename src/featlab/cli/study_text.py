"""What the study commands print: plans, progress, errors, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from featlab.study.canonical import words as point_text
from featlab.telling import duration

if TYPE_CHECKING:
    from pathlib import Path

    from featlab.study.drive import Progress
    from featlab.study.estimate import Plan
    from featlab.study.health import Health


def plan_text(plan: Plan, workers: int) -> str:
    """Points, what is done, and what the rest will take."""
    repeated = f", each run {plan.repeats:,} times" if plan.repeats > 1 else ""
    lines = [f"points     {plan.points:,}{repeated}", f"runs       {progress_text(plan.progress)}"]
    if plan.probe is None:
        return "\n".join(lines)
    lines.append(f"probe      {point_text(plan.probe.point)}")
    if plan.probe.error is not None:
        last_line = plan.probe.error.rstrip().rpartition("\n")[2]
        return "\n".join([*lines, f"           failed: {last_line}"])
    first, again = plan.probe.first_seconds, plan.probe.again_seconds
    later = f", then {duration(again)}" if again < first else ""
    if plan.probe.shape_seconds is not None:
        later += f"; another shape ({plan.shapes:,} in all) takes {duration(plan.probe.shape_seconds)} more, once"
    lines.append(f"           {duration(first)} the first time{later}")
    share = f", {duration(plan.seconds(workers) or 0.0)} on {workers} workers" if workers > 1 else ""
    lines.append(f"time       about {duration(plan.seconds() or 0.0)} if all points cost the same{share}")
    if plan.probe.memory is not None:
        lines.append(f"memory     {plan.probe.memory / 1e6:,.0f} MB a worker")
    return "\n".join(lines)


def plan_record(plan: Plan, workers: int) -> dict[str, Any]:
    """The same as data."""
    return {
        "points": plan.points,
        "repeats": plan.repeats,
        **progress_record(plan.progress),
        "shapes": plan.shapes,
        "probe": None if plan.probe is None else asdict(plan.probe),
        "seconds": plan.seconds(workers),
    }


def progress_text(progress: Progress) -> str:
    """How far it is, in one line."""
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    missing = f", {progress.missing:,} missing" if progress.missing else ""
    return f"{progress.done:,} of {progress.total:,} done{failed}{missing}"


def progress_record(progress: Progress) -> dict[str, Any]:
    """The same as data."""
    return {**asdict(progress), "missing": progress.missing, "complete": progress.complete}


def health_text(health: Health, file: Path) -> str:
    """What was found in a store, and what to do about it."""
    unchecked = f", {health.unchecked:,} unchecked (stored by an earlier version)" if health.unchecked else ""
    lines = [f"{health.sound:,} runs are what was written{unchecked}, {len(health.damaged):,} damaged"]
    lines += [f"run {name}" for name in health.damaged] + list(health.complaints)
    if health.aside is not None:
        lines.append(f"Repaired: `featlab study run` makes what is pending again. As it was: {health.aside}")
    elif not health.good:
        lines.append(f"`featlab study check {file} --repair` keeps what is sound, and what is not is pending again")
    return "\n".join(lines)


def health_record(health: Health, store: Path) -> dict[str, Any]:
    """The same as data."""
    aside = None if health.aside is None else str(health.aside)
    return {**asdict(health), "aside": aside, "good": health.good, "store": str(store)}


def errors_text(history: list[dict[str, Any]]) -> str:
    """The points that failed, with what they died of."""
    return "\n\n".join(
        f"{point_text(entry['point'])}  (repeat {entry['repeat']})\n{entry['error'].rstrip()}"
        for entry in history
        if entry["error"] is not None
    )
