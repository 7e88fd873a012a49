"""Who runs the points. An engine is given runs grouped by shape and yields each record once, in any order."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
