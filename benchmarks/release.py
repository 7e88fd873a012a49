"""Is what was built fit to be published? `python -m benchmarks.release dist` (`make build` calls it).

The wheel has the package and nothing else, with all that is no Python (templates, stubs, the mark of types); the sdist
has what the tests need; neither is large. The wheel is then installed alone, without extras, in an environment of its
own outside the checkout, and explains, simulates, and runs a study there.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_BYTES = {".whl": 2_000_000, ".gz": 4_000_000}
IN_WHEEL = ("featlab/py.typed", "featlab/__init__.pyi", "featlab/reports/templates/base.html", "featlab/cli/app.py")
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "Makefile",
    "src/featlab/py.typed",
    "tests/conftest.py",
)
NOT_SHIPPED = (".venv", ".git/", "__pycache__", ".sqlite", ".pyc")
STUDY = """\
kind = "predict"
axes.samples = [40, 80]
fixed.target = "tanh(h1)"
fixed.learner = "inverse-regression"
fixed.dim = 20
"""
WORK = (
    ("doctor",),
    ("explain", "He4(h1) + sign(h1*h2*h3)", "--dim", "1000", "--no-simulation", "--html", "explanation.html"),
    ("simulate", "tanh(h1)", "--learner", "online-sgd", "--dim", "100", "--times", "0,1", "--step-size", "0.01"),
    ("study", "run", "tiny.toml"),
)


def faults(name: str, files: Sequence[str], size: int) -> Iterator[str]:
    """What is wrong with a wheel or an sdist of these files."""
    suffix = Path(name).suffix
    inside = files if suffix == ".whl" else [file.partition("/")[2] for file in files]
    for needed in IN_WHEEL if suffix == ".whl" else IN_SDIST:
        if needed not in inside:
            yield f"{name}: {needed} is missing"
    for file in inside:
        if any(part in file for part in NOT_SHIPPED):
            yield f"{name}: {file} does not belong there"
        if suffix == ".whl" and not file.startswith(("featlab/", "featlab-")):
            yield f"{name}: {file} is not of the package"
    if size > MOST_BYTES[suffix]:
        yield f"{name}: {size:,} bytes, at most {MOST_BYTES[suffix]:,} are allowed"


def contents(path: Path) -> list[str]:
    """The names of the files in a wheel or an sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def put_to_work(wheel: Path) -> None:
    """Install the wheel alone and run it; a command that fails ends it."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(Path(place) / "bare", with_pip=True)
        binaries = Path(place) / "bare" / "bin"
        subprocess.run([binaries / "pip", "install", "--quiet", wheel.resolve()], check=True)
        (Path(place) / "tiny.toml").write_text(STUDY, encoding="utf-8")
        for arguments in WORK:
            subprocess.run([binaries / "featlab", *arguments], cwd=place, check=True, stdout=subprocess.DEVNULL)


def main(dist: Path) -> int:
    built = sorted([*dist.glob("*.whl"), *dist.glob("*.tar.gz")])
    found = [fault for path in built for fault in faults(path.name, contents(path), path.stat().st_size)]
    if len(built) != 2:
        found.append(f"{dist}: {len(built)} files, expected a wheel and an sdist")
    print("\n".join(found) or f"{', '.join(path.name for path in built)}: as they should be")
    if found:
        return 1
    put_to_work(next(path for path in built if path.suffix == ".whl"))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
