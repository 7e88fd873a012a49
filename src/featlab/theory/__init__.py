"""What happens as d goes to infinity: state evolution, order parameters, spectra, ridge equivalents, bounds.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "predict": "door",
    "NoPrediction": "question",
    "Floor": "bounds",
    "unexplained_variance": "bounds",
    "kernel_floor": "kernels.staircase",
    "learned_degree": "kernels.staircase",
    "gradient_sizes": "spiked.signal",
    "aligning_exponent": "spiked.signal",
    "one_step_readout": "spiked.protocol",
    "Hessian": "first_step",
    "hessian": "first_step",
    "gradient_series": "first_step",
    "csq_queries": "csq",
    "csq_samples": "csq",
    "csq_tolerance": "csq",
    "sir_matrix": "inverse_regression",
    "save_matrix": "inverse_regression",
    "phd_matrix": "inverse_regression",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
