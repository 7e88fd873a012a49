"""What is published is checked, and the check refuses; workflows call what there is; the oldest set is made."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from benchmarks.oldest import oldest
from benchmarks.release import IN_SDIST, IN_WHEEL, faults
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

ROOT = Path(__file__).parents[1]
EXTRAS = {"cluster", "web", "sklearn", "cuda12", "cuda13", "docs", "dev", "all"}
SDIST = [f"featlab-1/{name}" for name in IN_SDIST]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize(
    ("name", "files", "size", "wrong"),
    [
        ("a.whl", [*IN_WHEEL], 10, 0),
        ("a.whl", [*IN_WHEEL[1:]], 10, 1),
        ("a.whl", [*IN_WHEEL, "tests/conftest.py"], 10, 1),
        ("a.whl", [*IN_WHEEL, "featlab/x.sqlite"], 10, 1),
        ("a.whl", [*IN_WHEEL], 10**8, 1),
        ("a.tar.gz", SDIST, 10, 0),
        ("a.tar.gz", [*SDIST, "featlab-1/.venv/x"], 10, 1),
    ],
)
def test_a_release_is_checked(name: str, files: list[str], size: int, wrong: int) -> None:
    assert len(list(faults(name, files, size))) == wrong


def test_the_extras_are_there() -> None:
    assert set(project()["optional-dependencies"]) >= EXTRAS


def test_the_oldest_set_is_the_lower_bounds() -> None:
    made = oldest({"dependencies": ["jax>=0.5", "rich>=13"], "optional-dependencies": {"a": ["dask>=2024.5", "b[c]"]}})
    assert made == "dask==2024.5\njax==0.5\njaxlib==0.5\nrich==13\n"


def test_what_an_index_shows_leads_to_no_file_and_installs_by_name() -> None:
    """The long description that the build makes of README.md: an index has none of the files beside it."""
    relative = re.compile(r"\]\((?!https?:)")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = ProjectMetadata(str(ROOT), PluginManager()).core
    assert relative.search(readme)
    assert not relative.search(made.readme)
    assert "![" not in made.readme
    assert "pip install featlab " in made.readme
    assert not re.search(r"pip install \"?\.", made.readme)
    assert made.readme_content_type == "text/markdown"
    assert re.findall("^#+ .*", made.readme, flags=re.MULTILINE) == re.findall("^#+ .*", readme, flags=re.MULTILINE)


def test_workflows_call_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    workflows = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").iterdir()]
    called = [command for text in workflows for command in re.findall(r"run: (.+)", text)]
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert {"make check", "make docs", "make build", "make oldest", ".ci/run"} <= set(called)
    assert {command.removeprefix("make ") for command in called} - {".ci/run"} <= targets


def test_workflows_are_what_a_runner_reads() -> None:
    """As YAML: each job says where it runs and what, by actions of a stated version, and may only read."""
    for path in (ROOT / ".github" / "workflows").iterdir():
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"push", "pull_request"} <= set(workflow[True])  # the key `on`, to YAML
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert job["runs-on"] == "ubuntu-latest", name
            steps = job["steps"]
            assert steps[0]["uses"].startswith("actions/checkout@"), name
            assert any("run" in step for step in steps), name
            assert all(("uses" in step) != ("run" in step) for step in steps), name
            assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step), name
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"):
        assert {"name", "about"} <= set(yaml.safe_load(path.read_text(encoding="utf-8").split("---")[1])), path
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert [hook["id"] for hook in hooks] == ["ruff", "format", "mypy"]


def test_workflows_cover_the_pythons_that_are_promised() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    promised = [text.rpartition(" ")[2] for text in project()["classifiers"] if "Python :: 3." in text]
    assert promised == ["3.11", "3.12", "3.13"]
    assert all(f'"{version}"' in workflow for version in promised)
