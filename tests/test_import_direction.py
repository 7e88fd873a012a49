"""Data goes one way: a package imports only what stands to its left, so that no result depends on how it is shown."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "featlab"
# Packages on one level do not see each other: theory and simulate must not, or their agreement is no evidence.
LEVELS = (
    {
        "errors",
        "files",
        "interruption",
        "lines",
        "machine",
        "telling",
        "compiled",
        "progress",
        "precision",
        "types",
        "citations",
        "results",
        "outcome",
        "shown",
    },
    {"gaussian"},
    {"targets"},
    {"learners"},
    {"experiments"},
    {"analysis"},
    {"theory", "simulation"},
    {"comparison", "recording", "testing", "extending", "estimators"},
    {"diagnosis"},
    {"figures"},
    {"study"},
    {"runners"},
    {"exhibits", "racing"},
    {"reports"},
    {"explorer"},
    {"cli"},
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


# What measures must not ask theory, or agreement of the two is no evidence; the runner of predictions measures nothing.
MEASURING = [
    path
    for path in MODULES
    if path.relative_to(SOURCE).parts[0] in ("simulation", "recording", "runners", "study")
    and path.relative_to(SOURCE) != Path("runners/prediction.py")
]
CLAIMS = [path for path in MODULES if path.relative_to(SOURCE).parts[:2] == ("exhibits", "claims")]


def measures_with_theory(source: str) -> bool:
    """Whether a module that has a runner of its own imports theory at its top, or in the function that runs points.

    A claim without a runner may: what it imports serves `studies`, `theory` and its pictures.
    """
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not any(node.name == "run_point" for node in functions):
        return False
    run = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    run += [node for node in functions if node.name.startswith("run_")]
    return "theory" in imported_packages(ast.unparse(ast.Module(run, [])))


@pytest.mark.parametrize("path", MEASURING, ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_measures_does_not_ask_theory(path: Path) -> None:
    assert "theory" not in imported_packages(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_no_claim_measures_with_theory(path: Path) -> None:
    assert not measures_with_theory(path.read_text(encoding="utf-8"))


def test_the_rule_of_measuring_rejects() -> None:
    assert Path("runners/one_step.py") in {path.relative_to(SOURCE) for path in MEASURING}
    runner = "def run_point(point, key):\n    {}\n    return []"
    assert measures_with_theory("from featlab.theory import predict\n" + runner.format("pass"))
    assert measures_with_theory(runner.format("from featlab.theory.spikes import critical_step"))
    assert not measures_with_theory(runner.format("pass") + "\ndef theory(data):\n    from featlab import theory")
    assert not measures_with_theory("from featlab.theory import predict")
