"""Do a prediction and a measurement agree: z-scores, a stated finite-size allowance, trends in d, a verdict."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
