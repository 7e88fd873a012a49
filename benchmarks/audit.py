"""`make audit`: known weaknesses of the code and of what is installed, and what of that could not be looked at.

    python -m benchmarks.audit

bandit looks at the code, pip-audit asks a database on the web about each installed package. Where it cannot ask, it
leaves the package out, says "no known vulnerabilities found" and ends as if all were well; here every package that was
not checked is counted and told. Exit code: 0, all was checked and nothing found; 1, something was found; 3, nothing was
found, but not all was checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOUND, UNCHECKED = 1, 3
_ROOT = Path(__file__).parents[1]
_NAMED = 3


class Part(NamedTuple):
    """What one tool says: in words, how much it found, how much it did not check."""

    words: str
    found: int
    unchecked: int


def of_code(report: Mapping[str, Any]) -> Part:
    """What bandit's JSON says: files that it read, faults that it found, files that it could not read."""
    files = [name for name in report["metrics"] if name != "_totals"]
    lines = sum(report["metrics"][name]["loc"] for name in files)
    found = [f"{one['filename']}:{one['line_number']}: {one['issue_text']}" for one in report["results"]]
    unread = [f"{one['filename']}: {one['reason']}" for one in report["errors"]]
    words = (
        f"code (bandit): {len(files)} files, {lines:,} lines checked; {len(found)} found, {len(unread)} files not read"
    )
    return Part("\n  ".join([words, *found, *unread]), len(found), len(unread))


def of_packages(report: Mapping[str, Any]) -> Part:
    """What pip-audit's JSON says: packages that it asked about, weaknesses, packages that it left out and why."""
    packages = report["dependencies"]
    asked = [one for one in packages if "skip_reason" not in one]
    left_out = [one["skip_reason"] for one in packages if "skip_reason" in one]
    found = [f"{one['name']} {one['version']}: {weak['id']}" for one in asked for weak in one["vulns"]]
    words = f"packages (pip-audit): {len(asked)} of {len(packages)} checked; {len(found)} weaknesses found"
    if left_out:
        words += f"\n  NOT CHECKED: {len(left_out)}; the database on the web does not know them, or was not reached:"
        more = [f"... and {len(left_out) - _NAMED} more"] if len(left_out) > _NAMED else []
        found_and_left_out = [*found, *left_out[:_NAMED], *more]
    else:
        found_and_left_out = found
    return Part("\n  ".join([words, *found_and_left_out]), len(found), len(left_out))


def verdict(parts: list[Part]) -> tuple[str, int]:
    """All of it in words, and the exit code."""
    found, unchecked = sum(part.found for part in parts), sum(part.unchecked for part in parts)
    last = f"{found} weaknesses found" if found else "nothing found"
    last += f", but {unchecked} files or packages were not checked: this is no clean bill" if unchecked else ""
    return "\n".join([*(part.words for part in parts), last]), FOUND if found else UNCHECKED if unchecked else 0


def _asked(name: str, *arguments: str) -> dict[str, Any] | None:
    """The JSON that a tool of this environment prints; None, with its own words, if it prints none."""
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)
        return json.loads(run.stdout)
    except FileNotFoundError:
        print(f"{name} is not installed here; `make audit` installs it", file=sys.stderr)
        return None
    except ValueError:
        print(run.stderr.strip()[-2000:], file=sys.stderr)
        return None


def main() -> None:
    """Ask both and say what they found, and what they did not look at."""
    code = _asked("bandit", "--quiet", "--recursive", "src", "--configfile", "pyproject.toml", "--format", "json")
    packages = _asked("pip-audit", "--skip-editable", "--progress-spinner", "off", "--format", "json")
    parts = [
        Part("code (bandit): NOT CHECKED, it failed", 0, 1) if code is None else of_code(code),
        Part("packages (pip-audit): NOT CHECKED, it failed", 0, 1) if packages is None else of_packages(packages),
    ]
    words, ending = verdict(parts)
    print(words)
    sys.exit(ending)


if __name__ == "__main__":
    main()
