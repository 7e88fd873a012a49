"""From the kind in a study file to the runner."""

from __future__ import annotations

import importlib
from pathlib import Path

from featlab.study.description import Study, read_study
from featlab.study.faults import InvalidStudy, did_you_mean
from featlab.study.runner import Runner, runner_from_module

# Kind -> module and name of its runner.
KINDS = {
    "simulate": ("featlab.runners.simulation", "SIMULATE"),
    "predict": ("featlab.runners.prediction", "PREDICT"),
    "one-step": ("featlab.runners.first_gradient", "ONE_STEP"),
    "one-step-readout": ("featlab.runners.one_step", "ONE_STEP"),
}


def find_runner(kind: str, directory: str) -> Runner:
    """The runner of a kind; a `module:name` is looked for in `directory` too, where the study file lies."""
    if kind in KINDS:
        module, name = KINDS[kind]
        return getattr(importlib.import_module(module), name)
    if ":" in kind:
        return runner_from_module(kind, directory)
    known = ", ".join(KINDS)
    raise InvalidStudy(f"kind: got {kind!r}, expected {known} or module:function{did_you_mean(kind, KINDS)}")


def load_study(path: str | Path) -> tuple[Study, Runner]:
    """The study in a study file, and what runs its points: `run(*load_study("sweep.toml"), "sweep.sqlite")`.

    Args:
        path: a study file, in TOML.

    Raises:
        InvalidStudy: if it cannot be read.

    Examples:
        >>> from pathlib import Path
        >>> import featlab
        >>> text = 'kind = "predict"\\naxes.samples = [100, 200]\\nfixed.learner = "inverse-regression"'
        >>> _ = Path("sweep.toml").write_text(text)
        >>> study, runner = featlab.load_study("sweep.toml")
        >>> runner.name, study.axes
        ('predict', {'samples': [100, 200]})
    """
    file = read_study(path)
    return file.study, find_runner(file.kind, str(file.path.resolve().parent))
