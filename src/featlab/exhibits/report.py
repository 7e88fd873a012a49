"""What is kept of a run of an exhibit: one JSON file with the verdict, the numbers, the time and where it was made."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featlab.errors import FeatlabError
from featlab.exhibits.beforehand import Fixed
from featlab.exhibits.protocol import Size
from featlab.exhibits.schema import Refused, read_record, report_fields
from featlab.exhibits.verdict import Check, ClaimVerdict, Number, decide
from featlab.files import fault_words, write_text

FORMAT = 2


class UnreadableReport(FeatlabError):
    """A report that cannot be read; the message says what to do."""


@dataclass(frozen=True)
class Report:
    """The last run of an exhibit at one size.

    Attributes:
        exhibit, size: which.
        checks, numbers, remarks: what was found.
        seconds: processor or device time of its runs, summed, and of prediction and verdict.
        runs: how many runs its studies have.
        machines: where they were made: device, platform, versions, as studies keep them.
        looks: at which look it was decided, and how many were allowed.
        fixed: when its protocol was fixed, and what was changed since.
        made: when the verdict was computed, in ISO 8601.
        pictures: format ("svg", "png", "gif") -> file name beside the report.

    Examples:
        >>> from featlab.exhibits import Check, CheckResult, Report, Size
        >>> holds = Check("m = .8", CheckResult.HOLDS, "m = .802(3)", control="m = .96", refused=True)
        >>> report = Report("two-steps", Size.QUICK, [holds], [], [], 1.5, 40, [], "2026-01-01T00:00:00+00:00")
        >>> report.verdict.value, report.command
        ('reproduced', 'featlab exhibit run two-steps --size quick')
    """

    exhibit: str
    size: Size
    checks: Sequence[Check]
    numbers: Sequence[Number]
    remarks: Sequence[str]
    seconds: float
    runs: int
    machines: Sequence[dict[str, Any]]
    made: str
    looks: tuple[int, int] = (1, 1)
    fixed: Sequence[Fixed] = ()
    pictures: dict[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> ClaimVerdict:
        """Computed from the checks."""
        return decide(self.checks)

    @property
    def command(self) -> str:
        """What remakes it."""
        return f"featlab exhibit run {self.exhibit} --size {self.size}"


def report_path(results: Path, exhibit: str, size: Size) -> Path:
    """Where the report of an exhibit at a size is kept."""
    return results / size / exhibit / "report.json"


def report_record(report: Report) -> dict[str, Any]:
    """A report as JSON knows it."""
    return _plain({"format": FORMAT, "verdict": report.verdict, **asdict(report)})


def write_report(results: Path, report: Report) -> Path:
    """Write it whole or not at all."""
    path = report_path(results, report.exhibit, report.size)
    write_text(path, json.dumps(report_record(report), indent=1, allow_nan=False) + "\n")
    return path


def read_report(results: Path, exhibit: str, size: Size) -> Report | None:
    """The report of the last run, None if there is none. It is read as a stranger's: `featlab.exhibits.schema`.

    Raises:
        UnreadableReport: for anything but a report of that exhibit at that size; it names the file.
    """
    path = report_path(results, exhibit, size)
    try:
        record = read_record(path)
        if record.get("format") != FORMAT:
            raise Refused("format", record.get("format"), f"{FORMAT}, which this featlab reads")
        return Report(**report_fields(record, exhibit, size))
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise UnreadableReport(f"{path}: cannot be read: {fault_words(fault)}") from fault
    except Refused as fault:
        raise UnreadableReport(f"{path}: not a report: {fault}; run the exhibit again to remake it") from fault


def last_report(results: Path, exhibit: str) -> Report | None:
    """The newest report of an exhibit, whatever its size."""
    found = [report for size in Size if (report := read_report(results, exhibit, size)) is not None]
    return max(found, key=lambda report: report.made, default=None)


def _plain(value: Any) -> Any:
    """JSON knows no NaN and no infinity: a number that is none is null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bool | int | str) or value is None:
        return value
    raise TypeError(f"a report holds plain values, not {type(value).__name__}: {value!r}")
