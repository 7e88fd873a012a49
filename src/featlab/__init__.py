"""featlab: what a shallow network can learn of a function, by which algorithm, from how much data."""

from __future__ import annotations

from featlab.lazy import public_names

__version__ = "0.1.0"

# Public name -> the package that holds it. Nothing is imported until it is asked for, so that `import featlab`
# and `featlab --help` stay instant.
_PUBLIC = {
    "InvalidParameter": "errors",
    "InvalidTarget": "errors",
    "DoesNotFit": "simulate",
    "FeatlabError": "errors",
    "Target": "targets",
    "target": "targets",
    "TreeTarget": "targets",
    "tree_target": "targets",
    "Isotropic": "targets",
    "Spiked": "targets",
    "SpikeLaw": "targets",
    "Hypercube": "targets",
    "catalogue": "targets",
    "analyse": "analysis",
    "Analysis": "analysis",
    "OnlineSgd": "learners",
    "Extragradient": "learners",
    "GiantSteps": "learners",
    "PreprocessedStep": "learners",
    "ReusedBatch": "learners",
    "Readout": "learners",
    "RandomFeatures": "learners",
    "BayesAmp": "learners",
    "KernelRidge": "learners",
    "SlicedInverseRegression": "learners",
    "SlicedAverageVariance": "learners",
    "PrincipalHessian": "learners",
    "SpectralEstimator": "learners",
    "LangevinDynamics": "learners",
    "MeanFieldTanh": "learners",
    "TiedFlow": "learners",
    "TiedNetwork": "learners",
    "SphericalFlow": "learners",
    "NormalisedFlow": "learners",
    "StepLaw": "learners",
    "Layerwise": "learners",
    "ThreeLayer": "learners",
    "TwoLayer": "learners",
    "predict": "theory",
    "NoPrediction": "theory",
    "explain": "reports",
    "Explanation": "reports",
}

# Packages that are called like their main functions.
_CALLED = ("simulate", "compare")

__all__ = ["__version__", *_PUBLIC, *_CALLED]
__getattr__, __dir__ = public_names(__name__, _PUBLIC, _CALLED)
