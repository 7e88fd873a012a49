"""featlab: what a shallow network can learn of a function, by which algorithm, from how much data."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> the module that holds it. Nothing is imported until it is asked for, so that `import featlab`
# and `featlab --help` stay instant.
_PUBLIC = {
    "InvalidParameter": "featlab.errors",
    "InvalidTarget": "featlab.errors",
    "DoesNotFit": "featlab.simulate",
    "FeatlabError": "featlab.errors",
    "Target": "featlab.targets",
    "target": "featlab.targets",
    "Isotropic": "featlab.targets",
    "Spiked": "featlab.targets",
    "catalogue": "featlab.targets",
    "analyse": "featlab.analysis",
    "Analysis": "featlab.analysis",
    "OnlineSgd": "featlab.learners",
    "Extragradient": "featlab.learners",
    "GiantSteps": "featlab.learners",
    "ReusedBatch": "featlab.learners",
    "Readout": "featlab.learners",
    "RandomFeatures": "featlab.learners",
    "StepLaw": "featlab.learners",
    "TwoLayer": "featlab.learners",
    "explain": "featlab.reports",
    "Explanation": "featlab.reports",
}

__all__ = ["__version__", *_PUBLIC, "simulate"]


def __getattr__(name: str) -> Any:
    if name == "simulate":  # the package, which can be called
        return importlib.import_module("featlab.simulate")
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'featlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
