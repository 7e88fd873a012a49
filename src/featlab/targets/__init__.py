"""Targets: what is to be learned. Safe text to target, its link, rank and kinks, and a catalogue from the literature.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "Isotropic": "inputs",
    "Spiked": "inputs",
    "SpikeLaw": "inputs",
    "Hypercube": "inputs",
    "Kink": "kinks",
    "Target": "model",
    "target": "build",
    "TreeTarget": "tree",
    "tree_target": "tree",
    "catalogue": "literature",
    "CatalogueEntry": "literature",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
