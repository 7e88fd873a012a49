"""Do a prediction and a measurement agree: z-scores, a stated finite-size allowance, trends in d, a verdict.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
