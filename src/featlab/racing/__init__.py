"""Which learner finds a target first: every one that applies, from the same numbers of samples, theory and simulation.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
