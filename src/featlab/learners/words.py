"""Learners by name, from plain values: numbers, words, lists, and step laws as text such as "0.1/d".

For files and other places that know no Python objects. Which value belongs to which learner is read from the fields
of its description; what belongs to none is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from featlab.errors import InvalidParameter
from featlab.learners.amp import BayesAmp
from featlab.learners.first_step import PreprocessedStep
from featlab.learners.flows import NormalisedFlow, SphericalFlow
from featlab.learners.giant import GiantSteps
from featlab.learners.kernels import KernelRidge
from featlab.learners.langevin import LangevinDynamics
from featlab.learners.layerwise import Layerwise
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.readout import Readout
from featlab.learners.reuse import ReusedBatch
from featlab.learners.spectral_methods import (
    PrincipalHessian,
    SlicedAverageVariance,
    SlicedInverseRegression,
    SpectralEstimator,
)
from featlab.learners.steps import StepLaw
from featlab.learners.students import TwoLayer
from featlab.learners.tied import TiedFlow

LEARNERS: dict[str, Any] = {
    "online-sgd": OnlineSgd,
    "extragradient": Extragradient,
    "giant-steps": GiantSteps,
    "preprocessed-step": PreprocessedStep,
    "reused-batch": ReusedBatch,
    "bayes-amp": BayesAmp,
    "kernel-ridge": KernelRidge,
    "inverse-regression": SlicedInverseRegression,
    "average-variance": SlicedAverageVariance,
    "principal-hessian": PrincipalHessian,
    "spectral-estimator": SpectralEstimator,
    "langevin": LangevinDynamics,
    "tied-flow": TiedFlow,
    "layerwise": Layerwise,
    "spherical-flow": SphericalFlow,
    "normalised-flow": NormalisedFlow,
}
RANDOM_FEATURES = "random-features"
READOUT_OPTIONS = ("readout", "ridge")
LEARNER_OPTIONS = tuple(dict.fromkeys(field.name for kind in LEARNERS.values() for field in fields(kind)))
STUDENTS = tuple(dict.fromkeys(kind.student_kind for kind in LEARNERS.values() if kind.student_kind is not None))
STUDENT_OPTIONS = tuple(dict.fromkeys(field.name for kind in STUDENTS for field in fields(kind)))
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LAW = re.compile(rf"({_NUMBER})\s*(?:/\s*d(?:\^({_NUMBER}))?|\*\s*d\^\(?({_NUMBER})\)?)")
_STEPS = ("step_size", "inner_step", "temperature")


def learner_in_words(name: str, options: Mapping[str, Any]) -> Any:
    """The learner of that name; with `readout` (a number of samples, or "same") under a `Readout`, with its `ridge`.

    Raises:
        InvalidParameter: for an unknown name, an option that the learner does not have, or one that it needs.
    """
    first_options = {option: value for option, value in options.items() if option not in READOUT_OPTIONS}
    if name == RANDOM_FEATURES:
        _refuse_others(name, first_options, ())
        if "readout" not in options:
            raise InvalidParameter("readout", None, f"with {RANDOM_FEATURES}, a number of samples to fit to")
        return _under_readout(None, options)
    if name not in LEARNERS:
        close = get_close_matches(str(name), [*LEARNERS, RANDOM_FEATURES], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InvalidParameter("learner", name, f"one of {', '.join([*LEARNERS, RANDOM_FEATURES])}{hint}")
    kind = LEARNERS[name]
    own = [field.name for field in fields(kind)]
    first_options = {option: value for option, value in options.items() if option in own or option in first_options}
    _refuse_others(name, first_options, own)
    for field in fields(kind):
        if field.default is MISSING and field.name not in options:
            raise InvalidParameter(field.name, None, f"a value: {name} needs one")
    first = kind(**{option: _value(option, value) for option, value in first_options.items()})
    if "readout" in options:
        return _under_readout(first, options)
    if "ridge" in options and "ridge" not in own:
        raise InvalidParameter("ridge", options["ridge"], "to stand beside a readout, whose second layer it is for")
    return first


def student_in_words(learner: str, options: Mapping[str, Any]) -> Any:
    """The student with these options, of the kind that the learner of that name trains."""
    kind = TwoLayer if learner == RANDOM_FEATURES else getattr(LEARNERS.get(learner), "student_kind", TwoLayer)
    if kind is None:
        option, value = next(iter(options.items()))
        raise InvalidParameter(option, value, f"no such option: {learner} has no student")
    _refuse_others(kind.__name__, options, [field.name for field in fields(kind)], readout=False)
    return kind(**{option: _tuples(value) for option, value in options.items()})


def options_of(name: str) -> frozenset[str]:
    """The options of the learner of that name; none if there is no such learner."""
    return frozenset(field.name for field in fields(LEARNERS[name])) if name in LEARNERS else frozenset()


def step_in_words(name: str, text: str) -> StepLaw | float:
    """A step size from text: a number, or a law in the dimension as 0.1/d, 0.1/d^1.5 or 2*d^-0.5."""
    law = _LAW.fullmatch(text.strip())
    if law:
        scale, divided, power = law.groups()
        return StepLaw(float(scale), -float(power) if power else float(divided or 1))
    if is_number(text):
        return float(text)
    raise InvalidParameter(name, text, "a number or a law in the dimension, such as 0.1, 0.1/d or 2*d^-0.5")


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    return re.fullmatch(_NUMBER, text.strip()) is not None


def _value(option: str, value: Any) -> Any:
    if option in _STEPS and isinstance(value, str):
        return step_in_words(option, value)
    return _tuples(value)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _under_readout(first: Any, options: Mapping[str, Any]) -> Readout:
    ridge = {"ridge": options["ridge"]} if "ridge" in options else {}
    if options["readout"] == "same":
        return Readout(first, data="same", **ridge)
    return Readout(first, options["readout"], **ridge)


def _refuse_others(name: str, options: Mapping[str, Any], known: Any, readout: bool = True) -> None:
    for option, value in options.items():
        if option not in known:
            takes = ", ".join([*known, *(READOUT_OPTIONS if readout else ())])
            raise InvalidParameter(option, value, f"no such option of {name}, which takes {takes}")
