"""Pictures from data: each function takes arrays or an analysis and returns a matplotlib figure.

They compose; they never analyse, simulate or keep state: figures are made with matplotlib's object API, never pyplot.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
