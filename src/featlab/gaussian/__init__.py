"""Gaussian calculus: Hermite polynomials, quadrature, activations, power-law fits.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

from featlab.lazy import public_names

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
    "crossing": "crossings",
    "crossing_with_error": "crossings",
    "local_slopes": "powerlaw",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
