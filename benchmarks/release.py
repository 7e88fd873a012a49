"""Is what was built fit to be published? `python -m benchmarks.release dist [PYTHON ...]` (`make build` calls it).

The wheel has the package and nothing else, with all that is no Python (templates, stubs, the mark of types); the sdist
has what the tests and the site need; neither is large. Then, for each of the given interpreters, the wheel is installed
alone, without extras, in an environment of its own outside the checkout: it runs the command of `make demo`, simulates,
runs a study, and says what the explorer lacks; with the extra `web` the explorer is started, its page is fetched, and
Ctrl-C ends it.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

MOST_BYTES = {".whl": 2_000_000, ".gz": 7_000_000}
IN_WHEEL = ("featlab/py.typed", "featlab/__init__.pyi", "featlab/reports/templates/base.html", "featlab/cli/app.py")
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "Makefile",
    "mkdocs.yml",
    "requirements-dev.lock",
    ".ci/run",
    ".github/workflows/test.yml",
    "docs/assets/katex/katex.min.js",
    "docs/course/built/01_single_index.md",
    "docs/results/paper/classification/report.json",
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
    ("explain", "He4(h1) + sign(h1*h2*h3)", "--dim", "1000", "--html", "explanation.html"),
    ("simulate", "tanh(h1)", "--learner", "online-sgd", "--dim", "100", "--times", "0,1", "--step-size", "0.01"),
    ("study", "run", "tiny.toml"),
)
EXPLORE = ("explore", "--port", "0", "--no-browser")


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


def put_to_work(wheel: Path, python: str) -> None:
    """Install the wheel alone and run it; a command that fails ends it."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", Path(place) / "bare"], check=True)
        binaries = Path(place) / "bare" / "bin"
        subprocess.run([binaries / "pip", "install", "--quiet", wheel.resolve()], check=True)
        (Path(place) / "tiny.toml").write_text(STUDY, encoding="utf-8")
        for arguments in WORK:
            subprocess.run([binaries / "featlab", *arguments], cwd=place, check=True, stdout=subprocess.DEVNULL)
        lacking = subprocess.run([binaries / "featlab", *EXPLORE], capture_output=True, text=True)
        assert lacking.returncode == 2, lacking
        assert 'pip install "featlab[web]"' in lacking.stderr, lacking
        subprocess.run([binaries / "pip", "install", "--quiet", f"{wheel.resolve()}[web]"], check=True)
        explored(binaries / "featlab")
        said = subprocess.run([binaries / "python", "--version"], capture_output=True, text=True, check=True)
        print(f"{said.stdout.strip()}: {', '.join(arguments[0] for arguments in (*WORK, EXPLORE))} work")


def explored(featlab: Path) -> None:
    """Start the explorer, fetch its page, end it as Ctrl-C does."""
    with subprocess.Popen([featlab, *EXPLORE], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found, "the explorer says where it is"
            page = urlopen(found[0], timeout=60).read().decode("utf-8")
            assert "<title>featlab" in page, page[:200]
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=60) == 130, server.returncode
        finally:
            server.kill()


def main(dist: Path, *pythons: str) -> int:
    built = sorted([*dist.glob("*.whl"), *dist.glob("*.tar.gz")])
    found = [fault for path in built for fault in faults(path.name, contents(path), path.stat().st_size)]
    if len(built) != 2:
        found.append(f"{dist}: {len(built)} files, expected a wheel and an sdist")
    print("\n".join(found) or f"{', '.join(path.name for path in built)}: as they should be")
    if found:
        return 1
    for python in pythons or (sys.executable,):
        put_to_work(next(path for path in built if path.suffix == ".whl"), python)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
