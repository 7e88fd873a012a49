"""The lock file from pip's report of what it would install: `make lock`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

HEADER = """\
# The versions that development was last done with. Made by `make lock`, not by hand; use it as a constraint:
#     pip install --constraint requirements-dev.lock --editable ".[dev]"
# Resolved for Python {python} on {system}; elsewhere a package or two may differ.
"""


def lock(report: dict) -> str:
    """One line `name==version` for each package but our own, in alphabetical order."""
    found = {
        item["metadata"]["name"].lower().replace("_", "-"): item["metadata"]["version"] for item in report["install"]
    }
    found.pop("featlab", None)
    where = report["environment"]
    header = HEADER.format(python=where["python_version"], system=where["platform_system"])
    return header + "".join(f"{name}=={version}\n" for name, version in sorted(found.items()))


if __name__ == "__main__":
    sys.stdout.write(lock(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
