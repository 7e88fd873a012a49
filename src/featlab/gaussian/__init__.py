"""Gaussian calculus: Hermite polynomials, quadrature, activations, power-law fits.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "Activation": "activations",
    "activation": "activations",
    "activation_names": "activations",
    "hermite_all": "hermite",
    "hermite_normalised_all": "hermite",
    "hermite_series": "hermite",
    "multi_indices": "hermite",
    "Rule": "quadrature",
    "gauss_pieces": "quadrature",
    "nested_rule": "quadrature",
    "PowerLaw": "powerlaw",
    "compare_with_log": "powerlaw",
    "fit_power_law": "powerlaw",
    "local_slopes": "powerlaw",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.gaussian.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.gaussian' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
