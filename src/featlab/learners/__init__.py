"""How it is to be learned: students and algorithms as frozen, validated descriptions without dynamics.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "TwoLayer": "students",
    "StepLaw": "steps",
    "Layerwise": "layerwise",
    "ThreeLayer": "layerwise",
    "OnlineSgd": "online",
    "Extragradient": "online",
    "GiantSteps": "giant",
    "PreprocessedStep": "first_step",
    "ReusedBatch": "reuse",
    "Readout": "readout",
    "RandomFeatures": "readout",
    "BayesAmp": "amp",
    "KernelRidge": "kernels",
    "SlicedInverseRegression": "spectral_methods",
    "SlicedAverageVariance": "spectral_methods",
    "PrincipalHessian": "spectral_methods",
    "SpectralEstimator": "spectral_methods",
    "LangevinDynamics": "langevin",
    "MeanFieldTanh": "langevin",
    "TiedFlow": "tied",
    "TiedNetwork": "tied",
    "SphericalFlow": "flows",
    "NormalisedFlow": "flows",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
