"""The oldest set of what featlab says it runs with, as constraints for pip: `python -m benchmarks.oldest > oldest.txt`.

Every lower bound of pyproject.toml becomes an equality. `make oldest` installs that set into an environment of its own
and runs the quick tests on it.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

# What JAX is compiled in: of the same version, and no dependency of ours by name.
_TOGETHER = {"jax": ("jaxlib",)}


def oldest(project: dict[str, Any]) -> str:
    """One line `name==bound` for each requirement that has a lower bound, extras included."""
    extras = project.get("optional-dependencies", {})
    found: dict[str, str] = {}
    for text in [*project["dependencies"], *(text for texts in extras.values() for text in texts)]:
        requirement = Requirement(text)
        for bound in requirement.specifier:
            if bound.operator == ">=":
                for name in (requirement.name, *_TOGETHER.get(requirement.name, ())):
                    found[name] = bound.version
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items()))


if __name__ == "__main__":
    content = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    sys.stdout.write(oldest(tomllib.loads(content)["project"]))
