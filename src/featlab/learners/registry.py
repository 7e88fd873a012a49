"""Learners by name: those of this package, those of installed packages, and any class as `module:Class`.

Another package registers a learner by an entry point of the group `featlab.learners`, whose name is the learner's.
"""

from __future__ import annotations

import importlib
from dataclasses import is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from featlab.errors import FeatlabError, InvalidParameter
from featlab.learners.guide import RANDOM_FEATURES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "featlab.learners"
# Name -> module of this package and class; nothing is imported until it is asked for.
_OWN = {
    "online-sgd": "online:OnlineSgd",
    "extragradient": "online:Extragradient",
    "giant-steps": "giant:GiantSteps",
    "preprocessed-step": "first_step:PreprocessedStep",
    "reused-batch": "reuse:ReusedBatch",
    "sign-sgd": "adaptive:SignSgd",
    "adam": "adaptive:Adam",
    "bayes-amp": "amp:BayesAmp",
    "kernel-ridge": "kernels:KernelRidge",
    "inverse-regression": "spectral_methods:SlicedInverseRegression",
    "average-variance": "spectral_methods:SlicedAverageVariance",
    "principal-hessian": "spectral_methods:PrincipalHessian",
    "spectral-estimator": "spectral_methods:SpectralEstimator",
    "langevin": "langevin:LangevinDynamics",
    "tied-flow": "tied:TiedFlow",
    "layerwise": "layerwise:Layerwise",
    "spherical-flow": "flows:SphericalFlow",
    "normalised-flow": "flows:NormalisedFlow",
}


class BadPlugin(FeatlabError):
    """Another package's entry point that could not be loaded; the message names it and says why."""


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, by name."""
    from importlib.metadata import entry_points  # looking for packages takes a tenth of what help may take

    return {point.name: point for point in entry_points(group=group)}


def load_plugin(point: EntryPoint) -> Any:
    """What an entry point stands for."""
    try:
        return point.load()
    except (ImportError, AttributeError) as fault:
        raise BadPlugin(f"entry point {point.name!r} = {point.value!r} of {point.group}: {fault}") from fault


def load_object(reference: str, parameter: str) -> Any:
    """The object of a reference `module:name`."""
    module, _, name = reference.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as fault:
        expected = f"module:name of something that can be imported ({fault})"
        raise InvalidParameter(parameter, reference, expected) from fault


def own_learners() -> list[str]:
    """The names of the learners of this package."""
    return [*_OWN]


def learner_names() -> list[str]:
    """The names that there are: ours first, then those of installed packages."""
    return [*_OWN, *(name for name in plugins(GROUP) if name not in _OWN)]


def learner_class(name: str) -> type:
    """The class of the learner of that name.

    Raises:
        InvalidParameter: for a name that is none, with what may have been meant.
    """
    if not isinstance(name, str):
        raise InvalidParameter("learner", name, "the name of a learner, or module:Class of your own")
    if name in _OWN:
        return load_object(f"featlab.learners.{_OWN[name]}", "learner")
    if name in plugins(GROUP):
        return load_plugin(plugins(GROUP)[name])
    if ":" in name:
        found = load_object(name, "learner")
        if not isinstance(found, type) or not is_dataclass(found):
            raise InvalidParameter("learner", name, "module:Class of a learner, which is a frozen dataclass")
        return found
    known = [*learner_names(), RANDOM_FEATURES]
    close = [*get_close_matches(name, known, n=1), *(one for one in known if name and name in one.split("-"))]
    hint = f"; did you mean {' or '.join(map(repr, dict.fromkeys(close)))}?" if close else ""
    expected = f"one of {', '.join(known)}, or module:Class of your own{hint}"
    raise InvalidParameter("learner", name, expected)


def called(learner: Any) -> str:
    """The name of a learner in a sentence; that of the first layer's for a readout after it."""
    first = getattr(learner, "first", learner)
    return RANDOM_FEATURES if first is None else learner_name(type(first))


def learner_name(kind: type) -> str:
    """The name of a class of learners: its own, that of its entry point, or `module:Class`."""
    for name, reference in _OWN.items():
        if kind.__module__ == f"featlab.learners.{reference.partition(':')[0]}" and reference.endswith(
            f":{kind.__name__}"
        ):
            return name
    reference = f"{kind.__module__}:{kind.__qualname__}"
    return next((name for name, point in plugins(GROUP).items() if point.value == reference), reference)
