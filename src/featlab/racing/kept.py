"""A race that is kept in a directory: its course in a small file beside the stores, to be read again."""

from __future__ import annotations

import json
from pathlib import Path

from featlab.analysis import Analysis
from featlab.errors import InvalidParameter
from featlab.files import write_text
from featlab.racing.course import Course

_FILE = "race.json"
_EXPECTED = "a directory that `featlab race --store` has filled"


def write_course(directory: Path, course: Course) -> None:
    """Say what is run there."""
    target = course.analysis.target
    said = {"target": target.text, "noise": target.noise, "dim": course.dim, "ratios": list(course.ratios)}
    write_text(directory / _FILE, json.dumps(said | {"seeds": course.seeds, "key": course.key}, indent=2) + "\n")


def read_course(directory: Path, analysis: Analysis) -> Course:
    """What was run there last, of the target that was analysed."""
    try:
        said = json.loads((directory / _FILE).read_text(encoding="utf-8"))
        course = Course(
            analysis, int(said["dim"]), tuple(map(float, said["ratios"])), int(said["seeds"]), int(said["key"])
        )
        whose = str(said["target"]), float(said["noise"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise InvalidParameter("race", str(directory), _EXPECTED) from fault
    if whose != (analysis.target.text, analysis.target.noise):
        raise InvalidParameter("race", str(directory), f"a race of this target; that one is of {whose[0]!r}")
    return course
