"""Data goes one way: a package imports only what stands to its left, so that no result depends on how it is shown."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "featlab"
# Packages on one level do not see each other: theory and simulate must not, or their agreement is no evidence.
LEVELS = (
    {"errors", "precision", "types", "citations", "results", "outcome"},
    {"gaussian"},
    {"targets"},
    {"learners"},
    {"experiments"},
    {"analysis"},
    {"theory", "simulation"},
    {"comparison", "testing", "extending"},
    {"figures"},
    {"study"},
    {"runners"},
    {"exhibits"},
    {"reports"},
    {"cli", "estimators", "explorer"},
)
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}


def imported_packages(source: str) -> set[str]:
    """The featlab packages that a module imports, wherever in it: `from featlab.x`, `import featlab.x`, relative."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("featlab.")}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "relative imports hide the direction"
            if node.module == "featlab":
                found |= {alias.name for alias in node.names if alias.name in LEVEL}
            elif node.module.startswith("featlab."):
                found.add(node.module.split(".")[1])
    return found


def wrong_way(package: str, source: str) -> set[str]:
    return {other for other in imported_packages(source) if other != package and LEVEL[other] >= LEVEL[package]}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name not in ("__main__.py",) and path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_left(path: Path) -> None:
    package = path.relative_to(SOURCE).parts[0]
    assert package in LEVEL, f"give the package {package!r} its place in LEVELS"
    assert not wrong_way(package, path.read_text(encoding="utf-8"))


def test_the_rule_rejects() -> None:
    assert wrong_way("theory", "def f():\n    from featlab.simulation import run") == {"simulation"}
    assert wrong_way("analysis", "import featlab.figures.link") == {"figures"}
    assert wrong_way("figures", "from featlab.analysis import analyse") == set()
